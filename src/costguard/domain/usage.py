"""Usage: samples as a source gave them, and windows as the store aggregates them.

Two sources are never mixed in one series; a mean over n cards is a different claim than a maximum
of one card, so the statistic and the number of cards travel with every value.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from costguard.domain.resource import ResourceRef

MONITOR = "prometheus:"
"""How the source of a series begins that a configured metrics source told, not the provider: ``prometheus:NAME``, or
``prometheus:NAME/FACET`` for a second way of measuring the same thing."""


def monitor_of(source: str) -> str | None:
    """The name of the metrics source behind a series' source; None when the provider told it."""
    return source.removeprefix(MONITOR).partition("/")[0] if source.startswith(MONITOR) else None


def is_facet(source: str) -> bool:
    """Whether it is a monitor's second way of measuring."""
    return source.startswith(MONITOR) and "/" in source


class Metric(StrEnum):
    """What is measured, with its unit."""

    GPU_UTIL = "gpu_util"  # percent 0–100
    GPU_MEMORY = "gpu_memory"  # percent 0–100 of the card's memory in use
    GPU_POWER = "gpu_power"  # percent 0–100 of the card's power limit
    CPU_CORES = "cpu_cores"  # cores busy
    NETWORK = "network"  # bytes per second, in + out
    DISK = "disk"  # bytes per second, read + write
    CONNECTIONS = "connections"  # requests or connections per second


class Statistic(StrEnum):
    MAX = "max"
    MEAN = "mean"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Series:
    """Identity of one series of one resource. ``gpu_index`` None is the whole box.

    ``statistic`` is what one sample says about its own period; ``cards`` how many cards one value
    covers (1 for a per-card series; 0 for a part of one, which may show work and proves no rest).
    """

    ref: ResourceRef
    metric: Metric
    gpu_index: int | None
    source: str
    statistic: Statistic
    cards: int = 1


@dataclass(frozen=True, slots=True)
class UsageSample:
    """One value; ``at`` is the end of its period (aware UTC)."""

    series: Series
    at: datetime
    value: float
    period: timedelta


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A window that a rule asks for: the last ``length`` before now − the metric's own delay."""

    metric: Metric
    length: timedelta


@dataclass(frozen=True, slots=True)
class UsageWindow:
    """One series over one window [start, end).

    ``samples`` of ``expected`` (the window's length by the finest period of a sample in it) arrived; ``coverage`` =
    min(1, samples / expected), 0..1. What a source told sooner than it has to (after ``end``) counts in all but these.
    ``period`` is that of the newest sample, ``last_at`` its end.
    """

    series: Series
    start: datetime
    end: datetime
    period: timedelta
    samples: int
    expected: int
    max: float
    mean: float
    last: float
    first_at: datetime
    last_at: datetime

    @property
    def coverage(self) -> float:
        return min(1.0, self.samples / self.expected) if self.expected else 0.0


@dataclass(frozen=True, slots=True)
class UsageHour:
    """One hour of one series, from ``hour`` (its start, aware UTC): what remains when the samples are gone."""

    series: Series
    hour: datetime
    samples: int
    max: float
    min: float
    mean: float
