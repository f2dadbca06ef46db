"""The schema's version: what the database has, what this version needs, and the way between them (Alembic)."""

from functools import cache

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from costguard import assets


def current(conn: Connection) -> str | None:
    """The revision that the database is at; None for an empty one."""
    return MigrationContext.configure(conn).get_current_revision()


@cache
def head() -> str:
    """The revision that this version needs."""
    return _revisions()[0]


def is_known(revision: str) -> bool:
    """Whether this version knows the way from ``revision`` to its own."""
    return revision in _revisions()


def newer(revision: str) -> str:
    """The sentence for a database that a later version has migrated."""
    return f"the database's schema {revision} is unknown here: a newer costguard has used it; install that version"


def migrate(conn: Connection, verb: str, revision: str) -> None:
    """Runs the migrations to ``revision`` inside the transaction of ``conn``."""
    config = _config()
    config.attributes["connection"] = conn
    if verb == "upgrade":
        command.upgrade(config, revision)
    else:
        command.downgrade(config, revision)


def _config() -> Config:
    config = Config()
    # A percent sign in a path is not an interpolation.
    config.set_main_option("script_location", str(assets.migrations()).replace("%", "%%"))
    return config


@cache
def _revisions() -> tuple[str, ...]:
    """Newest first."""
    return tuple(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions())
