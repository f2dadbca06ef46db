"""/api/v1: the tables as JSON, and people's levers.

Each lever is a POST with a JSON object; what it answers says what it matched. The person in the ledger is
the token's name.
"""

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from costguard.daemon import documents, fleet, levers
from costguard.daemon.documents import Document
from costguard.daemon.levers import Person
from costguard.domain.action import Action
from costguard.domain.codec import encode, instant, subject_json
from costguard.domain.finding import Subject
from costguard.domain.resource import Resource
from costguard.domain.time import parse_duration, utc
from costguard.errors import UsageError
from costguard.store import actions, cycles, findings, ledger, sources
from costguard.store import levers as store_levers
from costguard.web.auth import authorise
from costguard.web.openapi import LEVERS, openapi

if TYPE_CHECKING:
    from costguard.web.site import Site

_LIMIT = 500
_LEVER = "costguard.lever/1"
_MAX_BODY = 64 * 1024


class Body:
    """A lever's JSON object, with errors that name the key."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def text(self, key: str, default: str | None = None) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str) or (default is None and not value):
            raise UsageError(f"{key} is needed, as text")
        return value

    def flag(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise UsageError(f"{key} is true or false")
        return value

    def span(self, key: str) -> timedelta | None:
        value = self.values.get(key)
        if value is None:
            return None
        try:
            return parse_duration(str(value))
        except ValueError as error:
            raise UsageError(f"{key}: {error}") from None

    def instant(self, key: str) -> datetime | None:
        value = self.values.get(key)
        if value is None:
            return None
        try:
            return utc(datetime.fromisoformat(str(value)))
        except ValueError:
            raise UsageError(f"{key} is an instant with a zone, like 2026-12-01T09:00:00+08:00") from None


def until_of(body: Body, now: datetime, longest: timedelta) -> tuple[datetime, bool]:
    """(until, until_idle) of a keep: exactly one of for, until, until_idle (with max)."""
    span, until, idle = body.span("for"), body.instant("until"), body.flag("until_idle")
    if sum((span is not None, until is not None, idle)) != 1:
        raise UsageError("a keep has one of: for, until, until_idle")
    if idle:
        return now + (body.span("max") or min(timedelta(days=3), longest)), True
    return (until if until is not None else now + (span or timedelta())), False


class Service:
    """The tables and levers behind the API, and behind the commands that work on the database directly."""

    def __init__(self, site: "Site") -> None:
        self._site = site
        self.tables: Mapping[str, Callable[[Mapping[str, str]], Mapping[str, object]]] = {
            "fleet": self._fleet,
            "findings": self._findings,
            "actions": self._actions,
            "ledger": self._ledger,
            "sources": self._sources,
            "cycle": self._cycle,
            "spend": self._spend,
            "explain": self._explain,
            "openapi.json": lambda _: openapi(site.version),
        }
        self._levers: Mapping[str, Callable[[Body, Person, datetime], Document]] = {
            "keep": self._keep,
            "unkeep": self._unkeep,
            "claim": self._claim,
            "approve": self._approve,
            "cancel": self._cancel,
            "dispute": self._dispute,
            "undo": self._undo,
            "pause": self._pause,
            "resume": self._resume,
            "heartbeat": self._heartbeat,
        }

    def table(self, name: str, query: Mapping[str, str] | None = None) -> Mapping[str, object]:
        """One table as its document. Raises UsageError for a query that means nothing."""
        return self.tables[name](query or {})

    def pull(self, name: str, values: Mapping[str, Any], person: Person) -> Document:
        """Pulls a lever; the answer says what it matched. Raises UsageError for an unknown or missing key."""
        known = LEVERS[name].properties
        if unknown := sorted(values.keys() - known.keys()):
            raise UsageError(f"unknown key {unknown[0]!r}; known are {', '.join(known) or 'none'}")
        return self._levers[name](Body(values), person, self._site.clock.now())

    def _fleet(self, query: Mapping[str, str]) -> Mapping[str, object]:
        with self._site.database.read() as conn:
            now = self._site.clock.now()
            rows = fleet.fleet(conn, now, self._site.page().owners)
            return documents.fleet(rows, store_levers.paused(conn, now))

    def _findings(self, query: Mapping[str, str]) -> Mapping[str, object]:
        with self._site.database.read() as conn:
            found = findings.open_findings(conn)
        return documents.listing("findings", "findings", (documents.finding_json(f.finding) for f in found))

    def _actions(self, query: Mapping[str, str]) -> Mapping[str, object]:
        with self._site.database.read() as conn:
            found = actions.list_actions(conn, limit=_LIMIT)
        return documents.listing("actions", "actions", (documents.action_json(a) for a in found))

    def _ledger(self, query: Mapping[str, str]) -> Mapping[str, object]:
        with self._site.database.read() as conn:
            found = ledger.list_entries(conn, limit=_LIMIT)
        return documents.listing("ledger", "entries", (documents.ledger_json(e) for e in found))

    def _sources(self, query: Mapping[str, str]) -> Mapping[str, object]:
        with self._site.database.read() as conn:
            return documents.sources(sources.sources(conn), self._site.clock.now())

    def _cycle(self, query: Mapping[str, str]) -> Mapping[str, object]:
        with self._site.database.read() as conn:
            latest = cycles.latest(conn)
        if latest is None:
            raise UsageError("no cycle has finished yet")
        return latest.document

    def _spend(self, query: Mapping[str, str]) -> Mapping[str, object]:
        if self._site.spend is None:
            raise UsageError("spend needs the daemon")
        body = Body(query)
        return self._site.spend(body.text("by", "account"), query.get("month"), body.instant("since"))

    def _explain(self, query: Mapping[str, str]) -> Mapping[str, object]:
        if self._site.explain is None:
            raise UsageError("explain needs the daemon")
        if "action" in query and self._site.explain_action is not None:
            return self._site.explain_action(Body(query).text("action"))
        return self._site.explain(Body(query).text("resource"), Body(query).instant("at"))

    def _keep(self, body: Body, person: Person, now: datetime) -> Document:
        longest = self._site.keep_max
        until, idle = until_of(body, now, longest)
        with self._site.database.write() as conn:
            promise = levers.keep(
                conn,
                body.text("resource"),
                person=person,
                now=now,
                reason=body.text("reason"),
                until=until,
                longest=longest,
                until_idle=idle,
            )
            resource = levers.find(conn, str(promise.ref))
            late = levers.under_way(conn, promise.ref)
        under_way = None if late is None else documents.action_json(late)
        return {**_matched(resource), "keep": documents.keep_json(promise), "under_way": under_way}

    def _unkeep(self, body: Body, person: Person, now: datetime) -> Document:
        with self._site.database.write() as conn:
            return _matched(levers.unkeep(conn, body.text("resource"), person=person, now=now))

    def _claim(self, body: Body, person: Person, now: datetime) -> Document:
        owner = body.text("owner", person.name)
        with self._site.database.write() as conn:
            resource = levers.claim(conn, body.text("resource"), owner=owner, person=person, now=now)
        return {**_matched(resource), "owner": owner}

    def _heartbeat(self, body: Body, person: Person, now: datetime) -> Document:
        span = body.span("for")
        if span is None:
            raise UsageError("for is needed, like 30m")
        with self._site.database.write() as conn:
            until = levers.heartbeat(conn, body.text("resource"), span=span, person=person, now=now)
            resource = levers.find(conn, body.text("resource"))
        return {**_matched(resource), "until": instant(until)}

    def _cancel(self, body: Body, person: Person, now: datetime) -> Document:
        with self._site.database.write() as conn:
            return _moved(levers.cancel(conn, body.text("action"), person=person, now=now))

    def _approve(self, body: Body, person: Person, now: datetime) -> Document:
        with self._site.database.write() as conn:
            return _moved(levers.approve(conn, body.text("action"), person=person, now=now))

    def _dispute(self, body: Body, person: Person, now: datetime) -> Document:
        with self._site.database.write() as conn:
            reason = body.text("reason")
            return _moved(levers.dispute(conn, body.text("action"), reason=reason, person=person, now=now))

    def _undo(self, body: Body, person: Person, now: datetime) -> Document:
        return _moved(self._site.undo(body.text("action"), person.name))

    def _pause(self, body: Body, person: Person, now: datetime) -> Document:
        span = body.span("for")
        until = None if span is None else now + span
        with self._site.database.write() as conn:
            levers.pause(conn, person=person, now=now, reason=body.text("reason", ""), until=until)
        return {"schema": _LEVER, "paused": True, "paused_until": encode(until)}

    def _resume(self, body: Body, person: Person, now: datetime) -> Document:
        with self._site.database.write() as conn:
            levers.resume(conn, person=person, now=now)
        return {"schema": _LEVER, "paused": False, "paused_until": None}


def routes(site: "Site") -> list[BaseRoute]:
    service = Service(site)

    def read(name: str) -> Callable[[Request], object]:
        async def endpoint(request: Request) -> Response:
            authorise(request, site.tokens, "read")
            return JSONResponse(await run_in_threadpool(service.table, name, dict(request.query_params)))

        return endpoint

    def pull(name: str) -> Callable[[Request], object]:
        async def endpoint(request: Request) -> Response:
            person = authorise(request, site.tokens, LEVERS[name].scope)
            values = _object(await request.body())
            return JSONResponse(await run_in_threadpool(service.pull, name, values, person))

        return endpoint

    return [
        *(Route(f"/api/v1/{name}", read(name), methods=["GET"]) for name in service.tables),
        *(Route(f"/api/v1/{name}", pull(name), methods=["POST"]) for name in LEVERS),
    ]


def _moved(action: Action) -> Document:
    return {"schema": _LEVER, "action": documents.action_json(action)}


def _matched(resource: Resource) -> Document:
    return {"schema": _LEVER, "ref": str(resource.ref), "subject": subject_json(Subject.of(resource))}


def _object(raw: bytes) -> Mapping[str, Any]:
    if len(raw) > _MAX_BODY:
        raise UsageError("the body is too large")
    try:
        values = json.loads(raw or b"{}")
    except ValueError:
        raise UsageError("the body is not JSON") from None
    if not isinstance(values, dict):
        raise UsageError("the body is a JSON object")
    return values
