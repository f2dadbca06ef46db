"""Pages: the overview and the parts of it that htmx refreshes.

A part works out only what it shows, so that an open page costs little.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from costguard.web.auth import authorise
from costguard.web.overview import Overview
from costguard.web.words import Language

if TYPE_CHECKING:
    from costguard.web.site import Site

PARTS = {
    "clock": "_clock.html",
    "tiles": "_tiles.html",
    "fleet": "_fleet.html",
    "wide": "_wide.html",
    "findings": "_findings.html",
    "log": "_log.html",
    "inbox": "_inbox.html",
}
# Seconds between two refreshes: the demo's clock runs, everything else is polled every few minutes.
_REFRESH, _DEMO_REFRESH = 15, 3
_COOKIE = "costguard_lang"


@cache
def templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def routes(site: "Site") -> list[BaseRoute]:
    def html(template: str) -> Callable[[Request], Response]:
        def render(request: Request) -> Response:
            language = language_of(request, site.language)
            response = HTMLResponse(page(site, template, language))
            if request.query_params.get("lang") in ("zh", "en"):
                response.set_cookie(_COOKIE, language, max_age=31_536_000, samesite="lax", httponly=True)
            return response

        return render

    def series(request: Request) -> Response:
        with site.database.read() as conn:
            overview = Overview(conn, site.page(), site.clock.now(), language_of(request, site.language))
            return JSONResponse(overview.series())

    def guarded(view: Callable[[Request], Response]) -> Callable[[Request], object]:
        async def endpoint(request: Request) -> Response:
            from costguard.web.site import secured

            authorise(request, site.tokens, "read")
            return secured(await run_in_threadpool(view, request))

        return endpoint

    return [
        Route("/", guarded(html("overview.html"))),
        *(Route(f"/parts/{name}", guarded(html(template))) for name, template in PARTS.items()),
        Route("/parts/series", guarded(series)),
    ]


def page(site: "Site", template: str, language: Language) -> str:
    """The HTML of a template at this moment."""
    with site.database.read() as conn:
        inbox = site.chat() if site.chat else None
        overview = Overview(conn, site.page(), site.clock.now(), language, inbox)
        every = _DEMO_REFRESH if overview.demo_speed else _REFRESH
        return (
            templates()
            .get_template(template)
            .render(o=overview, t=overview.t, lang=language, every=every, version=site.version)
        )


def language_of(request: Request, default: str) -> Language:
    """The language asked for: in the query, by the cookie, by the browser, else the configuration's."""
    asked = request.query_params.get("lang") or request.cookies.get(_COOKIE) or ""
    if asked not in ("zh", "en"):
        header = request.headers.get("accept-language", "").lower()
        asked = "zh" if header.startswith("zh") else "en" if header.startswith("en") else default
    return "en" if asked == "en" else "zh"
