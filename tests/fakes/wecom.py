"""WeCom's (企业微信) group robot on loopback: key, byte limits, 20 a minute, codes inside HTTP 200.

Strict where the platform is: a markdown of 4,097 bytes is refused, the 21st message of a minute too; ``<@userid>`` in
markdown really mentions.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import Delivered, PlatformAnswer
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.server import Answer, Request, StrictServer

KEY = "693a91f6-7c8a-4bc4-97a0-0ec2sifa5aaa"
MARKDOWN_BYTES, TEXT_BYTES = 4096, 2048
PER_MINUTE = 20

_ANSWER_TABLE: tuple[tuple[int, str, str], ...] = (
    (0, "ok", ""),
    (-1, "system busy", "server"),
    (93000, "invalid webhook url", "auth"),
    (45009, "api freq out of limit", "rate"),
    (40058, "markdown.content exceed max length 4096", "payload"),
    (40008, "invalid message type", "payload"),
    (999999, "a code that nobody knows", "server"),
)


def _answers() -> Mapping[str, PlatformAnswer]:
    return {
        str(code): PlatformAnswer(
            200,
            json.dumps({"errcode": code, "errmsg": words}),
            frozenset([reason] if reason else []),  # type: ignore[list-item]
            {"Content-Type": "application/json"},
            timedelta(minutes=1) if reason == "rate" else None,
        )
        for code, words, reason in _ANSWER_TABLE
    }


ANSWERS = _answers()
_AT = re.compile(r"<@([^>\s]+)>")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")
_LISTS = ("mentioned_list", "mentioned_mobile_list")


@dataclass(frozen=True)
class RobotMessage:
    """A message in the group. ``mentions``: who was really pinged."""

    msgtype: str
    content: str
    mentions: tuple[str, ...]
    at: datetime

    @property
    def delivered(self) -> Delivered:
        links = tuple(_LINK.findall(self.content)) if self.msgtype == "markdown" else ()
        title = self.content.split("\n", 1)[0].lstrip("# ")
        return Delivered(title, self.content, self.mentions, links)


class WecomServer(StrictServer):
    """``robot_url`` is the webhook with its key. ``robot_state``: an errcode that the robot is stuck in."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        super().__init__(clock)
        self.robot_state = 0
        self.messages: list[RobotMessage] = []
        self._times: list[datetime] = []

    @property
    def robot_url(self) -> str:
        return f"{self.url}/cgi-bin/webhook/send?key={KEY}"

    # The channel contract's PlatformFixture: the limit is on the bytes of the markdown.

    answers = ANSWERS
    limit = MARKDOWN_BYTES
    unit: Literal["bytes"] = "bytes"
    signed = False
    secrets: tuple[str, ...] = (KEY,)

    def message(self, text: str) -> Message:
        return replace(make_message("30 分钟后关机 train-a800-03"), body=text)

    def measured(self) -> int:
        with self.lock:
            return len(json.loads(self.requests[-1].body)["markdown"]["content"].encode())

    def skew(self, span: timedelta) -> None:
        """Nothing is signed, nothing depends on the platform's clock."""

    def delivered(self) -> list[Delivered]:
        with self.lock:
            return [message.delivered for message in self.messages]

    # StrictServer

    def respond(self, request: Request) -> Answer:
        if request.path != "/cgi-bin/webhook/send":
            return Answer(404, b"not found", {"Content-Type": "text/plain"})
        return self._refusal(request) or self._take(json.loads(request.body))

    def refuse(self, fault: Fault, request: Request) -> Answer:
        if fault is Fault.THROTTLED:
            return _code(45009, "api freq out of limit")
        if fault is Fault.SERVER_ERROR:
            return _code(-1, "system busy")
        if fault is Fault.UNAUTHENTICATED:
            return _code(93000, "invalid webhook url")
        return super().refuse(fault, request)

    # The robot

    def _refusal(self, request: Request) -> Answer | None:
        if request.query != {"key": KEY}:
            return _code(93000, "invalid webhook url, hint: [1700000000]")
        if self.robot_state:
            return _code(self.robot_state, next(words for code, words, _ in _ANSWER_TABLE if code == self.robot_state))
        if request.method != "POST":
            return _code(43002, "require POST method")
        try:
            body = json.loads(request.body.decode("utf-8"))
        except ValueError:
            return _code(40008, "invalid message type")
        if not isinstance(body, dict) or (kind := body.get("msgtype")) not in ("text", "markdown"):
            return _code(40008, "invalid message type")
        part = body.get(kind)
        known = {"content", *_LISTS} if kind == "text" else {"content"}
        if set(body) != {"msgtype", kind} or not isinstance(part, dict) or not set(part) <= known:
            return _code(40008, f"invalid {kind}")
        content = part.get("content")
        if not isinstance(content, str) or not content.strip():
            return _code(40058, f"{kind}.content missing")
        if not all(isinstance(who, str) for name in _LISTS for who in part.get(name, [])):
            return _code(40058, "mentioned_list is no list of strings")
        most = MARKDOWN_BYTES if kind == "markdown" else TEXT_BYTES
        if len(content.encode()) > most:
            return _code(40058, f"{kind}.content exceed max length {most}. invalid Request Parameter")
        now = self.clock.now()
        self._times = [at for at in self._times if now - at < timedelta(minutes=1)]
        if len(self._times) >= PER_MINUTE:
            return _code(45009, "api freq out of limit")
        self._times.append(now)
        return None

    def _take(self, body: Mapping[str, Any]) -> Answer:
        kind = body["msgtype"]
        part = body[kind]
        asked = _AT.findall(part["content"]) if kind == "markdown" else [w for n in _LISTS for w in part.get(n, [])]
        self.messages.append(RobotMessage(kind, part["content"], tuple(dict.fromkeys(asked)), self.clock.now()))
        return _code(0, "ok")


def _code(errcode: int, errmsg: str) -> Answer:
    return Answer(200, json.dumps({"errcode": errcode, "errmsg": errmsg}).encode())
