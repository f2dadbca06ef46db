"""Savings: one row per action, from the provider's word that billing ended. What ends them is the daemon's to say."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, or_, select

from costguard.domain.resource import ResourceRef
from costguard.domain.saving import Saving
from costguard.store.rows import Rows
from costguard.store.sql import upsert
from costguard.store.tables import saving as table

_ROWS = Rows(Saving)


def book(conn: Connection, saving: Saving) -> None:
    """Books what an action saves; booking the same action again replaces it (ended, disputed, another price)."""
    upsert(conn, table, [_ROWS.row(saving)], ["action_id"])


def standing(conn: Connection, refs: Collection[ResourceRef], at: datetime) -> tuple[Saving, ...]:
    """The savings that began by ``at`` and still stand for these resources."""
    open_ones = (table.c.ref.in_(list(refs)), table.c.ended_by.is_(None), table.c.since <= at)
    return tuple(_ROWS.load(row) for row in conn.execute(select(table).where(*open_ones).order_by(table.c.action_id)))


def overdue(conn: Connection, now: datetime) -> tuple[Saving, ...]:
    """The savings that still stand although their box would have stopped by now."""
    query = select(table).where(table.c.ended_by.is_(None), table.c.until <= now).order_by(table.c.action_id)
    return tuple(_ROWS.load(row) for row in conn.execute(query))


def get(conn: Connection, action_id: str) -> Saving | None:
    """What an action saved."""
    row = conn.execute(select(table).where(table.c.action_id == action_id)).first()
    return None if row is None else _ROWS.load(row)


def savings(conn: Connection, start: datetime, end: datetime) -> tuple[Saving, ...]:
    """The savings that overlap [start, end), by time; :meth:`Saving.amount` says what each was worth in it."""
    overlaps = (table.c.since < end, or_(table.c.until.is_(None), table.c.until > start))
    query = select(table).where(*overlaps).order_by(table.c.since, table.c.action_id)
    return tuple(_ROWS.load(row) for row in conn.execute(query))
