"""The inbox's HTTP side: a Starlette app to mount. Channels of the demo point their URL at it and send as they
would send to the platform; it answers as the platform does.

``POST /slack/{channel}`` is an incoming webhook; ``POST /robot/send?access_token={channel}`` is a DingTalk robot whose
signature is checked when the channel has a secret.
"""

import hmac
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from costguard.notify.dingtalk.channel import MAX_BYTES
from costguard.notify.dingtalk.sign import sign_text
from costguard.notify.inbox.store import InboxStore
from costguard.ports import Clock

WINDOW = timedelta(hours=1)


def inbox_app(store: InboxStore, secrets: Mapping[str, str], clock: Clock) -> Starlette:
    """The app. ``secrets``: DingTalk channel → signing secret. Received times and the signature's window are the
    ``clock``'s."""

    async def slack(request: Request) -> Response:
        payload = _object(await request.body())
        if payload is None:
            return PlainTextResponse("invalid_payload", 400)
        if not payload.get("text") and not payload.get("blocks"):
            return PlainTextResponse("no_text", 400)
        store.add("slack", str(request.path_params["channel"]), clock.now(), payload)
        return PlainTextResponse("ok")

    async def dingtalk(request: Request) -> Response:
        channel = request.query_params.get("access_token", "")
        if not channel:
            return _errcode(40035, "缺少参数 access_token")
        secret = secrets.get(channel)
        if secret and not _signed(request.query_params, secret, clock):
            return _errcode(310000, "签名不匹配或已过期")
        body = await request.body()
        if len(body) > MAX_BYTES:
            return _errcode(460101, "消息内容太长")
        payload = _object(body)
        if payload is None or not isinstance(payload.get(str(payload.get("msgtype"))), dict):
            return _errcode(40035, "缺少参数 json")
        key = payload.get("msgUuid")
        store.add("dingtalk", channel, clock.now(), payload, key if isinstance(key, str) else None)
        return _errcode(0, "ok")

    return Starlette(
        routes=[
            Route("/slack/{channel}", slack, methods=["POST"]),
            Route("/robot/send", dingtalk, methods=["POST"]),
        ]
    )


def _signed(query: Mapping[str, str], secret: str, clock: Clock) -> bool:
    timestamp = query.get("timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 16):
        return False
    age = abs(clock.now().timestamp() - int(timestamp) / 1000)
    right = sign_text(secret, timestamp)
    return age <= WINDOW.total_seconds() and hmac.compare_digest(right.encode(), query.get("sign", "").encode())


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _errcode(errcode: int, errmsg: str) -> JSONResponse:
    return JSONResponse({"errcode": errcode, "errmsg": errmsg})
