"""Slack on loopback: an incoming webhook and the few Web API methods that costguard calls.

As strict as Slack is known to be: unknown properties, empty texts and ids used twice are refused; HTTP 200 with
``ok: false`` is how the Web API says no; the webhook says ``ok`` and nothing else when it took a message.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from costguard.errors import DeliveryReason
from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import Delivered, PlatformAnswer
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.blockkit import problems
from tests.fakes.server import Answer, Request, StrictServer

WEBHOOK_PATH = "/services/T012AB3CD/B045EF6GH/kJ8sLm2nPqRsTuVwXyZ01234"
BOT_TOKEN = "xoxb-1111111111-2222222222-AbCdEfGhIjKlMnOpQrStUvWx"
BURST = 5  # "one per second, short bursts allowed"

_PERSON: frozenset[DeliveryReason] = frozenset({"auth"})
_OUR_FAULT: frozenset[DeliveryReason] = frozenset({"payload"})
_SERVER: frozenset[DeliveryReason] = frozenset({"server", "maybe_delivered"})
_PLAIN = {"Content-Type": "text/html"}

# Status and body as documented, or as seen in the wild for 429.
WEBHOOK_ANSWERS: Mapping[str, PlatformAnswer] = {
    "ok": PlatformAnswer(200, "ok", frozenset(), _PLAIN),
    **{
        word: PlatformAnswer(status, word, reasons, _PLAIN)
        for status, reasons, words in (
            (400, _OUR_FAULT, ("invalid_payload", "no_text", "invalid_blocks", "too_many_attachments")),
            (403, _PERSON, ("action_prohibited", "posting_to_general_channel_denied", "invalid_token")),
            (404, _PERSON, ("channel_not_found", "user_not_found", "no_service", "no_service_id")),
            (410, _PERSON, ("channel_is_archived",)),
            (500, _SERVER, ("rollup_error",)),
        )
        for word in words
    },
    "rate_limited": PlatformAnswer(
        429,
        '{"retry_after":7,"ok":false,"error":"rate_limited"}',
        frozenset({"rate"}),
        {"Content-Type": "application/json", "Retry-After": "7"},
        timedelta(seconds=7),
    ),
    "ok with more": PlatformAnswer(200, "ok, but not quite", _SERVER | _OUR_FAULT | _PERSON, _PLAIN),
}

_TOP_LEVEL = {"text", "blocks", "attachments", "unfurl_links", "unfurl_media", "thread_ts", "metadata", "mrkdwn"}
_BOT_TOP_LEVEL = _TOP_LEVEL | {"channel", "ts", "reply_broadcast", "token"}
_MENTION = re.compile(r"<(![a-z]+(?:\^[A-Z0-9]+)?|@[UW][A-Z0-9]+)(?:\|[^>]*)?>")
_LINK = re.compile(r"<((?:https?|mailto)[^|>]+)(?:\|[^>]*)?>")


@dataclass
class Channel:
    """A channel of the workspace. ``member``: the bot is in it."""

    id: str
    archived: bool = False
    member: bool = True


@dataclass
class Posted:
    """A message in a channel. ``ts`` is empty for a webhook's, which can never be changed."""

    channel: str
    content: dict[str, Any]
    at: datetime
    ts: str = ""
    edits: list[dict[str, Any]] = field(default_factory=list)

    @property
    def delivered(self) -> Delivered:
        """As people see it."""
        marked = list(_marked(self.content))
        text = "\n".join(words for _, words in marked)
        parsed = "\n".join(words for markup, words in marked if markup)
        return Delivered(
            notification=_plain(str(self.content.get("text", ""))),
            text=_plain(text),
            mentions=tuple(dict.fromkeys(_MENTION.findall(parsed))),
            links=tuple(_LINK.findall(parsed)),
        )


