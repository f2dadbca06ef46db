"""Signing in with a token, for people whose browser cannot send a header.

The form is shown instead of a page that needs a token; a right token becomes a cookie that scripts cannot read
and other sites cannot send. Nothing else is changed by it.
"""

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from costguard import __version__
from costguard.web.auth import COOKIE, token_of
from costguard.web.render import language_of, templates
from costguard.web.words import word

if TYPE_CHECKING:
    from costguard.web.site import Site

_MAX_BODY = 4096
_MONTH = 30 * 86_400


def routes(site: "Site") -> list[BaseRoute]:
    async def login(request: Request) -> Response:
        form = parse_qs((await request.body())[:_MAX_BODY].decode("utf-8", "replace"))
        given = form.get("token", [""])[0].strip()
        if token_of(site.tokens, given) is None:
            return form_page(request, site.language, wrong=True)
        response = RedirectResponse("/", 303)
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, given, max_age=_MONTH, httponly=True, samesite="strict", secure=secure)
        return response

    return [Route("/login", login, methods=["POST"])]


def form_page(request: Request, default: str, *, wrong: bool = False) -> Response:
    """The form, with status 401."""
    language = language_of(request, default)

    def t(key: str, **values: object) -> str:
        return word(key, language, **values)

    html = templates().get_template("login.html").render(t=t, lang=language, wrong=wrong, version=__version__)
    return HTMLResponse(html, 401, {"www-authenticate": "Bearer"})
