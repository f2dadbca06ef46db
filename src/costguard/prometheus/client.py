"""The HTTP API of Prometheus, and of what speaks it: VictoriaMetrics, Thanos, Mimir, a cloud's managed service.

Facts (Prometheus documentation, "HTTP API"): ``GET /api/v1/query`` and ``/api/v1/query_range`` answer
``{"status": "success" | "error", "data": …, "errorType", "error", "warnings", "infos"}``; values are strings, ``NaN``
and ``+Inf`` among them; 400 for bad parameters, 422 for an expression that cannot be executed (too many samples among
other reasons), 503 for a query that timed out or was aborted; at most 11,000 points for each series. VictoriaMetrics
adds ``isPartial``; Thanos tells of a store it could not reach under ``warnings``, with status 200.
"""

import json
import math
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from costguard.deadline import backoff, countdown
from costguard.errors import AuthFailed, BadResponse, PermissionDenied, ProviderError, Throttled, TimedOut, Unavailable
from costguard.net.http import HttpClient, HttpError, HttpResponse
from costguard.net.redact import Redactor
from costguard.ports import Clock

PROVIDER = "prometheus"
_ATTEMPTS = 3
_CUT = 200


class TooMuch(BadResponse):
    """The answer is larger than is taken, or the server finds the query too heavy: less may be asked for."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``url`` is the address before ``/api/v1``, and may hold a user and a password. ``headers`` go with every request
    (a tenant's id, say). ``authorization`` is a whole header value. ``ca_file`` replaces the system's authorities."""

    name: str
    url: str = field(repr=False)
    authorization: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: Path | None = None
    proxy: str | None = field(default=None, repr=False)
    deadline: timedelta = timedelta(seconds=30)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def basic(username: str, password: str) -> str:
    """The Authorization header of a user and a password (RFC 7617)."""
    return f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"


