"""DingTalk's custom group robot on loopback: signature, keyword and rate rules, codes inside HTTP 200.

Strict where the platform is strict: the signature is checked by the published recipe after decoding the query
exactly once; the 21st message within a minute locks the robot for ten; a mention in markdown counts only when the
text itself holds ``@mobile``.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal
from urllib.parse import unquote

from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import Delivered, PlatformAnswer
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.server import Answer, Request, StrictServer

ACCESS_TOKEN = "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0"
SECRET = "SECa1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90"
MAX_BYTES = 20_000
PER_MINUTE = 20
LOCKED_FOR = timedelta(minutes=10)

_ANSWER_TABLE: tuple[tuple[int, str, str], ...] = (
    (0, "ok", ""),
    (-1, "系统繁忙", "server maybe_delivered"),
    (130101, "send too fast, exceed 20 times per minute", "rate"),
    (410100, "发送速度太快而限流", "rate"),
    (310000, "keywords not in content", "auth"),
    (300001, "token is not exist", "auth"),
    (300005, "token is not exist", "auth"),
    (400101, "access_token不存在", "auth"),
    (400013, "群已被解散", "auth"),
    (400102, "机器人已停用", "auth"),
    (400106, "机器人不存在", "auth"),
    (40035, "缺少参数 json", "payload"),
    (43004, "无效的HTTP HEADER Content-Type", "payload"),
    (400105, "不支持的消息类型", "payload"),
    (430101, "description:链接不安全", "payload"),
    (430102, "description:文本不合适", "payload"),
    (460101, "description:消息内容太长", "payload"),
    (101002, "message is too long", "payload"),
    (999999, "a code that nobody knows", "server payload maybe_delivered auth"),
)
_GATEWAY = {"status": 1111, "wait": 5, "source": "x5", "punish": "deny", "uuid": "0123"}


def _answers() -> Mapping[str, PlatformAnswer]:
    json_type = {"Content-Type": "application/json"}
    table = {
        str(code): PlatformAnswer(
            200,
            json.dumps({"errcode": code, "errmsg": words}, ensure_ascii=False),
            frozenset(reasons.split()),  # type: ignore[arg-type]
            json_type,
            LOCKED_FOR if reasons == "rate" else None,
        )
        for code, words, reasons in _ANSWER_TABLE
    }
    # The flood gateway has no errcode at all.
    table["flood gateway"] = PlatformAnswer(
        200, json.dumps(_GATEWAY), frozenset({"rate", "server"}), json_type, timedelta(seconds=5)
    )
    return table


ROBOT_ANSWERS = _answers()

_FIELDS: dict[str, tuple[set[str], set[str]]] = {  # msgtype → (required, optional)
    "text": ({"content"}, set()),
    "markdown": ({"title", "text"}, set()),
    "link": ({"title", "text", "messageUrl"}, {"picUrl"}),
    "actionCard": ({"title", "text"}, {"singleTitle", "singleURL", "btns", "btnOrientation"}),
}
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")


@dataclass(frozen=True)
class RobotMessage:
    """A message in the group. ``mentions``: mobiles (or ``@all``) that were really pinged."""

    msgtype: str
    content: Mapping[str, Any]
    mentions: tuple[str, ...]
    uuid: str | None
    at: datetime

    @property
    def text(self) -> str:
        return str(self.content.get("content") or self.content.get("text") or "")

    @property
    def delivered(self) -> Delivered:
        links = _LINK.findall(self.text)
        links += [str(self.content[key]) for key in ("messageUrl", "singleURL") if key in self.content]
        links += [str(button.get("actionURL")) for button in self.content.get("btns", ())]
        notification = str(self.content.get("title") or self.text.split("\n", 1)[0])
        return Delivered(notification, self.text, self.mentions, tuple(links))


class DingTalkServer(StrictServer):
    """``robot_url`` is the webhook with its access token.

    ``secret`` empty: signing is off. ``keywords``: one of them must occur. ``robot_state``: an errcode the robot
    is stuck in (400102 stopped …), 0 when it is well. ``flooded``: the gateway answers in its stead.
    ``clock_skew``: how far the platform's clock is ahead of ours.
    """

    def __init__(self, clock: FakeClock | None = None, *, secret: str = SECRET, keywords: tuple[str, ...] = ()) -> None:
        super().__init__(clock)
        self.secret, self.keywords = secret, keywords
        self.robot_state = 0
        self.flooded = False
        self.clock_skew = timedelta(0)
        self.messages: list[RobotMessage] = []
        self._times: list[datetime] = []
        self._locked_until: datetime | None = None

    @property
    def robot_url(self) -> str:
        return f"{self.url}/robot/send?access_token={ACCESS_TOKEN}"

    # The channel contract's PlatformFixture: the limit is on the bytes of the request.

    answers = ROBOT_ANSWERS
    limit = MAX_BYTES
    unit: Literal["bytes"] = "bytes"
    signed = True

    def message(self, text: str) -> Message:
        return replace(make_message("30 分钟后关机 train-a800-03"), body=text)

    def measured(self) -> int:
        with self.lock:
            return len(self.requests[-1].body)

    def skew(self, span: timedelta) -> None:
        self.clock_skew = span

    @property
    def secrets(self) -> tuple[str, ...]:
        return (ACCESS_TOKEN, SECRET)

    @property
    def locked(self) -> bool:
        return self._locked_until is not None and self.clock.now() < self._locked_until

    def delivered(self) -> list[Delivered]:
        with self.lock:
            return [message.delivered for message in self.messages]

    def signatures(self) -> list[str]:
        """As they came over the wire, encoded and decoded."""
        with self.lock:
            raw = [match for request in self.requests for match in re.findall(r"sign=([^&]*)", request.raw_query)]
        return sorted({*raw, *map(unquote, raw)} - {""})

    # StrictServer

    def respond(self, request: Request) -> Answer:
        if self.flooded:
            return _json(_GATEWAY)
        if request.path != "/robot/send":
            return Answer(404, b"not found", {"Content-Type": "text/plain"})
        if request.method != "POST":
            return _code(43002, "需要POST请求")
        return self._refusal(request) or self._take(json.loads(request.body))

    def refuse(self, fault: Fault, request: Request) -> Answer:
        if fault is Fault.THROTTLED:
            return _code(130101, "send too fast, exceed 20 times per minute")
        if fault is Fault.SERVER_ERROR:
            return _code(-1, "系统繁忙")
        if fault is Fault.UNAUTHENTICATED:
            return _code(300005, "token is not exist")
        if fault is Fault.FORBIDDEN:
            return _code(400102, "机器人已停用")
        return super().refuse(fault, request)

    # The robot

    def _refusal(self, request: Request) -> Answer | None:
        """What the platform objects to, in its order: token, security, state, shape, size, rate."""
        query = request.query
        if "access_token" not in query:
            return _code(40035, "缺少参数 access_token")
        if query["access_token"] != ACCESS_TOKEN:
            return _code(300005, "token is not exist")
        if strange := set(query) - {"access_token", "timestamp", "sign"}:
            return _code(40035, f"不合法的参数 {sorted(strange)}")
        if self.secret and (complaint := self._bad_signature(query)):
            return _code(310000, complaint)
        if self.robot_state:
            words = next((words for code, words, _ in _ANSWER_TABLE if code == self.robot_state), "robot is not well")
            return _code(self.robot_state, words)
        if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
            return _code(43004, "无效的HTTP HEADER Content-Type")
        if len(request.body) > MAX_BYTES:
            return _code(460101, "description:消息内容太长;solution:不超过20000字节;")
        try:
            message = json.loads(request.body.decode("utf-8"))
        except ValueError:
            return _code(40035, "缺少参数 json")
        if complaint := bad_shape(message):
            code = 400105 if complaint == "msgtype" else 40035
            return _code(code, f"不合法的参数 {complaint}")
        body = message[message["msgtype"]]
        if self.keywords and not any(word in str(body) for word in self.keywords):
            return _code(310000, "description:关键词不匹配;solution:请联系群管理员查看此机器人的关键词;")
        return self._too_fast()

    def _bad_signature(self, query: Mapping[str, str]) -> str:
        stamp = query.get("timestamp", "")
        if not stamp.isdigit():
            return "description:机器人发送签名不匹配;solution:timestamp;"
        now_ms = (self.clock.now() + self.clock_skew).timestamp() * 1000
        if abs(now_ms - int(stamp)) > 3_600_000:
            return "description:机器人发送签名过期;solution:签名生成时间和发送时间请保持在timestampms以内;"
        digest = hmac.new(self.secret.encode(), f"{stamp}\n{self.secret}".encode(), hashlib.sha256).digest()
        # parse_qsl has decoded the query once: a sign that was encoded twice, or not at all, differs here.
        if not hmac.compare_digest(base64.b64encode(digest), query.get("sign", "").encode()):
            return "description:机器人发送签名不匹配;solution:请确认签名和生成签名的时间戳必须都放在调用的网址中;"
        return ""

    def _too_fast(self) -> Answer | None:
        now = self.clock.now()
        self._times = [at for at in self._times if now - at < timedelta(minutes=1)]
        if not self.locked and len(self._times) >= PER_MINUTE:
            self._locked_until = now + LOCKED_FOR
        if self.locked:
            return _code(130101, "send too fast, exceed 20 times per minute")
        self._times.append(now)
        return None

    def _take(self, message: Mapping[str, Any]) -> Answer:
        uuid = message.get("msgUuid")
        if uuid is None or uuid not in {known.uuid for known in self.messages}:
            kind = message["msgtype"]
            pinged = mentions(kind, message[kind], message.get("at", {}))
            self.messages.append(RobotMessage(kind, message[kind], pinged, uuid, self.clock.now()))
        return _code(0, "ok")


def _json(value: Mapping[str, Any]) -> Answer:
    return Answer(200, json.dumps(value, ensure_ascii=False).encode())


def _code(errcode: int, errmsg: str) -> Answer:
    return _json({"errcode": errcode, "errmsg": errmsg})


def bad_shape(message: Any) -> str:
    """The name of what is wrong, empty when the robot takes it."""
    if not isinstance(message, dict):
        return "json"
    kind = message.get("msgtype")
    if kind not in _FIELDS:
        return "msgtype"
    if strange := set(message) - {"msgtype", kind, "at", "msgUuid"}:
        return f"{sorted(strange)}"
    body = message.get(kind)
    required, optional = _FIELDS[kind]
    if not isinstance(body, dict) or not required <= set(body) <= required | optional:
        return str(kind)
    if not all(isinstance(body[name], str) and body[name].strip() for name in required):
        return f"{kind} is empty"
    if kind == "actionCard" and ("btns" in body) == ({"singleTitle", "singleURL"} <= set(body)):
        return "actionCard: one button or several"
    if not isinstance(message.get("msgUuid", ""), str):
        return "msgUuid"
    at = message.get("at", {})
    if not isinstance(at, dict) or not set(at) <= {"atMobiles", "atUserIds", "isAtAll"}:
        return "at"
    lists = [at.get("atMobiles", []), at.get("atUserIds", [])]
    if not all(isinstance(value, list) and all(isinstance(who, str) for who in value) for value in lists):
        return "at"
    return "" if isinstance(at.get("isAtAll", False), bool) else "at"


def mentions(kind: str, body: Mapping[str, Any], at: Mapping[str, Any]) -> tuple[str, ...]:
    """Who is really pinged: in markdown only whom the text itself names; cards ping nobody."""
    if kind not in ("text", "markdown"):
        return ()
    asked = [*at.get("atMobiles", []), *at.get("atUserIds", [])]
    named = [who for who in asked if kind == "text" or f"@{who}" in body["text"]]
    return (*(["@all"] if at.get("isAtAll") else []), *named)
