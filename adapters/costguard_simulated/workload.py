"""Workload: which mode a machine is in at each minute, drawn lazily from its seed.

A pattern (``developer``, ``batch``) is drawn day by day, so any stretch of any year costs only the days that it
touches. Minutes are counted from the Unix epoch. Knows nothing of power states: a stopped machine has no use anyway.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from random import Random
from zoneinfo import ZoneInfo

from costguard_simulated.fitted import (
    DEVELOPER_PAUSE,
    QUEUE_PAUSE,
    SHARED_UTIL,
    TRAINING_UTIL,
    job_seconds,
    job_util,
    pause_seconds,
)
from costguard_simulated.modes import MODES, Mode

PATTERNS = frozenset({"developer", "batch"})
KINDS_OF_WORK = PATTERNS | MODES.keys()
_DAY = 24 * 60
_DAWN = 8 * 60 + 30
_LONGEST_JOB = 9 * 3600.0


@dataclass(frozen=True, slots=True)
class Segment:
    """[start, end) in minutes: one mode. ``cards``: how many of the cards work (None: all of them), ``level``: the
    working cards' utilisation in percent instead of the mode's own."""

    start: int
    end: int
    mode: Mode
    cards: int | None = None
    level: float | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """From ``since`` (aware) on the machine does this, until the next entry."""

    since: datetime
    do: str
    cards: int | None = None
    level: float | None = None


def seed_of(*parts: object) -> int:
    """A stable 64-bit seed from what names the thing drawn."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def minute_of(at: datetime) -> int:
    return int(at.timestamp()) // 60


def segments(plan: Sequence[Work], seed: int, zone: ZoneInfo, start: int, end: int) -> Iterator[Segment]:
    """The segments of a plan (ascending ``since``) that touch minutes [start, end), in order, without gaps from the
    plan's beginning on."""
    for index, work in enumerate(plan):
        first = max(start, minute_of(work.since))
        last = min(end, minute_of(plan[index + 1].since)) if index + 1 < len(plan) else end
        if first >= last:
            continue
        if work.do in MODES:
            yield Segment(first, last, MODES[work.do], work.cards, work.level)
        else:
            yield from _pattern(work.do, seed, zone, first, last)


def _pattern(name: str, seed: int, zone: ZoneInfo, start: int, end: int) -> Iterator[Segment]:
    day = datetime.fromtimestamp(start * 60, UTC).astimezone(zone).date()
    while True:
        midnight = minute_of(datetime(day.year, day.month, day.day, tzinfo=zone))
        if midnight >= end:
            return
        for segment in _day(name, seed, day.toordinal(), midnight):
            first, last = max(start, segment.start), min(end, segment.end)
            if first < last:
                yield Segment(first, last, segment.mode, segment.cards, segment.level)
        day += timedelta(days=1)


@lru_cache(maxsize=8192)
def _day(name: str, seed: int, ordinal: int, midnight: int) -> tuple[Segment, ...]:
    """One local day without gaps. What a developer starts in the evening may run until the next morning."""
    if name == "batch":
        return tuple(_with_rest(_jobs(Random(seed_of(seed, name, ordinal)), [(0, _DAY)], _QUEUE), midnight, "idle"))
    night = [
        Job(0, min(job.end - _DAY, _DAWN), job.level) for job in _office_day(seed, ordinal - 1) if job.end > _DAY
    ]  # fmt: skip
    return tuple(_with_rest([*night, *_office_day(seed, ordinal)], midnight, "loaded"))


@dataclass(frozen=True, slots=True)
class Job:
    """Minutes of the day [start, end), the end possibly of the next one; ``level`` 0 leaves the GPU alone."""

    start: int
    end: int
    level: float


_Habit = tuple[tuple[float, float], tuple[float, float, float]]
_QUEUE: _Habit = (QUEUE_PAUSE, TRAINING_UTIL)
_DESK: _Habit = (DEVELOPER_PAUSE, SHARED_UTIL)


@lru_cache(maxsize=8192)
def _office_day(seed: int, ordinal: int) -> tuple[Job, ...]:
    rng = Random(seed_of(seed, "developer", ordinal))
    if date.fromordinal(ordinal).weekday() >= 5 and rng.random() < 0.8:
        return ()
    morning = max(_DAWN, int(rng.gauss(10 * 60, 25)))
    lunch = max(morning, int(rng.gauss(12 * 60 + 10, 10)))
    evening = min(_DAY, int(rng.gauss(20 * 60 + 15, 55)))
    return tuple(_jobs(rng, [(morning, lunch), (lunch + 75, evening)], _DESK))


def _jobs(rng: Random, awake: list[tuple[int, int]], habit: _Habit) -> Iterator[Job]:
    """Jobs that begin in the ``awake`` minutes, one after the other with pauses."""
    pause, util = habit
    at = 0
    for begin, until in awake:
        at = max(at, begin)
        while at < until:
            end = at + max(1, round(job_seconds(rng, _LONGEST_JOB) / 60))
            yield Job(at, end, job_util(rng, util))
            at = end + max(1, round(pause_seconds(rng, pause) / 60))


def _with_rest(jobs: Iterable[Job], midnight: int, rest: str) -> Iterator[Segment]:
    at = midnight
    for job in jobs:
        start, end = midnight + job.start, midnight + min(job.end, _DAY)
        if start > at:
            yield Segment(at, start, MODES[rest])
        if start < end:
            yield Segment(start, end, MODES["training" if job.level else "cpu_only"], None, job.level or None)
        at = end
    if at < midnight + _DAY:
        yield Segment(at, midnight + _DAY, MODES[rest])
