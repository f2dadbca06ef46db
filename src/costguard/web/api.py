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
from costguard.domain.codec import encode, instant, subject_json
from costguard.domain.finding import Subject
from costguard.domain.time import parse_duration, utc
from costguard.errors import UsageError
from costguard.store import actions, cycles, findings, ledger, sources
from costguard.web.auth import authorise
from costguard.web.openapi import LEVERS, openapi

if TYPE_CHECKING:
    from costguard.web.site import Site

_LIMIT = 500
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


def routes(site: "Site") -> list[BaseRoute]:
    def read(build: Callable[[Request], Mapping[str, object]]) -> Callable[[Request], object]:
        async def endpoint(request: Request) -> Response:
            authorise(request, site.tokens, "read")
            return JSONResponse(await run_in_threadpool(build, request))

        return endpoint

    def lever(name: str, pull: Callable[[Body, Person, datetime], Document]) -> Callable[[Request], object]:
        known = LEVERS[name]

        async def endpoint(request: Request) -> Response:
            person = authorise(request, site.tokens, known.scope)
            body = Body(_object(await request.body()))
            if unknown := sorted(body.values.keys() - known.properties.keys()):
                raise UsageError(f"unknown key {unknown[0]!r}; known are {', '.join(known.properties)}")
            return JSONResponse(await run_in_threadpool(pull, body, person, site.clock.now()))

        return endpoint

    def get_fleet(request: Request) -> Mapping[str, object]:
        with site.database.read() as conn:
            return documents.fleet(fleet.fleet(conn, site.clock.now(), site.page().owners))

    def get_findings(request: Request) -> Mapping[str, object]:
        with site.database.read() as conn:
            found = findings.open_findings(conn)
        return documents.listing("findings", "findings", (documents.finding_json(f.finding) for f in found))

    def get_actions(request: Request) -> Mapping[str, object]:
        with site.database.read() as conn:
            found = actions.list_actions(conn, limit=_LIMIT)
        return documents.listing("actions", "actions", (documents.action_json(a) for a in found))

    def get_ledger(request: Request) -> Mapping[str, object]:
        with site.database.read() as conn:
            found = ledger.list_entries(conn, limit=_LIMIT)
        return documents.listing("ledger", "entries", (documents.ledger_json(e) for e in found))

    def get_sources(request: Request) -> Mapping[str, object]:
        with site.database.read() as conn:
            return documents.sources(sources.sources(conn), site.clock.now())

    def get_cycle(request: Request) -> Mapping[str, object]:
        with site.database.read() as conn:
            latest = cycles.latest(conn)
        if latest is None:
            raise UsageError("no cycle has finished yet")
        return latest.document

    def get_explain(request: Request) -> Mapping[str, object]:
        if site.explain is None:
            raise UsageError("explain needs the daemon")
        at = Body(dict(request.query_params)).instant("at")
        return site.explain(request.query_params.get("resource", ""), at)

    def keep(body: Body, person: Person, now: datetime) -> Document:
        until, idle = until_of(body, now, site.keep_max)
        with site.database.write() as conn:
            promise = levers.keep(
                conn, body.text("resource"), person=person, now=now, reason=body.text("reason"), until=until,
                longest=site.keep_max, until_idle=idle,
            )  # fmt: skip
        return {"schema": "costguard.lever/1", "ref": str(promise.ref), "keep": documents.keep_json(promise)}

    def unkeep(body: Body, person: Person, now: datetime) -> Document:
        with site.database.write() as conn:
            return _matched(levers.unkeep(conn, body.text("resource"), person=person, now=now))

    def claim(body: Body, person: Person, now: datetime) -> Document:
        owner = body.text("owner", person.name)
        with site.database.write() as conn:
            resource = levers.claim(conn, body.text("resource"), owner=owner, person=person, now=now)
        return {**_matched(resource), "owner": owner}

    def beat(body: Body, person: Person, now: datetime) -> Document:
        span = body.span("for")
        if span is None:
            raise UsageError("for is needed, like 30m")
        with site.database.write() as conn:
            until = levers.heartbeat(conn, body.text("resource"), span=span, person=person, now=now)
        return {"schema": "costguard.lever/1", "until": instant(until)}

    def act(name: str) -> Callable[[Body, Person, datetime], Document]:
        pulls = {"cancel": levers.cancel, "approve": levers.approve}

        def pull(body: Body, person: Person, now: datetime) -> Document:
            with site.database.write() as conn:
                action = pulls[name](conn, body.text("action"), person=person, now=now)
            return {"schema": "costguard.lever/1", "action": documents.action_json(action)}

        return pull

    def dispute(body: Body, person: Person, now: datetime) -> Document:
        with site.database.write() as conn:
            action = levers.dispute(conn, body.text("action"), reason=body.text("reason"), person=person, now=now)
        return {"schema": "costguard.lever/1", "action": documents.action_json(action)}

    def undo(body: Body, person: Person, now: datetime) -> Document:
        action = site.undo(body.text("action"), person.name)
        return {"schema": "costguard.lever/1", "action": documents.action_json(action)}

    def pause(body: Body, person: Person, now: datetime) -> Document:
        span = body.span("for")
        until = None if span is None else now + span
        with site.database.write() as conn:
            levers.pause(conn, person=person, now=now, reason=body.text("reason", ""), until=until)
        return {"schema": "costguard.lever/1", "paused_until": encode(until)}

    def resume(body: Body, person: Person, now: datetime) -> Document:
        with site.database.write() as conn:
            levers.resume(conn, person=person, now=now)
        return {"schema": "costguard.lever/1", "paused_until": None}

    tables = {
        "fleet": get_fleet, "findings": get_findings, "actions": get_actions, "ledger": get_ledger,
        "sources": get_sources, "cycle": get_cycle, "explain": get_explain,
        "openapi.json": lambda _: openapi(site.version),
    }  # fmt: skip
    pulls = {
        "keep": keep, "unkeep": unkeep, "claim": claim, "approve": act("approve"), "cancel": act("cancel"),
        "dispute": dispute, "undo": undo, "pause": pause, "resume": resume, "heartbeat": beat,
    }  # fmt: skip
    return [
        *(Route(f"/api/v1/{name}", read(build), methods=["GET"]) for name, build in tables.items()),
        *(Route(f"/api/v1/{name}", lever(name, pull), methods=["POST"]) for name, pull in pulls.items()),
    ]


def _matched(resource: Any) -> Document:
    return {"schema": "costguard.lever/1", "ref": str(resource.ref), "subject": subject_json(Subject.of(resource))}


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
