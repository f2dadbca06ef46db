"""Replay call: what becomes of a ladder whose acting rung is due, in a replay."""

from datetime import datetime

from costguard.domain.action import Action
from costguard.engine.box import Box
from costguard.engine.evaluate import Prepared
from costguard.engine.events import Event, EventKind, Look
from costguard.engine.history import micros
from costguard.engine.lifecycle import advance
from costguard.engine.onsite import MEMORY, TIMEOUT
from costguard.engine.recheck import ladder_of, rung_of
from costguard.engine.settings import EngineSettings

_BUSY = (Event(EventKind.HOLDS, hook=True, hook_timeout=TIMEOUT), Event(EventKind.HOOK_BUSY))


def carried_out(
    row: Action, ready: Prepared, box: Box, now: datetime, settings: EngineSettings, token: str
) -> Action:  # fmt: skip
    """A call that works: both looks hold, the provider takes it, and the end is seen. Cancelled, when a look at the box
    itself finds it at work: it sees what the samples of its last minute show, whenever they were told.

    ``row`` is validating; ``token`` is the call's own.
    """
    looks = rung_of(row, ready).look
    busy = looks and box.next_work(ready.activity, micros(now - MEMORY), micros(now)) is not None
    more = row.rung + 1 < len(ladder_of(row, ready).rungs)
    calls = (
        Event(EventKind.HOLDS),
        Event(EventKind.HOLDS, token=token),
        Event(EventKind.ACCEPTED),
        Event(EventKind.LOOKED, look=Look.ENDED, more=more),
    )
    for event in _BUSY if busy else calls:
        row = advance(row, event, now, settings).action
    return row
