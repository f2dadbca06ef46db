"""DingTalk's Stream mode on loopback: frames for what people type and press, each wanting an answer with code 200.

Frames, topics, the fields of a robot message and of a card's callback, and the answer's shape: sources of the official
Python and Node.js SDKs. A frame goes to one connection that subscribed to its topic; where nobody did, nothing is
delivered. Inferred: an answer within 3 seconds keeps the person from seeing an error; a card's callback may be answered
with new ``cardParamMap`` values. The topics KEEPALIVE, CONNECTED and REGISTERED of the Node.js SDK are not sent.
"""

import json
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.dingtalk_openapi import Card, DingTalkApi
from tests.fakes.dingtalk_reference import CLIENT_ID, GROUP, strings
from tests.fakes.frames import FrameServer, Line

BOT_TOPIC = "/v1.0/im/bot/messages/get"
CARD_TOPIC = "/v1.0/card/instances/callback"
CORP = "ding9f50b15bccd16741"
ACK_WITHIN_S = 3.0


@dataclass
class Frame:
    """One delivery. ``answered_after`` in real seconds, None while nothing came; ``reply`` is the answer's data."""

    message_id: str
    type: str
    topic: str
    data: dict[str, Any]
    sent_at: float = field(default_factory=time.monotonic)
    answered_after: float | None = None
    code: int | None = None
    reply: dict[str, Any] = field(default_factory=dict)
    answered: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def acked(self) -> bool:
        return self.code == 200 and self.answered_after is not None and self.answered_after < ACK_WITHIN_S

    def wait(self, seconds: float = ACK_WITHIN_S) -> "Frame":
        """Raises AssertionError when no answer comes in time."""
        assert self.answered.wait(seconds), f"no answer to {self.type} {self.topic} within {seconds} s"
        return self


