"""Sources: how each poll of each account and region is doing. Unknown is a state, never an empty answer."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, select

from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.store.rows import Rows
from costguard.store.sql import upsert
from costguard.store.tables import source_status as table

_ROWS = Rows(SourceStatus)
_KEYS = ["account", "region", "source"]


def record_success(
    conn: Connection,
    account: str,
    region: str,
    source: str,
    *,
    count: int,
    interval: timedelta,
    now: datetime,
    note: str | None = None,
) -> SourceStatus | None:
    """Records an answer with ``count`` items; ``note`` says what part of it is missing, if any.

    Returns the status before it, so that a recovery can be told once.
    """
    before = get(conn, account, region, source)
    answered_before = before is not None and before.fetched_at is not None
    status = SourceStatus(
        account, region, source, SourceState.OK, now, interval, count,
        before.count if before is not None and answered_before else None, note,
    )  # fmt: skip
    _put(conn, status, before, now)
    return before


def record_failure(
    conn: Connection,
    account: str,
    region: str,
    source: str,
    *,
    state: SourceState,
    error: str | None,
    interval: timedelta,
    now: datetime,
) -> SourceStatus | None:
    """Records no answer (denied, failed, skipped) with a redacted sentence; the last success stays known.

    Returns the status before it, so that a failure can be told once.
    """
    before = get(conn, account, region, source)
    status = SourceStatus(
        account, region, source, state, before.fetched_at if before else None, interval,
        before.count if before else 0, before.previous_count if before else None, error,
    )  # fmt: skip
    _put(conn, status, before, now)
    return before


def get(conn: Connection, account: str, region: str, source: str) -> SourceStatus | None:
    """One source's status."""
    query = select(table).where(table.c.account == account, table.c.region == region, table.c.source == source)
    row = conn.execute(query).first()
    return None if row is None else _ROWS.load(row)


def sources(conn: Connection) -> tuple[SourceStatus, ...]:
    """Every source's status, by account, region and source."""
    query = select(table).order_by(table.c.account, table.c.region, table.c.source)
    return tuple(_ROWS.load(row) for row in conn.execute(query))


def changed_at(conn: Connection, account: str, region: str, source: str) -> datetime | None:
    """Since when a source is in its state."""
    query = select(table.c.changed_at).where(
        table.c.account == account, table.c.region == region, table.c.source == source
    )
    return conn.execute(query).scalar_one_or_none()


def forget(conn: Connection, account: str, region: str, source: str) -> None:
    """Removes a source that is no longer polled (a region or account that left the configuration)."""
    here = (table.c.account == account, table.c.region == region, table.c.source == source)
    conn.execute(delete(table).where(*here))


def _put(conn: Connection, status: SourceStatus, before: SourceStatus | None, now: datetime) -> None:
    row = _ROWS.row(status)
    if before is None or before.state is not status.state:
        row["changed_at"] = now
    else:
        row["changed_at"] = changed_at(conn, status.account, status.region, status.source)
    upsert(conn, table, [row], _KEYS)
