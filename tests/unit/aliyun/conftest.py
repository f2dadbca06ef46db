"""A fresh account on loopback for each test, and no credentials or proxies of the machine's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from costguard_aliyun.connection import AliyunConnection
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.aliyun.helpers import connect


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIYUN_ACCESS_KEY_ID", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def server() -> Iterator[AliyunServer]:
    with AliyunServer() as server:
        yield server


@pytest.fixture
def aliyun(server: AliyunServer) -> Iterator[AliyunConnection]:
    connection = connect(server)
    yield connection
    connection.close()
