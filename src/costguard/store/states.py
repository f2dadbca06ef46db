"""Intervals: in which state, at which price, a resource was from when to when. Estimates of spend are sums of these."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, delete, or_, select, update

from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, Kind, Resource, ResourceRef, State
from costguard.rules.burn import ALWAYS_BILLED, billed_per_hour
from costguard.store.rows import Rows
from costguard.store.sql import add, chunks
from costguard.store.tables import resource_state as table


@dataclass(frozen=True, slots=True)
class StateInterval:
    """[started, ended) in one state at one bill per hour; ``ended`` None: still. Times are aware UTC.

    ``assumed``: nobody looked in between; the state before is taken to have gone on.
    """

    ref: ResourceRef
    state: State
    charge_type: ChargeType
    per_hour: Money | None
    started: datetime
    ended: datetime | None
    assumed: bool


@dataclass(frozen=True, slots=True)
class Move:
    """A look at a resource, and the look before it (None: the first). ``gone_at``: since when it had been missing."""

    now: Resource
    before: Resource | None
    gone_at: datetime | None


_ROWS = Rows(StateInterval)
_COMPUTE = frozenset({Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT})


def record(conn: Connection, moves: Sequence[Move], gap: timedelta | None) -> None:
    """Opens and closes intervals for a batch of looks.

    Where the look before is more than ``gap`` ago, or the resource had been missing, the time between becomes an
    assumed interval in the state before, up to where the provider says that it changed.
    """
    closing: list[dict[str, Any]] = []
    opening: list[StateInterval] = []
    for move in moves:
        before, now = move.before, move.now
        if before is None:
            opening.append(_interval(now, now.observed_at, None))
            continue
        if move.gone_at is not None:
            # Its interval ended when it went missing.
            opening.append(_interval(before, move.gone_at, now.observed_at))
            opening.append(_interval(now, now.observed_at, None))
        elif gap is not None and now.observed_at - before.observed_at > gap:
            at = _changed_at(before, now)
            closing.append({"key": now.ref, "at": before.observed_at})
            opening.append(_interval(before, before.observed_at, at))
            opening.append(_interval(now, at, None))
        elif _key(before) != _key(now):
            at = _changed_at(before, now)
            closing.append({"key": now.ref, "at": at})
            opening.append(_interval(now, at, None))
    if closing:
        ended = update(table).where(table.c.ref == bindparam("key"), table.c.ended.is_(None))
        conn.execute(ended.values(ended=bindparam("at")), closing)
    if opening:
        add(conn, table, [_ROWS.row(one) for one in opening])


def assume(conn: Connection, found: Sequence[Resource]) -> None:
    """For resources that were just seen first: the time since the provider says that they are as they are.

    A box since its start or stop; what is paid for in advance, and anything else, since it was created. Assumed, for
    nobody looked.
    """
    rows = []
    for resource in found:
        told = {State.RUNNING: resource.started_at, State.STOPPED: resource.stopped_at}.get(resource.state)
        by_state = resource.ref.kind in _COMPUTE and resource.charge_type not in ALWAYS_BILLED
        since = told if by_state else resource.created_at
        if since is not None and since < resource.observed_at:
            rows.append(_ROWS.row(_interval(resource, since, resource.observed_at)))
    add(conn, table, rows)


def close(conn: Connection, refs: Collection[ResourceRef], at: datetime) -> None:
    """Ends the open intervals of resources that are gone."""
    for chunk in chunks(refs):
        conn.execute(update(table).where(table.c.ref.in_(chunk), table.c.ended.is_(None)).values(ended=at))


def rewind(conn: Connection, refs: Collection[ResourceRef], at: datetime) -> None:
    """Takes back what was written of the time after ``at``, which has not come: what held then still holds."""
    for chunk in chunks(refs):
        conn.execute(delete(table).where(table.c.ref.in_(chunk), table.c.started > at))
        conn.execute(update(table).where(table.c.ref.in_(chunk), table.c.ended > at).values(ended=None))


def intervals(
    conn: Connection, start: datetime, end: datetime, ref: ResourceRef | None = None
) -> tuple[StateInterval, ...]:
    """The intervals that overlap [start, end), by resource and time; not cut to it."""
    query = (
        select(table)
        .where(table.c.started < end, or_(table.c.ended.is_(None), table.c.ended > start))
        .order_by(table.c.ref, table.c.started, table.c.id)
    )
    if ref is not None:
        query = query.where(table.c.ref == ref)
    return tuple(_ROWS.load(row) for row in conn.execute(query))


def _interval(resource: Resource, started: datetime, ended: datetime | None) -> StateInterval:
    return StateInterval(
        resource.ref, resource.state, resource.charge_type, billed_per_hour(resource), started, ended, ended is not None
    )


def _key(resource: Resource) -> tuple[object, ...]:
    return resource.state, resource.charge_type, billed_per_hour(resource)


def _changed_at(before: Resource, now: Resource) -> datetime:
    """When the provider says that it changed, if that lies between the two looks; else when we saw it."""
    told = {State.RUNNING: now.started_at, State.STOPPED: now.stopped_at}.get(now.state)
    if told is not None and now.state is not before.state and before.observed_at < told <= now.observed_at:
        return told
    return now.observed_at
