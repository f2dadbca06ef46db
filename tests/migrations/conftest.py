"""Fixtures of the migrations' tests: real databases."""

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
