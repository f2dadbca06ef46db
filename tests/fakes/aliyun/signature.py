"""The RPC signature, version 1.0, verified by the published algorithm, and what the gateway checks around it.

Alibaba Cloud, "Request signatures of RPC APIs": the parameters of query and form without Signature, RFC 3986
encoded, sorted by name; ``METHOD&%2F&`` and the encoded rest; HMAC-SHA1 with the secret and a trailing ``&``.
The gateway keeps the world's time, so its window is measured on the machine's clock and not on the account's.
"""

import base64
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote

from tests.fakes.aliyun.rpc import Refused
from tests.fakes.server import Request

WINDOW = timedelta(minutes=15)
COMMON = frozenset(
    {
        "Action", "Version", "Format", "AccessKeyId", "Signature", "SignatureMethod", "SignatureType",
        "SignatureVersion", "SignatureNonce", "Timestamp", "SecurityToken", "RegionId",
    }
)  # fmt: skip
_SIGNING = ("SignatureMethod", "SignatureVersion", "SignatureNonce", "Timestamp", "Signature")


@dataclass
class Session:
    """A key that may sign. ``until`` is on the account's clock; ``token`` goes with temporary keys."""

    secret: str = field(repr=False)
    token: str | None = None
    until: datetime | None = None
    active: bool = True
    principal: str = "user/costguard"


def parameters(request: Request) -> list[tuple[str, str]]:
    """Query and form as they came, in order."""
    pairs = parse_qsl(request.raw_query, keep_blank_values=True)
    if "x-www-form-urlencoded" in request.headers.get("content-type", ""):
        pairs += parse_qsl(request.body.decode(), keep_blank_values=True)
    return pairs


def string_to_sign(method: str, pairs: Sequence[tuple[str, str]]) -> str:
    kept = sorted((name, value) for name, value in pairs if name != "Signature")
    joined = "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in kept)
    return f"{method}&%2F&{quote(joined, safe='-_.~')}"


def sign(text: str, secret: str) -> str:
    return base64.b64encode(hmac.digest(f"{secret}&".encode(), text.encode(), "sha1")).decode()


class Gate:
    """Who may in. ``skew`` is how far the gateway's clock is ahead of the machine's."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self.sessions = dict(sessions)
        self.skew = timedelta(0)
        self._seen: set[tuple[str, str]] = set()

    def check(self, request: Request) -> Session:
        """Raises Refused with the gateway's own code."""
        pairs = parameters(request)
        given = dict(pairs)
        if len(given) < len(pairs):
            raise Refused("InvalidParameter", message="A parameter was sent twice.")
        key = given.get("AccessKeyId")
        if not key:
            raise Refused("MissingAccessKeyId", 400)
        session = self.sessions.get(key)
        if session is None:
            raise Refused("InvalidAccessKeyId.NotFound")
        if not session.active:
            raise Refused("InvalidAccessKeyId.Inactive")
        if any(not given.get(name) for name in _SIGNING):
            raise Refused("IncompleteSignature")
        if (given["SignatureMethod"], given["SignatureVersion"]) != ("HMAC-SHA1", "1.0") or given.get("SignatureType"):
            raise Refused("InvalidSignatureMethod", 400)
        self._check_time(given["Timestamp"])
        text = string_to_sign(request.method, pairs)
        if not hmac.compare_digest(sign(text, session.secret), given["Signature"]):
            # The real message carries this text too, with the key id and the token inside.
            raise Refused(
                "SignatureDoesNotMatch",
                message=f"Specified signature is not matched with our calculation. server string to sign is:{text}",
            )
        self._check_token(session, given.get("SecurityToken"), request.at)
        nonce = (key, given["SignatureNonce"])
        if nonce in self._seen:
            raise Refused("SignatureNonceUsed")
        self._seen.add(nonce)
        return session

    def _check_time(self, text: str) -> None:
        try:
            at = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        except ValueError:
            raise Refused("InvalidTimeStamp.Format") from None
        if abs(datetime.now(UTC) + self.skew - at) > WINDOW:
            raise Refused("InvalidTimeStamp.Expired")

    def _check_token(self, session: Session, token: str | None, now: datetime) -> None:
        if session.token is not None and token is None:
            raise Refused("MissingSecurityToken", 400)
        if token != session.token:
            raise Refused("InvalidSecurityToken.MismatchWithAccessKey", 400)
        if session.until is not None and session.until <= now:
            raise Refused("InvalidSecurityToken.Expired")