class SlackServer(StrictServer):
    """``webhook_url`` for the incoming webhook, ``api_url`` for a bot's ``base_url``.

    ``hook_state`` is an error word of the webhook (``no_service``, ``channel_is_archived`` …) or empty.
    """

    def __init__(self, clock: FakeClock | None = None) -> None:
        super().__init__(clock)
        self.hook_state = ""
        self.channels = {"C012AB3CD": Channel("C012AB3CD")}
        self.people = {"zw@example.com": "U012ZHANG"}
        self.scopes = {"chat:write", "users:read.email", "users:read"}
        self.token = BOT_TOKEN
        self.posted: list[Posted] = []
        self._tokens = float(BURST)
        self._filled_at = self.clock.monotonic()

    @property
    def webhook_url(self) -> str:
        return self.url + WEBHOOK_PATH

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    # The channel contract's PlatformFixture: the webhook, whose limited part is the text of a section.

    answers = WEBHOOK_ANSWERS
    limit = 3_000
    unit: Literal["characters"] = "characters"
    signed = False

    def message(self, text: str) -> Message:
        section = {"type": "section", "text": {"type": "plain_text", "text": text}}
        return make_message("Stopping in 30 min: train-a800-03", payload={"blocks": [section]})

    def measured(self) -> int:
        with self.lock:
            blocks = (_content(self.requests[-1]) or {}).get("blocks", [])
        return max((len(block["text"]["text"]) for block in blocks if block["type"] == "section"), default=0)

    def skew(self, span: timedelta) -> None:
        """Nothing is signed, nothing depends on the platform's clock."""

    @property
    def secrets(self) -> tuple[str, ...]:
        return (WEBHOOK_PATH.rsplit("/", 1)[1], self.token)

    def delivered(self) -> list[Delivered]:
        with self.lock:
            return [message.delivered for message in self.posted]

    # StrictServer

    def respond(self, request: Request) -> Answer:
        if request.path.startswith("/services/"):
            return self._webhook(request)
        if request.path.startswith("/api/"):
            return self._api(request.path.removeprefix("/api/"), request)
        return Answer(404, b"not found", _PLAIN)

    def refuse(self, fault: Fault, request: Request) -> Answer:
        hook = request.path.startswith("/services/")
        if fault is Fault.THROTTLED:
            return _too_fast(7, "rate_limited" if hook else "ratelimited")
        if fault is Fault.SERVER_ERROR:
            return Answer(503, b"service_unavailable", _PLAIN)
        if fault is Fault.UNAUTHENTICATED:
            return _word(403, "invalid_token") if hook else _failed("invalid_auth")
        if fault is Fault.FORBIDDEN:
            return _word(403, "action_prohibited") if hook else _failed("missing_scope")
        return super().refuse(fault, request)

    # The webhook

    def _webhook(self, request: Request) -> Answer:
        if request.method != "POST":
            return _word(400, "invalid_payload")
        if request.path != WEBHOOK_PATH:
            return _word(404, "no_service") if request.path.count("/") == 4 else _word(404, "no_service_id")
        if wait := self._pace():
            return _too_fast(wait, "rate_limited")
        if self.hook_state:
            return _word(WEBHOOK_ANSWERS[self.hook_state].status, self.hook_state)
        content = _content(request)
        if content is None or not set(content) <= _TOP_LEVEL or not _types_fit(content):
            return _word(400, "invalid_payload")
        if error := _content_error(content):
            return _word(400, error)
        self.posted.append(Posted("webhook", content, self.clock.now()))
        return Answer(200, b"ok", _PLAIN)

    def _pace(self) -> int:
        """Seconds to wait, 0 when the call may go ahead: one a second, a short burst allowed."""
        now = self.clock.monotonic()
        self._tokens = min(float(BURST), self._tokens + now - self._filled_at)
        self._filled_at = now
        if self._tokens < 1:
            return max(1, math.ceil(1 - self._tokens))
        self._tokens -= 1
        return 0

    # The Web API

    def _api(self, method: str, request: Request) -> Answer:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        arguments = _content(request) if request.method == "POST" else dict(request.query)
        if arguments is None:
            return _failed("invalid_json")
        token = given or str(arguments.pop("token", ""))
        if not token:
            return _failed("not_authed")
        if token != self.token:
            return _failed("invalid_auth")
        if method not in _METHODS:
            return _failed("unknown_method")
        scope, name = _METHODS[method]
        if scope and scope not in self.scopes:
            return _failed("missing_scope", needed=scope, provided=",".join(sorted(self.scopes)))
        answer: Answer = getattr(self, name)(arguments)
        return answer

    def _auth_test(self, arguments: dict[str, Any]) -> Answer:
        return _ok(
            url="https://example.slack.com/", team="example", user="costguard", team_id="T012AB3CD", user_id="U0BOT"
        )

    def _lookup(self, arguments: dict[str, Any]) -> Answer:
        person = self.people.get(str(arguments.get("email", "")).lower())
        if not arguments.get("email"):
            return _failed("invalid_arguments")
        return _ok(user={"id": person, "team_id": "T012AB3CD"}) if person else _failed("users_not_found")

    def _post(self, arguments: dict[str, Any]) -> Answer:
        if not set(arguments) <= _BOT_TOP_LEVEL or not _types_fit(arguments):
            return _failed("invalid_arguments")
        target = str(arguments.get("channel", ""))
        channel = Channel(target) if target in self.people.values() else self.channels.get(target)
        if channel is None:
            return _failed("channel_not_found")
        if channel.archived:
            return _failed("is_archived")
        if not channel.member:
            return _failed("not_in_channel")
        thread = arguments.get("thread_ts")
        if thread is not None and not any(message.ts == thread for message in self.posted):
            return _failed("thread_not_found")
        if refused := _api_content_error(arguments):
            return refused
        if wait := self._pace():
            return _too_fast(wait, "ratelimited")
        content = {key: value for key, value in arguments.items() if key != "channel"}
        now = self.clock.now()
        ts = f"{int(now.timestamp())}.{len(self.posted):06d}"
        self.posted.append(Posted(channel.id, content, now, ts))
        return _ok(channel=channel.id, ts=ts, message={"type": "message", "ts": ts, **content})

    def _update(self, arguments: dict[str, Any]) -> Answer:
        if not set(arguments) <= _BOT_TOP_LEVEL or not _types_fit(arguments):
            return _failed("invalid_arguments")
        if arguments.get("channel") not in {*self.channels, *self.people.values()}:
            return _failed("channel_not_found")  # names like #ops are not taken here
        if len(str(arguments.get("text", ""))) > 4_000:
            return _failed("msg_too_long")
        if refused := _api_content_error(arguments):
            return refused
        for message in self.posted:
            if message.ts and (message.channel, message.ts) == (arguments["channel"], arguments.get("ts")):
                message.edits.append(message.content)
                message.content = {key: value for key, value in arguments.items() if key not in ("channel", "ts")}
                return _ok(channel=message.channel, ts=message.ts, text=message.content.get("text", ""))
        return _failed("message_not_found")


