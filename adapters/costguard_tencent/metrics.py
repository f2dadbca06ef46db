"""Which Cloud Monitor metrics make up which of ours: names, units, periods, and how much one call may ask. Pure.

Namespace QCE/CVM, whose one dimension is the instance: a GPU value is the mean over its cards. GPU names are spelt
differently in the two languages of the documentation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from costguard.domain.resource import Resource
from costguard.domain.usage import Metric, Statistic

NAMESPACE = "QCE/CVM"
SOURCE = f"cloudmonitor:{NAMESPACE}"
STATISTIC = Statistic.MEAN  # the only one that is documented for GPUs

# The newest minute or two are still being filled.
SETTLE = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Part:
    """One name in its spellings, likeliest first. `public`: told only where there is a public address, on any card."""

    spellings: tuple[str, ...]
    public: bool = False


# Percent, percent, percent; percent (seen from the host, without an agent); megabits per second, whose parts add up.
METRICS: Mapping[Metric, tuple[Part, ...]] = {
    Metric.GPU_UTIL: (Part(("GpuUtil", "Gpuutil")),),
    Metric.GPU_MEMORY: (Part(("GpuMemUsage", "Gpumemusage")),),
    Metric.GPU_POWER: (Part(("GpuPowUsage", "Gpupowusage")),),
    Metric.CPU_CORES: (Part(("BaseCpuUsage",)),),
    Metric.NETWORK: (
        Part(("LanIntraffic",)), Part(("LanOuttraffic",)),
        Part(("WanIntraffic",), public=True), Part(("WanOuttraffic",), public=True),
    ),
}  # fmt: skip
GPU_METRICS = frozenset({Metric.GPU_UTIL, Metric.GPU_MEMORY, Metric.GPU_POWER})
_MEGABIT = 125_000.0  # bytes

# How old a sample may be for each period to be asked for. Each call is metered: what is older is read coarsely.
# Cloud Monitor keeps 60 s for 15 days, 300 s for 31, 3600 s for 93.
TIERS = ((timedelta(days=1), 60), (timedelta(days=31), 300), (timedelta(days=93), 3600))
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may ask: today's documentation says 50 and 7,200, older ones what is safe."""

    instances: int = 10
    points: int = 1_440


@dataclass(frozen=True, slots=True)
class Piece:
    """A time range (start, end] of samples, by the ends of their periods, that is asked for with one period."""

    start: datetime
    end: datetime
    period: timedelta


def pieces(since: datetime, until: datetime, now: datetime, limits: Limits) -> list[Piece]:
    """Splits (since, until] by age and by the points of one call, newest first. What is older than 93 days is gone."""
    found: list[Piece] = []
    end = min(until, now - SETTLE)
    for age, seconds in TIERS:
        period = timedelta(seconds=seconds)
        # Both ends may be answered, and are aligned outwards.
        longest = period * max(1, limits.points // limits.instances - 2)
        first = max(since, _floor(now - age))  # whole hours, which every period divides
        while first < end:
            start = max(first, end - longest)
            found.append(Piece(start, end, period))
            end = start
        if first == since:
            break
    return found


def convert(metric: Metric, value: float, resource: Resource) -> float | None:
    """A raw value in our unit; None where the resource's facts that it takes are not known."""
    if metric is Metric.CPU_CORES:
        return value * resource.vcpus / 100 if resource.vcpus else None
    if metric is Metric.NETWORK:
        return value * _MEGABIT
    return value


def _floor(at: datetime) -> datetime:
    seconds = int(at.timestamp())
    return datetime.fromtimestamp(seconds - seconds % _HOUR, UTC)
