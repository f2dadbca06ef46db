"""Small facts by key, for what has no table of its own."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, select

from costguard.store.sql import insert_new, upsert
from costguard.store.tables import kv as table

_VALUE = select(table.c.value).where(table.c.key == bindparam("key"))


def get(conn: Connection, key: str) -> Mapping[str, Any] | None:
    """The JSON object of a key."""
    return conn.execute(_VALUE, {"key": key}).scalar_one_or_none()


def put(conn: Connection, key: str, value: Mapping[str, Any], now: datetime) -> None:
    """Sets the JSON object of a key."""
    upsert(conn, table, [{"key": key, "value": value, "updated_at": now}], ["key"])


def add(conn: Connection, key: str, value: Mapping[str, Any], now: datetime) -> bool:
    """Sets the JSON object of a key that has none yet; False when it has one. Of two at once, one waits and is told."""
    return insert_new(conn, table, {"key": key, "value": value, "updated_at": now}, ("key",))


def prune(conn: Connection, prefix: str, before: datetime) -> int:
    """Forgets the keys that start with ``prefix`` and were last set before then; returns how many."""
    old = delete(table).where(table.c.key.startswith(prefix, autoescape=True), table.c.updated_at < before)
    return conn.execute(old).rowcount


def remove(conn: Connection, key: str) -> None:
    """Forgets a key."""
    conn.execute(delete(table).where(table.c.key == key))


def by_prefix(conn: Connection, prefix: str) -> Mapping[str, Mapping[str, Any]]:
    """Every key that starts with ``prefix``, with its object."""
    return {row.key: row.value for row in conn.execute(_starting_with(prefix))}


@lru_cache(maxsize=64)
def _starting_with(prefix: str) -> Select[str, Any]:
    """Kept, because building it costs more than running it; prefixes are few."""
    query = select(table.c.key, table.c.value).where(table.c.key.startswith(prefix, autoescape=True))
    return query.order_by(table.c.key)
