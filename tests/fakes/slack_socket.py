"""Slack's Socket Mode on loopback: hello, envelopes that want an answer within 3 seconds, disconnect frames.

``apps.connections.open`` of the api gives the addresses. Each payload goes to one of the connections. An answer to an
envelope that was never sent, was answered before, or carries a payload where none is accepted, is refused. From
memory, not from the facts: the 11th connection is sent away as ``too_many_websockets``.
"""

import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.fakes.frames import FrameServer, Line
from tests.fakes.slack_api import APP_ID, SlackApi
from tests.fakes.slack_events import press_payload, slash_payload
from tests.fakes.slack_message import Posted, content_refused

ACK_WITHIN_S = 3.0
MOST_CONNECTIONS = 10
Reason = Literal["warning", "refresh_requested", "link_disabled", "too_many_websockets"]


@dataclass
class Envelope:
    """One delivery. ``answered_after`` in real seconds, None while nothing came; ``reply`` the answer's payload."""

    id: str
    type: str
    payload: dict[str, Any]
    accepts_response_payload: bool
    sent_at: float = field(default_factory=time.monotonic)
    answered_after: float | None = None
    reply: dict[str, Any] | None = None
    answered: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def acked(self) -> bool:
        """In time: the person sees no error."""
        return self.answered_after is not None and self.answered_after < ACK_WITHIN_S

    def wait(self, seconds: float = ACK_WITHIN_S) -> "Envelope":
        """Raises AssertionError when the app does not answer in time."""
        assert self.answered.wait(seconds), f"no answer to {self.type} within {seconds} s"
        return self


class SlackSocket(FrameServer):
    """``with SlackApi(clock) as api, SlackSocket(api) as socket: …``

    ``envelopes`` holds what was sent, in order. :meth:`press` and :meth:`slash` return without waiting.
    """

    path = "/link/"

    def __init__(self, api: SlackApi) -> None:
        super().__init__()
        self.api = api
        self.envelopes: list[Envelope] = []

    def __enter__(self) -> "SlackSocket":
        super().__enter__()
        self.api.sockets = self
        return self

    def issue(self) -> str:
        """A fresh address for one connection."""
        return f"{self.endpoint}?ticket={self.ticket()}&app_id={APP_ID}"

    # People.

    def press(self, user: str, message: Posted, action_id: str, **which: str | None) -> Envelope:
        """As :func:`tests.fakes.slack_events.press_payload`."""
        return self.send("interactive", press_payload(self.api, user, message, action_id, **which))

    def slash(self, user: str, text: str, **where: str) -> Envelope:
        return self.send("slash_commands", slash_payload(self.api, user, text, **where), accepts=True)

    def send(self, kind: str, payload: dict[str, Any], *, accepts: bool = False) -> Envelope:
        """Any envelope on one of the connections; waits for a connection."""
        line = self.next_line()
        envelope = Envelope(secrets.token_hex(16), kind, payload, accepts)
        with self.lock:
            self.envelopes.append(envelope)
        self._put(line, envelope)
        return envelope

    def send_again(self, envelope: Envelope) -> None:
        """The same envelope once more, as after a reconnect whose answer was lost."""
        with self.lock:
            envelope.answered.clear()
            envelope.answered_after, envelope.sent_at = None, time.monotonic()
        self._put(self.next_line(), envelope)

    # The connection.

    def disconnect(self, reason: Reason = "refresh_requested") -> None:
        """The frame on every connection; all but ``warning`` are followed by the close. Returns when it is done."""
        lines = list(self.lines)
        for line in lines:
            self._send_away(line, reason)
        if reason != "warning":
            self.wait_gone(lines)

    def greet(self, line: Line) -> None:
        if len(self.lines) > MOST_CONNECTIONS:
            self._send_away(line, "too_many_websockets")
            return
        line.say(
            {
                "type": "hello",
                "num_connections": len(self.lines),
                "debug_info": {"host": "applink-7c7b8c5d6-x", "build_number": 10, "approximate_connection_time": 18060},
                "connection_info": {"app_id": APP_ID},
            }
        )

    def take(self, line: Line, frame: dict[str, Any]) -> None:
        if strange := set(frame) - {"envelope_id", "payload"}:
            return self.refuse(line, f"an answer has no {sorted(strange)}")
        envelope = next((sent for sent in self.envelopes if sent.id == frame.get("envelope_id")), None)
        if envelope is None:
            return self.refuse(line, f"no envelope {frame.get('envelope_id')!r} was sent")
        if envelope.answered.is_set():
            return self.refuse(line, f"the envelope {envelope.type} was answered before")
        reply = frame.get("payload")
        if reply:
            if not envelope.accepts_response_payload:
                return self.refuse(line, f"{envelope.type} accepts no payload in the answer")
            content = {key: value for key, value in reply.items() if key != "response_type"}
            if refused := content_refused(content):
                return self.refuse(line, f"the payload is no message: {refused.body.decode()}")
        envelope.answered_after = time.monotonic() - envelope.sent_at
        envelope.reply = reply or None
        envelope.answered.set()
        return None

    def _put(self, line: Line, envelope: Envelope) -> None:
        line.say(
            {
                "envelope_id": envelope.id,
                "type": envelope.type,
                "payload": envelope.payload,
                "accepts_response_payload": envelope.accepts_response_payload,
            }
        )

    def _send_away(self, line: Line, reason: Reason) -> None:
        line.say({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-7c7b8c5d6-x"}})
        if reason != "warning":
            line.close()
