"""The OpenAPI description of /api/v1, made from one table of its operations."""

from collections.abc import Mapping
from dataclasses import dataclass

from costguard.engine.spend import DIMENSIONS

_RESOURCE = {"type": "string", "description": "an id, account/id, a full ref, or a unique name"}
_SPAN = {"type": "string", "pattern": r"^(\d+[smhdw])+$", "examples": ["4h"]}
_TEXT = {"type": "string", "minLength": 1}
_ACTION = {"type": "string", "description": "an action's id, or a unique beginning of it"}
_INSTANT = {"type": "string", "format": "date-time"}

_TABLES = {
    "fleet": "Every resource with its activity, keep and ladder",
    "findings": "What the rules claim now",
    "actions": "Ladders, newest first",
    "ledger": "The history, newest first",
    "sources": "How every source is doing",
    "cycle": "The last cycle, as run --once --json prints it",
    "spend": "Estimate beside bill, the forecast and the budgets",
    "explain": "Every rule, signal and guard for one resource",
}


@dataclass(frozen=True, slots=True)
class Lever:
    """A POST: what it does, the scope it needs, the keys of its body and which of them must be there."""

    summary: str
    scope: str
    properties: Mapping[str, object]
    required: tuple[str, ...] = ()


LEVERS: Mapping[str, Lever] = {
    "keep": Lever(
        "Keep a resource",
        "act",
        {
            "resource": _RESOURCE,
            "reason": _TEXT,
            "for": _SPAN,
            "until": _INSTANT,
            "until_idle": {"type": "boolean"},
            "max": _SPAN,
        },
        ("resource", "reason"),
    ),
    "unkeep": Lever("End a keep", "act", {"resource": _RESOURCE}, ("resource",)),
    "claim": Lever("Say who owns a resource", "act", {"resource": _RESOURCE, "owner": _TEXT}, ("resource",)),
    "approve": Lever("Approve a waiting action", "act", {"action": _ACTION}, ("action",)),
    "cancel": Lever("End an open ladder", "act", {"action": _ACTION}, ("action",)),
    "dispute": Lever("Say that a stop was wrong", "act", {"action": _ACTION, "reason": _TEXT}, ("action", "reason")),
    "undo": Lever("Start what costguard stopped", "act", {"action": _ACTION}, ("action",)),
    "pause": Lever("Stop acting at once", "admin", {"for": _SPAN, "reason": {"type": "string"}}),
    "resume": Lever("Act again", "admin", {}),
    "heartbeat": Lever(
        "A job says it is alive", "heartbeat", {"resource": _RESOURCE, "for": _SPAN}, ("resource", "for")
    ),
}


def openapi(version: str) -> dict[str, object]:
    """The OpenAPI 3.1 document."""
    answers = {
        "200": {"description": "done", "content": {"application/json": {"schema": {"type": "object"}}}},
        "401": {"description": "a token is needed"},
        "403": {"description": "the token lacks the scope"},
        "422": {"description": "it cannot mean anything; the error says why"},
    }
    paths: dict[str, object] = {}
    for name, summary in _TABLES.items():
        operation: dict[str, object] = {"summary": summary, "operationId": name, "responses": answers}
        if name == "explain":
            operation["parameters"] = [
                {"name": "resource", "in": "query", "schema": _RESOURCE, "description": "this or action"},
                {"name": "at", "in": "query", "schema": _INSTANT},
                {"name": "action", "in": "query", "schema": {"type": "string"}, "description": "an action's id"},
            ]
        if name == "spend":
            by = {"type": "string", "enum": list(DIMENSIONS), "default": "account"}
            operation["parameters"] = [
                {"name": "by", "in": "query", "schema": by},
                {"name": "month", "in": "query", "schema": {"type": "string", "pattern": r"^\d{4}-\d{2}$"}},
                {"name": "since", "in": "query", "schema": _INSTANT},
            ]
        paths[f"/api/v1/{name}"] = {"get": operation}
    for name, lever in LEVERS.items():
        schema = {
            "type": "object",
            "properties": lever.properties,
            "required": list(lever.required),
            "additionalProperties": False,
        }
        paths[f"/api/v1/{name}"] = {
            "post": {
                "summary": lever.summary,
                "operationId": name,
                "description": f"Needs the scope `{lever.scope}`.",
                "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
                "responses": answers,
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "costguard", "version": version},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": paths,
    }
