"""Slack's Socket Mode: one outgoing WebSocket on which presses and commands come in, without a public URL.

An envelope is answered at once (Slack shows an error after 3 seconds) and worked on by another thread. A connection
that Slack is about to close is read to its end beside its successor; one that broke, that never said hello, or whose
pongs stay away is replaced. Only the leader connects: Slack gives each envelope to any one of an app's connections.
"""

import json
import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from costguard.net.clock import SystemClock
from costguard.net.websocket import ALIVE, WebSocket, WebSocketError, open_websocket
from costguard.notify.slack.api import SlackApi, SlackError
from costguard.notify.slack.interaction import Pressed, StrangePayload, Typed, pressed, typed
from costguard.ports import Clock, Listening

log = logging.getLogger(__name__)

Incoming = Pressed | Typed

_MACHINE = SystemClock()
_REMEMBERED = 2000
_WAITING = 200
_WORKERS = 2
_TURN = 0.5


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a connection is waited for and trusted; tests shorten them.

    ``open`` is the deadline of opening one and of its hello; ``alive`` how often it is pinged, and how long a pong may
    take; ``steady`` after how long it counts as good; ``backoff`` the waits after the first, second, … failure, of
    which the last one stays; ``last`` how long one that is to be closed is still read.
    """

    open: timedelta = timedelta(seconds=15)
    alive: timedelta = timedelta(seconds=ALIVE)
    steady: timedelta = timedelta(seconds=30)
    backoff: tuple[timedelta, ...] = tuple(timedelta(seconds=s) for s in (1, 2, 5, 10, 30, 60))
    last: timedelta = timedelta(seconds=15)


class SlackSocket:
    """The Socket Mode connection of one app. ``handle`` is called with what came in, by threads of its own, and raises
    nothing.

    ``leading`` says whether this process is to be connected; ``changed`` is told each new state; ``beat`` is called in
    each turn; ``learn`` is told each address, which is a secret while it is good.
    """

    def __init__(
        self,
        name: str,
        api: SlackApi,
        app_token: str,
        clock: Clock,
        handle: Callable[[Incoming], None],
        *,
        proxy: str | None = None,
        leading: Callable[[], bool] = lambda: True,
        changed: Callable[[Listening], None] = lambda _state: None,
        beat: Callable[[], None] = lambda: None,
        learn: Callable[[str], None] = lambda _secret: None,
        patience: Patience | None = None,
    ) -> None:
        self.name, self._api, self._app_token, self._clock = name, api, app_token, clock
        self._handle, self._proxy, self._leading = handle, proxy, leading
        self._changed, self._beat, self._learn = changed, beat, learn
        self._patience = patience or Patience()
        self._state = Listening()
        self._stop = threading.Event()
        self._incoming: queue.Queue[Incoming | None] = queue.Queue(_WAITING)
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, name=f"socket {name}", daemon=True),
            *(threading.Thread(target=self._work, name=f"socket {name} work", daemon=True) for _ in range(_WORKERS)),
        ]

    def __repr__(self) -> str:
        return f"SlackSocket({self.name!r})"

    @property
    def state(self) -> Listening:
        with self._lock:
            return self._state

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, within: timedelta = timedelta(seconds=10)) -> None:
        """Closes the connection and lets what is at hand be finished."""
        self._stop.set()
        try:
            for _ in range(_WORKERS):
                self._incoming.put_nowait(None)
        except queue.Full:
            log.warning("channel %s: what still waits is not answered", self.name)
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
            except SlackError as error:
                failures += 1
                self._fell(f"{error.code}: {error.detail}", error.hint)
            except WebSocketError as error:
                failures += 1
                self._fell(str(error), None)
            except Exception:  # the last line of defence of a loop: buttons must not end with a bug
                failures += 1
                self._note(connected=False, error="a fault of costguard's own; see the log")
                log.exception("channel %s: Socket Mode failed", self.name)
            if failures:
                self._pause(failures)

    def _once(self) -> None:
        """One connection, and its successors while Slack itself asks for them."""
        following = True
        while following and not self._stop.is_set():
            began = _MACHINE.monotonic()
            following = self._serve(self._open()) and self._steady(began)

    def _steady(self, began: float) -> bool:
        return _MACHINE.monotonic() - began >= self._patience.steady.total_seconds()

    def _open(self) -> WebSocket:
        url = self._api.open_socket(self._app_token)
        self._learn(url)
        return open_websocket(
            url,
            seconds=self._patience.open.total_seconds(),
            proxy=self._proxy,
            alive=self._patience.alive.total_seconds(),
        )

    def _serve(self, socket: WebSocket) -> bool:
        """Reads until the connection ends; True when Slack wants another one in its place."""
        hello_by = _MACHINE.monotonic() + self._patience.open.total_seconds()
        greeted = False
        while not self._stop.is_set() and self._leading():
            self._beat()
            try:
                text = socket.receive(_TURN)
            except WebSocketError as error:
                self._note(connected=False, error=str(error))
                log.info("channel %s: %s", self.name, error)
                break
            if text is not None:
                frame = self._parse(text)
                if frame.get("type") == "hello":
                    greeted = True
                    self._note(connected=True)
                    log.info("channel %s: Socket Mode is connected", self.name)
                elif frame.get("type") == "disconnect":
                    return self._sent_away(socket, str(frame.get("reason", "")))
                else:
                    self._take(socket, frame)
            elif not greeted and _MACHINE.monotonic() > hello_by:
                self._note(connected=False, error="Slack did not say hello")
                log.warning("channel %s: Slack did not say hello; connecting anew", self.name)
                break
        else:
            self._note(connected=False)
        socket.close()
        return False

    def _sent_away(self, socket: WebSocket, reason: str) -> bool:
        """Slack closes the connection soon; True when another one is wanted."""
        if reason in ("warning", "refresh_requested"):
            log.info("channel %s: Slack is about to close the connection; opening another", self.name)
            threading.Thread(target=self._finish, args=(socket,), name="socket end", daemon=True).start()
            return True
        hint = "switch it on: Socket Mode of the app" if reason == "link_disabled" else None
        self._note(connected=False, error=f"Slack closed the connection: {reason[:40]}", hint=hint)
        log.warning("channel %s: Slack closed the connection: %s", self.name, reason[:40])
        socket.close()
        return False

    def _finish(self, socket: WebSocket) -> None:
        """Reads a connection that is to be closed until it is."""
        ends = _MACHINE.monotonic() + self._patience.last.total_seconds()
        try:
            while not self._stop.is_set() and (left := ends - _MACHINE.monotonic()) > 0:
                if (text := socket.receive(min(_TURN, left))) is not None:
                    self._take(socket, self._parse(text))
        except WebSocketError as error:
            log.debug("channel %s: the replaced connection ended: %s", self.name, error)
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
        log.log(level, "channel %s: Socket Mode cannot be opened: %s%s", self.name, error, f" ({hint})" if hint else "")
        self._note(connected=False, error=error, hint=hint)

    def _note(self, *, connected: bool, error: str = "", hint: str | None = None) -> None:
        with self._lock:
            before = self._state
            since = before.since if before.connected is connected else self._clock.now()
            opened = before.opened + (1 if connected else 0)
            self._state = state = replace(
                before, connected=connected, since=since, opened=opened, error=error, hint=hint
            )
        self._changed(state)

    # ── what comes in ───────────────────────────────────────────────────────────────────────────────────

    def _parse(self, text: str) -> Mapping[str, Any]:
        try:
            frame = json.loads(text)
        except ValueError:
            frame = None
        if not isinstance(frame, dict):
            log.warning("channel %s: a frame that is no JSON object", self.name)
            return {}
        return frame

    def _take(self, socket: WebSocket, frame: Mapping[str, Any]) -> None:
        """Answers an envelope and passes on what it holds. What cannot be read is answered all the same."""
        envelope = frame.get("envelope_id")
        if not isinstance(envelope, str) or not envelope:
            return
        try:
            socket.send(json.dumps({"envelope_id": envelope}))
        except WebSocketError as error:
            # What came is still worked on; the next receive ends the connection.
            log.info("channel %s: an envelope could not be answered: %s", self.name, error)
        if self._repeated(envelope):
            return
        try:
            incoming = _incoming(frame)
        except StrangePayload as error:
            log.warning("channel %s: %s", self.name, error)
            return
        if incoming is not None:
            try:
                self._incoming.put_nowait(incoming)
            except queue.Full:
                log.error("channel %s: too much comes in; a press is not worked on", self.name)

    def _repeated(self, envelope: str) -> bool:
        """Whether this was seen before: Slack sends an envelope again whose answer was lost."""
        with self._lock:
            if envelope in self._seen:
                return True
            self._seen[envelope] = None
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
        return False

    def _work(self) -> None:
        while (incoming := self._incoming.get()) is not None and not self._stop.is_set():
            self._handle(incoming)


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
