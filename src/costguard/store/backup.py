"""Copies of a SQLite database, and what must happen before a copy may run again.

A restored database remembers ladders and messages of another time: nobody may be stopped on an old warning, and no
old message may go out. So everything open ends, costguard starts paused, and a person resumes it.
"""

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from itertools import chain, count
from pathlib import Path

from sqlalchemy import Connection

from costguard.domain.action import ActionState
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.errors import StoreError
from costguard.store import actions, lease, ledger, levers, outbox

KEPT = 3


def copy(source: Path, target: Path) -> None:
    """A consistent copy through SQLite's backup API; ``target`` appears whole or not at all. Raises StoreError."""
    partial = target.with_name(target.name + ".partial")
    try:
        partial.unlink(missing_ok=True)
        # Made by us, for us: the copy holds what people wrote and what they spend.
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        copy_into(source, partial)
        with closing(sqlite3.connect(partial)) as copied:
            # One file: the copy of a WAL database would otherwise ask for its side files.
            copied.execute("PRAGMA journal_mode=DELETE")
        os.replace(partial, target)
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def copy_into(source: Path, target: Path) -> None:
    """Makes the content of ``target`` that of ``source``, as one transaction of ``target``."""
    try:
        with (
            closing(sqlite3.connect(f"file:{_quoted(source)}?mode=ro", uri=True)) as origin,
            closing(sqlite3.connect(target, timeout=30)) as copied,
        ):
            origin.backup(copied)
    except sqlite3.Error as error:
        raise StoreError(f"cannot copy {source} to {target}: {error}") from error


def before_migration(path: Path, revision: str) -> None:
    """Copies the database beside itself as ``….from-REVISION`` and keeps the three newest such copies."""
    folder, prefix = path.absolute().parent, f"{path.name}.from-"
    copy(path, folder / f"{prefix}{revision}")
    copies = sorted(
        (item for item in folder.iterdir() if item.name.startswith(prefix)), key=lambda item: item.stat().st_mtime_ns
    )
    for old in copies[:-KEPT]:
        old.unlink()


def beside(path: Path, what: str) -> Path:
    """A name beside the database that is free: the file that is restored may be what an earlier restore kept."""
    first = path.with_name(f"{path.name}.{what}")
    more = (first.with_name(f"{first.name}-{number}") for number in count(2))
    return next(name for name in chain([first], more) if not name.exists())


def refuse_unsound(path: Path) -> None:
    """Raises StoreError unless ``path`` is an undamaged costguard database."""
    if not path.is_file():
        raise StoreError(f"{path} is not a file")
    try:
        with closing(sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True)) as found:
            if found.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                raise StoreError(f"{path} is damaged")
            found.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        raise StoreError(f"{path} is not a costguard database: {error}") from error


def token_unless_led(conn: Connection, now: datetime) -> int:
    """The highest fencing token so far. Raises StoreError while a daemon holds the lease."""
    leases = lease.all_leases(conn)
    for held in leases:
        if held.expires_at > now:
            raise StoreError(f"{held.holder} is running (lease {held.name}): stop it first")
    return max((held.token for held in leases), default=0)


def settle(conn: Connection, *, now: datetime, by: str, token: int) -> None:
    """Ends everything that a restored database has open, and pauses. ``token``: fencing tokens stay above it."""
    cancelled = actions.open_actions(conn)
    for action in cancelled:
        ended = replace(
            action, state=ActionState.CANCELLED, reason="the database was restored", ended_at=now, updated_at=now
        )
        actions.save(conn, ended)
        entry = LedgerEntry(
            now, LedgerKind.CANCELLED, action.subject, "Cancelled: the database was restored from a backup.",
            actor=by, action_id=action.id, policy=action.policy,
        )  # fmt: skip
        ledger.append(conn, [entry])
    outbox.expire_all(conn)
    lease.lift(conn, token, now)
    levers.pause(conn, by=by, reason="the database was restored from a backup", at=now)
    text = f"Restored from a backup: {len(cancelled)} open actions cancelled, paused until someone resumes."
    ledger.append(conn, [LedgerEntry(now, LedgerKind.SYSTEM, None, text, actor=by)])


def _quoted(path: Path) -> str:
    """A path inside a SQLite URI."""
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
