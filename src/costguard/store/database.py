"""The door to the database: one engine, short transactions, and the promises that differ between engines.

``write`` is immediate on SQLite (a deferred writer fails with "database is locked" as soon as two of them upgrade),
serialised inside the process, and survives a power cut unless it says ``durable=False``. ``read`` is one consistent
snapshot that cannot write. No call to the outside may happen inside ``write``; ``in_write`` lets the network layer
assert that.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from costguard.errors import SchemaBehind, StoreError, UsageError
from costguard.store import backup, schema
from costguard.store.files import refuse_network_file

WAIT_SECONDS = 30
_MODE = "costguard_mode"
# KiB of pages. SQLite's own are too few for a big table and its indexes: pages are written and read back many times.
_CACHE, _BIG_CACHE = 2_000, 8_192


class Database:
    """One database by its SQLAlchemy URL: ``sqlite:///file`` or ``postgresql+psycopg://…``.

    Raises StoreError for a URL that it cannot serve and for a SQLite file on a network file system. Thread-safe.
    """

    def __init__(self, url: str) -> None:
        try:
            self.url = make_url(url)
        except ArgumentError:
            raise StoreError("the database is not a URL like sqlite:///costguard.db") from None
        self.dialect = self.url.get_backend_name()
        if self.dialect not in ("sqlite", "postgresql"):
            raise StoreError(f"unknown database {self.dialect!r}: sqlite:/// or postgresql+psycopg://")
        self.path = self._sqlite_path() if self.dialect == "sqlite" else None
        self._engine = create_engine(self.url, **self._options())
        self._local = threading.local()
        self._writer = threading.Lock()
        event.listen(self._engine, "connect", self._connected)
        if self.dialect == "sqlite":
            event.listen(self._engine, "begin", _begin)

    def __repr__(self) -> str:
        return f"Database({self.address!r})"

    @property
    def address(self) -> str:
        """The URL without its secrets, for logs and messages."""
        secret = [key for key in self.url.query if "password" in key.lower()]
        return self.url.difference_update_query(secret).render_as_string(hide_password=True)

    @property
    def in_write(self) -> bool:
        """Whether this thread is inside a write transaction."""
        return getattr(self._local, "writing", False)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read-only transaction: everything inside sees the same moment."""
        with self._errors(), self._engine.connect() as raw:
            if self.dialect == "sqlite":
                conn = raw.execution_options(**{_MODE: "read"})
            else:
                conn = raw.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with conn.begin():
                yield conn

    @contextmanager
    def write(self, *, durable: bool = True, beside: Path | None = None) -> Iterator[Connection]:
        """A write transaction, committed at the end and rolled back by an exception.

        ``durable=False`` (batches that can be fetched again, like usage) may lose the last seconds in a power cut,
        never consistency. ``beside`` is a SQLite file whose tables SQLite reaches as ``beside.NAME``. Raises StoreError
        when called inside another write of the same thread, or when others held the database for 30 s.
        """
        if self.in_write:
            raise StoreError("a write transaction inside a write transaction")
        with self._errors(), self._only_writer():
            self._local.writing = True
            try:
                with self._engine.connect() as raw, self._attached(raw, beside):
                    conn = raw.execution_options(**{_MODE: "durable" if durable else "batch"})
                    with conn.begin():
                        if self.dialect == "postgresql":
                            commit = "on" if durable else "off"
                            conn.exec_driver_sql(
                                f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'; SET LOCAL synchronous_commit = {commit}"
                            )
                        yield conn
            finally:
                self._local.writing = False

    def upgrade(self) -> None:
        """Brings the schema to this version. A SQLite file that has one is copied first; three copies are kept.

        Raises SchemaBehind when the database is newer than this version.
        """
        with self.read() as conn:
            found = schema.current(conn)
        if found == schema.head():
            return
        if found is not None and not schema.is_known(found):
            raise SchemaBehind(schema.newer(found))
        if found is not None and self.path is not None:
            backup.before_migration(self.path, found)
        self._migrate("upgrade", "head")

    def downgrade(self, revision: str = "-1") -> None:
        """Takes the schema back to a revision (``-1``: one step), for a release that is rolled back."""
        self._migrate("downgrade", revision)

    def check(self) -> None:
        """Raises SchemaBehind unless the schema is this version's."""
        with self.read() as conn:
            found = schema.current(conn)
        if found is not None and not schema.is_known(found):
            raise SchemaBehind(schema.newer(found))
        if found != schema.head():
            raise SchemaBehind(
                f"the database's schema is {found or 'empty'}, this version needs {schema.head()}: "
                "run `costguard db upgrade`"
            )

    def backup(self, path: Path) -> None:
        """A consistent copy of a SQLite database while it is in use. Raises UsageError for Postgres."""
        backup.copy(self._sqlite_file("backup"), path)

    def restore(self, path: Path, *, now: datetime, by: str) -> Path | None:
        """Puts a backup in the place of a SQLite database; open actions are cancelled, and it starts paused.

        What was there is kept beside it as ``….before-restore``, where that is taken as ``….before-restore-2`` and so
        on; returns that file, None where there was no database. Raises StoreError for a file that is no sound
        costguard database and while a daemon holds the lease, UsageError for Postgres, SchemaBehind for a newer one.
        """
        live = self._sqlite_file("restore")
        backup.refuse_unsound(path)
        token, kept = 0, None
        if live.exists():
            with self.read() as conn:
                token = backup.token_unless_led(conn, now) if schema.current(conn) else 0
            kept = backup.beside(live, "before-restore")
            backup.copy(live, kept)
        self._engine.dispose()
        backup.copy_into(path, live)
        self.upgrade()
        with self.write() as conn:
            backup.settle(conn, now=now, by=by, token=token)
        return kept

    def close(self) -> None:
        """Closes every connection; the object can be used again."""
        self._engine.dispose()

    def _sqlite_path(self) -> Path:
        name = self.url.database
        if not name or name == ":memory:" or "mode=memory" in name:
            raise StoreError("a database in memory is empty in every thread: name a file, like sqlite:///costguard.db")
        path = Path(name)
        if not path.absolute().parent.is_dir():
            raise StoreError(f"{path.absolute().parent} is not a folder: the database cannot be made there")
        refuse_network_file(path.absolute())
        return path

    def _sqlite_file(self, verb: str) -> Path:
        if self.path is None:
            raise UsageError(f"{verb} is for SQLite; for Postgres use pg_dump and pg_restore")
        return self.path

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"hide_parameters": True, "pool_timeout": WAIT_SECONDS}
        if self.dialect == "sqlite":
            return options | {"connect_args": {"timeout": WAIT_SECONDS}, "pool_size": 4, "max_overflow": 60}
        arguments = {"connect_timeout": 10, "application_name": "costguard"}
        return options | {"connect_args": arguments, "pool_size": 5, "max_overflow": 15, "pool_pre_ping": True}

    def _connected(self, dbapi: Any, _record: object) -> None:
        if self.dialect != "sqlite":
            return
        # The driver's own transactions are off: _begin says which kind it is.
        dbapi.isolation_level = None
        mode = dbapi.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        if mode != "wal":
            raise StoreError(f"{self.path}: write-ahead logging cannot be switched on here (journal mode {mode})")
        dbapi.execute("PRAGMA foreign_keys=ON")

    @contextmanager
    def _attached(self, raw: Connection, beside: Path | None) -> Iterator[None]:
        """Straight to the driver: neither is possible inside a transaction, and SQLAlchemy would begin one."""
        if beside is None or self.dialect != "sqlite":
            yield
            return
        driver: Any = raw.connection.dbapi_connection
        driver.execute("PRAGMA query_only=OFF")
        driver.execute("ATTACH ? AS beside", (str(beside),))
        driver.execute(f"PRAGMA main.cache_size=-{_BIG_CACHE}")
        try:
            yield
        finally:
            driver.execute(f"PRAGMA main.cache_size=-{_CACHE}")
            driver.execute("DETACH beside")

    @contextmanager
    def _only_writer(self) -> Iterator[None]:
        """SQLite has one writer; waiting for a lock of our own is fair and costs no polling."""
        if self.dialect != "sqlite":
            yield
            return
        if not self._writer.acquire(timeout=WAIT_SECONDS):
            raise StoreError(f"another thread held the database for {WAIT_SECONDS} s")
        try:
            yield
        finally:
            self._writer.release()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise StoreError(f"{self.address}: {_sentence(error)}") from error
        except PoolTimeout as error:
            raise StoreError(f"{self.address}: no connection within {WAIT_SECONDS} s") from error

    def _migrate(self, verb: str, revision: str) -> None:
        with self._errors(), self._only_writer(), self._engine.connect() as raw:
            conn = raw.execution_options(**{_MODE: "migrate"})
            try:
                with conn.begin():
                    schema.migrate(conn, verb, revision)
                    if self.dialect == "sqlite" and conn.exec_driver_sql("PRAGMA foreign_key_check").first():
                        raise StoreError("the migration would leave rows that refer to nothing; nothing was changed")
            finally:
                # foreign_keys is off on this connection.
                conn.invalidate()


