"""The guards that tests run under do guard."""

import os
import socket

import pytest

import tests.conftest as guards


def test_connections_beyond_loopback_are_refused() -> None:
    with socket.socket() as plug, pytest.raises(BaseException, match="tried to reach 192\\.0\\.2\\.1") as caught:
        plug.connect(("192.0.2.1", 80))
    assert type(caught.value).__name__ == guards.NetworkUsed.__name__
    assert not isinstance(caught.value, Exception), "a retry could swallow it"


def test_lookups_beyond_loopback_are_refused() -> None:
    with pytest.raises(BaseException, match="tried to reach cloud\\.corp"):
        socket.getaddrinfo("cloud.corp", 443)


def test_reserved_names_fail_as_names_that_do_not_exist() -> None:
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("nothing.invalid", 443)


def test_loopback_works() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


def test_the_machines_cloud_credentials_are_out_of_sight() -> None:
    left = [
        name for name in os.environ if name.startswith(("AWS_ACCESS", "AWS_SECRET", "ALIBABA_CLOUD_", "TENCENTCLOUD_"))
    ]
    assert left == []
    assert os.environ["AWS_EC2_METADATA_DISABLED"] == "true"
