"""Small facts by key, for what has no table of its own."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select

from costguard.store.sql import upsert
from costguard.store.tables import kv as table

_VALUE = select(table.c.value).where(table.c.key == bindparam("key"))


def get(conn: Connection, key: str) -> Mapping[str, Any] | None:
    """The JSON object of a key."""
    return conn.execute(_VALUE, {"key": key}).scalar_one_or_none()


def put(conn: Connection, key: str, value: Mapping[str, Any], now: datetime) -> None:
    """Sets the JSON object of a key."""
    upsert(conn, table, [{"key": key, "value": value, "updated_at": now}], ["key"])


def remove(conn: Connection, key: str) -> None:
    """Forgets a key."""
    conn.execute(delete(table).where(table.c.key == key))


def by_prefix(conn: Connection, prefix: str) -> Mapping[str, Mapping[str, Any]]:
    """Every key that starts with ``prefix``, with its object."""
    query = select(table.c.key, table.c.value).where(table.c.key.startswith(prefix, autoescape=True))
    return {row.key: row.value for row in conn.execute(query.order_by(table.c.key))}
