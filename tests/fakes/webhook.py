"""A receiver that does all that Standard Webhooks asks of receivers, on loopback.

It checks the signature over the raw body with every secret of the header's list, refuses timestamps more than five
minutes away, takes each ``webhook-id`` once, and wants ``{type, timestamp, data}`` and nothing else.
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

from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import Delivered, PlatformAnswer
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.server import Answer, Request, StrictServer

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
PATH = "/hooks/s3cr3t-p4th-0f-the-receiver"
MAX_BYTES = 20_000
TOLERANCE = timedelta(minutes=5)
_TEXT = {"Content-Type": "text/plain"}

ANSWERS: Mapping[str, PlatformAnswer] = {
    "200": PlatformAnswer(200, "ok", frozenset(), _TEXT),
    "200 and nothing": PlatformAnswer(200, "", frozenset(), _TEXT),
    "201": PlatformAnswer(201, "{}", frozenset(), {"Content-Type": "application/json"}),
    "202": PlatformAnswer(202, "", frozenset(), _TEXT),
    "204": PlatformAnswer(204, "", frozenset(), {}),
    "400": PlatformAnswer(400, "bad request", frozenset({"payload"}), _TEXT),
    "401": PlatformAnswer(401, "bad signature", frozenset({"auth"}), _TEXT),
    "403": PlatformAnswer(403, "forbidden", frozenset({"auth"}), _TEXT),
    "404": PlatformAnswer(404, "not found", frozenset({"auth"}), _TEXT),
    "408": PlatformAnswer(408, "", frozenset({"server"}), _TEXT),
    "410": PlatformAnswer(410, "gone", frozenset({"auth"}), _TEXT),
    "413": PlatformAnswer(413, "too large", frozenset({"payload"}), _TEXT),
    "422": PlatformAnswer(422, "unprocessable", frozenset({"payload"}), _TEXT),
    "429": PlatformAnswer(
        429, "slow down", frozenset({"rate"}), {**_TEXT, "Retry-After": "17"}, timedelta(seconds=17)
    ),
    "503 later": PlatformAnswer(
        503, "maintenance", frozenset({"server"}), {**_TEXT, "Retry-After": "120"}, timedelta(seconds=120)
    ),
    "500": PlatformAnswer(500, "boom", frozenset({"server"}), _TEXT),
}  # fmt: skip


@dataclass(frozen=True)
class Event:
    """A message as the receiver took it."""

    id: str
    type: str
    timestamp: datetime
    data: Mapping[str, Any]

    @property
    def delivered(self) -> Delivered:
        return Delivered(str(self.data.get("title", "")), str(self.data.get("text", "")))


class WebhookServer(StrictServer):
    """``hook_url`` takes signed posts. ``accepted``: the secrets it knows, none: it checks no signature."""

    def __init__(self, clock: FakeClock | None = None, *, accepted: tuple[str, ...] = (SECRET,)) -> None:
        super().__init__(clock)
        self.accepted = accepted
        self.clock_skew = timedelta(0)
        self.events: list[Event] = []

    @property
    def hook_url(self) -> str:
        return self.url + PATH

    # The channel contract's PlatformFixture: the limit is on the bytes of the request.

    answers = ANSWERS
    limit = MAX_BYTES
    unit: Literal["bytes"] = "bytes"
    signed = True
    secrets: tuple[str, ...] = (SECRET, SECRET.removeprefix("whsec_"), PATH)

    def message(self, text: str) -> Message:
        return replace(make_message("30 分钟后关机 train-a800-03"), body=text)

    def measured(self) -> int:
        with self.lock:
            return len(self.requests[-1].body)

    def skew(self, span: timedelta) -> None:
        self.clock_skew = span

    def delivered(self) -> list[Delivered]:
        with self.lock:
            return [event.delivered for event in self.events]

    # StrictServer

    def respond(self, request: Request) -> Answer:
        if request.path != PATH:
            return _text(404, "not found")
        return self._refusal(request) or self._take(request)

    def refuse(self, fault: Fault, request: Request) -> Answer:
        if fault is Fault.THROTTLED:
            return Answer(429, b"slow down", {**_TEXT, "Retry-After": "17"})
        if fault is Fault.SERVER_ERROR:
            return _text(503, "maintenance")
        if fault is Fault.UNAUTHENTICATED:
            return _text(401, "bad signature")
        if fault is Fault.FORBIDDEN:
            return _text(403, "forbidden")
        return super().refuse(fault, request)

    def _refusal(self, request: Request) -> Answer | None:
        if request.method != "POST":
            return _text(405, "POST only")
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,256}", request.headers.get("webhook-id", "")):
            return _text(400, "webhook-id")
        stamp = request.headers.get("webhook-timestamp", "")
        if not re.fullmatch(r"\d{10}", stamp):
            return _text(400, "webhook-timestamp")
        if abs((self.clock.now() + self.clock_skew).timestamp() - int(stamp)) > TOLERANCE.total_seconds():
            return _text(401, "timestamp outside of the tolerance")
        if self.accepted and not self._signed(request):
            return _text(401, "no signature matches")
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            return _text(415, "application/json")
        if len(request.body) > MAX_BYTES:
            return _text(413, "too large")
        try:
            body = json.loads(request.body.decode("utf-8"))
        except ValueError:
            return _text(400, "json")
        if not isinstance(body, dict) or set(body) != {"type", "timestamp", "data"}:
            return _text(422, "type, timestamp, data")
        if not re.fullmatch(r"[a-zA-Z0-9_]+(\.[a-zA-Z0-9_]+)*", str(body["type"])):
            return _text(422, "type")
        if not isinstance(body["data"], dict):
            return _text(422, "data")
        return None if _instant(body["timestamp"]) else _text(422, "timestamp")

    def _signed(self, request: Request) -> bool:
        head = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode()
        given = [part.split(",", 1) for part in request.headers.get("webhook-signature", "").split(" ")]
        for secret in self.accepted:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
            expected = base64.b64encode(hmac.new(key, head + request.body, hashlib.sha256).digest()).decode()
            if any(len(part) == 2 and part[0] == "v1" and hmac.compare_digest(part[1], expected) for part in given):
                return True
        return False

    def _take(self, request: Request) -> Answer:
        body = json.loads(request.body)
        known = request.headers["webhook-id"]
        if known not in {event.id for event in self.events}:
            at = _instant(body["timestamp"])
            assert at is not None
            self.events.append(Event(known, body["type"], at, body["data"]))
        return Answer(204, b"", {})


def _instant(value: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return at if at.tzinfo else None


def _text(status: int, words: str) -> Answer:
    return Answer(status, words.encode(), _TEXT)
