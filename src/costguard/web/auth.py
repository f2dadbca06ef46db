"""Who may do what over HTTP.

Tokens are compared in constant time. Without any token the server listens on loopback only (the
configuration refuses anything else) and answers the people on this machine: then the Host header must be
a loopback name, so that no web page elsewhere reaches it through DNS, and a change must be JSON, which a
foreign page cannot send without being asked first.
"""

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request

from costguard.daemon.levers import Person

COOKIE = "costguard_token"
SCOPES = ("read", "act", "admin", "heartbeat")
_HOST_PORT = re.compile(r":\d+$")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Token:
    """One configured key; ``secret`` never leaves this object."""

    name: str
    secret: str
    scopes: frozenset[str]

    def __repr__(self) -> str:
        return f"Token({self.name!r}, scopes={sorted(self.scopes)})"


class Refused(Exception):
    """The request may not do this; ``status`` 401 or 403."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def authorise(request: Request, tokens: Sequence[Token], scope: str) -> Person:
    """The person behind a request that needs ``scope``. Raises Refused."""
    changes = request.method not in ("GET", "HEAD")
    if changes and request.headers.get("content-type", "").split(";")[0] != "application/json":
        raise Refused(403, "a change is sent as application/json")
    if not tokens:
        if _HOST_PORT.sub("", request.headers.get("host", "")) not in _LOOPBACK:
            raise Refused(403, "without a token only this machine is answered")
        return Person("local")
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    token = token_of(tokens, given if kind.lower() == "bearer" else request.cookies.get(COOKIE, ""))
    if token is None:
        raise Refused(401, "a token is needed: Authorization: Bearer …")
    if scope in token.scopes or (scope in ("read", "heartbeat") and token.scopes & {"act", "admin"}):
        return Person(f"token:{token.name}")
    raise Refused(403, f"token {token.name} has no scope {scope}")


def token_of(tokens: Sequence[Token], given: str) -> Token | None:
    """The configured token with this secret. Every one is compared, each in constant time."""
    matches = [token for token in tokens if hmac.compare_digest(token.secret.encode(), given.encode())]
    return matches[0] if given and matches else None
