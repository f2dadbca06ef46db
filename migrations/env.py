"""Alembic's way in. The application hands over a connection that is inside its own transaction.

For developers: `.venv/bin/alembic -c migrations/alembic.ini -x database=sqlite:///scratch.db revision --autogenerate
-m "what changes"` compares the tables with a scratch database that is at the newest revision.
"""

from typing import Any

from alembic import context
from sqlalchemy import Connection
from sqlalchemy.types import TypeDecorator

from costguard.store.database import Database
from costguard.store.tables import metadata

# One writer of the schema at a time; on SQLite the transaction itself is that. Any constant number does.
_LOCK = "SELECT pg_advisory_xact_lock(7234516)"


def _plain_type(kind: str, item: Any, _context: Any) -> str | bool:
    """A migration is frozen: it names SQL types, never our column types, which go on changing."""
    if kind == "type" and isinstance(item, TypeDecorator):
        return f"sa.{item.impl_instance!r}"
    return False


def _run(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_LOCK)
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,
        transactional_ddl=True,
        compare_type=True,
        render_item=_plain_type,
    )
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    _run(given)
else:
    database = Database(context.get_x_argument(as_dictionary=True)["database"])
    database.upgrade()
    with database.write() as scratch:
        _run(scratch)
