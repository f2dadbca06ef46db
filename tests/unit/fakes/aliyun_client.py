"""A client of Alibaba Cloud's RPC APIs in forty lines, for the server's own tests: no SDK, no shared code."""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote_plus

import httpx

from tests.fakes.aliyun.server import KEY_ID, SECRET, AliyunServer

HERE = "cn-beijing"
VERSIONS = {
    "Ecs": "2014-05-26", "Cms": "2019-01-01", "Bss": "2017-12-14", "Vpc": "2016-04-28", "Sts": "2015-04-01",
}  # fmt: skip


def encoded(text: str) -> str:
    return quote_plus(text).replace("+", "%20").replace("*", "%2A").replace("%7E", "~")


def signed(params: Mapping[str, str], secret: str, method: str = "GET") -> dict[str, str]:
    """The parameters with their Signature."""
    query = "&".join(f"{encoded(name)}={encoded(params[name])}" for name in sorted(params))
    text = f"{method}&{encoded('/')}&{encoded(query)}"
    digest = hmac.new(f"{secret}&".encode(), text.encode(), hashlib.sha1).digest()
    return {**params, "Signature": base64.b64encode(digest).decode()}


def common(action: str, product: str = "Ecs", key: str = KEY_ID, **more: str) -> dict[str, str]:
    return {
        "Action": action, "Version": VERSIONS[product], "Format": "JSON", "AccessKeyId": key, "RegionId": HERE,
        "SignatureMethod": "HMAC-SHA1", "SignatureVersion": "1.0", "SignatureNonce": secrets.token_hex(16),
        "Timestamp": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", **more,
    }  # fmt: skip


def send(server: AliyunServer, params: Mapping[str, str], method: str = "GET") -> tuple[int, Any]:
    """Status and JSON. A POST carries everything in its form."""
    with httpx.Client(trust_env=False, verify=False, timeout=10) as http:  # plain HTTP: no CA files to read
        where = {"params": params} if method == "GET" else {"data": params}
        answer = http.request(method, server.url, **where)  # type: ignore[arg-type]
    return answer.status_code, answer.json()


def flat(params: Mapping[str, Any]) -> dict[str, str]:
    """Lists as ``Name.1``, mappings as ``Name.Key``, the rest as text."""
    found: dict[str, str] = {}
    for name, value in params.items():
        if isinstance(value, list | tuple):
            found |= flat({f"{name}.{n + 1}": item for n, item in enumerate(value)})
        elif isinstance(value, Mapping):
            found |= flat({f"{name}.{key}": item for key, item in value.items()})
        else:
            found[name] = str(value)
    return found


class Client:
    """``ecs("StopInstance", InstanceId=…)`` gives the answer; ``error(…)`` code and status of a refusal."""

    def __init__(self, server: AliyunServer, secret: str = SECRET, key: str = KEY_ID, **fixed: str) -> None:
        self.server, self.secret, self.key, self.fixed = server, secret, key, fixed

    def raw(self, product: str, action: str, **params: Any) -> tuple[int, Any]:
        given = {**common(action, product, self.key), **self.fixed, **flat(params)}
        return send(self.server, signed(given, self.secret))

    def call(self, product: str, action: str, **params: Any) -> Any:
        status, body = self.raw(product, action, **params)
        assert status == 200, body
        return body

    def ecs(self, action: str, **params: Any) -> Any:
        return self.call("Ecs", action, **params)

    def error(self, product: str, action: str, **params: Any) -> tuple[str, int]:
        status, body = self.raw(product, action, **params)
        assert status != 200 or body.get("Success") is False, body
        return body["Code"], status

    def instance(self, id: str, **params: Any) -> Any:
        """As DescribeInstances tells it, or None."""
        found = self.ecs("DescribeInstances", InstanceIds=json.dumps([id]), **params)["Instances"]["Instance"]
        return found[0] if found else None
