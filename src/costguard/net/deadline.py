"""One deadline over a whole HTTP call: name look-up, connecting, TLS, writing, reading.

httpx has a time limit per phase, and its read limit starts anew with every byte: a server that drips
one byte a second never runs into it. The network backend here gives each socket operation only what
is left of the call's own deadline.
"""

import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpcore


@dataclass(slots=True)
class Call:
    """One call in progress: when it must be over (monotonic seconds), and whether a byte went out."""

    ends: float
    monotonic: Callable[[], float]
    written: bool = False

    def left(self, limit: float | None, error: type[httpcore.TimeoutException]) -> float:
        """Seconds that one operation may still take. Raises ``error`` when none are left."""
        left = self.ends - self.monotonic()
        if left <= 0:
            raise error("the deadline of the call has passed")
        return left if limit is None else min(limit, left)


_current: ContextVar[Call] = ContextVar("costguard_http_call")


@contextmanager
def bound(call: Call) -> Iterator[Call]:
    """Makes ``call`` the one whose deadline binds the network operations of this thread."""
    token = _current.set(call)
    try:
        yield call
    finally:
        _current.reset(token)


class DeadlineStream(httpcore.NetworkStream):
    """A stream whose every operation ends by the deadline of the call that uses it."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _current.get().left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        call = _current.get()
        left = call.left(timeout, httpcore.WriteTimeout)
        call.written = True
        self._inner.write(buffer, left)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _current.get().left(timeout, httpcore.ConnectTimeout)
        return DeadlineStream(self._inner.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class DeadlineBackend(httpcore.NetworkBackend):
    """Connects within the deadline, the look-up of the name and all addresses together."""

    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        call = _current.get()
        failure: Exception = httpcore.ConnectError(f"no address for {host}")
        for address in addresses(host, port, call.left(timeout, httpcore.ConnectTimeout)):
            left = call.left(timeout, httpcore.ConnectTimeout)
            try:
                stream = self._inner.connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return DeadlineStream(stream)
        raise failure


def addresses(host: str, port: int, timeout: float) -> list[str]:
    """Resolves in a thread: the system's resolver takes its own time limit and no other."""
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        pass
    found: list[str] = []
    failure: list[Exception] = []

    def resolve() -> None:
        try:
            for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                address = str(info[4][0])
                if address not in found:
                    found.append(address)
        except (OSError, UnicodeError) as error:  # a name that no resolver can be asked for
            failure.append(error)

    thread = threading.Thread(target=resolve, name="resolve", daemon=True)
    thread.start()
    thread.join(timeout)
    if thread.is_alive():
        raise httpcore.ConnectTimeout(f"looking up {host} took too long")
    if failure:
        raise httpcore.ConnectError(f"{host} cannot be looked up")
    return list(found)
