"""Savings: booked when the provider confirms that billing ended, ended when the box runs again."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, or_, select, update

from costguard.domain.resource import ResourceRef
from costguard.domain.saving import Saving
from costguard.store.rows import Rows
from costguard.store.sql import upsert
from costguard.store.tables import saving as table

_ROWS = Rows(Saving)


def book(conn: Connection, saving: Saving) -> None:
    """Books what an action saves; booking the same action again replaces it (a corrected price or time)."""
    upsert(conn, table, [_ROWS.row(saving)], ["action_id"])


def end(conn: Connection, refs: Collection[ResourceRef], at: datetime, reason: str) -> tuple[Saving, ...]:
    """Ends the savings that still stand for resources that run again or are gone; returns them as they ended.

    A saving that began after ``at`` is not touched.
    """
    statement = (
        update(table)
        .where(table.c.ref.in_(list(refs)), table.c.until.is_(None), table.c.since <= at)
        .values(until=at, ended_by=reason)
        .returning(table)
    )
    return tuple(_ROWS.load(row) for row in conn.execute(statement))


def void(conn: Connection, action_id: str, reason: str) -> Saving | None:
    """Makes a saving worth nothing (a disputed action): it ends where it began."""
    statement = (
        update(table)
        .where(table.c.action_id == action_id)
        .values(until=table.c.since, ended_by=reason)
        .returning(table)
    )
    row = conn.execute(statement).first()
    return None if row is None else _ROWS.load(row)


def savings(conn: Connection, start: datetime, end: datetime) -> tuple[Saving, ...]:
    """The savings that overlap [start, end), by time; :meth:`Saving.amount` says what each was worth in it."""
    overlaps = (table.c.since < end, or_(table.c.until.is_(None), table.c.until > start))
    query = select(table).where(*overlaps).order_by(table.c.since, table.c.action_id)
    return tuple(_ROWS.load(row) for row in conn.execute(query))