class DingTalkStream(FrameServer):
    """``with DingTalkApi(clock) as api, DingTalkStream(api) as stream: …``

    ``frames`` holds what was sent. :meth:`say`, :meth:`press` and :meth:`ping_frame` return without waiting.
    """

    path = "/connect"

    def __init__(self, api: DingTalkApi) -> None:
        super().__init__()
        self.api = api
        self.frames: list[Frame] = []
        self._topics: dict[str, frozenset[str]] = {}

    def __enter__(self) -> "DingTalkStream":
        super().__enter__()
        self.api.gateway = self
        return self

    def admit(self, topics: frozenset[str]) -> str:
        """A ticket for one connection that hears these topics."""
        ticket = self.ticket()
        with self.lock:
            self._topics[ticket] = topics
        return ticket

    # People.

    def say(self, user: str, text: str, *, group: str = GROUP, alone: bool = False) -> Frame:
        """``user`` writes ``@costguard text`` in the group, or ``text`` to the robot alone."""
        person = self.api.staff[user]
        now_ms = int(self.api.clock.now().timestamp() * 1000)
        where = f"cid{secrets.token_hex(8)}==" if alone else group
        webhook, until_ms = self.api.session_webhook(user if alone else where)
        data: dict[str, Any] = {
            "conversationId": where,
            "conversationType": "1" if alone else "2",
            "chatbotCorpId": CORP,
            "chatbotUserId": "$:LWCP_v1:$bot",
            "msgId": f"msg{secrets.token_hex(8)}==",
            "senderNick": person.nick,
            "isAdmin": person.admin,
            "senderStaffId": person.id,
            "senderCorpId": CORP,
            "senderId": f"$:LWCP_v1:${person.id}",
            "sessionWebhook": webhook,
            "sessionWebhookExpiredTime": until_ms,
            "createAt": now_ms,
            "robotCode": CLIENT_ID,
            "msgtype": "text",
            "text": {"content": text if alone else f" {text}"},  # what is left of "@costguard text"
        }
        if not alone:
            title = self.api.groups[group]
            data |= {
                "conversationTitle": title,
                "isInAtList": True,
                "atUsers": [{"dingtalkId": "$:LWCP_v1:$bot"}],
            }
        return self.send("CALLBACK", BOT_TOPIC, data)

    def press(self, user: str, card: Card, action_id: str, params: dict[str, Any] | None = None) -> Frame:
        """``user`` presses the template's button ``action_id``, which sends ``params``."""
        if user not in self.api.staff:
            raise LookupError(f"nobody is {user!r}; there are {sorted(self.api.staff)}")
        if self.api.cards.get(card.out_track_id) is not card:
            raise LookupError(f"no card {card.out_track_id!r} is in a chat")
        content = {"cardPrivateData": {"actionIds": [action_id], "params": params or {}}}
        return self.send(
            "CALLBACK",
            CARD_TOPIC,
            {
                "extension": "{}",
                "corpId": CORP,
                "type": "actionCallback",
                "userIdType": 1,
                "userId": user,
                "spaceId": card.space,
                "spaceType": "IM_GROUP" if card.space in self.api.groups else "IM_ROBOT",
                "outTrackId": card.out_track_id,
                "content": json.dumps(content, ensure_ascii=False),
                "value": json.dumps(content, ensure_ascii=False),
            },
        )

    # The platform.

    def ping_frame(self) -> Frame:
        """The platform's own ping: its data comes back."""
        return self.send("SYSTEM", "ping", {"opaque": secrets.token_hex(8)})

    def disconnect(self, *, close: bool = True) -> None:
        """The frame that announces the end, on every connection, and then the end."""
        lines = list(self.lines)
        for line in lines:
            self._put(line, Frame(secrets.token_hex(8), "SYSTEM", "disconnect", {"reason": "connection is expired"}))
            if close:
                line.close()
        if close:
            self.wait_gone(lines)

    def send(self, kind: str, topic: str, data: dict[str, Any]) -> Frame:
        """Any frame on one of the connections that want it; waits for one."""
        frame = Frame(secrets.token_hex(12), kind, topic, data)
        self._put(self._line_for(frame), frame)
        return frame

    def send_again(self, frame: Frame) -> None:
        """The same frame once more, with its messageId, as after a lost answer."""
        with self.lock:
            frame.answered.clear()
            frame.answered_after, frame.code, frame.sent_at = None, None, time.monotonic()
        self._put(self._line_for(frame), frame)

    def take(self, line: Line, answer: dict[str, Any]) -> None:
        headers = answer.get("headers")
        if set(answer) - {"code", "headers", "message", "data"} or not isinstance(headers, dict):
            return self.refuse(line, f"an answer is code, headers, message, data; not {sorted(answer)}")
        if not isinstance(answer.get("code"), int):
            return self.refuse(line, "an answer needs its code as a number")
        frame = next((sent for sent in self.frames if sent.message_id == headers.get("messageId")), None)
        if frame is None:
            return self.refuse(line, f"no frame {headers.get('messageId')!r} was sent")
        if frame.answered.is_set():
            return self.refuse(line, f"{frame.topic} was answered before")
        data = answer.get("data")
        try:
            reply = json.loads(data) if isinstance(data, str) else None
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            return self.refuse(line, f"data must be a string that holds a JSON object, not {data!r}")
        if frame.topic == "ping" and reply != frame.data:
            return self.refuse(line, "the answer to a ping carries the ping's data")
        if frame.topic == CARD_TOPIC and (complaint := self._change_card(frame, reply)):
            return self.refuse(line, complaint)
        frame.code, frame.reply = answer["code"], reply
        frame.answered_after = time.monotonic() - frame.sent_at
        frame.answered.set()
        return None

    def _change_card(self, frame: Frame, reply: dict[str, Any]) -> str:
        """An answer may bring new values for the card: ``{"response": {"cardData": {"cardParamMap": …}}}``."""
        response = reply.get("response")
        data = response.get("cardData") if isinstance(response, dict) else None
        if data is None:
            return ""
        if not isinstance(data, dict) or not strings(data.get("cardParamMap")):
            return "cardParamMap: a map of strings"
        options = response.get("cardUpdateOptions", {}) if isinstance(response, dict) else {}
        by_key = options.get("updateCardDataByKey") is True
        self.api.cards[frame.data["outTrackId"]].change(data["cardParamMap"], by_key=by_key)
        return ""

    def _line_for(self, frame: Frame) -> Line:
        def listeners() -> list[Line]:
            with self.lock:
                if frame.type == "SYSTEM":
                    return list(self.lines)
                return [line for line in self.lines if frame.topic in self._topics[line.ticket]]

        try:
            self.wait_until(lambda: bool(listeners()))
        except AssertionError:
            raise AssertionError(f"no connection subscribed to {frame.topic}") from None
        return secrets.choice(listeners())

    def _put(self, line: Line, frame: Frame) -> None:
        with self.lock:
            if frame not in self.frames:
                self.frames.append(frame)
        headers = {
            "contentType": "application/json",
            "messageId": frame.message_id,
            "time": str(int(self.api.clock.now().timestamp() * 1000)),
            "topic": frame.topic,
            **({"appId": "9256b875-17e5", "connectionId": line.ticket[:8]} if frame.type == "CALLBACK" else {}),
        }
        data = json.dumps(frame.data, ensure_ascii=False)
        line.say({"specVersion": "1.0", "type": frame.type, "headers": headers, "data": data})
