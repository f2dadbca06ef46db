"""The ledger: rows are added and read, never changed."""

from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import Connection, insert, select

from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.resource import ResourceRef
from costguard.store.rows import Rows
from costguard.store.tables import ledger as table

_ROWS = Rows(LedgerEntry)
_ADD = insert(table).returning(table.c.id)


def append(conn: Connection, entries: Iterable[LedgerEntry]) -> tuple[int, ...]:
    """Adds entries in their order and returns their ids, which rise."""
    ids = []
    for entry in entries:
        row = _ROWS.row(entry)
        del row["id"]
        ids.append(conn.execute(_ADD, row).scalar_one())
    return tuple(ids)


def list_entries(
    conn: Connection,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    kinds: Collection[LedgerKind] = (),
    ref: ResourceRef | None = None,
    account: str | None = None,
    policy: str | None = None,
    action_id: str | None = None,
    limit: int | None = None,
) -> tuple[LedgerEntry, ...]:
    """Entries, newest first. ``since`` ≤ at < ``until``; an empty filter is no filter."""
    query = select(table).order_by(table.c.at.desc(), table.c.id.desc())
    if since is not None:
        query = query.where(table.c.at >= since)
    if until is not None:
        query = query.where(table.c.at < until)
    if kinds:
        query = query.where(table.c.kind.in_(list(kinds)))
    if ref is not None:
        query = query.where(table.c.subject_key == str(ref))
    if account is not None:
        query = query.where(table.c.subject_account == account)
    if policy is not None:
        query = query.where(table.c.policy == policy)
    if action_id is not None:
        query = query.where(table.c.action_id == action_id)
    return tuple(_ROWS.load(row) for row in conn.execute(query.limit(limit)))
