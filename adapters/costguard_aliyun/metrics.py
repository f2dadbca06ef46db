"""Which CloudMonitor metrics make up which of ours: names, dimensions, units, periods. Pure.

The documentation misspells several of the GPU names, so a name counts only when DescribeMetricMetaList lists it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from costguard.domain.resource import Resource
from costguard.domain.usage import Metric, Statistic

NAMESPACE = "acs_ecs_dashboard"
SOURCE = f"cloudmonitor:{NAMESPACE}"


@dataclass(frozen=True, slots=True)
class Named:
    """Names to look for, best first. `cards`: one row per card (`gpuId`), else one per box over all its cards."""

    names: tuple[str, ...]
    cards: bool = False


@dataclass(frozen=True, slots=True)
class How:
    """How one of our metrics is read: its parts are added up, and there is no value without all those `needed`."""

    statistic: Statistic
    parts: tuple[Named, ...]
    needed: int = 1

    @property
    def column(self) -> str:
        """The member of a row."""
        return "Maximum" if self.statistic is Statistic.MAX else "Average"


# Percent, percent, watts; percent; bits per second. The agent's metrics come first per card, then over the cards.
# Traffic in a VPC is the internal one; the public interface exists on the classic network only.
METRICS: Mapping[Metric, How] = {
    Metric.GPU_UTIL: How(Statistic.MAX, (Named(("gpu_gpu_usedutilization",), cards=True),)),
    Metric.GPU_MEMORY: How(
        Statistic.MAX, (Named(("gpu_memory_usedutilization", "gpu_memory_useutilization"), cards=True),)
    ),
    Metric.GPU_POWER: How(Statistic.MAX, (Named(("gpu_power_readings_power_draw",), cards=True),)),
    Metric.CPU_CORES: How(Statistic.MAX, (Named(("CPUUtilization",)),)),
    Metric.NETWORK: How(
        Statistic.MEAN,
        tuple(Named((name,)) for name in ("IntranetInRate", "IntranetOutRate", "InternetInRate", "InternetOutRate")),
        needed=2,
    ),
}
# Where no name per card is listed.
OVER_CARDS: Mapping[Metric, Named] = {
    Metric.GPU_UTIL: Named(("instance_gpu_gpu_usedutilization", "instance_gpu_usedutilization")),
    Metric.GPU_MEMORY: Named(("instance_gpu_memory_usedutilization",)),
    Metric.GPU_POWER: Named(("instance_gpu_power_readings_power_draw",)),
}
GPU_METRICS = frozenset(OVER_CARDS)

# Board power limits in watts as NVIDIA's data sheets give them; CloudMonitor does not tell the limit. A model that is
# not here has no power series.
POWER_LIMITS_W: Mapping[str, int] = {
    "A10": 150, "A100": 400, "A800": 400, "H20": 500, "H800": 700, "L20": 275, "L40S": 350, "P100": 250, "P4": 75,
    "T4": 70, "V100": 300,
}  # fmt: skip

# How old a sample may be for each period to be asked for. CloudMonitor keeps 60 s for 31 days, but every page counts
# against the free calls: what is older is read coarsely.
TIERS = ((timedelta(days=1), 60), (timedelta(days=7), 300), (timedelta(days=91), 3600))
_LONGEST = timedelta(days=30)
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Meta:
    """What DescribeMetricMetaList says of one name."""

    name: str
    periods: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """One listed name for one part of a metric."""

    metric: Metric
    part: int
    name: str
    cards: bool
    periods: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A time range (start, end] that is asked for with one period."""

    start: datetime
    end: datetime
    period: timedelta


def read_meta(item: Mapping[str, Any]) -> Meta:
    """One element of DescribeMetricMetaList; `Periods` is a text like `60,300`."""
    periods = str(item.get("Periods") or "").split(",")
    return Meta(str(item.get("MetricName") or ""), tuple(sorted(int(p) for p in periods if p.strip().isdecimal())))


def choose(metric: Metric, listed: Mapping[str, Meta], configured: str | None = None) -> list[Chosen]:
    """The names to ask for, one per part; none: nothing is listed, which is unknown. `configured` is taken as it is."""
    found = []
    for part, named in enumerate(METRICS[metric].parts):
        options = [named, *([OVER_CARDS[metric]] if metric in OVER_CARDS else [])]
        if configured:
            options = [Named((configured,), cards=named.cards and not configured.startswith("instance_"))]
        pairs = [(name, option.cards) for option in options for name in option.names]
        pick = next(((n, cards) for n, cards in pairs if n in listed or n == configured), None)
        if pick is not None:
            meta = listed.get(pick[0])
            found.append(Chosen(metric, part, *pick, meta.periods if meta and meta.periods else (60,)))
    return found


def pieces(since: datetime, until: datetime, now: datetime, periods: tuple[int, ...]) -> list[Piece]:
    """Splits (since, until] by age, newest first, each part with the period that is offered for it.

    A sample's time is the end of its period. What is older than 91 days is gone.
    """
    found: list[Piece] = []
    end = until
    for age, wanted in TIERS:
        period = timedelta(seconds=next((p for p in periods if p >= wanted), max(periods)))
        edge = _floor(now - age)  # whole hours, which every period divides
        start = max(since, edge)
        while start < end:
            first = max(start, end - _LONGEST)
            found.append(Piece(first, end, period))
            end = first
        if start == since:
            break
    return found


def convert(metric: Metric, value: float, resource: Resource) -> float | None:
    """A raw value in our unit; None where the resource's facts that it takes are not known."""
    if metric is Metric.CPU_CORES:
        return value * resource.vcpus / 100 if resource.vcpus else None
    if metric is Metric.NETWORK:
        return value / 8
    if metric is Metric.GPU_POWER:
        model = resource.gpus.model.removeprefix("NVIDIA ").removeprefix("Tesla ") if resource.gpus else ""
        limit = POWER_LIMITS_W.get(model)
        return value * 100 / limit if limit else None
    return value


def indexes(ids: Iterable[str], cards: int) -> dict[str, int]:
    """`gpuId` → card number. Numbers are taken as they are; other forms only when every card is there to be counted."""
    seen = sorted(set(ids))
    if all(id.isdecimal() for id in seen):
        return {id: int(id) for id in seen}
    return {id: number for number, id in enumerate(seen)} if len(seen) == cards else {}


def _floor(at: datetime) -> datetime:
    seconds, width = int(at.timestamp()), int(_HOUR.total_seconds())
    return datetime.fromtimestamp(seconds - seconds % width, UTC)
