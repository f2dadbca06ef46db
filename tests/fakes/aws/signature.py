"""Signature Version 4, verified by the published algorithm (AWS General Reference, "Signing AWS API requests")."""

import hashlib
import hmac
import re
from urllib.parse import quote

from tests.fakes.server import Request

_HEADER = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/"
    r"(?P<scope>(?P<date>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request), "
    r"SignedHeaders=(?P<signed>[^,]+), Signature=(?P<signature>[0-9a-f]{64})"
)


class BadSignature(Exception):
    """Not signed, or not by this key. The text is AWS's error code."""


def scope(request: Request) -> tuple[str, str, str, str]:
    """(access key id, region, service, signature) as claimed. Raises BadSignature."""
    found = _HEADER.fullmatch(request.headers.get("authorization", ""))
    if not found:
        raise BadSignature("MissingAuthenticationToken")
    return found["key"], found["region"], found["service"], found["signature"]


def verify(request: Request, secret: str) -> None:
    """Raises BadSignature when the request was not signed as it is with this secret."""
    found = _HEADER.fullmatch(request.headers["authorization"])
    assert found is not None
    signed = found["signed"].split(";")
    headers = "".join(f"{name}:{' '.join(request.headers[name].split())}\n" for name in signed)
    query = "&".join(f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in sorted(request.query.items()))
    canonical = "\n".join(
        (
            request.method,
            quote(request.path, safe="/-_.~"),
            query,
            headers,
            found["signed"],
            hashlib.sha256(request.body).hexdigest(),
        )
    )
    stamp = request.headers["x-amz-date"]
    to_sign = "\n".join(("AWS4-HMAC-SHA256", stamp, found["scope"], hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{secret}".encode()
    for part in (found["date"], found["region"], found["service"], "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    expected = hmac.new(key, to_sign.encode(), "sha256").hexdigest()
    if "host" not in signed or "x-amz-date" not in signed or not stamp.startswith(found["date"]):
        raise BadSignature("IncompleteSignature")
    if not hmac.compare_digest(expected, found["signature"]):
        raise BadSignature("SignatureDoesNotMatch")
