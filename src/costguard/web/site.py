"""The site: what pages and API are made of, and the application that serves them.

Pages and API read the database. Levers write rows; a GET never changes anything. Errors are answered as
``costguard.error/1`` documents with the status that fits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from costguard.daemon.health import Beats
from costguard.domain.action import Action
from costguard.errors import CostguardError, ProviderError, StoreError, UsageError
from costguard.ports import Clock
from costguard.store.database import Database
from costguard.web.auth import Refused, Token
from costguard.web.headers import SecureHeaders
from costguard.web.overview import ChatLine
from costguard.web.settings import PageSettings

STATIC = Path(__file__).parent / "static"


def _no_undo(action_id: str, person: str) -> Action:
    raise UsageError("this process cannot start anything; use the command line where costguard runs")


@dataclass(frozen=True)
class Site:
    """Everything that a request may need.

    ``page`` gives the settings in force (they change at a reload); ``explain``…, ``spend`` and ``undo`` are the
    composition root's; ``chat`` renders the local inbox in the demo, None elsewhere. ``leading`` tells
    whether this replica leads.
    """

    database: Database
    clock: Clock
    version: str
    page: Callable[[], PageSettings]
    language: str
    beats: Beats
    tokens: Sequence[Token] = ()
    keep_max: timedelta = timedelta(days=7)
    explain: Callable[[str, datetime | None], Mapping[str, object]] | None = None
    explain_action: Callable[[str], Mapping[str, object]] | None = None
    spend: Callable[[str, str | None, datetime | None], Mapping[str, object]] | None = None
    undo: Callable[[str, str], Action] = _no_undo
    leading: Callable[[], bool] = lambda: True
    chat: Callable[[], tuple[ChatLine, ...]] | None = None
    mounts: Sequence[BaseRoute] = field(default_factory=tuple)


def create(site: Site) -> Starlette:
    """The ASGI application."""
    from costguard.web import api, health, login, pages

    routes = [
        *pages.routes(site),
        *login.routes(site),
        *api.routes(site),
        *health.routes(site),
        Mount("/static", StaticFiles(directory=STATIC)),
        *site.mounts,
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(SecureHeaders)],
        exception_handlers={Refused: _refused, CostguardError: _failed, HTTPException: _no_such},
    )


def error_document(message: str, kind: str, candidates: Sequence[str] = ()) -> dict[str, object]:
    return {
        "schema": "costguard.error/1",
        "errors": [{"type": kind, "message": message, "candidates": list(candidates)}],
    }


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    headers = {"www-authenticate": "Bearer"} if error.status == 401 else None
    return JSONResponse(error_document(str(error), "Refused"), error.status, headers)


def _no_such(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    document = error_document(f"{request.method} {request.url.path}: {error.detail}", "NoSuchPath")
    return JSONResponse(document, error.status_code, error.headers)


def _failed(request: Request, error: Exception) -> Response:
    match error:
        case UsageError():
            return JSONResponse(error_document(str(error), "UsageError", error.candidates), 422)
        case ProviderError():
            status = 502
        case StoreError():
            status = 503
        case _:
            status = 500
    return JSONResponse(error_document(str(error), type(error).__name__), status)
