"""One HTTP client for everything that is not a cloud's own SDK: chat, metrics, heartbeats.

One connection per call (a stale kept-alive connection would make doubts about delivery out of
nothing), a total deadline, no redirects, a proxy per client, and errors that name the host and never
the URL: in chat webhooks the URL is the secret.
"""

import json as jsonlib
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from ssl import SSLContext, create_default_context
from urllib.request import getproxies_environment, proxy_bypass

import httpcore
import httpx

from costguard.errors import CostguardError
from costguard.net.clock import SystemClock
from costguard.net.deadline import Call, DeadlineBackend, bound

_MACHINE = SystemClock()
_FAILURES = (
    httpx.HTTPError, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError,
    httpcore.UnsupportedProtocol, UnicodeError,
)  # fmt: skip
_LOOPBACK = ("localhost", "127.", "::1", "[::1]")


class HttpError(CostguardError):
    """No usable answer. ``written``: bytes went out, so the other side may have done the work.

    ``timed_out`` tells the deadline from a refusal or a broken connection; ``too_large``: there was more than is taken.
    """

    def __init__(
        self, method: str, host: str, what: str, *, written: bool, timed_out: bool, too_large: bool = False
    ) -> None:
        self.host, self.written, self.timed_out, self.too_large = host, written, timed_out, too_large
        super().__init__(f"{method} {host}: {what}")


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer, read to its end. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> object:
        """The body as JSON. Raises ValueError when it is something else."""
        return jsonlib.loads(self.body)


class HttpClient:
    """Sends requests; thread-safe.

    ``proxy`` (http:// or https://) is used for every host that NO_PROXY does not cover; without it the
    environment's proxies are, except for loopback. ``deadline`` bounds a call as a whole.
    ``before_call`` runs before each request: the composition root passes the check that no write transaction
    is open. ``ca_file`` (PEM) is trusted instead of the system's authorities. Raises ValueError for a proxy of another
    scheme, or a file that holds no certificate.
    """

    def __init__(
        self,
        *,
        proxy: str | None = None,
        deadline: timedelta = timedelta(seconds=15),
        max_body: int = 8 * 1024 * 1024,
        before_call: Callable[[], None] | None = None,
        ca_file: Path | None = None,
    ) -> None:
        if proxy is not None and httpx.URL(proxy).scheme not in ("http", "https"):
            raise ValueError("a proxy is an http:// or https:// URL")
        self._proxy, self._deadline, self._max_body = proxy, deadline, max_body
        self._before_call = before_call
        self._ca_file = ca_file
        if ca_file is not None:
            tls(ca_file)  # now, so that a bad file is told at the start
        for name in ("httpx", "httpcore"):  # at INFO they print whole URLs
            logging.getLogger(name).setLevel(logging.WARNING)

    def request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        deadline: timedelta | None = None,
    ) -> HttpResponse:
        """Any HTTP answer, also 3xx to 5xx. ``params`` are merged into the query that the URL has.

        Raises HttpError when no whole answer arrived within the deadline or the body is larger than
        allowed.
        """
        if self._before_call:
            self._before_call()
        target = _url(method, url, params)
        seconds = (deadline or self._deadline).total_seconds()
        call = Call(_MACHINE.monotonic() + seconds, _MACHINE.monotonic)
        try:
            with bound(call), httpx.Client(
                transport=_Transport(proxy_for(target, self._proxy), tls(self._ca_file)), trust_env=False,
                timeout=seconds,
            ) as client, client.stream(method, target, headers=headers, content=content) as answer:  # fmt: skip
                body = bytearray()
                for chunk in answer.iter_bytes():
                    body += chunk
                    if len(body) > self._max_body:
                        raise self._error(method, target, "the answer is too large", call, too_large=True)
                return HttpResponse(answer.status_code, dict(answer.headers.items()), bytes(body))
        except httpcore.TimeoutException:
            what = f"no answer within {seconds:g} s"
            raise self._error(method, target, what, call, timed_out=True) from None
        except _FAILURES as error:
            # From None: the chained exceptions hold the request, and with it the URL.
            raise self._error(method, target, _words(error), call) from None

    def _error(
        self, method: str, target: httpx.URL, what: str, call: Call, *, timed_out: bool = False, too_large: bool = False
    ) -> HttpError:
        return HttpError(
            method, target.host, what, written=call.written, timed_out=timed_out, too_large=too_large
        )  # fmt: skip


def proxy_for(target: httpx.URL, proxy: str | None) -> str | None:
    """The proxy for an http or https URL: ``proxy`` when there is one, else the environment's; None for none."""
    if proxy:
        return None if proxy_bypass(target.host) else proxy
    if target.host.startswith(_LOOPBACK) or proxy_bypass(target.host):
        return None
    proxies = getproxies_environment()
    found = proxies.get(target.scheme) or proxies.get("all")
    return found if found and "://" in found else f"http://{found}" if found else None


class _Transport(httpx.BaseTransport):
    """httpx over an httpcore pool with our network backend (httpx's own transport takes none)."""

    def __init__(self, proxy: str | None, trusted: SSLContext) -> None:
        backend = DeadlineBackend()
        if proxy is None:
            self._pool = httpcore.ConnectionPool(
                ssl_context=trusted, max_keepalive_connections=0, network_backend=backend
            )
            return
        url = httpx.URL(proxy)
        self._pool = httpcore.HTTPProxy(
            proxy_url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=b"/"),
            proxy_auth=(url.username.encode(), url.password.encode()) if url.username else None,
            ssl_context=trusted,
            max_keepalive_connections=0,
            network_backend=backend,
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        answer = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=request.read(),
                extensions=request.extensions,
            )
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer.iter_stream())

    def close(self) -> None:
        self._answer.close()


@cache
def tls(ca_file: Path | None = None) -> SSLContext:
    """How every client here checks certificates: by the system's authorities, or by those of a PEM file.

    Raises ValueError for a file that holds no certificate.
    """
    if ca_file is None:
        return httpx.create_ssl_context()
    try:
        return create_default_context(cafile=ca_file)
    except OSError:  # SSLError is one
        raise ValueError(f"{ca_file} holds no certificate that can be read") from None


def _url(method: str, url: str, params: Mapping[str, str] | None) -> httpx.URL:
    try:
        target = httpx.URL(url)
    except httpx.InvalidURL:
        raise HttpError(method, "?", "not a URL", written=False, timed_out=False) from None
    # Not httpx's own ``params=``: that replaces the query which a webhook's URL already has.
    return target.copy_merge_params(params) if params else target


def _words(error: Exception) -> str:
    """What went wrong, without the library's text (it may quote the request)."""
    for kinds, words in _WORDS:
        if isinstance(error, kinds):
            return words
    return "the request failed"


_WORDS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((httpcore.ConnectError,), "cannot connect"),
    ((httpcore.ProxyError,), "the proxy refused"),
    ((httpcore.NetworkError,), "the connection broke"),
    ((httpcore.ProtocolError,), "the connection closed without a whole answer"),
    ((httpx.DecodingError,), "the answer cannot be decoded"),
    ((httpcore.UnsupportedProtocol, httpx.UnsupportedProtocol), "only http:// and https:// URLs"),
)