@dataclass(frozen=True, slots=True)
class Line:
    """One series of an answer: its labels, and its points (aware UTC, finite) in time order."""

    labels: Mapping[str, str]
    points: tuple[tuple[datetime, float], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """``warnings`` are the server's own words, cut and redacted; any means that a part may be missing."""

    lines: tuple[Line, ...]
    warnings: tuple[str, ...] = ()


class Prometheus:
    """Asks one endpoint. Thread-safe; raises only ProviderError, within the endpoint's deadline."""

    def __init__(self, endpoint: Endpoint, clock: Clock, *, before_call: Callable[[], None] | None = None) -> None:
        self.endpoint = endpoint
        self._clock = clock
        self._redactor = Redactor(endpoint.secrets)
        self._http = HttpClient(
            proxy=endpoint.proxy, deadline=endpoint.deadline, max_body=16 * 1024 * 1024, before_call=before_call,
            ca_file=endpoint.ca_file,
        )  # fmt: skip

    def clock(self) -> datetime:
        """What time it is there (aware UTC)."""
        data = self._get("query", {"query": "time()"})[0]
        where = "data.result"
        match data:
            case {"resultType": "scalar", "result": [_, str(text)]}:
                seconds = self._number(text, where)
                if math.isfinite(seconds):
                    return _at(seconds)
        raise self._bad("query", where)

    def range(self, query: str, start: datetime, end: datetime, step: timedelta) -> Answer:
        """The expression at ``start``, ``start`` + ``step`` … up to ``end``. Points that are no number are left out."""
        asked = {
            "query": query, "start": _text(start), "end": _text(end), "step": f"{step.total_seconds():g}",
            "timeout": f"{max(1, int(self.endpoint.deadline.total_seconds()) - 2)}s",
        }  # fmt: skip
        data, warnings = self._get("query_range", asked)
        match data:
            case {"resultType": "matrix", "result": list(rows)}:
                return Answer(tuple(self._line(row, start, end) for row in rows), warnings)
        raise self._bad("query_range", "data.resultType")

    def _line(self, row: object, start: datetime, end: datetime) -> Line:
        match row:
            case {"metric": dict(labels), "values": list(values)}:
                points: list[tuple[datetime, float]] = []
                for value in values:
                    match value:
                        case [int() | float() as seconds, str(text)]:
                            at, number = _at(seconds), self._number(text, "values")
                            if math.isfinite(number) and start <= at <= end:
                                points.append((at, number))
                        case _:
                            raise self._bad("query_range", "data.result[].values")
                return Line({str(k): str(v) for k, v in labels.items()}, tuple(sorted(points)))
        raise self._bad("query_range", "data.result[]")

    def _number(self, text: str, where: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise self._bad("query_range", where) from None

    def _get(self, operation: str, params: Mapping[str, str]) -> tuple[Any, tuple[str, ...]]:
        """The ``data`` of an answer, and its warnings. What may pass by itself is tried again within the deadline."""
        left = countdown(self._clock, self.endpoint.deadline.total_seconds())
        attempt = 1
        while True:
            try:
                return self._once(operation, params, left())
            except (Unavailable, Throttled) as error:
                wait = backoff(attempt)
                if isinstance(error, Throttled):
                    wait = max(wait, error.after.total_seconds())
                if attempt >= _ATTEMPTS or wait >= left():
                    raise
                self._clock.sleep(wait)
                attempt += 1

    def _once(self, operation: str, params: Mapping[str, str], left: float) -> tuple[Any, tuple[str, ...]]:
        headers = {"Accept": "application/json", **self.endpoint.headers}
        if self.endpoint.authorization:
            headers["Authorization"] = self.endpoint.authorization
        url = f"{self.endpoint.url.rstrip('/')}/api/v1/{operation}"
        if left <= 0:
            raise TimedOut("no answer within the deadline", **self._place(operation))
        try:
            answer = self._http.request(
                "GET", url, params=params, headers=headers, deadline=timedelta(seconds=left)
            )  # fmt: skip
        except HttpError as error:
            if error.timed_out:
                raise TimedOut(str(error), **self._place(operation)) from None
            if error.too_large:
                raise TooMuch(str(error), **self._place(operation)) from None
            raise Unavailable(str(error), **self._place(operation)) from None
        document = _document(answer)
        status = document.get("status")
        if answer.status != 200 or status == "error":
            raise self._refusal(operation, answer, document)
        if status != "success" or "data" not in document:
            raise self._bad(operation, "status")
        told = document.get("warnings")
        warnings = [self._words(text) for text in told if isinstance(text, str)] if isinstance(told, list) else []
        if document.get("isPartial") is True:
            warnings.append("the answer is partial")
        return document["data"], tuple(warnings)

    def _refusal(self, operation: str, answer: HttpResponse, document: Mapping[str, object]) -> ProviderError:
        """An error by its status and ``errorType``; the server's words are for people alone."""
        kind = document.get("errorType")
        code = f"{answer.status} {kind}" if isinstance(kind, str) else str(answer.status)
        place = {**self._place(operation), "code": code}
        words = document.get("error")
        said = self._words(words) if isinstance(words, str) else ""
        match answer.status, kind:
            case 401, _:
                return AuthFailed(said or "the credentials are refused", **place)
            case 403, _:
                return PermissionDenied(said or "this may not be asked", **place)
            case 429, _:
                return Throttled(said or "too many queries", after=_after(answer), **place)
            case (503 | 504 | 408, _) | (_, "timeout" | "canceled" | "unavailable"):
                return Unavailable(said or "the query timed out there", **place)
            case (422, _) | (_, "execution" | "too_large"):
                return TooMuch(said or "the query could not be executed", **place)
            case (status, _) if status >= 500:
                return Unavailable(said or "a server error", **place)
            case 404, _:
                return BadResponse("no Prometheus API here: url is the address before /api/v1", where="url", **place)
            case _:
                return BadResponse(said or "not the documented answer", where="status", **place)

    def _bad(self, operation: str, where: str) -> BadResponse:
        return BadResponse(f"not the documented answer: {where}", where=where, **self._place(operation))

    def _place(self, operation: str) -> dict[str, str]:
        return {"provider": PROVIDER, "account": self.endpoint.name, "operation": operation}

    def _words(self, text: str) -> str:
        return self._redactor.text(" ".join(text.split()))[:_CUT]


def _document(answer: HttpResponse) -> Mapping[str, object]:
    """The body; empty when it is no JSON object (a proxy's page)."""
    try:
        found = json.loads(answer.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _after(answer: HttpResponse) -> timedelta:
    text = answer.headers.get("retry-after", "")
    return timedelta(seconds=min(int(text), 3600) if text.isdigit() else 5)


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(round(seconds * 1000) / 1000, UTC)


def _text(at: datetime) -> str:
    """Unix seconds, which no server reads in another zone."""
    return f"{at.timestamp():.3f}"
