"""Templates, and the language that a browser is answered in."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.requests import Request

from costguard.web.words import Language

LANGUAGE_COOKIE = "costguard_lang"


@cache
def templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def language_of(request: Request, default: str) -> Language:
    """The language asked for: in the query, by the cookie, by the browser, else the configuration's."""
    asked = request.query_params.get("lang") or request.cookies.get(LANGUAGE_COOKIE) or ""
    if asked not in ("zh", "en"):
        header = request.headers.get("accept-language", "").lower()
        asked = "zh" if header.startswith("zh") else "en" if header.startswith("en") else default
    return "en" if asked == "en" else "zh"
