"""Feishu's (Lark's) custom bot on loopback: its own signature in the body, keyword, rate and size rules, cards.

Strict where the platform is: the signature's key is ``timestamp\\nsecret`` and its message is empty; unknown fields of
the body and of cards are refused; five messages a second and a hundred a minute; ``<at>`` in ``lark_md`` and in texts
really mentions.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import Delivered, PlatformAnswer
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.server import Answer, Request, StrictServer

TOKEN = "5f2c1a9e-7b3d-4e6f-8a1b-0c9d8e7f6a5b"
SECRET = "q7Wm2ZtR9xKc4LbN8vHs3d"
MAX_BYTES = 20 * 1024
PER_SECOND, PER_MINUTE = 5, 100

_ANSWER_TABLE: tuple[tuple[int, str, str], ...] = (
    (19001, "param invalid: incoming webhook access token invalid", "auth"),
    (19021, "sign match fail or timestamp is not within one hour from current time", "auth"),
    (19022, "Ip Not Allowed", "auth"),
    (19024, "Key Words Not Found", "auth"),
    (9499, "Bad Request", "payload"),
    (19036, "card content too long", "payload"),
    (11232, "frequency limited psm[lark.oapi.app_platform_runtime]appID[1500]", "rate"),
    (999999, "a code that nobody knows", "server"),
)
_JSON = {"Content-Type": "application/json"}


def _answers() -> Mapping[str, PlatformAnswer]:
    found = {"ok": PlatformAnswer(200, json.dumps({"code": 0, "msg": "success", "data": {}}), frozenset(), _JSON)}
    # Old bots answer in capital letters.
    found["old ok"] = PlatformAnswer(200, json.dumps({"StatusCode": 0, "StatusMessage": "success"}), frozenset(), _JSON)
    for code, words, reason in _ANSWER_TABLE:
        wait = timedelta(minutes=1) if reason == "rate" else None
        body = json.dumps({"code": code, "msg": words, "data": {}})
        # The HTTP status of a refusal is not documented: 200 and 400 were both seen.
        for status in (200, 400):
            found[f"{code} in {status}"] = PlatformAnswer(status, body, frozenset({reason}), _JSON, wait)  # type: ignore[arg-type]
    return found


ANSWERS = _answers()

_AT = re.compile(r"""<at\s+(?:user_id|id|email)=["']?([^"'>\s]+)["']?\s*/?>(?:[^<]*</at>)?""")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")
_TEMPLATES = {
    "blue", "wathet", "turquoise", "green", "yellow", "orange", "red", "carmine", "violet", "purple", "indigo", "grey",
}  # fmt: skip


@dataclass(frozen=True)
class BotMessage:
    """A message in the group."""

    msg_type: str
    content: Mapping[str, Any]
    at: datetime

    @property
    def delivered(self) -> Delivered:
        if self.msg_type == "text":
            text = str(self.content["text"])
            return Delivered(text.split("\n", 1)[0], text, tuple(_AT.findall(text)))
        marked = list(_texts(self.content))
        parsed = "\n".join(text for tag, text in marked if tag == "lark_md")
        links = [*_LINK.findall(parsed), *_urls(self.content)]
        title = str(self.content.get("header", {}).get("title", {}).get("content", ""))
        shown = "\n".join(text for _, text in marked)
        return Delivered(title, shown, tuple(dict.fromkeys(_AT.findall(parsed))), tuple(links))


class FeishuServer(StrictServer):
    """``bot_url`` is the webhook with its token.

    ``secret`` empty: signing is off. ``keywords``: one must occur. ``bot_state``: a code that the bot is stuck in.
    ``clock_skew``: how far the platform's clock is ahead of ours.
    """

    def __init__(self, clock: FakeClock | None = None, *, secret: str = SECRET, keywords: tuple[str, ...] = ()) -> None:
        super().__init__(clock)
        self.secret, self.keywords = secret, keywords
        self.bot_state = 0
        self.clock_skew = timedelta(0)
        self.messages: list[BotMessage] = []
        self._times: list[datetime] = []

    @property
    def bot_url(self) -> str:
        return f"{self.url}/open-apis/bot/v2/hook/{TOKEN}"

    # The channel contract's PlatformFixture: the limit is on the bytes of the request.

    answers = ANSWERS
    limit = MAX_BYTES
    unit: Literal["bytes"] = "bytes"
    signed = True

    def message(self, text: str) -> Message:
        title = "30 分钟后关机 train-a800-03"
        card = {
            "header": {"title": {"tag": "plain_text", "content": title}},
            "elements": [{"tag": "div", "text": {"tag": "plain_text", "content": text}}],
        }
        return make_message(title, payload={"card": card})

    def measured(self) -> int:
        with self.lock:
            return len(self.requests[-1].body)

    def skew(self, span: timedelta) -> None:
        self.clock_skew = span

    @property
    def secrets(self) -> tuple[str, ...]:
        return (TOKEN, SECRET)

    def delivered(self) -> list[Delivered]:
        with self.lock:
            return [message.delivered for message in self.messages]

    # StrictServer

    def respond(self, request: Request) -> Answer:
        if not request.path.startswith("/open-apis/bot/v2/hook/"):
            return Answer(404, b"404 page not found", {"Content-Type": "text/plain"})
        return self._refusal(request) or self._take(json.loads(request.body))

    def refuse(self, fault: Fault, request: Request) -> Answer:
        if fault is Fault.THROTTLED:
            return _code(11232, "frequency limited")
        if fault is Fault.SERVER_ERROR:
            return Answer(503, b"upstream unavailable", {"Content-Type": "text/plain"})
        if fault is Fault.UNAUTHENTICATED:
            return _code(19001, "incoming webhook access token invalid")
        if fault is Fault.FORBIDDEN:
            return _code(19022, "Ip Not Allowed")
        return super().refuse(fault, request)

    # The bot

    def _refusal(self, request: Request) -> Answer | None:
        if request.method != "POST":
            return _code(9499, "Bad Request: method")
        if request.path.rsplit("/", 1)[1] != TOKEN or request.raw_query:
            return _code(19001, "param invalid: incoming webhook access token invalid")
        if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
            return _code(9499, "Bad Request: content type")
        if len(request.body) > MAX_BYTES:
            return _code(9499, "Bad Request: the body is larger than 20 KB")
        try:
            body = json.loads(request.body.decode("utf-8"))
        except ValueError:
            return _code(9499, "Bad Request: json")
        if not isinstance(body, dict):
            return _code(9499, "Bad Request: json")
        if self.secret and not self._signed(body):
            return _code(19021, "sign match fail or timestamp is not within one hour from current time")
        if self.bot_state:
            return _code(self.bot_state, next(words for code, words, _ in _ANSWER_TABLE if code == self.bot_state))
        if complaint := _bad_shape(body):
            return _code(9499, f"Bad Request: {complaint}")
        if self.keywords and not any(word in text for word in self.keywords for text in _strings(body)):
            return _code(19024, "Key Words Not Found")
        return self._too_fast()

    def _signed(self, body: Mapping[str, Any]) -> bool:
        stamp = body.get("timestamp")
        if not isinstance(stamp, str) or not stamp.isdigit() or len(stamp) != 10:
            return False
        if abs((self.clock.now() + self.clock_skew).timestamp() - int(stamp)) > 3600:
            return False
        expected = hmac.new(f"{stamp}\n{self.secret}".encode(), b"", hashlib.sha256).digest()
        return hmac.compare_digest(base64.b64encode(expected), str(body.get("sign", "")).encode())

    def _too_fast(self) -> Answer | None:
        now = self.clock.now()
        self._times = [at for at in self._times if now - at < timedelta(minutes=1)]
        second = [at for at in self._times if now - at < timedelta(seconds=1)]
        if len(self._times) >= PER_MINUTE or len(second) >= PER_SECOND:
            return _code(11232, "frequency limited")
        self._times.append(now)
        return None

    def _take(self, body: Mapping[str, Any]) -> Answer:
        kind = body["msg_type"]
        content = body["card"] if kind == "interactive" else body["content"]
        self.messages.append(BotMessage(kind, content, self.clock.now()))
        return _json({"StatusCode": 0, "StatusMessage": "success", "code": 0, "data": {}, "msg": "success"})


def _json(value: Mapping[str, Any]) -> Answer:
    return Answer(200, json.dumps(value, ensure_ascii=False).encode())


def _code(code: int, msg: str) -> Answer:
    return _json({"code": code, "msg": msg, "data": {}})


def _bad_shape(body: Mapping[str, Any]) -> str:
    """What is wrong with a message, empty when the bot takes it."""
    kind = body.get("msg_type")
    if kind == "text":
        content = body.get("content")
        if set(body) - {"timestamp", "sign"} != {"msg_type", "content"}:
            return "unknown field"
        if not isinstance(content, dict) or set(content) != {"text"} or not isinstance(content["text"], str):
            return "content"
        return "" if content["text"].strip() else "empty text"
    if kind != "interactive":
        return "msg_type"
    if set(body) - {"timestamp", "sign"} != {"msg_type", "card"}:
        return "unknown field"
    return _bad_card(body["card"])


def _bad_card(card: Any) -> str:
    if not isinstance(card, dict) or not set(card) <= {"config", "header", "elements"}:
        return "card"
    if not isinstance(config := card.get("config", {}), dict) or not set(config) <= {
        "wide_screen_mode", "enable_forward", "update_multi",
    }:  # fmt: skip
        return "card.config"
    header = card.get("header")
    if not isinstance(header, dict) or not set(header) <= {"title", "template"} or _bad_text(header.get("title")):
        return "card.header"
    if header["title"]["tag"] != "plain_text" or header.get("template", "blue") not in _TEMPLATES:
        return "card.header"
    elements = card.get("elements")
    if not isinstance(elements, list) or not 1 <= len(elements) <= 50:
        return "card.elements"
    return next((f"element {n}" for n, element in enumerate(elements) if _bad_element(element)), "")


def _bad_element(element: Any) -> bool:
    if not isinstance(element, dict):
        return True
    match element.get("tag"):
        case "hr":
            return set(element) != {"tag"}
        case "div":
            return set(element) != {"tag", "text"} or _bad_text(element["text"])
        case "note":
            texts = element.get("elements")
            return set(element) != {"tag", "elements"} or not isinstance(texts, list) or any(map(_bad_text, texts))
        case "action":
            buttons = element.get("actions")
            return set(element) != {"tag", "actions"} or not isinstance(buttons, list) or any(map(_bad_button, buttons))
    return True


def _bad_button(button: Any) -> bool:
    """A custom bot's buttons open addresses; a ``value`` would need an app that takes callbacks."""
    return (
        not isinstance(button, dict)
        or set(button) - {"type"} != {"tag", "text", "url"}
        or button["tag"] != "button"
        or button.get("type", "default") not in ("default", "primary", "danger")
        or _bad_text(button["text"])
        or not re.fullmatch(r"https?://\S+", str(button["url"]))
    )


def _bad_text(text: Any) -> bool:
    return (
        not isinstance(text, dict)
        or set(text) != {"tag", "content"}
        or text["tag"] not in ("plain_text", "lark_md")
        or not isinstance(text["content"], str)
        or not text["content"].strip()
    )


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """Every text of a card with its tag, in order."""
    if isinstance(value, dict):
        if value.get("tag") in ("plain_text", "lark_md"):
            yield value["tag"], value["content"]
        else:
            for inner in value.values():
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _urls(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("url"), str):
            yield value["url"]
        for inner in value.values():
            yield from _urls(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _urls(inner)


def _strings(body: Mapping[str, Any]) -> list[str]:
    if body["msg_type"] == "text":
        return [body["content"]["text"]]
    return [text for _, text in _texts(body["card"])]
