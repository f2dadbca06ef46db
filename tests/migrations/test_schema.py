"""The migrations build exactly the tables that the code declares, on both engines, forth and back."""

import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from costguard.errors import SchemaBehind, StoreError
from costguard.store import kv, schema
from costguard.store.database import Database
from costguard.store.tables import metadata
from tests.store.things import NOW


def test_the_migrated_schema_is_the_declared_one(database: Database) -> None:
    with database.read() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_the_partial_unique_indexes_are_there(database: Database) -> None:
    """What alembic's comparison does not look at: the conditions on which one ladder and one call per box rest."""
    if database.dialect == "sqlite":
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql LIKE '%WHERE%'"
    else:
        query = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND indexdef LIKE '%WHERE%'"
    with database.read() as conn:
        found = {row[0]: str(row[1]) for row in conn.execute(text(query))}
    assert set(found) == {"uq_action_open_ladder", "uq_action_in_flight", "uq_finding_open", "uq_resource_state_open"}
    assert all("UNIQUE" in sql for sql in found.values())
    for state in ("validating", "preparing", "revalidating", "executing", "in_doubt", "verifying"):
        assert state in found["uq_action_in_flight"]


def test_forth_and_back(empty_database: Database) -> None:
    """Upgrade from nothing, downgrade the last step, upgrade again."""
    empty_database.upgrade()
    empty_database.check()
    empty_database.downgrade("-1")
    with pytest.raises(SchemaBehind):
        empty_database.check()
    with empty_database.read() as conn:
        assert "heard" not in {column["name"] for column in inspect(conn).get_columns("action")}
    empty_database.downgrade("-1")
    with empty_database.read() as conn:
        assert "import_id" not in {column["name"] for column in inspect(conn).get_columns("charge")}
    empty_database.downgrade("-1")
    with empty_database.read() as conn:
        assert "hastened_at" not in {column["name"] for column in inspect(conn).get_columns("action")}
    empty_database.downgrade("base")
    with empty_database.read() as conn:
        assert set(inspect(conn).get_table_names()) <= {"alembic_version"}
    empty_database.upgrade()
    empty_database.check()


def test_upgrading_twice_changes_nothing(database: Database) -> None:
    with database.write() as conn:
        kv.put(conn, "a", {"n": 1}, NOW)
    database.upgrade()
    with database.read() as conn:
        assert kv.get(conn, "a") == {"n": 1}


def test_two_replicas_that_start_at_once_migrate_once(empty_database: Database) -> None:
    url = empty_database.url.render_as_string(hide_password=False)
    script = "import sys; from costguard.store.database import Database; Database(sys.argv[1]).upgrade()"
    replicas = [subprocess.Popen([sys.executable, "-c", script, url]) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: empty_database.upgrade(), range(3)))
    assert [replica.wait(60) for replica in replicas] == [0, 0, 0]
    empty_database.check()


def test_a_newer_database_is_left_alone(database: Database) -> None:
    with database.write() as conn:
        conn.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for refuse in (database.check, database.upgrade):
        with pytest.raises(SchemaBehind, match="newer costguard"):
            refuse()


def test_sqlite_is_copied_before_each_migration_and_three_copies_are_kept(
    sqlite_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "is_known", lambda _revision: True)
    migrated: list[str] = []
    monkeypatch.setattr(schema, "migrate", lambda _conn, verb, revision: migrated.append(f"{verb} {revision}"))
    for number in range(5):
        with sqlite_database.write() as conn:
            conn.execute(text("UPDATE alembic_version SET version_num = :old"), {"old": f"000{number}-old"})
        sqlite_database.upgrade()
    assert migrated == ["upgrade head"] * 5
    copies = sorted(one.name for one in tmp_path.iterdir() if ".from-" in one.name)
    assert copies == [f"costguard.db.from-000{number}-old" for number in (2, 3, 4)]
    with closing(sqlite3.connect(tmp_path / copies[-1])) as conn:
        assert conn.execute("SELECT version_num FROM alembic_version").fetchone() == ("0004-old",)


def test_a_migration_that_fails_changes_nothing(
    empty_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both engines change their schema inside the transaction: half a migration is none."""
    scripts = tmp_path / "scripts"
    shutil.copytree(schema.assets.migrations(), scripts, ignore=shutil.ignore_patterns("__pycache__"))
    newest = max(path.name for path in (scripts / "versions").glob("*.py")).partition("_")[0]
    (scripts / "versions" / "9999_broken.py").write_text(
        f'from alembic import op\nrevision = "9999"\ndown_revision = "{newest}"\n\n'
        'def upgrade() -> None:\n    op.execute("CREATE TABLE half (x INTEGER)")\n    op.execute("NONSENSE")\n'
    )
    monkeypatch.setattr(schema.assets, "migrations", lambda: scripts)
    with pytest.raises(StoreError, match=r"(?i)nonsense"):
        empty_database.upgrade()
    with empty_database.read() as conn:
        assert inspect(conn).get_table_names() == []
