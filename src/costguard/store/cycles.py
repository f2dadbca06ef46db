"""Cycles: what each one found and decided, as the public document that it printed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select

from costguard.store.rows import Rows
from costguard.store.sql import upsert
from costguard.store.tables import cycle as table


@dataclass(frozen=True, slots=True)
class CycleRecord:
    """One cycle: ``document`` is plain JSON data (schema ``costguard.cycle/1``)."""

    id: str
    started_at: datetime
    finished_at: datetime
    document: Mapping[str, Any]


_ROWS = Rows(CycleRecord)


def record(conn: Connection, cycle: CycleRecord) -> None:
    """Keeps a finished cycle; the same id again replaces it."""
    upsert(conn, table, [_ROWS.row(cycle)], ["id"])


def latest(conn: Connection) -> CycleRecord | None:
    """The cycle that finished last."""
    row = conn.execute(select(table).order_by(table.c.finished_at.desc(), table.c.id.desc()).limit(1)).first()
    return None if row is None else _ROWS.load(row)


def last_run(conn: Connection) -> datetime | None:
    """When the last cycle started: the edge from which schedules catch up."""
    return conn.execute(select(func.max(table.c.started_at))).scalar_one_or_none()


def prune(conn: Connection, before: datetime) -> int:
    """Deletes cycles that finished before ``before``, never the last one."""
    newest = select(func.max(table.c.finished_at)).scalar_subquery()
    return conn.execute(delete(table).where(table.c.finished_at < before, table.c.finished_at < newest)).rowcount
