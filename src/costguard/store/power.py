"""Starts and stops: what the provider tells of them and what we saw between two looks, each once."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, insert, or_, select, update

from costguard.domain.decision import Response
from costguard.domain.ledger import LedgerKind
from costguard.domain.resource import ResourceRef
from costguard.domain.snapshot import PowerEvent
from costguard.store.rows import Rows
from costguard.store.sql import chunks
from costguard.store.tables import action, ledger
from costguard.store.tables import power_event as table

# Two tellings of the same start or stop may differ by this much: we see it up to two polls late.
_SAME = timedelta(minutes=10)
_ROWS = Rows(PowerEvent)


@dataclass(frozen=True, slots=True)
class Transition:
    """A start or stop that lies between two settled looks; ``since`` is the first of them."""

    ref: ResourceRef
    what: str
    at: datetime
    since: datetime


def derive(conn: Connection, transitions: Sequence[Transition]) -> tuple[PowerEvent, ...]:
    """Stores transitions as events. A stop is ours when an action of ours called since the look before; a start is
    ours when an ``undo`` did."""
    if not transitions:
        return ()
    ours = _our_calls(conn, transitions)
    events = tuple(
        PowerEvent(one.ref, one.at, one.what, any(at >= one.since for at in ours[one.ref, one.what]))
        for one in transitions
    )
    for event in events:
        _merge(conn, event, told=False)
    return events


def record(conn: Connection, events: Iterable[PowerEvent]) -> int:
    """Stores what a provider tells and returns how many events are new.

    An event that we saw ourselves, at most ten minutes apart, is the same: it gets the provider's time and its word
    on who did it. The same telling again changes nothing.
    """
    return sum(_merge(conn, event, told=True) for event in events)


def events_since(conn: Connection, since: datetime) -> Mapping[ResourceRef, tuple[PowerEvent, ...]]:
    """The events at ``since`` or later of each resource, oldest first."""
    found: dict[ResourceRef, list[PowerEvent]] = defaultdict(list)
    for row in conn.execute(select(table).where(table.c.at >= since).order_by(table.c.at, table.c.id)):
        found[row.ref].append(_ROWS.load(row))
    return {ref: tuple(events) for ref, events in found.items()}


def _merge(conn: Connection, event: PowerEvent, *, told: bool) -> bool:
    """Stores an event unless the other telling of it, or the same one, is there. Whether it is new."""
    other = table.c.seen.is_(True) & table.c.told.is_(False) if told else table.c.seen.is_(False)
    query = select(table).where(
        table.c.ref == event.ref,
        table.c.what == event.what,
        or_(table.c.at == event.at, other & table.c.at.between(event.at - _SAME, event.at + _SAME)),
    )
    row = min(conn.execute(query), key=lambda one: abs(one.at - event.at), default=None)
    if row is None:
        conn.execute(insert(table).values(**_ROWS.row(event), told=told, seen=not told))
        return True
    change = (
        update(table)
        .where(table.c.id == row.id)
        .values(
            at=event.at if told else row.at,
            ours=row.ours or event.ours,
            actor=row.actor or event.actor,
            told=row.told or told,
            seen=row.seen or not told,
        )
    )
    conn.execute(change)
    return False


def _our_calls(conn: Connection, transitions: Sequence[Transition]) -> Mapping[tuple[ResourceRef, str], list[datetime]]:
    calls: dict[tuple[ResourceRef, str], list[datetime]] = defaultdict(list)
    by_key = {str(one.ref): one.ref for one in transitions}
    earliest = min(one.since for one in transitions)
    for keys in chunks(by_key):
        stops = select(action.c.subject_key, action.c.executed_at).where(
            action.c.subject_key.in_(keys),
            action.c.executed_at >= earliest,
            action.c.response.in_([Response.STOP, Response.RELEASE]),
        )
        for call in conn.execute(stops):
            calls[by_key[call.subject_key], "stop"].append(call.executed_at)
        undone = select(ledger.c.subject_key, ledger.c.at).where(
            ledger.c.subject_key.in_(keys), ledger.c.at >= earliest, ledger.c.kind == LedgerKind.UNDO
        )
        for undo in conn.execute(undone):
            calls[by_key[undo.subject_key], "start"].append(undo.at)
    return calls
