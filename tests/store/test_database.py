"""The door: transactions, durability, parallel writers, secrets, places that are refused."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from costguard.errors import SchemaBehind, StoreError
from costguard.store import files, kv
from costguard.store.database import Database
from tests.store.things import NOW


def test_a_read_sees_one_moment(database: Database) -> None:
    """Reads are consistent snapshots: what commits meanwhile is not seen."""
    with database.write() as conn:
        kv.put(conn, "a", {"n": 1}, NOW)
    with database.read() as reader:
        assert kv.get(reader, "a") == {"n": 1}
        with database.write() as writer:
            kv.put(writer, "a", {"n": 2}, NOW)
        assert kv.get(reader, "a") == {"n": 1}
    with database.read() as reader:
        assert kv.get(reader, "a") == {"n": 2}


def test_a_read_cannot_write(database: Database) -> None:
    with pytest.raises(StoreError), database.read() as conn:
        kv.put(conn, "a", {"n": 1}, NOW)
    with database.write() as conn:
        kv.put(conn, "b", {"n": 1}, NOW)
    with database.read() as conn:
        assert kv.get(conn, "a") is None
        assert kv.get(conn, "b") == {"n": 1}


def test_an_exception_rolls_back(database: Database) -> None:
    def fails() -> None:
        with database.write() as conn:
            kv.put(conn, "a", {"n": 1}, NOW)
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        fails()
    with database.read() as conn:
        assert kv.get(conn, "a") is None


def test_sixteen_writers_lose_nothing(database: Database) -> None:
    """F01, F04: 16 threads read, change and write one counter 1,000 times; every step counts, nobody is refused."""
    with database.write() as conn:
        kv.put(conn, "counter", {"n": 0}, NOW)

    def step(_: int) -> None:
        with database.write(durable=False) as conn:
            if conn.dialect.name == "postgresql":
                conn.execute(text("SELECT 1 FROM kv WHERE key = 'counter' FOR UPDATE"))
            value = kv.get(conn, "counter")
            assert value is not None
            kv.put(conn, "counter", {"n": value["n"] + 1}, NOW)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(step, range(1000)))
    with database.read() as conn:
        assert kv.get(conn, "counter") == {"n": 1000}


def test_two_processes_write_the_same_file(sqlite_database: Database) -> None:
    """F01: another process that writes makes ours wait, not fail."""
    script = textwrap.dedent("""
        import sys
        from datetime import UTC, datetime
        from costguard.store import kv
        from costguard.store.database import Database
        database = Database(sys.argv[1])
        for number in range(200):
            with database.write(durable=False) as conn:
                value = kv.get(conn, "counter") or {"n": 0}
                kv.put(conn, "counter", {"n": value["n"] + 1}, datetime(2026, 1, 1, tzinfo=UTC))
    """)
    url = f"sqlite:///{sqlite_database.path}"
    others = [subprocess.Popen([sys.executable, "-c", script, url]) for _ in range(3)]
    assert [other.wait(60) for other in others] == [0, 0, 0]
    with sqlite_database.read() as conn:
        assert kv.get(conn, "counter") == {"n": 600}


def test_in_write_is_known_to_the_thread_that_writes(database: Database) -> None:
    """F03: the network layer can refuse to call out inside a write transaction; other threads are free."""
    assert not database.in_write
    seen: list[bool] = []
    with database.write() as conn:
        assert database.in_write
        kv.put(conn, "a", {}, NOW)
        other = threading.Thread(target=lambda: seen.append(database.in_write))
        other.start()
        other.join()
    assert seen == [False]
    assert not database.in_write
    with database.read():
        assert not database.in_write
    with pytest.raises(ValueError), database.write():
        raise ValueError
    assert not database.in_write


def test_a_write_inside_a_write_is_refused(database: Database) -> None:
    with pytest.raises(StoreError, match="inside a write"), database.write(), database.write():
        pass
    with database.write() as conn:
        kv.put(conn, "still", {"works": True}, NOW)


def test_what_was_committed_survives_kill_nine(sqlite_database: Database) -> None:
    """The process is killed right after a commit and in the middle of the next transaction: the first is there."""
    script = textwrap.dedent("""
        import os, signal, sys
        from datetime import UTC, datetime
        from costguard.store import kv
        from costguard.store.database import Database
        database = Database(sys.argv[1])
        now = datetime(2026, 1, 1, tzinfo=UTC)
        with database.write() as conn:
            kv.put(conn, "committed", {"yes": True}, now)
        with database.write() as conn:
            kv.put(conn, "half", {"yes": True}, now)
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    url = f"sqlite:///{sqlite_database.path}"
    assert subprocess.run([sys.executable, "-c", script, url], check=False).returncode == -signal.SIGKILL
    reopened = Database(url)
    with reopened.read() as conn:
        assert kv.get(conn, "committed") == {"yes": True}
        assert kv.get(conn, "half") is None
        assert conn.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    reopened.close()


def test_sqlite_is_as_safe_as_it_says(sqlite_database: Database) -> None:
    """WAL, foreign keys, 30 s of patience; FULL for what must survive and NORMAL for batches."""

    def pragma(name: str, **how: bool) -> object:
        with sqlite_database.write(**how) as conn:
            return conn.exec_driver_sql(f"PRAGMA {name}").scalar()

    assert pragma("journal_mode") == "wal"
    assert pragma("foreign_keys") == 1
    assert pragma("busy_timeout") == 30_000
    assert pragma("synchronous") == 2
    assert pragma("synchronous", durable=False) == 1
    assert pragma("synchronous") == 2


