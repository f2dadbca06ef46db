"""Copies of a SQLite database, and a restored one that starts with nothing open and paused."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from costguard.domain.action import ActionState
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import NoticeState
from costguard.errors import StoreError, UsageError
from costguard.store import actions, kv, lease, ledger, levers, outbox
from costguard.store.database import Database
from tests.store.things import NOW, action, notice

TTL = timedelta(seconds=15)


def test_a_copy_is_whole_and_its_own(sqlite_database: Database, tmp_path: Path) -> None:
    """The copy holds what is committed (also what is only in the WAL), is one file, and only its owner reads it."""
    copy = tmp_path / "copy.db"
    with sqlite_database.write() as conn:
        kv.put(conn, "a", {"n": 1}, NOW)
    sqlite_database.backup(copy)
    with sqlite_database.write() as conn:
        kv.put(conn, "a", {"n": 2}, NOW)
    assert copy.stat().st_mode & 0o077 == 0
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("copy")] == ["copy.db"]
    with closing(sqlite3.connect(copy)) as conn:
        assert conn.execute("SELECT value FROM kv WHERE key = 'a'").fetchone() == ('{"n":1}',)


def test_a_copy_that_fails_leaves_what_was_there(sqlite_database: Database, tmp_path: Path) -> None:
    """F10: written beside and renamed; a folder that is not there is a sentence and no half file."""
    with pytest.raises(StoreError, match="cannot write"):
        sqlite_database.backup(tmp_path / "nowhere" / "copy.db")
    folder = tmp_path / "copy.db"
    folder.mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        sqlite_database.backup(folder)
    assert list(folder.iterdir()) == []
    assert not (tmp_path / "copy.db.partial").exists()


def test_restore_ends_what_was_open_and_pauses(sqlite_database: Database, tmp_path: Path) -> None:
    """Nobody is stopped on a warning of another time: open actions are cancelled, unsent notices end, it is paused."""
    copy = tmp_path / "copy.db"
    with sqlite_database.write() as conn:
        actions.insert(conn, action(1, state=ActionState.WARNED, warned_at=NOW))
        actions.insert(conn, action(2, state=ActionState.EXECUTING, token="t"))
        actions.insert(conn, action(3, state=ActionState.RECORDED, dry_run=True))
        actions.insert(conn, action(4, state=ActionState.DONE))
        outbox.enqueue(conn, [notice(1), notice(2), notice(3, state=NoticeState.SENT)])
        outbox.claim(conn, "ops", "w", NOW, TTL, 1)
        assert lease.acquire(conn, "leader", "a", TTL, NOW) == 1
    sqlite_database.backup(copy)
    with sqlite_database.write() as conn:
        kv.put(conn, "later", {}, NOW)
        for number in range(2, 6):
            assert lease.acquire(conn, "leader", f"r{number}", TTL, NOW + number * TTL) == number
        lease.release(conn, "leader", "r5", 5, NOW + 5 * TTL)
    at = NOW + timedelta(hours=1)
    sqlite_database.restore(copy, now=at, by="cli:root")
    sqlite_database.check()
    with sqlite_database.write() as conn:
        assert kv.get(conn, "later") is None
        assert actions.open_actions(conn) == ()
        states = {one.id: one.state for one in actions.list_actions(conn)}
        assert states == {
            "act-1": ActionState.CANCELLED, "act-2": ActionState.CANCELLED, "act-3": ActionState.CANCELLED,
            "act-4": ActionState.DONE,
        }  # fmt: skip
        assert {one.state for one in outbox.list_notices(conn)} == {NoticeState.SUPERSEDED, NoticeState.SENT}
        assert levers.paused_until(conn, at) == levers.FOREVER
        lines = ledger.list_entries(conn)
        assert [one.kind for one in lines] == [LedgerKind.SYSTEM, *[LedgerKind.CANCELLED] * 3]
        assert {one.actor for one in lines} == {"cli:root"}
        # A fencing token is never handed out twice, although the restored row knew only the first.
        assert lease.acquire(conn, "leader", "a", TTL, at) == 7
    assert (tmp_path / "costguard.db.before-restore").is_file()


def test_one_can_go_back_to_what_a_restore_replaced(sqlite_database: Database, tmp_path: Path) -> None:
    """The second restore kept its database in the very file that it was to restore."""
    sqlite_database.backup(tmp_path / "copy.db")
    with sqlite_database.write() as conn:
        kv.put(conn, "later", {"n": 1}, NOW)
    kept = sqlite_database.restore(tmp_path / "copy.db", now=NOW, by="cli:root")
    assert kept == tmp_path / "costguard.db.before-restore"
    again = sqlite_database.restore(kept, now=NOW, by="cli:root")
    assert again == tmp_path / "costguard.db.before-restore-2"
    with sqlite_database.read() as conn:
        assert kv.get(conn, "later") == {"n": 1}


def test_restore_into_an_empty_place(sqlite_database: Database, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with sqlite_database.write() as conn:
        kv.put(conn, "a", {"n": 1}, NOW)
    sqlite_database.backup(copy)
    fresh = Database(f"sqlite:///{tmp_path / 'fresh.db'}")
    assert fresh.restore(copy, now=NOW, by="cli:root") is None
    with fresh.read() as conn:
        assert kv.get(conn, "a") == {"n": 1}
        assert levers.paused_until(conn, NOW) == levers.FOREVER
    fresh.close()


def test_restore_beside_a_living_daemon_is_refused(sqlite_database: Database, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    sqlite_database.backup(copy)
    with sqlite_database.write() as conn:
        lease.acquire(conn, "leader", "host-1", TTL, NOW)
    with pytest.raises(StoreError, match=r"host-1 is running .*stop it first"):
        sqlite_database.restore(copy, now=NOW, by="cli:root")
    sqlite_database.restore(copy, now=NOW + TTL, by="cli:root")


def test_what_is_no_backup_is_refused(sqlite_database: Database, tmp_path: Path) -> None:
    text, other, broken = tmp_path / "text.db", tmp_path / "other.db", tmp_path / "broken.db"
    text.write_text("not a database, but long enough to be read as the header of one " * 20)
    with closing(sqlite3.connect(other)) as conn:
        conn.execute("CREATE TABLE x (y)")
    sqlite_database.backup(broken)
    data = bytearray(broken.read_bytes())
    data[4096 * 3 : 4096 * 20] = b"\xff" * (4096 * 17)
    broken.write_bytes(data)
    for path, words in (
        (tmp_path / "missing.db", "is not a file"),
        (text, "not a costguard database"),
        (other, "not a costguard database"),
        (broken, "damaged|not a costguard database"),
    ):
        with pytest.raises(StoreError, match=words):
            sqlite_database.restore(path, now=NOW, by="cli:root")
    sqlite_database.check()
    with sqlite_database.read() as conn:
        assert levers.paused(conn, NOW) is None


def test_postgres_has_its_own_tools(database: Database, tmp_path: Path) -> None:
    if database.dialect == "sqlite":
        return
    with pytest.raises(UsageError, match="pg_dump"):
        database.backup(tmp_path / "copy.db")
    with pytest.raises(UsageError, match="pg_restore"):
        database.restore(tmp_path / "copy.db", now=NOW, by="cli:root")
