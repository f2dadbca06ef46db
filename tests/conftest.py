"""What holds for every test: loopback only, no credentials from the machine, no proxy, repeatable hypothesis runs."""

import gc
import os
import shutil
import socket
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

hypothesis.settings.register_profile("costguard", deadline=None, print_blob=True)
# In each further time zone: what is found there is found by what the zone changes, not by more examples.
hypothesis.settings.register_profile("zones", hypothesis.settings.get_profile("costguard"), max_examples=20)
hypothesis.settings.load_profile("costguard")

_LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0", "::ffff:127.")
_RESERVED = (".invalid", ".test", ".example", "example.com", "example.org")
_FOREIGN = ("AWS_", "ALIBABA_CLOUD_", "ALIBABACLOUD_", "ALICLOUD_", "TENCENTCLOUD_", "SLACK_", "DINGTALK_")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")

# Databases of tests wait for no disk, where the system has a memory file system of some size. pytest reads this.
_MEMORY = "/dev/shm"
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)


class NetworkUsed(BaseException):
    """A test tried to leave the machine. Not an Exception, so that no retry and no handler can swallow it."""


@pytest.fixture(scope="session", autouse=True)
def _clean_environment() -> Iterator[None]:
    """Tests see neither the developer's cloud credentials nor a proxy, and SDKs do not ask a metadata service."""
    kept = dict(os.environ)
    for name in list(os.environ):
        upper = name.upper()
        if upper.startswith(_FOREIGN) or upper in _PROXIES or upper in {"COSTGUARD_SERVER", "COSTGUARD_TOKEN"}:
            del os.environ[name]
    os.environ.update(AWS_EC2_METADATA_DISABLED="true", AWS_CONFIG_FILE=os.devnull, NO_COLOR="1", COLUMNS="160")
    os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    yield
    os.environ.clear()
    os.environ.update(kept)


@pytest.fixture(scope="session", autouse=True)
def _loopback_only() -> Iterator[None]:
    """Refuses connections and lookups that leave the machine. Reserved names fail like names that do not exist."""
    connect, connect_ex, lookup = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else None
        if isinstance(host, bytes):
            host = host.decode()
        if host and not host.startswith(_LOOPBACK):
            raise NetworkUsed(f"a test tried to reach {host}")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.type & socket.SOCK_STREAM:
            check(address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        if self.type & socket.SOCK_STREAM:
            check(address)
        return connect_ex(self, address)

    def guarded_lookup(host: Any, *rest: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name and name.rstrip(".").endswith(_RESERVED):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if name and name != socket.gethostname():
            check((name,))
        return lookup(host, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_lookup)
        yield


class _Statements(dict[Any, Any]):
    """Compiled statements by what they say and for which kind of database, not by which engine asked first."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), compiled)


@pytest.fixture(scope="session", autouse=True)
def _statements_compiled_once() -> Iterator[None]:
    """A test's database is new, what is asked of it is not: compiling that again took a tenth of the suite."""
    from costguard.store import database, sql

    create_engine, known = database.create_engine, _Statements()
    compile_upsert, upserts = sql._compiled.__wrapped__, {}

    def sharing(*words: Any, **options: Any) -> Any:
        return create_engine(*words, **options, execution_options={"compiled_cache": known})

    def compiled(dialect: Any, *what: Any) -> Any:
        if (dialect.name, *what) not in upserts:
            upserts[dialect.name, *what] = compile_upsert(dialect, *what)
        return upserts[dialect.name, *what]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "create_engine", sharing)
        patch.setattr(sql, "_compiled", compiled)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first: the worker that got one of them last would keep everybody waiting."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end. Looking through all of it again and again for garbage took
    a tenth of the suite."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
