"""Pages: the overview and the parts of it that htmx refreshes.

A part works out only what it shows, so that an open page costs little.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from costguard.web.auth import Refused, authorise
from costguard.web.login import form_page
from costguard.web.overview import Overview
from costguard.web.render import LANGUAGE_COOKIE, language_of, templates
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


def routes(site: "Site") -> list[BaseRoute]:
    def html(template: str) -> Callable[[Request], Response]:
        def render(request: Request) -> Response:
            language = language_of(request, site.language)
            response = HTMLResponse(page(site, template, language))
            if request.query_params.get("lang") in ("zh", "en"):
                response.set_cookie(LANGUAGE_COOKIE, language, max_age=31_536_000, samesite="lax", httponly=True)
            return response

        return render

    def series(request: Request) -> Response:
        with site.database.read() as conn:
            overview = Overview(conn, site.page(), site.clock.now(), language_of(request, site.language))
            return JSONResponse(overview.series())

    def guarded(view: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            authorise(request, site.tokens, "read")
            return await run_in_threadpool(view, request)

        return endpoint

    async def overview(request: Request) -> Response:
        try:
            return await whole(request)
        except Refused as refused:
            if refused.status != 401:
                raise
            return form_page(request, site.language)

    whole = guarded(html("overview.html"))
    return [
        Route("/", overview),
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
