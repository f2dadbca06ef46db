"""DingTalk's reference as tables and checks: codes, fields, sample messages. How sure each is: see dingtalk_openapi."""

import json
import secrets as random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from costguard.errors import DeliveryReason
from costguard.testing.channel_contract import PlatformAnswer
from tests.fakes.server import Answer

CLIENT_ID = "dingue4kfzdxbyn0pjqd"
CLIENT_SECRET = "Xq3-vB7n_ClIeNtSeCrEt-0123456789abcdefghijklmnopqrstuvwxyz"
TEMPLATE = "8f0c6d2a-1b3c-4d5e-9f70-costguardwarn.schema"
GROUP = "cidFbEwwavwcAsXDZbYqSBLnA=="
TOKEN_LIFE = timedelta(seconds=7_200)
SESSION_LIFE = timedelta(minutes=20)
MSG_PARAM_BYTES = 15_000
PER_SECOND = 40
MOST_USERS = 20

_AUTH: frozenset[DeliveryReason] = frozenset({"auth"})
_OURS: frozenset[DeliveryReason] = frozenset({"payload"})
_SERVER: frozenset[DeliveryReason] = frozenset({"server", "maybe_delivered"})
_ERRORS: tuple[tuple[int, str, str, frozenset[DeliveryReason]], ...] = (
    (403, "Forbidden.AccessDenied.AccessTokenPermissionDenied", "应用尚未开通所需的权限", _AUTH),
    (403, "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", "请求次数超过限制", frozenset({"rate", "server"})),
    (400, "param.openSpaceModelInvalid", "param.openSpaceModelInvalid", _OURS | _AUTH),
    (400, "param.contentUnsafe", "卡片数据不能通过安全审查", _OURS),
    (400, "invalidParameter.msgParam.invalid", "msgParam must be in JSON format", _OURS),
    (400, "a.word.that.nobody.knows", "?", _SERVER | _OURS | _AUTH),
    (500, "ServiceUnavailable", "系统繁忙", _SERVER),
    (503, "ServiceUnavailable", "系统繁忙", _SERVER),
)
API_ANSWERS: Mapping[str, PlatformAnswer] = {
    "ok": PlatformAnswer(
        200,
        '{"processQueryKey":"k1","success":true,"result":{"outTrackId":"k1","deliverResults":[{"success":true}]}}',
        frozenset(),
    ),
    **{
        f"{status} {code}": PlatformAnswer(
            status, json.dumps({"code": code, "message": words, "requestid": "R1"}, ensure_ascii=False), reasons
        )
        for status, code, words, reasons in _ERRORS
    },
    "success false": PlatformAnswer(200, '{"success":false,"result":null}', _SERVER | _OURS | _AUTH),
    "an error inside 200": PlatformAnswer(
        200, '{"code":"a.word","message":"?","requestid":"R1"}', _SERVER | _OURS | _AUTH
    ),
}

CREATE, UPDATE = "/v1.0/card/instances/createAndDeliver", "/v1.0/card/instances"
GROUP_SEND, PERSON_SEND = "/v1.0/robot/groupMessages/send", "/v1.0/robot/oToMessages/batchSend"
SESSION = "/robot/sendBySession"
SENDING = frozenset({CREATE, GROUP_SEND, PERSON_SEND, SESSION})
_SAMPLES = {
    "sampleText": {"content"},
    "sampleMarkdown": {"title", "text"},
    "sampleActionCard": {"title", "text", "singleTitle", "singleURL"},
    "sampleLink": {"title", "text", "messageUrl"},
}
CREATE_FIELDS = {
    *("userId", "userIdType", "cardTemplateId", "outTrackId", "callbackType", "callbackRouteKey", "openSpaceId"),
    *("cardData", "privateData", "cardAtUserIds", "openDynamicDataConfig", "imGroupOpenSpaceModel"),
    *("imGroupOpenDeliverModel", "imRobotOpenSpaceModel", "imRobotOpenDeliverModel", "imSingleOpenSpaceModel"),
    "imSingleOpenDeliverModel",
}


def ok(body: Mapping[str, Any]) -> Answer:
    return Answer(200, json.dumps(body, ensure_ascii=False).encode())


def error(status: int, code: str, message: str, **more: Any) -> Answer:
    body = {"code": code, "message": message, "requestid": random.token_hex(16).upper(), **more}
    return Answer(status, json.dumps(body, ensure_ascii=False).encode())


def strings(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def card_params(body: Mapping[str, Any]) -> dict[str, str] | None:
    data = body.get("cardData")
    params = data.get("cardParamMap") if isinstance(data, dict) and set(data) == {"cardParamMap"} else None
    return params if strings(params) else None


def card_space(body: Mapping[str, Any]) -> tuple[str, str] | None:
    """Kind and id of ``dtv1.card//IM_GROUP.<conversation>``, when the models that its kind needs are there."""
    kind, _, where = str(body.get("openSpaceId", "")).removeprefix("dtv1.card//").partition(".")
    if not str(body.get("openSpaceId", "")).startswith("dtv1.card//") or not where:
        return None
    if kind == "IM_GROUP" and body.get("imGroupOpenDeliverModel", {}).get("robotCode") == CLIENT_ID:
        return (kind, where) if isinstance(body.get("imGroupOpenSpaceModel"), dict) else None
    if kind == "IM_ROBOT" and body.get("imRobotOpenDeliverModel", {}).get("spaceType") == "IM_ROBOT":
        return (kind, where) if isinstance(body.get("imRobotOpenSpaceModel"), dict) else None
    return None


def bad_sample(body: Mapping[str, Any]) -> Answer | None:
    if not body.get("robotCode"):
        return error(400, "invalidParameter.robotCode.empty", "The bot robotCode is empty.")
    if body["robotCode"] != CLIENT_ID:
        return error(400, "invalidParameter.robotCode.auth", "This app's appkey does not match the bot's robotCode.")
    if not body.get("msgKey"):
        return error(400, "invalidParameter.msgKey.empty", "The msgKey is missing.")
    needed = _SAMPLES.get(body["msgKey"])
    if needed is None:
        return error(400, "invalidParameter.msgKey.invalid", "The msgKey is invalid.")
    try:
        param = json.loads(body["msgParam"]) if isinstance(body.get("msgParam"), str) else None
    except ValueError:
        param = None
    if not strings(param) or len(body["msgParam"].encode()) > MSG_PARAM_BYTES:
        return error(400, "invalidParameter.msgParam.invalid", "The msgParam must be in JSON format.")
    if set(param or {}) != needed or not all(text.strip() for text in (param or {}).values()):
        return error(400, "invalidParameter.param.invalid", f"{body['msgKey']} needs {sorted(needed)}")
    return None
