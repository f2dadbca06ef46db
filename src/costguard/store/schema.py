"""The schema's version: what the database has, what this version needs, and the way between them (Alembic)."""

import threading
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from costguard import assets

# Alembic hands its context to env.py through a global of the process.
_ONE_AT_A_TIME = threading.Lock()


def current(conn: Connection) -> str | None:
    """The revision that the database is at; None for an empty one."""
    return MigrationContext.configure(conn).get_current_revision()


def head() -> str:
    """The revision that this version needs."""
    return _revisions(assets.migrations())[0]


def is_known(revision: str) -> bool:
    """Whether this version knows the way from ``revision`` to its own."""
    return revision in _revisions(assets.migrations())


def newer(revision: str) -> str:
    """The sentence for a database that a later version has migrated."""
    return f"the database's schema {revision} is unknown here: a newer costguard has used it; install that version"


def migrate(conn: Connection, verb: str, revision: str) -> None:
    """Runs the migrations to ``revision`` inside the transaction of ``conn``."""
    config = _config(assets.migrations())
    config.attributes["connection"] = conn
    with _ONE_AT_A_TIME:
        if verb == "upgrade":
            command.upgrade(config, revision)
        else:
            command.downgrade(config, revision)


def _config(folder: Path) -> Config:
    config = Config()
    # A percent sign in a path is not an interpolation.
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    return config


@cache
def _revisions(folder: Path) -> tuple[str, ...]:
    """Newest first."""
    return tuple(script.revision for script in ScriptDirectory.from_config(_config(folder)).walk_revisions())
