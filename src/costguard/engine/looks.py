"""Looks: when a replay must look again, because something that an open ladder or a policy waits for will have changed.

A moment too many costs a look; one too few is a stop that comes late, so in doubt there is one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from zoneinfo import ZoneInfo

from costguard.domain.action import Action
from costguard.domain.decision import GuardCode, Verdict
from costguard.engine.box import Box, Levels
from costguard.engine.evaluate import Prepared
from costguard.engine.history import History, micros
from costguard.engine.recheck import ladder_of
from costguard.engine.settings import EngineSettings
from costguard.rules.schedule import ScheduleWhen, off_time

_MICRO = timedelta(microseconds=1)
_HOUR = timedelta(hours=1) // _MICRO
_DAY = timedelta(hours=24) // _MICRO
_EDGES_EVERY = timedelta(hours=6)
# What keeps one of these from acting stays as it is: tags, locks and groups are today's, and nobody says yes. When
# restarts are forgotten is known.
_FOR_GOOD = frozenset(
    {
        GuardCode.FENCED, GuardCode.SELF, GuardCode.GROUP_MEMBER, GuardCode.UNSUPPORTED, GuardCode.SAVES_NOTHING,
        GuardCode.LOSES_DATA, GuardCode.APPROVAL, GuardCode.COOLDOWN,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Climb:
    """An open ladder after a look: ``verdict`` is the guards' answer to its next acting rung, None without one."""

    ready: Prepared
    levels: Levels | None
    row: Action
    verdict: Verdict | None


def next_looks(climb: Climb, box: Box, now: int, loaded: int, step: int, settings: EngineSettings) -> Iterator[int]:
    """When (µs) to look at an open ladder again: its next rungs, what defers it, and the work that would end it.

    ``loaded`` is up to where samples are at hand; what lies behind it is asked again then.
    """
    row, verdict = climb.row, climb.verdict
    ladder = ladder_of(row, climb.ready)
    dues = [row.due_at, *(ladder.due(row, index) for index in range(row.rung, len(ladder.rungs)))]
    later = [micros(due) for due in dues if due is not None and micros(due) > now]
    yield from later
    busy = box.next_busy(climb.levels, now, loaded) if climb.levels is not None else None
    if row.clear_count:
        yield now + step
    elif busy is not None:
        yield busy
    if verdict is None or later:
        return
    recent = [micros(at) for at, _ in box.events if micros(at) >= now - _DAY]
    if len(recent) >= 2 * settings.cooldown_pairs:
        yield recent[0] + _DAY + 1  # restarts that are a day old hold nothing any more
    if row.due_at is not None and ladder.warned_before(row.rung):
        too_old = micros(row.due_at + settings.warning_life) + 1  # then people are warned again
        if too_old > now:
            yield too_old
    if verdict.until is not None and micros(verdict.until) > now:
        yield micros(verdict.until)
    elif verdict.code is GuardCode.BUSY:
        quiet = box.next_quiet(climb.ready.activity, now, loaded)
        yield quiet if quiet is not None else loaded
    elif verdict.code is GuardCode.UNKNOWN:
        yield box.next_known(climb.ready.activity, now, loaded, step)
    elif verdict.code is GuardCode.LIMIT:
        yield now + step
    elif verdict.code not in _FOR_GOOD and ladder.next_acting(row.rung) is not None:
        yield now + _HOUR


def off_edges(when: ScheduleWhen, history: History) -> tuple[int, ...]:
    """When (µs) the off times of a schedule begin and end in a history."""
    zone = ZoneInfo(history.timezone)
    marks: set[int] = set()
    at = history.since
    while at <= history.until + _EDGES_EVERY:
        if (off := off_time(when, at, zone, history.calendars)) is not None:
            marks.update(micros(edge) for edge in (*off.edges, off.until) if edge is not None)
        at += _EDGES_EVERY
    return tuple(sorted(marks))
