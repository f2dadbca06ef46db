"""The frames of DingTalk's Stream: what comes in, and what is answered. Pure.

Every frame has ``type`` (SYSTEM, EVENT, CALLBACK), ``headers`` with ``topic`` and ``messageId``, and ``data``, which is
JSON inside a string. Every frame but a disconnect is answered with its ``messageId``; a card wants its answer within
two seconds, so nothing is done before it.
Source: the Stream protocol's description and 互动卡片 · 事件回调 at open.dingtalk.com.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ROBOT_TOPIC = "/v1.0/im/bot/messages/get"
CARD_TOPIC = "/v1.0/card/instances/callback"
ACTION = "action"
"""The parameter of a button that says what it means."""

SUBSCRIPTIONS = ({"type": "CALLBACK", "topic": ROBOT_TOPIC}, {"type": "CALLBACK", "topic": CARD_TOPIC})


class FrameError(ValueError):
    """A frame, or what it carries, is not what the protocol describes. Says what is wrong, never what it held."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame. ``data`` is decoded; {} when there was none."""

    type: str
    topic: str
    message_id: str
    data: Mapping[str, Any]

    @property
    def disconnect(self) -> bool:
        """The server sends nothing more on this connection and closes it after ten seconds."""
        return self.type == "SYSTEM" and self.topic == "disconnect"


@dataclass(frozen=True, slots=True)
class RobotMessage:
    """What a person wrote to the robot: in a group with an @, or alone with it.

    ``user`` is the person's user id in the organisation, empty for people of others. ``session`` answers into the
    same conversation until about an hour and a half later; it is a secret.
    """

    id: str
    text: str
    user: str
    nick: str
    conversation: str
    group: bool
    session: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class CardClick:
    """A button of a card, clicked. ``id`` names the click, ``card`` is the outTrackId, ``action`` the button's id,
    ``user`` a user id, ``space`` the conversation where it was, as far as DingTalk says."""

    id: str
    card: str
    action: str
    user: str
    space: str = ""


def parse(text: str) -> Frame:
    """A frame from the wire. Raises FrameError."""
    frame = _object(text, "the frame")
    headers = frame.get("headers")
    if not isinstance(headers, Mapping) or not isinstance(frame.get("type"), str):
        raise FrameError("a frame without type or headers")
    data = frame.get("data")
    held = _object(data, "the frame's data") if isinstance(data, str) and data.strip() else {}
    return Frame(str(frame["type"]), str(headers.get("topic") or ""), str(headers.get("messageId") or ""), held)


def answer(frame: Frame, card: Mapping[str, Any] | None = None) -> str | None:
    """The answer that a frame wants; None for one that wants none. ``card``: what a click changes for who clicked."""
    if frame.disconnect or not frame.message_id:
        return None
    code, message, data = 200, "OK", _answered(frame, card or {})
    if frame.type == "CALLBACK" and frame.topic not in (ROBOT_TOPIC, CARD_TOPIC):
        code, message = 404, "this topic is not subscribed"
    headers = {"messageId": frame.message_id, "contentType": "application/json"}
    return json.dumps({"code": code, "headers": headers, "message": message, "data": json.dumps(data)})


def _answered(frame: Frame, card: Mapping[str, Any]) -> Mapping[str, Any]:
    if frame.type == "SYSTEM":
        return frame.data
    if frame.type == "EVENT":
        return {"status": "SUCCESS", "message": "ignored"}
    return {"response": card if frame.topic == CARD_TOPIC else None}


def robot_message(data: Mapping[str, Any]) -> RobotMessage:
    """What a person wrote. Text and rich text are read, anything else is an empty text. Raises FrameError."""
    conversation = data.get("conversationId")
    if not isinstance(conversation, str) or not conversation:
        raise FrameError("a robot message without conversationId")
    return RobotMessage(
        id=str(data.get("msgId") or ""),
        text=_text(data).strip(),
        user=str(data.get("senderStaffId") or ""),
        nick=str(data.get("senderNick") or ""),
        conversation=conversation,
        group=str(data.get("conversationType")) == "2",
        session=str(data.get("sessionWebhook") or ""),
    )


def card_click(frame: Frame) -> CardClick:
    """A click on a card's button. Raises FrameError."""
    data = frame.data
    content = data.get("content")
    held = _object(content, "the card's content") if isinstance(content, str) else content
    private = held.get("cardPrivateData") if isinstance(held, Mapping) else None
    private = private if isinstance(private, Mapping) else {}
    ids, params = private.get("actionIds"), private.get("params")
    first = str(ids[0]) if isinstance(ids, list) and ids else ""
    own = str(params.get(ACTION) or "") if isinstance(params, Mapping) else ""
    # A button group numbers the ids of its buttons; what a button carries comes back as it is.
    action = own or first.rstrip("0123456789")
    card, user = data.get("outTrackId"), data.get("userId")
    if not isinstance(card, str) or not card or not isinstance(user, str) or not user:
        raise FrameError("a card's callback without outTrackId or userId")
    return CardClick(frame.message_id or f"{card}/{action}/{user}", card, action, user, str(data.get("spaceId") or ""))


def _text(data: Mapping[str, Any]) -> str:
    text = data.get("text")
    if isinstance(text, Mapping):
        return str(text.get("content") or "")
    content = data.get("content")
    parts = content.get("richText") if isinstance(content, Mapping) else None
    if not isinstance(parts, list):
        return ""
    return "".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("text"))


def _object(text: str, what: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise FrameError(f"{what} is not JSON") from None
    if not isinstance(found, dict):
        raise FrameError(f"{what} is not an object")
    return found
