"""A WebSocket server on loopback: addresses that work once, frames of JSON, and the ways a connection dies.

Platforms' fakes inherit it and say in :meth:`FrameServer.greet` and :meth:`FrameServer.take` what they speak. Frames
that break the platform's rules are ``refusals``; leaving the server raises AssertionError while any is left.
Waiting is in real seconds: a client's heartbeat and a handler's delay are.
"""

import contextlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.http11 import Request as Handshake
from websockets.http11 import Response
from websockets.sync.server import Server, ServerConnection, serve

PATIENCE_S = 5.0


class Line(ServerConnection):
    """One connection, opened with its ``ticket``.

    ``silent``: still open for TCP, but nothing is heard and nothing is said, pongs included.
    """

    silent = False
    ticket = ""

    def send_data(self) -> None:
        if self.silent:
            self.protocol.data_to_send()  # written nowhere
        else:
            super().send_data()

    def process_event(self, event: Any) -> None:
        if not self.silent:
            super().process_event(event)

    def say(self, frame: dict[str, Any]) -> None:
        self.send(json.dumps(frame, ensure_ascii=False))


class FrameServer:
    """Use it as a context manager. ``lines`` are the open connections, oldest first; ``opened`` counts them all."""

    path = "/"

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.lines: list[Line] = []
        self.opened = 0
        self.refusals: list[str] = []
        self.crashes: list[BaseException] = []
        self._tickets: set[str] = set()
        self._turn = 0

    # What a platform's fake fills in.

    def greet(self, line: Line) -> None:
        """The connection stands."""

    def take(self, line: Line, frame: dict[str, Any]) -> None:
        """A frame has come. Called under the lock."""
        raise NotImplementedError

    # What tests use.

    @property
    def endpoint(self) -> str:
        host, port = self._server.socket.getsockname()[:2]
        return f"ws://{host}:{port}{self.path}"

    def ticket(self) -> str:
        """Opens one connection, once."""
        ticket = secrets.token_hex(16)
        with self.lock:
            self._tickets.add(ticket)
        return ticket

    def wait_until(self, what: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
        """Raises AssertionError when it does not come true in time."""
        deadline = time.monotonic() + seconds
        while not what():
            if time.monotonic() > deadline:
                raise AssertionError(f"nothing for {seconds} s; refusals: {self.refusals}")
            threading.Event().wait(0.005)

    def wait_connected(self, count: int = 1, seconds: float = PATIENCE_S) -> None:
        """Until ``count`` connections have been opened in all and one of them stands."""
        self.wait_until(lambda: self.opened >= count and bool(self.lines), seconds)

    def ping(self, seconds: float = 2.0) -> bool:
        """A WebSocket ping on the newest connection: whether the pong comes in time."""
        return self.newest.ping().wait(seconds)

    def go_silent(self) -> None:
        """The open connections stay open and go deaf and dumb, as behind a NAT that forgot them."""
        with self.lock:
            for line in self.lines:
                line.silent = True

    def drop(self) -> None:
        """Every TCP connection ends in the middle, without a close frame. Returns when they are gone."""
        lines = list(self.lines)
        for line in lines:
            with contextlib.suppress(OSError):  # the client was quicker
                line.socket.shutdown(socket.SHUT_RDWR)
        self.wait_gone(lines)

    def wait_gone(self, lines: Sequence[Line]) -> None:
        self.wait_until(lambda: not any(line in self.lines for line in lines))

    @property
    def newest(self) -> Line:
        self.wait_until(lambda: bool(self.lines))
        return self.lines[-1]

    def next_line(self) -> Line:
        """Each payload goes to one of the connections, in turn."""
        self.wait_until(lambda: bool(self.lines))
        with self.lock:
            self._turn += 1
            return self.lines[self._turn % len(self.lines)]

    def __enter__(self) -> Self:
        self._server: Server = serve(
            self._talk, "127.0.0.1", 0, create_connection=Line, process_request=self._admit, ping_interval=None,
            close_timeout=0.5,
        )  # fmt: skip
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.drop()
        self._server.shutdown()
        self._thread.join(timeout=10)
        if error is None:
            self.judge()

    def judge(self) -> None:
        """Raises AssertionError when the server crashed or was spoken to wrongly."""
        if self.crashes:
            raise AssertionError(f"{type(self).__name__} crashed") from self.crashes[0]
        if self.refusals:
            raise AssertionError(f"{type(self).__name__} was spoken to wrongly: {self.refusals}")

    # The wire.

    def _admit(self, line: ServerConnection, handshake: Handshake) -> Response | None:
        address = urlsplit(handshake.path)
        given = parse_qs(address.query).get("ticket", [""])[0]
        with self.lock:
            if address.path != self.path or given not in self._tickets:
                return line.respond(403, "the ticket is unknown or used\n")
            self._tickets.remove(given)
        assert isinstance(line, Line)
        line.ticket = given
        return None

    def _talk(self, line: ServerConnection) -> None:
        assert isinstance(line, Line)
        try:
            with self.lock:
                self.lines.append(line)
                self.opened += 1
            self.greet(line)
            for text in line:
                self._hear(line, text)
        except ConnectionClosed:
            pass  # the loop ends without it; a greeting does not
        except BaseException as crash:  # noqa: BLE001 -- told when the server is left
            self.crashes.append(crash)
        finally:
            with self.lock:
                self.lines.remove(line)

    def _hear(self, line: Line, text: str | bytes) -> None:
        try:
            frame = json.loads(text)
        except ValueError:
            frame = None
        with self.lock:
            if isinstance(frame, dict):
                self.take(line, frame)
            else:
                self.refuse(line, f"not a JSON object: {text[:80]!r}")

    def refuse(self, line: Line, why: str) -> None:
        """The frame breaks the rules: it is noted and the connection closed."""
        self.refusals.append(why)
        line.close(CloseCode.POLICY_VIOLATION, why[:100])
