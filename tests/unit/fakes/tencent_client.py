"""A client of Tencent Cloud's API 3.0 in sixty lines, for the server's own tests: no SDK, no shared code."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx

from tests.fakes.tencent.server import SECRET_ID, SECRET_KEY, TencentServer

HERE = "ap-beijing"
VERSIONS = {
    "cvm": "2017-03-12", "cbs": "2017-03-12", "vpc": "2017-03-12", "monitor": "2018-07-24", "billing": "2018-07-09",
    "tat": "2020-10-28", "sts": "2018-08-13", "tag": "2018-08-13", "region": "2022-06-27",
}  # fmt: skip


def authorization(
    secret_id: str, secret_key: str, service: str, stamp: int, headers: Mapping[str, str], body: bytes, date: str = ""
) -> str:
    """The header's value. ``headers``: what is signed, by name."""
    day = date or datetime.fromtimestamp(stamp, UTC).strftime("%Y-%m-%d")
    names = sorted(headers, key=str.lower)
    listed = ";".join(name.lower() for name in names)
    canonical = "POST\n/\n\n"
    for name in names:
        canonical += f"{name.lower()}:{headers[name].lower()}\n"
    canonical += f"\n{listed}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{day}/{service}/tc3_request"
    text = f"TC3-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = hmac.new(("TC3" + secret_key).encode(), day.encode(), hashlib.sha256).digest()
    key = hmac.new(key, service.encode(), hashlib.sha256).digest()
    key = hmac.new(key, b"tc3_request", hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return f"TC3-HMAC-SHA256 Credential={secret_id}/{scope}, SignedHeaders={listed}, Signature={signature}"


class Client:
    """``cvm("StopInstances", InstanceIds=[…])`` gives the Response; ``error(…)`` the code of a refusal."""

    def __init__(
        self,
        server: TencentServer,
        key: str = SECRET_ID,
        secret: str = SECRET_KEY,
        token: str = "",
        region: str = HERE,
        content_type: str = "application/json",
    ) -> None:
        self.server, self.key, self.secret, self.token = server, key, secret, token
        self.region, self.content_type = region, content_type

    def headers(self, service: str, action: str, body: bytes, **changed: str) -> dict[str, str]:
        """All headers of a call; ``changed`` are put in after signing, by name with _ for -; empty ones are left out.

        ``scope_date`` and ``at`` go into the signature.
        """
        stamp = int(changed.pop("at", "") or datetime.now(UTC).timestamp())
        host = self.server.url.removeprefix("http://")
        signed = {"Content-Type": self.content_type, "Host": host}
        value = authorization(self.key, self.secret, service, stamp, signed, body, changed.pop("scope_date", ""))
        found = {
            **signed, "Authorization": value, "X-TC-Action": action,
            "X-TC-Version": VERSIONS.get(service, "2017-03-12"), "X-TC-Timestamp": str(stamp),
            "X-TC-Region": self.region, "X-TC-Token": self.token,
            **{name.replace("_", "-"): text for name, text in changed.items()},
        }  # fmt: skip
        return {name: text for name, text in found.items() if text}

    def send(self, headers: Mapping[str, str], body: bytes) -> httpx.Response:
        with httpx.Client(trust_env=False, verify=False, timeout=10) as http:  # plain HTTP: no CA files to read
            return http.post(self.server.url, headers=dict(headers), content=body)

    def raw(self, service: str, action: str, params: Mapping[str, Any], **changed: str) -> Any:
        """What is in Response, an Error too."""
        body = json.dumps(params).encode()
        answer = self.send(self.headers(service, action, body, **changed), body)
        assert answer.status_code == 200
        told = answer.json()["Response"]
        assert told["RequestId"]
        return told

    def call(self, service: str, action: str, **params: Any) -> Any:
        told = self.raw(service, action, params)
        assert "Error" not in told, told
        return told

    def cvm(self, action: str, **params: Any) -> Any:
        return self.call("cvm", action, **params)

    def error(self, service: str, action: str, **params: Any) -> str:
        return str(self.raw(service, action, params)["Error"]["Code"])

    def refused(self, service: str = "cvm", action: str = "DescribeInstances", body: str = "{}", **changed: str) -> str:
        """The code with these headers."""
        raw = body.encode()
        told = self.send(self.headers(service, action, raw, **changed), raw).json()["Response"]
        return str(told["Error"]["Code"])

    def instance(self, id: str) -> Any:
        """As DescribeInstances tells it, or None."""
        found = self.cvm("DescribeInstances", InstanceIds=[id])["InstanceSet"]
        return found[0] if found else None
