"""Channels as small as they can be and still right: they show that the channel contract can be passed.

``wrong`` names one mistake each; the contract must catch every one of them.
"""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx

from costguard.domain.notice import Receipt
from costguard.errors import DeliveryError
from costguard.ports import Message
from costguard.testing.clock import FakeClock
from tests.fakes.dingtalk import ACCESS_TOKEN, SECRET


@dataclass(repr=False)
class ReferenceChannel:
    """``kind`` slack or dingtalk."""

    kind: str
    url: str
    clock: FakeClock
    wrong: str = ""
    name: str = "ops"
    max_per_minute: int = 18
    _signature: dict[str, str] = field(default_factory=dict)

    @property
    def render_format(self) -> str:
        return self.kind

    @property
    def idempotent(self) -> bool:
        return self.kind == "dingtalk"

    def send(self, message: Message) -> Receipt:
        tries = 2 if self.wrong == "retries itself" else 1
        for attempt in range(tries):
            try:
                answer = self._post(message)
                break
            except httpx.HTTPError:
                if attempt + 1 < tries:
                    continue
                detail = f"no answer from {self.url}" if self.wrong == "leaks the url" else "no answer"
                raise DeliveryError(self.name, "maybe_delivered", detail) from None
        if self.wrong == "trusts HTTP 200" and answer.status_code == 200:
            return Receipt()
        return self._judge(answer)

    def _post(self, message: Message) -> httpx.Response:
        options: dict[str, Any] = {"params": self._query(), "content": self._body(message)}
        if self.kind == "slack":
            del options["params"]
        return httpx.post(
            self.url.split("?")[0],
            headers={"Content-Type": "application/json"},
            timeout=2,
            trust_env=False,
            follow_redirects=self.wrong == "follows redirects",
            **options,
        )

    def _query(self) -> dict[str, str]:
        if not self._signature or self.wrong != "signs once":
            stamp = str(int(self.clock.now().timestamp() * 1000))
            digest = hmac.new(SECRET.encode(), f"{stamp}\n{SECRET}".encode(), hashlib.sha256).digest()
            self._signature = {"timestamp": stamp, "sign": base64.b64encode(digest).decode()}
        return {"access_token": ACCESS_TOKEN, **self._signature}

    def _body(self, message: Message) -> bytes:
        if self.kind == "slack":
            return json.dumps({"text": _entities(message.title), **message.payload}).encode()
        markdown = {"title": message.title, "text": message.body}
        at = {"atMobiles": list(message.mentions)}
        body = {"msgtype": "markdown", "markdown": markdown, "at": at, "msgUuid": message.idem_key}
        if self.wrong == "sends no key":
            del body["msgUuid"]
        text = json.dumps(body, ensure_ascii=False)
        return text.encode()

    def _judge(self, answer: httpx.Response) -> Receipt:
        if self.kind == "slack":
            return self._judge_slack(answer)
        try:
            value = answer.json()
        except ValueError:
            value = None
        if answer.status_code != 200 or not isinstance(value, dict):
            raise DeliveryError(self.name, "server", "not an answer of the robot")
        code = value.get("errcode")
        if code == 0:
            return Receipt()
        if code in (130101, 410100) or "wait" in value:
            wait = timedelta(seconds=value["wait"]) if "wait" in value else timedelta(minutes=10)
            raise DeliveryError(self.name, "rate", "too fast", retry_at=self.clock.now() + wait)
        if code in (None, -1):
            raise DeliveryError(self.name, "server", "busy", code=str(code))
        if code in (40035, 43004, 400105, 430101, 430102, 460101, 101002):
            raise DeliveryError(self.name, "payload", "refused", code=str(code))
        hint = "check the robot's security settings and this machine's clock" if code == 310000 else None
        raise DeliveryError(self.name, "auth", "refused", code=str(code), hint=hint)

    def _judge_slack(self, answer: httpx.Response) -> Receipt:
        if (answer.status_code, answer.text) == (200, "ok"):
            return Receipt()
        if answer.status_code == 429:
            wait = timedelta(seconds=int(answer.headers["Retry-After"]))
            raise DeliveryError(self.name, "rate", "too fast", retry_at=self.clock.now() + wait)
        if answer.status_code in (403, 404, 410):
            raise DeliveryError(self.name, "auth", "refused", code=answer.text[:40])
        if answer.status_code == 400:
            raise DeliveryError(self.name, "payload", "refused", code=answer.text[:40])
        raise DeliveryError(self.name, "server", "not an answer of the webhook")


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def render_slack(name: str) -> Message:
    """A warning about a box of this name: markup undone, shortened to what a header holds."""
    shown = " ".join(name.split()) or "(no name)"
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": _entities(shown)[:3000]}}]
    title = f"Stopping in 30 min: {shown}"
    return Message(title, _entities(shown), title, "key-1", {"blocks": blocks})


def render_dingtalk(name: str) -> Message:
    """A warning whose markup characters are full-width, with the owner pinged by the text."""
    shown = " ".join(name.split()) or "(no name)"
    for plain, wide in zip("[]()!*_`#@", "［］（）！＊＿｀＃＠", strict=True):
        shown = shown.replace(plain, wide)
    title = f"30 分钟后关机 {shown}"
    return Message(title, f"{shown} @13912345678", title, "key-1", mentions=("13912345678",))
