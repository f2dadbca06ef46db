"""A small threaded HTTP server on loopback that records every request and breaks on demand.

The platforms' fakes inherit it: they answer :meth:`StrictServer.respond` and say in
:meth:`StrictServer.refuse` what their own refusals look like.
"""

import contextlib
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from costguard.testing.channel_contract import PlatformAnswer
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault

SILENCE_S = 60.0
PORTAL_PAGE = b"<!DOCTYPE html><html><body><h1>Welcome to the airport network</h1></body></html>"


@dataclass(frozen=True)
class Request:
    """One request as it came. ``at`` is the server's clock; header names are lower-case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    at: datetime

    @cached_property
    def path(self) -> str:
        return urlsplit(self.target).path

    @cached_property
    def raw_query(self) -> str:
        return urlsplit(self.target).query

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.raw_query, keep_blank_values=True))

    @cached_property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


@dataclass
class _Plan:
    fault: Fault
    on: Callable[[Request], bool]
    times: int | None


class StrictServer:
    """Use it as a context manager: ``with SlackServer(clock) as slack: … slack.url``."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.lock = threading.RLock()
        self.requests: list[Request] = []
        self.crashes: list[BaseException] = []
        self._plans: list[_Plan] = []
        self._scripted: list[Answer] = []
        self._closing = threading.Event()

    # What a platform's fake fills in.

    def respond(self, request: Request) -> Answer:
        """The platform's answer. Called under the lock."""
        raise NotImplementedError

    def refuse(self, fault: Fault, request: Request) -> Answer:
        """How the platform itself says ``fault``. Called under the lock."""
        raise NotImplementedError(f"{type(self).__name__} cannot {fault}")

    # What tests use.

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def fail(
        self, fault: Fault, *, on: Callable[[Request], bool] = lambda _request: True, times: int | None = None
    ) -> None:
        """The next ``times`` requests for which ``on`` holds go wrong (None: all until :meth:`heal`)."""
        with self.lock:
            self._plans.append(_Plan(fault, on, times))

    def heal(self) -> None:
        with self.lock:
            self._plans.clear()
            self._scripted.clear()

    def answer_next(self, answer: Answer) -> None:
        """The next request gets this answer and does nothing."""
        with self.lock:
            self._scripted.append(answer)

    def answer(self, answer: PlatformAnswer) -> None:
        """As :meth:`answer_next`, for the channel contract."""
        self.answer_next(Answer(answer.status, answer.body.encode(), answer.headers))

    def request_count(self) -> int:
        with self.lock:
            return len(self.requests)

    def __enter__(self) -> Self:
        self._server = _Listener(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join(timeout=10)
        if self.crashes and error is None:
            raise AssertionError(f"{type(self).__name__} crashed") from self.crashes[0]

    # The wire.

    def handle(self, request: Request) -> Answer | None:
        """The answer, or None when the connection is to be reset."""
        with self.lock:
            self.requests.append(request)
            if self._scripted:
                return self._scripted.pop(0)
            fault = self._next_fault(request)
            if fault is None:
                return self.respond(request)
            if fault is Fault.HTML:
                return Answer(200, PORTAL_PAGE, {"Content-Type": "text/html"})
            if fault is Fault.TRUNCATED:
                whole = self.respond(request)
                return Answer(whole.status, whole.body[: len(whole.body) // 2], whole.headers)
            if fault is Fault.LOST_ANSWER:
                self.respond(request)
            if fault not in (Fault.RESET, Fault.LOST_ANSWER, Fault.SILENT):
                return self.refuse(fault, request)
        if fault is Fault.SILENT:
            self._closing.wait(SILENCE_S)
        return None

    def _next_fault(self, request: Request) -> Fault | None:
        for plan in self._plans:
            if plan.on(request):
                if plan.times is not None:
                    plan.times -= 1
                    if plan.times <= 0:
                        self._plans.remove(plan)
                return plan.fault
        return None


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, fake: StrictServer) -> None:
        self.fake = fake
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.fake.lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self.fake.lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Ends the kept-alive connections, so that their threads do."""
        with self.fake.lock:
            connections = list(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):  # the client was quicker
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, ConnectionError | TimeoutError):
            self.fake.crashes.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two writes: without this, each answer waits 40 ms for the client's delayed acknowledgement.
    disable_nagle_algorithm = True
    server: _Listener

    def _serve(self) -> None:
        fake = self.server.fake
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body, fake.clock.now())
        answer = fake.handle(request)
        if answer is None:
            self.close_connection = True
            # SO_LINGER 0: the close sends RST instead of FIN.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve

    def log_message(self, format: str, *args: Any) -> None:
        """Tests read ``requests`` instead."""
