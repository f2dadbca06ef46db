"""DingTalk's Stream: one outgoing WebSocket on which messages to the robot and clicks on cards come in.

No public URL is needed. The connection is opened with a one-time ticket and answered frame by frame. DingTalk pings, so
silence is a sign; one that it will close is read to its end beside its successor, because a message to a robot is sent
once and never again.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from costguard import __version__
from costguard.net.websocket import WebSocket, WebSocketError, open_websocket
from costguard.notify.dingtalk.api import DingTalkApi
from costguard.notify.dingtalk.frames import (
    CARD_TOPIC,
    ROBOT_TOPIC,
    SUBSCRIPTIONS,
    CardClick,
    Frame,
    FrameError,
    RobotMessage,
    answer,
    card_click,
    parse,
    robot_message,
)
from costguard.notify.listening import Circumstances, KeptConnection, Next
from costguard.ports import Clock

log = logging.getLogger(__name__)

Incoming = RobotMessage | CardClick

AGENT = f"costguard/{__version__}"


class Stream(KeptConnection[Incoming]):
    """The Stream of one application. ``handle`` is called with what came in, one after the other; ``respond`` with
    a click, before it is answered: it says at once, without I/O, what the card changes to for who clicked."""

    what = "the Stream"
    thread = "stream"
    chatty = True

    def __init__(
        self,
        api: DingTalkApi,
        clock: Clock,
        handle: Callable[[Incoming], None],
        around: Circumstances,
        *,
        respond: Callable[[CardClick], Mapping[str, Any]] = lambda _click: {},
        proxy: str | None = None,
    ) -> None:
        super().__init__(api.name, clock, handle, around)
        self._api, self._respond, self._proxy = api, respond, proxy

    def open(self) -> WebSocket:
        socket = open_websocket(
            address(*self._api.open_stream(SUBSCRIPTIONS, AGENT)),
            seconds=self.patience.open.total_seconds(),
            proxy=self._proxy,
            alive=self.patience.alive.total_seconds(),
        )
        self.greeted()
        return socket

    def take(self, socket: WebSocket, text: str) -> Next:
        try:
            frame = parse(text)
        except FrameError as error:
            log.warning("channel %s: %s", self.name, error)
            return Next.READ
        incoming = self._read(frame)
        said = answer(frame, self._respond(incoming) if isinstance(incoming, CardClick) else None)
        if said is not None:
            try:
                socket.send(said)
            except WebSocketError as error:
                # What came is still worked on; the next receive ends the connection.
                log.info("channel %s: a frame could not be answered: %s", self.name, error)
        if frame.disconnect:
            return Next.REPLACE
        if incoming is not None:
            self._learn(incoming)
            self.pass_on(incoming, _names(frame, incoming))
        return Next.READ

    def _read(self, frame: Frame) -> Incoming | None:
        """What a person sent with a frame; None for everything else. What cannot be read is answered all the same."""
        try:
            return _incoming(frame)
        except FrameError as error:
            log.warning("channel %s: %s", self.name, error)
            return None

    def _learn(self, incoming: Incoming) -> None:
        if isinstance(incoming, RobotMessage) and incoming.session:
            # Both: the address as a whole is longer than what makes it secret.
            self._api.learn(incoming.session)
            self._api.learn(incoming.session.rpartition("=")[2])


def _names(frame: Frame, incoming: Incoming) -> list[str]:
    """By which it is known when it comes again."""
    names = [f"f{frame.message_id}"] if frame.message_id else []
    if isinstance(incoming, RobotMessage) and incoming.id:
        names.append(f"m{incoming.id}")
    return names


def address(place: str, ticket: str) -> str:
    """The URL of a connection; a secret, for one use."""
    return f"{place}{'&' if '?' in place else '?'}ticket={quote(ticket, safe='')}"


def _incoming(frame: Frame) -> Incoming | None:
    if frame.type != "CALLBACK":
        return None
    if frame.topic == ROBOT_TOPIC:
        return robot_message(frame.data)
    return card_click(frame) if frame.topic == CARD_TOPIC else None
