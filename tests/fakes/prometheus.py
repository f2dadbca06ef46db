"""A strict Prometheus on loopback, written from its documentation of the HTTP API.

It answers ``/api/v1/query`` and ``/api/v1/query_range``, refuses unknown and malformed parameters as Prometheus does
(400 bad_data, 422 execution, 503 timeout), keeps to its limit of 11,000 points a series, and tells ``NaN`` and ``+Inf``
as strings. What is scraped is put in by tests: real times, real gaps.
"""

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.promql import STALE, BadQuery, CannotExecute, Query, Stored
from tests.fakes.server import Answer, Request, StrictServer

_RANGE = frozenset({"query", "start", "end", "step", "timeout"})
_INSTANT = frozenset({"query", "time", "timeout"})
_POINTS = 11_000


class PrometheusServer(StrictServer):
    """``user`` and ``bearer`` ask for credentials, ``tenant`` for X-Scope-OrgID. ``ahead`` moves its clock.
    ``max_samples`` is how many points one query may touch. ``warnings`` and ``partial`` come with every answer."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        super().__init__(clock)
        self.stored: dict[frozenset[tuple[str, str]], Stored] = {}
        self.user: tuple[str, str] | None = None
        self.bearer: str | None = None
        self.tenant: str | None = None
        self.ahead = timedelta()
        self.max_samples = 50_000_000
        self.warnings: list[str] = []
        self.partial: bool | None = None

    def scrape(self, name: str, labels: Mapping[str, str], at: datetime, value: float | None) -> None:
        """One sample of one series; None is the stale marker of a target that went away."""
        whole = {"__name__": name, **labels}
        with self.lock:
            one = self.stored.setdefault(frozenset(whole.items()), Stored(whole))
            assert not one.samples or one.samples[-1][0] < at.timestamp(), "samples are in order"
            one.samples.append((at.timestamp(), STALE if value is None else value))

    def scrapes(
        self, name: str, labels: Mapping[str, str], start: datetime, end: datetime,
        value: float | Callable[[datetime], float | None] = 0.0, every: timedelta = timedelta(seconds=15),
    ) -> None:  # fmt: skip
        """Samples in (start, end], one each ``every``; a function that gives None missed that scrape."""
        at = start + every
        while at <= end:
            one = value(at) if callable(value) else value
            if one is not None:
                self.scrape(name, labels, at, one)
            at += every

    @property
    def queries(self) -> list[str]:
        """The expressions of range queries, in the order in which they came."""
        with self.lock:
            return [r.query["query"] for r in self.requests if r.path.endswith("query_range") and "query" in r.query]

    def respond(self, request: Request) -> Answer:
        if (denied := self._denied(request)) is not None:
            return denied
        if request.method != "GET":
            return Answer(405, b"method not allowed", {"Content-Type": "text/plain"})
        try:
            match request.path:
                case "/api/v1/query":
                    return self._instant(request)
                case "/api/v1/query_range":
                    return self._range(request)
        except BadQuery as error:
            return _error(400, "bad_data", str(error))
        except CannotExecute as error:
            return _error(422, "execution", str(error))
        return Answer(404, b"404 page not found\n", {"Content-Type": "text/plain"})

    def refuse(self, fault: Fault, request: Request) -> Answer:
        match fault:
            case Fault.THROTTLED:
                return Answer(429, b"too many requests", {"Content-Type": "text/plain", "Retry-After": "1"})
            case Fault.UNAUTHENTICATED:
                return Answer(401, b"Unauthorized", {"Content-Type": "text/plain"})
            case Fault.FORBIDDEN:
                return Answer(403, b"Forbidden", {"Content-Type": "text/plain"})
            case Fault.SERVER_ERROR:
                return _error(503, "timeout", "query timed out in expression evaluation")
        return super().refuse(fault, request)

    def _denied(self, request: Request) -> Answer | None:
        given = request.headers.get("authorization")
        wanted = None
        if self.user is not None:
            wanted = "Basic " + base64.b64encode(":".join(self.user).encode()).decode()
        elif self.bearer is not None:
            wanted = f"Bearer {self.bearer}"
        if wanted is not None and given != wanted:
            return Answer(401, b"Unauthorized\n", {"Content-Type": "text/plain"})
        if self.tenant is not None and request.headers.get("x-scope-orgid") != self.tenant:
            return Answer(401, b"no org id\n", {"Content-Type": "text/plain"})
        return None

    def _instant(self, request: Request) -> Answer:
        asked = _params(request, _INSTANT)
        now = self.clock.now() + self.ahead
        at = _time(asked["time"], "time") if "time" in asked else now.timestamp()
        value = Query(asked["query"]).at(self.stored.values(), at)
        if isinstance(value, float):
            return self._success({"resultType": "scalar", "result": [at, _number(value)]})
        rows = [{"metric": dict(labels), "value": [at, _number(one)]} for labels, one in value.items()]
        return self._success({"resultType": "vector", "result": rows})

    def _range(self, request: Request) -> Answer:
        asked = _params(request, _RANGE)
        for name in ("start", "end", "step"):
            if name not in asked:
                raise BadQuery(f'invalid parameter "{name}": cannot parse "" to a valid timestamp')
        start, end, step = _time(asked["start"], "start"), _time(asked["end"], "end"), _step(asked["step"])
        if end < start:
            raise BadQuery('invalid parameter "end": end timestamp must not be before start time')
        if (end - start) / step > _POINTS:
            raise BadQuery("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the resolution")
        query = Query(asked["query"])
        rows: dict[frozenset[tuple[str, str]], list[list[object]]] = {}
        count, at = 0, start
        while at <= end:
            value = query.at(self.stored.values(), at)
            for labels, one in ({frozenset(): value} if isinstance(value, float) else value).items():
                rows.setdefault(labels, []).append([at, _number(one)])
                count += 1
            if count > self.max_samples:
                raise CannotExecute("query processing would load too many samples into memory in query execution")
            at += step
        ordered = sorted(rows.items(), key=lambda pair: sorted(pair[0]))
        result = [{"metric": dict(labels), "values": values} for labels, values in ordered]
        return self._success({"resultType": "matrix", "result": result})

    def _success(self, data: object) -> Answer:
        body: dict[str, object] = {"status": "success", "data": data}
        if self.warnings:
            body["warnings"] = self.warnings
        if self.partial is not None:
            body["isPartial"] = self.partial
        return Answer(200, json.dumps(body).encode())


def _params(request: Request, known: frozenset[str]) -> dict[str, str]:
    asked = request.query
    if unknown := asked.keys() - known:
        raise BadQuery(f"unknown parameters: {sorted(unknown)}")
    if not asked.get("query"):
        raise BadQuery('invalid parameter "query": unknown position: parse error: no expression found in input')
    if "timeout" in asked:
        _step(asked["timeout"])
    return asked


def _time(text: str, name: str) -> float:
    try:
        found = float(text)
    except ValueError:
        raise BadQuery(f'invalid parameter "{name}": cannot parse "{text}" to a valid timestamp') from None
    if not math.isfinite(found):
        raise BadQuery(f'invalid parameter "{name}"')
    return found


def _step(text: str) -> float:
    try:
        found = float(text.removesuffix("s"))
    except ValueError:
        raise BadQuery(f'cannot parse "{text}" to a valid duration') from None
    if found <= 0:
        raise BadQuery("zero or negative query resolution step widths are not accepted. Try a positive integer")
    return found


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return ("+Inf" if value > 0 else "-Inf") if math.isinf(value) else repr(float(value)).removesuffix(".0")


def _error(status: int, kind: str, text: str) -> Answer:
    return Answer(status, json.dumps({"status": "error", "errorType": kind, "error": text}).encode())
