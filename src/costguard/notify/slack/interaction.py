"""What Slack sends when people press and type, as values. Pure; works on what came by Socket Mode or over HTTP.

Nothing here is trusted beyond who sent it: what a press may do is looked up by the desk.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from costguard.domain.press import Press

KIND = "slack"


@dataclass(frozen=True, slots=True)
class Who:
    """The person: member id and the name that people see."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Pressed:
    """A press on one of our buttons. ``ts`` and ``blocks`` are the message's; ``reply_url`` is a secret."""

    who: Who
    conversation: str
    ts: str
    press: Press
    value: str
    event: str
    reply_url: str = field(repr=False)
    text: str = ""
    blocks: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Typed:
    """A slash command: what was typed behind it."""

    who: Who
    conversation: str
    text: str
    event: str
    reply_url: str = field(repr=False)


class StrangePayload(ValueError):
    """A payload that does not have the shape of its type; the sentence names the field, never its content."""


def pressed(payload: Mapping[str, Any]) -> Pressed | None:
    """A ``block_actions`` payload as a press; None for a button that is not ours, and for other interactions.

    Raises StrangePayload.
    """
    if payload.get("type") != "block_actions":
        return None
    action = _first(payload.get("actions"))
    try:
        press = Press(_text(action, "action_id"))
    except ValueError:
        return None
    container, user = _part(payload, "container"), _part(payload, "user")
    message = payload.get("message")
    message = message if isinstance(message, Mapping) else {}
    blocks = message.get("blocks")
    who = Who(_text(user, "id"), str(user.get("name") or user.get("username") or user["id"]))
    conversation, ts = _text(container, "channel_id"), _text(container, "message_ts")
    return Pressed(
        who=who,
        conversation=conversation,
        ts=ts,
        press=press,
        value=_text(action, "value"),
        # One press has one time; a second press of the same person has another.
        event=f"{conversation}/{ts}/{who.id}/{press.value}/{_text(action, 'action_ts')}",
        reply_url=str(payload.get("response_url") or ""),
        text=str(message.get("text") or ""),
        blocks=[b for b in blocks if isinstance(b, Mapping)] if isinstance(blocks, list) else (),
    )


def typed(payload: Mapping[str, Any]) -> Typed:
    """A slash command. Raises StrangePayload."""
    who = Who(_text(payload, "user_id"), str(payload.get("user_name") or payload["user_id"]))
    return Typed(
        who=who,
        conversation=_text(payload, "channel_id"),
        text=str(payload.get("text") or ""),
        event=_text(payload, "trigger_id"),
        reply_url=str(payload.get("response_url") or ""),
    )


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    if not isinstance(found, Mapping):
        raise StrangePayload(f"no {key} in what Slack sent")
    return found


def _first(value: object) -> Mapping[str, Any]:
    if not isinstance(value, list) or not value or not isinstance(value[0], Mapping):
        raise StrangePayload("no actions in what Slack sent")
    return value[0]


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    if not isinstance(found, str) or not found:
        raise StrangePayload(f"no {key} in what Slack sent")
    return found
