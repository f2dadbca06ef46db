"""Sources: how each poll of each account and region is doing. Unknown is a state, never an empty answer."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, select

from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.store.rows import Rows
from costguard.store.sql import upsert
from costguard.store.tables import source_status as table

_ROWS = Rows(SourceStatus)
_KEYS = ["account", "region", "source"]
_EVERY = select(table).order_by(table.c.account, table.c.region, table.c.source)
_ONE = select(table).where(*(table.c[name] == bindparam(name) for name in _KEYS))


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
    known = _row(conn, account, region, source)
    before = None if known is None else _ROWS.load(known)
    answered_before = before is not None and before.fetched_at is not None
    status = SourceStatus(
        account, region, source, SourceState.OK, now, interval, count,
        before.count if before is not None and answered_before else None, note,
    )  # fmt: skip
    _put(conn, status, known, now)
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
    known = _row(conn, account, region, source)
    before = None if known is None else _ROWS.load(known)
    status = SourceStatus(
        account, region, source, state, before.fetched_at if before else None, interval,
        before.count if before else 0, before.previous_count if before else None, error,
    )  # fmt: skip
    _put(conn, status, known, now)
    return before


def get(conn: Connection, account: str, region: str, source: str) -> SourceStatus | None:
    """One source's status."""
    row = _row(conn, account, region, source)
    return None if row is None else _ROWS.load(row)


def sources(conn: Connection, account: str | None = None, region: str | None = None) -> tuple[SourceStatus, ...]:
    """Every source's status, by account, region and source; of one account or region, where these are given."""
    query = _EVERY
    if account is not None:
        query = query.where(table.c.account == account)
    if region is not None:
        query = query.where(table.c.region == region)
    return tuple(_ROWS.load(row) for row in conn.execute(query))


def changed_at(conn: Connection, account: str, region: str, source: str) -> datetime | None:
    """Since when a source is in its state."""
    row = _row(conn, account, region, source)
    return None if row is None else row.changed_at


def forget(conn: Connection, account: str, region: str, source: str) -> None:
    """Removes a source that is no longer polled (a region or account that left the configuration)."""
    here = (table.c.account == account, table.c.region == region, table.c.source == source)
    conn.execute(delete(table).where(*here))


def _row(conn: Connection, account: str, region: str, source: str) -> Row[*tuple[Any, ...]] | None:
    return conn.execute(_ONE, {"account": account, "region": region, "source": source}).first()


def _put(conn: Connection, status: SourceStatus, known: Row[*tuple[Any, ...]] | None, now: datetime) -> None:
    same = known is not None and known.state is status.state
    upsert(conn, table, [_ROWS.row(status) | {"changed_at": known.changed_at if known and same else now}], _KEYS)
