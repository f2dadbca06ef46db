"""One WebSocket client: opening within a total deadline, a watched connection, errors without the URL.

The URL of a stream carries a one-time ticket, so neither the library's log nor an error may show it. The library
(``websockets``, the extras ``slack`` and ``dingtalk``) is imported by the first connection. It pings every ``ALIVE``
and calls the connection broken when no pong comes, so a half-open TCP connection does not go unnoticed.
"""

import logging
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from costguard.errors import CostguardError
from costguard.net.clock import SystemClock
from costguard.net.deadline import addresses
from costguard.net.http import proxy_for, tls

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

ALIVE = 20.0
_CLOSING = 2.0
_MACHINE = SystemClock()


class WebSocketError(CostguardError):
    """The connection could not be opened, or it ended. ``closed``: the other side said goodbye."""

    def __init__(self, host: str, what: str, *, closed: bool = False) -> None:
        self.host, self.closed = host, closed
        super().__init__(f"{host}: {what}")


class WebSocket:
    """An open connection for text messages. One thread receives; any thread sends or closes."""

    def __init__(self, host: str, connection: "ClientConnection", leave: ExitStack) -> None:
        self._host, self._connection, self._leave = host, connection, leave

    def receive(self, seconds: float) -> str | None:
        """The next message; None when none came within ``seconds``. Raises WebSocketError when it has ended."""
        from websockets.exceptions import ConnectionClosed, ConnectionClosedOK

        try:
            found = self._connection.recv(timeout=seconds)
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            closed = isinstance(error, ConnectionClosedOK)
            what = "the connection was closed" if closed else "the connection broke"
            raise WebSocketError(self._host, what, closed=closed) from None
        return found if isinstance(found, str) else found.decode("utf-8", "replace")

    def send(self, text: str) -> None:
        """Sends one text message. Raises WebSocketError when the connection has ended."""
        from websockets.exceptions import ConnectionClosed

        try:
            self._connection.send(text)
        except ConnectionClosed:
            raise WebSocketError(self._host, "the connection has ended") from None

    def close(self) -> None:
        """Ends it, within seconds whatever the other side does. May be called twice."""
        self._leave.close()


def open_websocket(
    url: str, *, seconds: float, proxy: str | None = None, alive: float = ALIVE, max_size: int = 1024 * 1024
) -> WebSocket:
    """A connection, opened within ``seconds`` as a whole: name, proxy, TCP, TLS, handshake.

    ``url`` begins with ws:// or wss://; a proxy is chosen as for HTTP. Raises WebSocketError.
    """
    from websockets.exceptions import InvalidStatus, WebSocketException
    from websockets.sync.client import connect

    logging.getLogger("websockets").setLevel(logging.WARNING)  # below it prints whole URLs
    target = _url(url)
    ends = _MACHINE.monotonic() + seconds
    through = proxy_for(target.copy_with(scheme="https" if target.scheme == "wss" else "http"), proxy)
    options: dict[str, Any] = {"ssl": tls()} if target.scheme == "wss" else {}
    leave = ExitStack()
    try:
        if through is None:
            options["sock"] = _dial(target, lambda: ends - _MACHINE.monotonic())
        connection = leave.enter_context(
            connect(
                url,
                proxy=through,
                open_timeout=max(0.1, ends - _MACHINE.monotonic()),
                ping_interval=alive,
                ping_timeout=alive,
                close_timeout=_CLOSING,
                max_size=max_size,
                compression=None,
                user_agent_header=None,
                **options,
            )
        )
    except InvalidStatus as error:
        raise WebSocketError(target.host, f"HTTP {error.response.status_code} instead of a WebSocket") from None
    except (TimeoutError, httpcore.TimeoutException):
        raise WebSocketError(target.host, f"no connection within {seconds:g} s") from None
    except (OSError, EOFError, WebSocketException, httpcore.ConnectError, UnicodeError):
        # From None: the chained exceptions may quote the URL.
        raise WebSocketError(target.host, "cannot connect") from None
    return WebSocket(target.host, connection, leave)


def _url(url: str) -> httpx.URL:
    try:
        target = httpx.URL(url)
    except httpx.InvalidURL:
        raise WebSocketError("?", "not a URL") from None
    if target.scheme not in ("ws", "wss") or not target.host:
        raise WebSocketError(target.host or "?", "only ws:// and wss:// URLs")
    return target


def _dial(target: httpx.URL, left: Callable[[], float]) -> socket.socket:
    """A TCP connection. The library's own would look up the name without a time limit."""
    port = target.port or (443 if target.scheme == "wss" else 80)
    failure: OSError = OSError("no address")
    for address in addresses(target.host, port, max(0.1, left())):
        try:
            return socket.create_connection((address, port), timeout=max(0.1, left()))
        except OSError as error:
            failure = error
    raise failure
