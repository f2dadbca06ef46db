"""The WebSocket client against real sockets: deadlines, half-open connections, no ticket in any error or log."""

import base64
import hashlib
import logging
import re
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from websockets.sync.server import ServerConnection, serve

from costguard.net.websocket import WebSocketError, open_websocket

TICKET = "one-time-ticket-7f3c"


@contextmanager
def server(talk: Callable[[ServerConnection], None]) -> Iterator[str]:
    with serve(talk, "127.0.0.1", 0) as listener:
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        yield f"ws://127.0.0.1:{listener.socket.getsockname()[1]}/connect?ticket={TICKET}"
        listener.shutdown()
        thread.join(5)


@contextmanager
def silent() -> Iterator[str]:
    """Accepts TCP and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}/connect?ticket={TICKET}"


def echo(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message)


def test_text_goes_both_ways_and_nothing_is_nothing() -> None:
    with server(echo) as url:
        opened = open_websocket(url, seconds=3)
        opened.send("你好")
        assert opened.receive(2) == "你好"
        assert opened.receive(0.05) is None
        opened.close()
        opened.close()


def test_a_goodbye_is_told_from_a_break() -> None:
    def leave(connection: ServerConnection) -> None:
        connection.close()

    def drop(connection: ServerConnection) -> None:
        connection.socket.shutdown(socket.SHUT_RDWR)

    for talk, closed in ((leave, True), (drop, False)):
        with server(talk) as url:
            opened = open_websocket(url, seconds=3)
            with pytest.raises(WebSocketError) as caught:
                opened.receive(2)
            assert caught.value.closed is closed
            with pytest.raises(WebSocketError):
                opened.send("x")
            opened.close()


def test_opening_has_one_deadline() -> None:
    with silent() as url:
        begun = time.monotonic()
        with pytest.raises(WebSocketError, match="no connection within"):
            open_websocket(url, seconds=0.4)
        assert time.monotonic() - begun < 3


def test_a_connection_that_answers_no_ping_is_broken() -> None:
    """A half-open TCP connection looks alive for ever otherwise."""
    frozen = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_handshake, args=(listener, frozen), daemon=True)
        thread.start()
        opened = open_websocket(
            f"ws://127.0.0.1:{listener.getsockname()[1]}/connect?ticket={TICKET}", seconds=3, alive=0.2
        )
        with pytest.raises(WebSocketError, match="broke"):
            opened.receive(5)
        opened.close()
        frozen.set()
        thread.join(5)


def _handshake(listener: socket.socket, until: threading.Event) -> None:
    """A WebSocket handshake by hand, and nothing after it: no pong."""
    connection, _ = listener.accept()
    with connection:
        asked = connection.recv(4096).decode()
        key = re.search(r"Sec-WebSocket-Key: (\S+)", asked)
        assert key is not None
        digest = hashlib.sha1((key[1] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n"
        )
        until.wait(10)


@pytest.mark.parametrize("url", ["http://example.com/x", "ftp://x", "nonsense", "ws://", "ws://localhost..x/"])
def test_only_websocket_addresses(url: str) -> None:
    with pytest.raises(WebSocketError):
        open_websocket(url, seconds=1)


def test_no_ticket_in_errors_or_logs(caplog: pytest.LogCaptureFixture) -> None:
    """K04: the ticket is in the URL, which libraries like to print."""
    caplog.set_level(logging.DEBUG)
    told = []
    with server(echo) as url:
        opened = open_websocket(url, seconds=3)
        opened.close()
        told.append(_error(url.replace("ws://", "wss://")))
    told.append(_error(url))
    with silent() as url:
        told.append(_error(url))
    everything = "\n".join([*told, *(f"{r.getMessage()} {vars(r)}" for r in caplog.records if "server" not in r.name)])
    assert TICKET not in everything


def _error(url: str) -> str:
    with pytest.raises(WebSocketError) as caught:
        open_websocket(url, seconds=0.5)
    return "".join(traceback.format_exception(caught.value))