def _begin(conn: Connection) -> None:
    """Starts the transaction that the execution option asks for. PRAGMAs of safety work only outside of one."""
    mode = conn.get_execution_options().get(_MODE, "read")
    # Straight to the driver: none of these waits for a lock or can be refused, and every transaction pays for them.
    driver: Any = conn.connection.dbapi_connection
    if mode == "read":
        driver.execute("PRAGMA query_only=ON")
        driver.execute("BEGIN")
        return
    driver.execute("PRAGMA query_only=OFF")
    driver.execute(f"PRAGMA synchronous={'NORMAL' if mode == 'batch' else 'FULL'}")
    if mode == "migrate":
        # A table that is rebuilt is dropped on the way; with foreign keys on that would delete what refers to it.
        driver.execute("PRAGMA foreign_keys=OFF")
    conn.exec_driver_sql("BEGIN IMMEDIATE")


def _sentence(error: DBAPIError) -> str:
    """The driver's class, code and first line; Postgres puts the values of a row only into later lines."""
    original = error.orig
    if isinstance(original, sqlite3.Error):
        code = getattr(original, "sqlite_errorname", "")
    else:
        code = getattr(original, "sqlstate", None) or ""
    first = str(original).strip().splitlines()[:1]
    return " ".join(part for part in (type(original).__name__, code, *first) if part)
