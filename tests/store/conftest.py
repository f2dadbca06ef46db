"""Fixtures of the store's tests; other folders import them from the same place."""

from tests.store.databases import (
    database,
    empty_database,
    migrated_postgres,
    migrated_sqlite,
    postgres_admin,
    postgres_url,
    sqlite_database,
)

__all__ = [
    "database", "empty_database", "migrated_postgres", "migrated_sqlite", "postgres_admin", "postgres_url",
    "sqlite_database",
]  # fmt: skip
