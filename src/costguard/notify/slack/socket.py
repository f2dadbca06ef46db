"""Slack's Socket Mode: one outgoing WebSocket on which presses and commands come in, without a public URL.

An envelope is answered at once: Slack shows an error after 3 seconds. Slack gives each to any one of an app's
connections.
"""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from costguard.net.websocket import WebSocket, WebSocketError, open_websocket
from costguard.notify.listening import Circumstances, KeptConnection, Next
from costguard.notify.slack.api import SlackApi
from costguard.notify.slack.interaction import Pressed, StrangePayload, Typed, pressed, typed
from costguard.ports import Clock

log = logging.getLogger(__name__)

Incoming = Pressed | Typed


class SlackSocket(KeptConnection[Incoming]):
    """The Socket Mode connection of one app. ``learn`` is told each address, which is a secret while it is good."""

    what = "Socket Mode"
    thread = "socket"
    workers = 2

    def __init__(
        self,
        name: str,
        api: SlackApi,
        app_token: str,
        clock: Clock,
        handle: Callable[[Incoming], None],
        around: Circumstances,
        *,
        proxy: str | None = None,
        learn: Callable[[str], None] = lambda _secret: None,
    ) -> None:
        super().__init__(name, clock, handle, around)
        self._api, self._app_token, self._proxy, self._learn = api, app_token, proxy, learn

    def open(self) -> WebSocket:
        url = self._api.open_socket(self._app_token)
        self._learn(url)
        return open_websocket(
            url,
            seconds=self.patience.open.total_seconds(),
            proxy=self._proxy,
            alive=self.patience.alive.total_seconds(),
        )

    def take(self, socket: WebSocket, text: str) -> Next:
        try:
            frame = json.loads(text)
        except ValueError:
            frame = None
        if not isinstance(frame, dict):
            log.warning("channel %s: a frame that is no JSON object", self.name)
            return Next.READ
        match frame.get("type"):
            case "hello":
                self.greeted()
            case "disconnect":
                return self._sent_away(str(frame.get("reason", "")))
            case _:
                self._envelope(socket, frame)
        return Next.READ

    def _sent_away(self, reason: str) -> Next:
        """Slack closes the connection soon."""
        if reason in ("warning", "refresh_requested"):
            return Next.REPLACE
        hint = "switch it on: Socket Mode of the app" if reason == "link_disabled" else None
        self.note_fault(f"Slack closed the connection: {reason[:40]}", hint)
        return Next.LEAVE

    def _envelope(self, socket: WebSocket, frame: Mapping[str, Any]) -> None:
        """What cannot be read is answered all the same."""
        envelope = frame.get("envelope_id")
        if not isinstance(envelope, str) or not envelope:
            return
        try:
            socket.send(json.dumps({"envelope_id": envelope}))
        except WebSocketError as error:
            # What came is still worked on; the next receive ends the connection.
            log.info("channel %s: an envelope could not be answered: %s", self.name, error)
        try:
            incoming = _incoming(frame)
        except StrangePayload as error:
            log.warning("channel %s: %s", self.name, error)
            return
        if incoming is not None:
            self.pass_on(incoming, [envelope])


def _incoming(frame: Mapping[str, Any]) -> Incoming | None:
    payload = frame.get("payload")
    if not isinstance(payload, Mapping):
        return None
    match frame.get("type"):
        case "interactive":
            return pressed(payload)
        case "slash_commands":
            return typed(payload)
        case _:
            return None
