"""Workload: which mode a machine is in at each minute, drawn lazily from its seed.

A pattern (``developer``, ``batch``) is drawn day by day, so any stretch of any year costs only the days that it
touches. Minutes are counted from the Unix epoch. Knows nothing of power states: a stopped machine has no use anyway.
"""

import hashlib
from collections.abc import Iterator, Sequence
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
    rng = Random(seed_of(seed, name, ordinal))
    if name == "batch":
        return _fill(rng, midnight, [(0, _DAY)], QUEUE_PAUSE, TRAINING_UTIL, "idle")
    if date.fromordinal(ordinal).weekday() >= 5 and rng.random() < 0.8:
        return _fill(rng, midnight, [], DEVELOPER_PAUSE, SHARED_UTIL, "idle")
    morning = int(rng.gauss(10 * 60, 25))
    evening = int(rng.gauss(20 * 60 + 15, 55))
    lunch = int(rng.gauss(12 * 60 + 10, 10))
    awake = [(morning, lunch), (lunch + 75, max(lunch + 90, min(evening, _DAY)))]
    return _fill(rng, midnight, awake, DEVELOPER_PAUSE, SHARED_UTIL, "loaded")


def _fill(
    rng: Random,
    midnight: int,
    awake: list[tuple[int, int]],
    pause: tuple[float, float],
    util: tuple[float, float, float],
    rest: str,
) -> tuple[Segment, ...]:
    """A whole day: jobs and pauses in the ``awake`` minutes; the last job of the day may run into the night."""
    found: list[Segment] = []
    at = 0
    for begin, until in awake:
        at = max(at, begin)
        while at < until:
            length = max(1, round(job_seconds(rng, _LONGEST_JOB) / 60))
            level = job_util(rng, util)
            mode = MODES["training"] if level else MODES["cpu_only"]
            stop = min(at + length, _DAY)
            found.append(Segment(midnight + at, midnight + stop, mode, None, level or None))
            at = stop + max(1, round(pause_seconds(rng, pause) / 60))
    return tuple(_with_rest(found, midnight, MODES[rest]))


def _with_rest(work: list[Segment], midnight: int, rest: Mode) -> Iterator[Segment]:
    at = midnight
    for segment in work:
        if segment.start > at:
            yield Segment(at, segment.start, rest)
        yield segment
        at = segment.end
    if at < midnight + _DAY:
        yield Segment(at, midnight + _DAY, rest)
