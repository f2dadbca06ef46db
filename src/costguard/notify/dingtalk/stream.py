"""DingTalk's Stream: one outgoing WebSocket on which messages to the robot and clicks on cards come in.

No public URL is needed. The connection is opened with a one-time ticket, answered frame by frame, and watched: a
broken or half-open connection, one on which nothing has come for a while (DingTalk pings), and one that DingTalk says
it will close are each replaced. The old one is read to its end beside the new one, because a message to a robot is
sent once and never again. Frames are answered at once and worked on by another thread, in their order.

A thread of its own, so that a process without such a channel has none; :meth:`Stream.stop` ends it within seconds.
"""

import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from costguard import __version__
from costguard.net.clock import SystemClock
from costguard.net.websocket import ALIVE, WebSocket, WebSocketError, open_websocket
from costguard.notify.dingtalk.api import ApiError, DingTalkApi
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
from costguard.ports import Clock, Listening

log = logging.getLogger(__name__)

Incoming = RobotMessage | CardClick

AGENT = f"costguard/{__version__}"
_MACHINE = SystemClock()
_REMEMBERED = 2000
_WAITING = 200
_TURN = 0.5


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a connection is waited for and trusted; tests shorten them.

    ``open`` is the deadline of opening one; ``alive`` how often it is pinged; ``silence`` how long nothing may come;
    ``steady`` after how long it counts as good; ``backoff`` the waits after the first, second, … failure, of which the
    last one stays; ``last`` how long one that is to be closed is still read.
    """

    open: timedelta = timedelta(seconds=15)
    alive: timedelta = timedelta(seconds=ALIVE)
    silence: timedelta = timedelta(minutes=2)
    steady: timedelta = timedelta(seconds=30)
    backoff: tuple[timedelta, ...] = tuple(timedelta(seconds=s) for s in (1, 2, 5, 10, 30, 60))
    last: timedelta = timedelta(seconds=15)


class Stream:
    """The Stream of one application. ``handle`` is called with what came in, one after the other; ``respond`` with
    a click, before it is answered: it says at once, without I/O, what the card changes to for who clicked.

    ``leading`` says whether this process is to be connected (DingTalk deals messages out among all connections, so a
    follower must not be one of them); ``changed`` is told each new state; ``beat`` is called in each turn.
    """

    def __init__(
        self,
        api: DingTalkApi,
        clock: Clock,
        handle: Callable[[Incoming], None],
        *,
        respond: Callable[[CardClick], Mapping[str, Any]] = lambda _click: {},
        proxy: str | None = None,
        leading: Callable[[], bool] = lambda: True,
        changed: Callable[[Listening], None] = lambda _state: None,
        beat: Callable[[], None] = lambda: None,
        patience: Patience | None = None,
    ) -> None:
        self.name = api.name
        self._api, self._clock, self._handle, self._respond, self._proxy = api, clock, handle, respond, proxy
        self._leading, self._changed, self._beat = leading, changed, beat
        self._patience = patience or Patience()
        self.state = Listening()
        self._stop = threading.Event()
        self._incoming: queue.Queue[Incoming | None] = queue.Queue(_WAITING)
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, name=f"stream {api.name}", daemon=True),
            threading.Thread(target=self._work, name=f"stream {api.name} work", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, within: timedelta = timedelta(seconds=10)) -> None:
        """Closes the connection and lets the message at hand be finished."""
        self._stop.set()
        try:
            self._incoming.put_nowait(None)
        except queue.Full:
            log.warning("channel %s: what still waits is not answered", self._api.name)
        ends = _MACHINE.monotonic() + within.total_seconds()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, ends - _MACHINE.monotonic()))

    # ── the connection ──────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            self._beat()
            if not self._leading():
                self._stop.wait(_TURN)
                continue
            began = _MACHINE.monotonic()
            try:
                self._once()
                failures = 0 if self._steady(began) else failures + 1
            except ApiError as error:
                failures += 1
                self._fell(f"{error.code}: {error.detail}", error.hint)
            except WebSocketError as error:
                failures += 1
                self._fell(str(error), None)
            except Exception:  # the last line of defence of a loop: buttons must not end with a bug
                failures += 1
                self._note(connected=False, error="a fault of costguard's own; see the log")
                log.exception("channel %s: the Stream failed", self._api.name)
            if failures:
                self._pause(failures)

    def _once(self) -> None:
        """One connection, and its successors while DingTalk itself asks for them."""
        following = True
        while following and not self._stop.is_set():
            began = _MACHINE.monotonic()
            following = self._serve(self._open()) and self._steady(began)

    def _steady(self, began: float) -> bool:
        return _MACHINE.monotonic() - began >= self._patience.steady.total_seconds()

    def _open(self) -> WebSocket:
        socket = open_websocket(
            address(*self._api.open_stream(SUBSCRIPTIONS, AGENT)),
            seconds=self._patience.open.total_seconds(),
            proxy=self._proxy,
            alive=self._patience.alive.total_seconds(),
        )
        with self._lock:
            self.state = replace(self.state, opened=self.state.opened + 1)
        self._note(connected=True)
        log.info("channel %s: the Stream is connected", self._api.name)
        return socket

    def _serve(self, socket: WebSocket) -> bool:
        """Reads until the connection ends; True when DingTalk wants another one in its place."""
        heard = _MACHINE.monotonic()
        while not self._stop.is_set() and self._leading():
            self._beat()
            try:
                text = socket.receive(_TURN)
            except WebSocketError as error:
                self._note(connected=False, error=str(error))
                log.info("channel %s: %s", self._api.name, error)
                break
            if text is not None:
                heard = _MACHINE.monotonic()
                if self._take(socket, text):
                    threading.Thread(target=self._finish, args=(socket,), name="stream end", daemon=True).start()
                    return True
            elif _MACHINE.monotonic() - heard > self._patience.silence.total_seconds():
                self._note(connected=False, error="nothing came on the connection; it is replaced")
                log.warning("channel %s: nothing came on the Stream; it is replaced", self._api.name)
                break
        else:
            self._note(connected=False)
        socket.close()
        return False

    def _finish(self, socket: WebSocket) -> None:
        """Reads a connection that is to be closed until it is."""
        ends = _MACHINE.monotonic() + self._patience.last.total_seconds()
        try:
            while not self._stop.is_set() and (left := ends - _MACHINE.monotonic()) > 0:
                if (text := socket.receive(min(_TURN, left))) is not None:
                    self._take(socket, text)
        except WebSocketError as error:
            log.debug("channel %s: the replaced connection ended: %s", self._api.name, error)
        socket.close()

    def _pause(self, failures: int) -> None:
        waits = self._patience.backoff
        ends = _MACHINE.monotonic() + waits[min(failures, len(waits)) - 1].total_seconds()
        while not self._stop.is_set() and (left := ends - _MACHINE.monotonic()) > 0:
            self._beat()
            self._stop.wait(min(_TURN, left))

    def _fell(self, error: str, hint: str | None) -> None:
        """It could not be opened. Told once for each reason: the attempts go on."""
        level = logging.DEBUG if self.state.error == error else logging.WARNING
        log.log(level, "channel %s: the Stream cannot be opened: %s%s", self.name, error, f" ({hint})" if hint else "")
        self._note(connected=False, error=error, hint=hint)

    def _note(self, *, connected: bool, error: str = "", hint: str | None = None) -> None:
        with self._lock:
            before = self.state
            since = before.since if before.connected is connected else self._clock.now()
            self.state = replace(before, connected=connected, since=since, error=error, hint=hint)
            state = self.state
        self._changed(state)

    # ── what comes in ───────────────────────────────────────────────────────────────────────────────────

    def _take(self, socket: WebSocket, text: str) -> bool:
        """Answers a frame and passes on what it holds; True when the connection is to be replaced."""
        try:
            frame = parse(text)
        except FrameError as error:
            log.warning("channel %s: %s", self._api.name, error)
            return False
        incoming = self._read(frame)
        said = answer(frame, self._respond(incoming) if isinstance(incoming, CardClick) else None)
        if said is not None:
            try:
                socket.send(said)
            except WebSocketError as error:
                # What came is still worked on; the next receive ends the connection.
                log.info("channel %s: a frame could not be answered: %s", self._api.name, error)
        if frame.disconnect:
            log.info("channel %s: DingTalk is about to close the Stream; opening another", self._api.name)
            return True
        if incoming is not None and not self._repeated(frame, incoming):
            self._pass_on(incoming)
        return False

    def _read(self, frame: Frame) -> Incoming | None:
        """What a person sent with a frame; None for everything else. What cannot be read is answered all the same."""
        try:
            return _incoming(frame)
        except FrameError as error:
            log.warning("channel %s: %s", self._api.name, error)
            return None

    def _pass_on(self, incoming: Incoming) -> None:
        if isinstance(incoming, RobotMessage) and incoming.session:
            # Both: the address as a whole is longer than what makes it secret.
            self._api.learn(incoming.session)
            self._api.learn(incoming.session.rpartition("=")[2])
        try:
            self._incoming.put_nowait(incoming)
        except queue.Full:
            log.error("channel %s: too much comes in; a message is not answered", self._api.name)

    def _repeated(self, frame: Frame, incoming: Incoming) -> bool:
        """Whether this was seen before: two connections may carry the same, and DingTalk may push again."""
        keys = {f"f{frame.message_id}"} if frame.message_id else set()
        if isinstance(incoming, RobotMessage) and incoming.id:
            keys.add(f"m{incoming.id}")
        with self._lock:
            if any(key in self._seen for key in keys):
                return True
            self._seen.update(dict.fromkeys(keys))
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
        return False

    def _work(self) -> None:
        while (incoming := self._incoming.get()) is not None and not self._stop.is_set():
            try:
                self._handle(incoming)
            except Exception:  # one message must not end the work on all others
                log.exception("channel %s: a message or click could not be worked on", self._api.name)


def address(place: str, ticket: str) -> str:
    """The URL of a connection; a secret, for one use."""
    return f"{place}{'&' if '?' in place else '?'}ticket={quote(ticket, safe='')}"


def _incoming(frame: Frame) -> Incoming | None:
    if frame.type != "CALLBACK":
        return None
    if frame.topic == ROBOT_TOPIC:
        return robot_message(frame.data)
    return card_click(frame) if frame.topic == CARD_TOPIC else None
