"""What Slack's webhook and its Web API have in common: bodies, the judgement of a message, how people see it."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import Delivered
from costguard.testing.clock import FakeClock
from tests.fakes.blockkit import problems
from tests.fakes.server import Answer, Request

BLOCKS_TOTAL = 13_200  # reported by a user, in no reference
BURST = 5  # "one per second, short bursts allowed"

_MENTION = re.compile(r"<(![a-z]+(?:\^[A-Z0-9]+)?|@[UW][A-Z0-9]+)(?:\|[^>]*)?>")
_LINK = re.compile(r"<((?:https?|mailto)[^|>]+)(?:\|[^>]*)?>")


@dataclass
class Posted:
    """A message in a channel. ``ts`` is empty for a webhook's, which can never be changed.

    ``author`` is the user id of who wrote it, ``seen_by`` the one person who sees an ephemeral one, ``edits`` what it
    was before each update.
    """

    channel: str
    content: dict[str, Any]
    at: datetime
    ts: str = ""
    author: str = ""
    seen_by: str = ""
    edits: list[dict[str, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return str(self.content.get("text", ""))

    @property
    def blocks(self) -> list[dict[str, Any]]:
        blocks = self.content.get("blocks", [])
        assert isinstance(blocks, list)
        return blocks

    @property
    def thread_ts(self) -> str:
        return str(self.content.get("thread_ts", ""))

    @property
    def elements(self) -> list[tuple[int, dict[str, Any]]]:
        """What can be pressed or chosen, each with the index of its block."""
        found = []
        for index, block in enumerate(self.blocks):
            elements = block.get("elements", []) if block["type"] == "actions" else [block.get("accessory", {})]
            found += [(index, element) for element in elements if element.get("type") in CLICKABLE]
        return found

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


CLICKABLE = ("button", "static_select", "overflow")


class Pace:
    """One a second, a short burst allowed."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._tokens = float(BURST)
        self._filled_at = clock.monotonic()

    def wait(self) -> int:
        """Seconds to wait, 0 when the call may go ahead."""
        now = self._clock.monotonic()
        self._tokens = min(float(BURST), self._tokens + now - self._filled_at)
        self._filled_at = now
        if self._tokens < 1:
            return max(1, math.ceil(1 - self._tokens))
        self._tokens -= 1
        return 0


def ok(**fields: Any) -> Answer:
    return Answer(200, json.dumps({"ok": True, **fields}).encode())


def failed(error: str, **fields: Any) -> Answer:
    """HTTP 200 and ``ok: false``."""
    return Answer(200, json.dumps({"ok": False, "error": error, **fields}).encode())


def is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").split(";")[0].strip().lower() == "application/json"


def too_fast(seconds: int, word: str) -> Answer:
    body = json.dumps({"retry_after": seconds, "ok": False, "error": word}).encode()
    return Answer(429, body, {"Content-Type": "application/json", "Retry-After": str(seconds)})


def read_body(request: Request) -> dict[str, Any] | None:
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


def section_message(text: str) -> Message:
    """A valid message whose limited part, the text of a section, is ``text``."""
    section = {"type": "section", "text": {"type": "plain_text", "text": text}}
    return make_message("Stopping in 30 min: train-a800-03", payload={"blocks": [section]})


def longest_section(request: Request) -> int:
    """Characters of the longest section in the request, 0 without one."""
    blocks = (read_body(request) or {}).get("blocks", [])
    return max((len(block["text"]["text"]) for block in blocks if block["type"] == "section"), default=0)


def types_fit(content: Mapping[str, Any]) -> bool:
    return isinstance(content.get("text", ""), str) and isinstance(content.get("attachments", []), list)


def content_error(content: Mapping[str, Any]) -> str:
    if len(content.get("attachments", [])) > 100:
        return "too_many_attachments"
    if content.get("blocks"):
        return "invalid_blocks" if problems(content["blocks"]) else ""
    return "" if str(content.get("text", "")).strip() or content.get("attachments") else "no_text"


def content_refused(content: Mapping[str, Any]) -> Answer | None:
    """What the Web API says to a message that it does not take, with a pointer to each fault in the blocks."""
    metadata = content.get("metadata")
    if "markdown_text" in content and ("text" in content or "blocks" in content):
        return failed("markdown_text_conflict")
    if metadata is not None and not (
        isinstance(metadata, dict)
        and (not metadata or set(metadata) == {"event_type", "event_payload"})
        and isinstance(metadata.get("event_type", ""), str)
        and isinstance(metadata.get("event_payload", {}), dict)
    ):
        return failed("invalid_metadata_format")
    error = content_error(content) if not content.get("markdown_text") else ""
    if error == "invalid_blocks":
        found = problems(content["blocks"])
        return failed(error, errors=found, response_metadata={"messages": [f"[ERROR] {text}" for text in found]})
    if error:
        return failed(error)
    in_blocks = sum(len(words) for _, words in _marked({"blocks": content.get("blocks") or []}))
    return failed("msg_blocks_too_long") if in_blocks > BLOCKS_TOTAL else None


def shown(message: Posted) -> dict[str, Any]:
    """The message as payloads and answers carry it: blocks without an id have got one."""
    blocks = [{"block_id": f"b{index}", **block} for index, block in enumerate(message.blocks)]
    return {"type": "message", "user": message.author, "ts": message.ts, **message.content, "blocks": blocks}


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
