"""TC3-HMAC-SHA256, verified by the published algorithm, and what the gateway checks around it.

Tencent Cloud, "Signature v3": canonical request (names and values of the signed headers in lower case), string to
sign over timestamp and credential scope, a key derived from date, service and ``tc3_request``.
The gateway keeps the world's time, so its window is measured on the machine's clock and not on the account's.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tests.fakes.server import Request
from tests.fakes.tencent.wire import Refused

ALGORITHM = "TC3-HMAC-SHA256"
WINDOW = timedelta(minutes=5)
_FORM = re.compile(
    r"TC3-HMAC-SHA256 Credential=(?P<key>[^/,\s]+)/(?P<date>\d{4}-\d\d-\d\d)/(?P<service>[a-z0-9]+)/tc3_request, ?"
    r"SignedHeaders=(?P<headers>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)


@dataclass
class Session:
    """A key that may sign. ``until`` is on the account's clock; ``token`` goes with temporary keys."""

    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    until: datetime | None = None
    principal: str = "uin/100000000002"


@dataclass(frozen=True)
class Scope:
    """What an Authorization header says."""

    key: str
    date: str
    service: str
    headers: tuple[str, ...]
    signature: str


def read_scope(request: Request) -> Scope:
    """Raises Refused for a header of another form."""
    found = _FORM.fullmatch(request.headers.get("authorization", ""))
    if found is None:
        raise Refused(
            "AuthFailure.InvalidAuthorization",
            "The `Authorization` in the request header does not comply with the Tencent Cloud standard.",
        )
    headers = tuple(found["headers"].split(";"))
    return Scope(found["key"], found["date"], found["service"], headers, found["signature"])


def canonical_request(method: str, query: str, headers: Mapping[str, str], signed: Sequence[str], body: bytes) -> str:
    """``headers`` by lower-case name."""
    lines = "".join(f"{name}:{headers[name].strip().lower()}\n" for name in signed)
    return "\n".join((method, "/", query, lines, ";".join(signed), hashlib.sha256(body).hexdigest()))


def sign(secret: str, timestamp: int, service: str, canonical: str) -> str:
    """The signature in hexadecimal digits."""
    date = f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d}"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"{ALGORITHM}\n{timestamp}\n{date}/{service}/tc3_request\n{digest}"
    key = f"TC3{secret}".encode()
    for part in (date, service, "tc3_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


class Gate:
    """Who may in. ``skew`` is how far the gateway's clock is ahead of the machine's."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self.sessions = dict(sessions)
        self.skew = timedelta(0)

    def check(self, request: Request) -> tuple[Scope, Session]:
        """Raises Refused with the gateway's own code."""
        scope = read_scope(request)
        session = self.sessions.get(scope.key)
        if session is None:
            raise Refused("AuthFailure.SecretIdNotFound", "The SecretId is not found, please ensure it is correct.")
        stamp = self._read_timestamp(request.headers.get("x-tc-timestamp", ""))
        if scope.date != f"{datetime.fromtimestamp(stamp, UTC):%Y-%m-%d}":
            raise Refused("AuthFailure.SignatureFailure", "The credential's date is not the timestamp's in UTC.")
        if not {"content-type", "host"} <= set(scope.headers) <= set(request.headers):
            raise Refused("AuthFailure.InvalidAuthorization", "`content-type` and `host` must be signed.")
        if list(scope.headers) != sorted(set(scope.headers)):
            raise Refused("AuthFailure.InvalidAuthorization", "`SignedHeaders` are not in order.")
        canonical = canonical_request(request.method, request.raw_query, request.headers, scope.headers, request.body)
        if not hmac.compare_digest(sign(session.secret, stamp, scope.service, canonical), scope.signature):
            raise Refused(
                "AuthFailure.SignatureFailure",
                "The provided credentials could not be validated. Please check your signature is correct.",
            )
        self._check_token(session, request.headers.get("x-tc-token"), request.at)
        return scope, session

    def _read_timestamp(self, text: str) -> int:
        if not text:
            raise Refused("MissingParameter", "The request is missing a required parameter `X-TC-Timestamp`.")
        if not re.fullmatch(r"\d{1,11}", text):
            raise Refused("InvalidParameter", "The value type of parameter `X-TC-Timestamp` is not valid.")
        at = datetime.fromtimestamp(int(text), UTC)
        if abs(datetime.now(UTC) + self.skew - at) > WINDOW:
            raise Refused("AuthFailure.SignatureExpire", "The provided credentials have expired.")
        return int(text)

    def _check_token(self, session: Session, token: str | None, now: datetime) -> None:
        late = session.until is not None and session.until <= now
        if (token or None) != session.token or late:
            raise Refused("AuthFailure.TokenFailure", "The provided token could not be validated.")
