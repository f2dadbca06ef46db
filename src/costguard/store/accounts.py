"""Accounts: who the credentials were at the last look. A configured account arms only if this is as configured."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from costguard.store.rows import Rows
from costguard.store.sql import upsert
from costguard.store.tables import account as table


@dataclass(frozen=True, slots=True)
class AccountRecord:
    """The identity behind an account's credentials; ``verified``: it is the configured ``account_id``.

    ``error`` is a redacted sentence where the look failed; then the identity is the one known before.
    """

    name: str
    provider: str
    account_id: str | None
    principal: str | None
    verified: bool
    checked_at: datetime
    error: str | None = None


_ROWS = Rows(AccountRecord)


def record(conn: Connection, account: AccountRecord) -> None:
    """Keeps what the last look at an account's identity said."""
    upsert(conn, table, [_ROWS.row(account)], ["name"])


def accounts(conn: Connection) -> Mapping[str, AccountRecord]:
    """Every account that was looked at, by name."""
    return {row.name: _ROWS.load(row) for row in conn.execute(select(table).order_by(table.c.name))}
