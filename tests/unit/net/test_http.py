"""The HTTP client against real sockets: one deadline over everything, no secret in any error."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from costguard.net.http import HttpClient, HttpError

SECRET = "T0/B0/supersecretpath"


@contextmanager
def raw_server(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A TCP server that answers one connection at a time with whatever ``talk`` does."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def serve() -> None:
        while not done.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    talk(connection)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/{SECRET}"
    finally:
        done.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def test_an_answer_is_read_whole(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/x", method="POST", data=b"{}").respond_with_data("ok", 200, {"X-Seen": "1"})
    answer = HttpClient().request("POST", httpserver.url_for("/x"), content=b"{}")
    assert (answer.status, answer.text, answer.headers["x-seen"]) == (200, "ok", "1")


def test_params_are_merged_into_the_query_that_is_there(httpserver: HTTPServer) -> None:
    seen: list[str] = []

    def handler(request: Request) -> Response:
        seen.append(request.query_string.decode())
        return Response("ok")

    httpserver.expect_request("/robot").respond_with_handler(handler)
    HttpClient().request("POST", httpserver.url_for("/robot?access_token=abc"), params={"sign": "a+b/c="})
    assert seen == ["access_token=abc&sign=a%2Bb%2Fc%3D"]


def test_redirects_are_not_followed(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/a").respond_with_data("", 302, {"Location": "/b"})
    assert HttpClient().request("GET", httpserver.url_for("/a")).status == 302


def test_a_dripping_server_runs_into_the_total_deadline() -> None:
    def drip(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            connection.sendall(b"x")
            time.sleep(0.05)

    with raw_server(drip) as url:
        before = time.monotonic()
        with pytest.raises(HttpError, match=r"no answer within 0\.4 s") as caught:
            HttpClient(deadline=timedelta(seconds=0.4)).request("GET", url)
        assert time.monotonic() - before < 2
    assert caught.value.timed_out
    assert caught.value.written


def test_dripping_headers_run_into_the_total_deadline() -> None:
    def drip(connection: socket.socket) -> None:
        connection.recv(65536)
        for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"y" * 1000:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)

    with raw_server(drip) as url, pytest.raises(HttpError) as caught:
        HttpClient(deadline=timedelta(seconds=0.4)).request("GET", url)
    assert caught.value.timed_out


def test_a_slow_look_up_runs_into_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: released.wait(10) and [])
    before = time.monotonic()
    with pytest.raises(HttpError) as caught:
        HttpClient(deadline=timedelta(seconds=0.3)).request("GET", f"https://slow.example/{SECRET}")
    released.set()
    assert time.monotonic() - before < 2
    assert caught.value.timed_out
    assert not caught.value.written


def test_a_reset_after_the_request_counts_as_written() -> None:
    def hang_up(connection: socket.socket) -> None:
        connection.recv(65536)

    with raw_server(hang_up) as url, pytest.raises(HttpError) as caught:
        HttpClient().request("POST", url, content=b"{}")
    assert caught.value.written
    assert not caught.value.timed_out


def test_a_refused_connection_wrote_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(HttpError, match="cannot connect") as caught:
        HttpClient().request("POST", f"http://127.0.0.1:{port}/{SECRET}")
    assert not caught.value.written


def test_an_answer_that_is_too_large_is_refused(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/big").respond_with_data("x" * 5000)
    with pytest.raises(HttpError, match="too large"):
        HttpClient(max_body=1000).request("GET", httpserver.url_for("/big"))


@pytest.mark.parametrize("url", [f"ftp://host/{SECRET}", f"http://h:port/{SECRET}", f"http://nowhere.invalid/{SECRET}"])
def test_no_url_in_any_error_or_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = HttpClient()
    with pytest.raises(HttpError) as caught:
        client.request("POST", url)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in f"{error!s}{error!r}"
        error = None if error.__suppress_context__ else error.__cause__ or error.__context__
    assert SECRET not in caplog.text


def test_a_good_call_logs_no_url_at_debug(httpserver: HTTPServer, caplog: pytest.LogCaptureFixture) -> None:
    client = HttpClient()
    with caplog.at_level(logging.DEBUG):
        httpserver.expect_request(f"/{SECRET}").respond_with_data("ok")
        client.request("POST", httpserver.url_for(f"/{SECRET}"))
    assert not [r for r in caplog.records if r.name.startswith(("httpx", "httpcore")) and SECRET in r.getMessage()]


def test_the_channels_proxy_is_used_and_no_proxy_wins(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []

    def proxy(connection: socket.socket) -> None:
        seen.append(connection.recv(65536).split(b"\r\n")[0])
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nby proxy")

    httpserver.expect_request("/x").respond_with_data("direct")
    with raw_server(proxy) as address:
        client = HttpClient(proxy=address.removesuffix("/" + SECRET))
        assert client.request("GET", "http://hooks.example/x").text == "by proxy"
        assert seen == [b"GET http://hooks.example/x HTTP/1.1"]
        monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
        assert client.request("GET", httpserver.url_for("/x")).text == "direct"


def test_the_environments_proxy_is_used_but_never_for_loopback(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def proxy(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nby proxy")

    httpserver.expect_request("/x").respond_with_data("direct")
    with raw_server(proxy) as address:
        monkeypatch.setenv("http_proxy", address.removesuffix("/" + SECRET))
        assert HttpClient().request("GET", "http://hooks.example/x").text == "by proxy"
        assert HttpClient().request("GET", httpserver.url_for("/x")).text == "direct"


def test_a_proxy_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="http"):
        HttpClient(proxy="socks5://127.0.0.1:1080")


def test_the_guard_runs_before_the_call(httpserver: HTTPServer) -> None:
    """F03: no network call inside a write transaction."""

    def in_a_transaction() -> None:
        raise AssertionError("a write transaction is open")

    with pytest.raises(AssertionError):
        HttpClient(before_call=in_a_transaction).request("GET", httpserver.url_for("/"))
    assert not httpserver.log