def test_postgres_commits_batches_without_waiting(database: Database) -> None:
    if database.dialect == "sqlite":
        return
    with database.write() as conn:
        assert conn.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    with database.write(durable=False) as conn:
        assert conn.exec_driver_sql("SHOW synchronous_commit").scalar() == "off"
        assert conn.exec_driver_sql("SHOW lock_timeout").scalar() == "30s"


def test_a_server_that_restarts_is_found_again(database: Database) -> None:
    """E05: connections that died in the pool are replaced, not handed out."""
    if database.dialect == "sqlite":
        return
    with database.write() as conn:
        kv.put(conn, "a", {"n": 1}, NOW)
        mine = conn.exec_driver_sql("SELECT pg_backend_pid()").scalar()
    other = Database(database.url.render_as_string(hide_password=False))
    with other.write() as conn:
        conn.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": mine})
    other.close()
    with database.write() as conn:
        assert kv.get(conn, "a") == {"n": 1}
        assert conn.exec_driver_sql("SELECT pg_backend_pid()").scalar() != mine


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://costguard:s3cr3t-pw@127.0.0.1:1/db",
        "postgresql+psycopg://costguard@127.0.0.1:1/db?password=s3cr3t-pw",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    """Neither the repr nor the error of a failing connection, with its whole traceback, holds the password."""
    database = Database(url)
    assert "s3cr3t" not in repr(database)
    assert "costguard" in repr(database)
    with pytest.raises(StoreError) as caught, database.read():
        pass
    shown = "".join(traceback.format_exception(caught.value))
    assert "s3cr3t" not in shown
    assert "127.0.0.1" in str(caught.value)


def test_values_of_rows_are_not_in_errors(database: Database) -> None:
    with database.write() as conn:
        conn.execute(text("INSERT INTO kv VALUES ('private-key-name', '{}', '2026-01-01 00:00:00.000000')"))
    with pytest.raises(StoreError) as caught, database.write() as conn:
        conn.execute(
            text("INSERT INTO kv VALUES (:key, '{}', '2026-01-01 00:00:00.000000')"), {"key": "private-key-name"}
        )
    assert "private-key-name" not in str(caught.value)
    assert "kv" in str(caught.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("not a url", "not a URL"),
        ("mysql://root@localhost/x", "unknown database 'mysql'"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite:////nowhere/at/all/x.db", "is not a folder"),
    ],
)
def test_a_url_that_cannot_be_served(url: str, words: str) -> None:
    with pytest.raises(StoreError, match=words):
        Database(url)


MOUNTS = """\
24 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw
30 24 0:26 / /mnt/team\\040share rw,relatime shared:5 - nfs4 nas:/export rw,vers=4.2
31 24 0:27 / /mnt rw,relatime - ext4 /dev/sdb rw
32 30 0:28 / /mnt/team\\040share/local rw,relatime - xfs /dev/sdc rw
33 24 0:29 / /data rw,relatime - ext4 /dev/sdd rw
34 24 0:30 / /data rw,relatime - cifs //nas/data rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/costguard.db", "ext4"),
        ("/mnt/team share/costguard.db", "nfs4"),
        ("/mnt/team share2/costguard.db", "ext4"),
        ("/mnt/team share/local/costguard.db", "xfs"),
        ("/data/costguard.db", "cifs"),
    ],
)
def test_the_file_system_of_a_path(path: str, kind: str) -> None:
    assert files.filesystem_of(Path(path), MOUNTS) == kind


def test_a_file_on_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F09: SQLite over NFS is refused before a byte is written, and the sentence says what to do."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"30 24 0:26 / {tmp_path.resolve()} rw - nfs4 nas:/export rw\n")
    monkeypatch.setattr(files, "_MOUNTS", mounts)
    with pytest.raises(StoreError, match=r"nfs4.*local disk, or Postgres"):
        Database(f"sqlite:///{tmp_path / 'costguard.db'}")
    assert not (tmp_path / "costguard.db").exists()


def test_foreign_keys_hold(database: Database) -> None:
    with pytest.raises(StoreError, match=r"(?i)foreign key"), database.write() as conn:
        conn.execute(text("INSERT INTO usage (series_id, at, value, period) VALUES (99, 1, 1.0, 60)"))


def test_check_names_the_command(empty_database: Database) -> None:
    with pytest.raises(SchemaBehind, match="costguard db upgrade"):
        empty_database.check()
    empty_database.upgrade()
    empty_database.check()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "costguard.db"
    path.write_bytes(b"this is a text file, quite long enough to be taken for a page\n" * 100)
    with pytest.raises(StoreError, match="NOTADB"), Database(f"sqlite:///{path}").read():
        pass


def test_a_reader_does_not_wait_for_a_writer(sqlite_database: Database) -> None:
    """F01: pages can be read while another process holds the write lock."""
    other = sqlite3.connect(os.fspath(sqlite_database.path or ""), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with sqlite_database.read() as conn:
        assert kv.get(conn, "a") is None
    other.execute("ROLLBACK")
    other.close()
