"""Values: what a machine's metrics are in one minute of a segment.

``minute`` is the end of the minute, counted from the Unix epoch; ``noise`` in [0, 1) says where in a mode's range the
value lies. Units as in :class:`~costguard.domain.usage.Metric`.
"""

from collections.abc import Callable

from costguard.domain.usage import Metric
from costguard_simulated.fleet import Machine
from costguard_simulated.modes import IDLE_POWER, Mode, Range
from costguard_simulated.workload import Segment, seed_of

_ZERO: Range = (0.0, 0.0)


def host(metric: Metric, segment: Segment, vcpus: int, noise: float) -> float:
    """CPU, network, disk or connections of the whole machine."""
    mode = segment.mode
    if metric is Metric.CPU_CORES:
        low = mode.cores[0] + mode.core_share[0] * vcpus
        high = mode.cores[1] + mode.core_share[1] * vcpus
        return round(min(low + (high - low) * noise, float(vcpus)), 2)
    ranges = {Metric.NETWORK: mode.network, Metric.DISK: mode.disk, Metric.CONNECTIONS: mode.connections}
    low, high = ranges[metric]
    return round(low + (high - low) * noise, 2)


def of_one_card(metric: Metric, segment: Segment, card: int, minute: int, noise: float, *, mean: bool) -> float:
    mode = segment.mode
    works = segment.cards is None or card < segment.cards
    if works and mode.burst_every:
        works = minute % mode.burst_every == segment.start % mode.burst_every
    match metric:
        case Metric.GPU_UTIL:
            low, high = _util(mode, segment.level, mean=mean) if works else _ZERO
        case Metric.GPU_MEMORY:
            low, high = mode.memory if segment.cards is None or card < segment.cards else _ZERO
        case _:
            low, high = _power(mode, segment.level) if works else IDLE_POWER
    return low + (high - low) * noise


def _util(mode: Mode, level: float | None, *, mean: bool) -> Range:
    if level is None:
        return mode.gpu_mean if mean else mode.gpu_max
    return (max(0.0, level - 2), min(100.0, level + 2)) if mean else (level, min(100.0, level + 8))


def _power(mode: Mode, level: float | None) -> Range:
    """A card that works at a level draws that share of what its mode adds to idling."""
    if level is None:
        return mode.power
    low, high = ((full - IDLE_POWER[0]) * level / 100 + IDLE_POWER[0] for full in mode.power)
    return low, high


def noise_of(machine: Machine, *parts: object) -> Callable[[int], float]:
    """A hash of the minute, evenly spread over [0, 1): the same whenever and in whatever order it is asked for."""
    salt = seed_of(machine.seed, *parts)

    def at(minute: int) -> float:
        x = (minute * 0x9E3779B97F4A7C15 ^ salt) & 0xFFFFFFFFFFFFFFFF
        x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        return (x >> 33) / 0x80000000

    return at