_METHODS = {
    "auth.test": ("", "_auth_test"),
    "chat.postMessage": ("chat:write", "_post"),
    "chat.update": ("chat:write", "_update"),
    "users.lookupByEmail": ("users:read.email", "_lookup"),
}


def _word(status: int, word: str) -> Answer:
    return Answer(status, word.encode(), _PLAIN)


def _ok(**fields: Any) -> Answer:
    return Answer(200, json.dumps({"ok": True, **fields}).encode())


def _failed(error: str, **fields: Any) -> Answer:
    return Answer(200, json.dumps({"ok": False, "error": error, **fields}).encode())


def _too_fast(seconds: int, word: str) -> Answer:
    body = json.dumps({"retry_after": seconds, "ok": False, "error": word}).encode()
    return Answer(429, body, {"Content-Type": "application/json", "Retry-After": str(seconds)})


def _content(request: Request) -> dict[str, Any] | None:
    """The body as an object: JSON, a form with ``payload``, or (Web API) a form of fields; None when it is neither."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    try:
        if kind == "application/json":
            value = json.loads(request.body.decode("utf-8"))
        elif kind == "application/x-www-form-urlencoded":
            form: dict[str, Any] = dict(request.form)
            value = json.loads(form["payload"]) if "payload" in form else form
            for key in ("blocks", "attachments", "metadata"):
                if isinstance(value, dict) and isinstance(value.get(key), str):
                    value[key] = json.loads(value[key])
        else:
            return None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _types_fit(content: Mapping[str, Any]) -> bool:
    return isinstance(content.get("text", ""), str) and isinstance(content.get("attachments", []), list)


def _content_error(content: Mapping[str, Any]) -> str:
    if len(content.get("attachments", [])) > 100:
        return "too_many_attachments"
    if content.get("blocks"):
        return "invalid_blocks" if problems(content["blocks"]) else ""
    return "" if str(content.get("text", "")).strip() or content.get("attachments") else "no_text"


def _api_content_error(arguments: Mapping[str, Any]) -> Answer | None:
    error = _content_error(arguments)
    if not error:
        return None
    if error == "invalid_blocks":
        found = problems(arguments["blocks"])
        return _failed(error, errors=found, response_metadata={"messages": [f"[ERROR] {text}" for text in found]})
    return _failed(error)


def _marked(content: Mapping[str, Any]) -> list[tuple[bool, str]]:
    """All texts in order with whether markup in them is parsed; plain_text is not."""
    found: list[tuple[bool, str]] = [(True, str(content["text"]))] if content.get("text") else []

    def walk(value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, dict):
            if value.get("type") in ("plain_text", "mrkdwn", "markdown") and isinstance(value.get("text"), str):
                found.append((value["type"] != "plain_text", value["text"]))
            else:
                for key, item in value.items():
                    if key == "url" and isinstance(item, str):
                        found.append((True, f"<{item}>"))
                    else:
                        walk(item)

    walk(content.get("blocks", []))
    return found


def _plain(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
