"""A fresh account on loopback for each test, and no credentials or proxies of the machine's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from costguard_tencent.connection import TencentConnection
from tests.fakes.tencent.server import TencentServer
from tests.unit.tencent.helpers import connect


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TENCENTCLOUD_SECRET_ID", "TENCENTCLOUD_SECRET_KEY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def server() -> Iterator[TencentServer]:
    with TencentServer() as server:
        yield server


@pytest.fixture
def tencent(server: TencentServer) -> Iterator[TencentConnection]:
    connection = connect(server)
    yield connection
    connection.close()
