"""Which CloudWatch metrics make up which of ours: names, units, dimensions, periods. Pure.

EC2's own metrics are named here; the GPU metrics are the CloudWatch agent's (`nvidia_gpu` section, metric names
`nvidia_smi_` + measurement) and are found with ListMetrics, because users choose the namespace and the dimensions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from costguard.domain.resource import Resource
from costguard.domain.usage import Metric, Statistic

EC2_NAMESPACE = "AWS/EC2"

# Seconds. CPU comes as a maximum in percent; traffic as bytes in the period, added up over the names.
EC2_METRICS: Mapping[Metric, tuple[str, ...]] = {
    Metric.CPU_CORES: ("CPUUtilization",),
    Metric.NETWORK: ("NetworkIn", "NetworkOut"),
    Metric.DISK: ("EBSReadBytes", "EBSWriteBytes"),
}

# The agent's metric, in percent, MiB and watts.
GPU_METRICS: Mapping[Metric, str] = {
    Metric.GPU_UTIL: "nvidia_smi_utilization_gpu",
    Metric.GPU_MEMORY: "nvidia_smi_memory_used",
    Metric.GPU_POWER: "nvidia_smi_power_draw",
}

# Board power limits in watts as NVIDIA's data sheets give them for the variant that EC2 rents; the agent does not tell
# the limit. A model that is not here has no power series.
POWER_LIMITS_W: Mapping[str, int] = {
    "A100": 400, "A10G": 300, "B200": 1000, "B300": 1100, "H100": 700, "H200": 700, "K80": 150, "L4": 72, "L40S": 350,
    "M60": 150, "RTX PRO Server 6000": 600, "T4": 70, "T4g": 70, "V100": 300,
}  # fmt: skip

# Dimension names that number the card, by the agent and by AWS's older sample script.
INDEX_DIMENSIONS = ("index", "GPUNumber")

# CloudWatch keeps 60 s data for 15 days, 300 s for 63 days, 3600 s for 455 days.
RETENTION = (
    (timedelta(days=15), timedelta(seconds=60)),
    (timedelta(days=63), timedelta(seconds=300)),
    (timedelta(days=455), timedelta(seconds=3600)),
)
EC2_PERIOD = timedelta(seconds=300)  # basic monitoring; asking for less gives gaps
GPU_PERIOD = timedelta(seconds=60)  # the agent's default collection interval

Dimensions = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """One metric of the agent, with its exact set of dimensions (a partial set returns nothing)."""

    namespace: str
    name: str
    dimensions: Dimensions

    @property
    def instance(self) -> str | None:
        return dict(self.dimensions).get("InstanceId")

    @property
    def gpu_index(self) -> int | None:
        values = dict(self.dimensions)
        for name in INDEX_DIMENSIONS:
            if values.get(name, "").isdecimal():
                return int(values[name])
        return None


@dataclass(frozen=True, slots=True)
class Piece:
    """A time range [start, end) that is asked for with one period, aligned to it."""

    start: datetime
    end: datetime
    period: timedelta


def pieces(since: datetime, until: datetime, now: datetime, finest: timedelta) -> tuple[Piece, ...]:
    """Splits what is asked for by the age that CloudWatch still keeps each period at; newest first.

    A sample's time is the end of its period, so the first period asked for ends at or after `since` and the last one
    at or before `until`. What is older than 455 days is gone.
    """
    found = []
    end = until
    for kept, period in RETENTION:
        if period < finest:
            continue
        # Pieces meet at whole hours, which every period divides; one period of margin, for time passes while we ask.
        oldest = _ceil(now - kept + period, timedelta(hours=1))
        start = max(_ceil(since, period) - period, oldest)
        last = _floor(end, period)
        if start < last:
            found.append(Piece(start, last, period))
            end = start
        if oldest <= since:
            break
    return tuple(found)


def narrow(found: Iterable[Found], wanted: Mapping[str, Resource]) -> dict[tuple[str, str, int | None], list[Found]]:
    """By (instance, namespace, card): the dimension sets to ask for. ListMetrics repeats itself; each set stays once.

    A box that changed its type, image or host name has one set for before and one for after: both are asked for. Sets
    without a card index (the agent's aggregation over cards) count only where the box has none with one.
    """
    by_card: dict[tuple[str, str, int | None], dict[Found, None]] = {}
    for metric in found:
        if metric.instance in wanted:
            by_card.setdefault((str(metric.instance), metric.namespace, metric.gpu_index), {})[metric] = None
    numbered = {(instance, namespace) for instance, namespace, card in by_card if card is not None}
    return {
        (instance, namespace, card): list(sets)
        for (instance, namespace, card), sets in by_card.items()
        if card is not None or (instance, namespace) not in numbered
    }


def read_found(item: Mapping[str, Any]) -> Found:
    """One element of ListMetrics."""
    dimensions = tuple(sorted((d["Name"], d["Value"]) for d in item.get("Dimensions") or ()))
    return Found(item.get("Namespace") or "", item.get("MetricName") or "", dimensions)


def statistic_of(metric: Metric) -> tuple[str, Statistic]:
    """CloudWatch's statistic to ask for, and what one value then says of its period."""
    return ("Sum", Statistic.MEAN) if metric in (Metric.NETWORK, Metric.DISK) else ("Maximum", Statistic.MAX)


def convert(metric: Metric, value: float, resource: Resource, period: timedelta) -> float | None:
    """A raw value in our unit; None where the resource's facts that it takes are not known."""
    gpus = resource.gpus
    if metric is Metric.CPU_CORES:
        return value * resource.vcpus / 100 if resource.vcpus else None
    if metric in (Metric.NETWORK, Metric.DISK):
        return value / period.total_seconds()
    if metric is Metric.GPU_MEMORY:
        return min(100.0, value * 100 / gpus.memory_mib) if gpus and gpus.memory_mib else None
    if metric is Metric.GPU_POWER:
        limit = POWER_LIMITS_W.get(gpus.model) if gpus else None
        return value * 100 / limit if limit else None
    return value


def _floor(at: datetime, step: timedelta) -> datetime:
    seconds, width = int(at.timestamp()), int(step.total_seconds())
    return datetime.fromtimestamp(seconds - seconds % width, UTC)


def _ceil(at: datetime, step: timedelta) -> datetime:
    down = _floor(at, step)
    return down if down == at else down + step
