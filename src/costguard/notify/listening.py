"""A chat's connection that is kept: opened by the leader alone, watched, replaced, and ended within seconds.

What comes in is answered at once and worked on by other threads. One that the platform is about to close is read to its
end beside its successor; one that broke, that goes silent, or whose pongs stay away is replaced, after growing waits.
Threads of its own, so that a process without such a channel has none. What the frames mean is the platform's business.
"""

import logging
import queue
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from typing import ClassVar, Generic, TypeVar

from costguard.errors import DeliveryError
from costguard.net.clock import SystemClock
from costguard.net.websocket import ALIVE, WebSocket, WebSocketError
from costguard.ports import Clock, Listening

log = logging.getLogger(__name__)

T = TypeVar("T")
_MACHINE = SystemClock()
_REMEMBERED = 2000
_WAITING = 200
_TURN = 0.5


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a connection is waited for and trusted; tests shorten them.

    ``open`` is the deadline of opening one, and of its greeting; ``alive`` how often it is pinged, and how long a pong
    may take; ``silence`` how long nothing may come; ``steady`` after how long it counts as good; ``backoff`` the waits
    after the first, second, … failure, of which the last one stays; ``last`` how long one that is to be closed is
    still read.
    """

    open: timedelta = timedelta(seconds=15)
    alive: timedelta = timedelta(seconds=ALIVE)
    silence: timedelta = timedelta(minutes=2)
    steady: timedelta = timedelta(seconds=30)
    backoff: tuple[timedelta, ...] = tuple(timedelta(seconds=s) for s in (1, 2, 5, 10, 30, 60))
    last: timedelta = timedelta(seconds=15)


class Next(Enum):
    """What a frame asks of its connection: to be read on, another in its place, or its end."""

    READ = "read"
    REPLACE = "replace"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a connection needs to know of its process. ``leading``: whether it is to be connected (a platform deals what
    comes in out among all connections, so a follower must not be one of them); ``changed`` is told each new state;
    ``beat`` is called in each turn."""

    leading: Callable[[], bool] = lambda: True
    changed: Callable[[Listening], None] = lambda _state: None
    beat: Callable[[], None] = lambda: None
    patience: Patience = Patience()


class KeptConnection(ABC, Generic[T]):
    """Implements :class:`costguard.ports.Listener`. ``handle`` is called with what came in, by threads of its own.

    ``what`` is what people call such a connection, ``thread`` the beginning of its threads' names; ``chatty``: the
    platform says something every while, so that silence is a sign; ``workers`` is how many work on what came in.
    """

    what: ClassVar[str]
    thread: ClassVar[str]
    chatty: ClassVar[bool] = False
    workers: ClassVar[int] = 1

    def __init__(self, name: str, clock: Clock, handle: Callable[[T], None], around: Circumstances) -> None:
        self.name = name
        self._clock, self._handle, self._around, self.patience = clock, handle, around, around.patience
        self._state, self._stands = Listening(), False
        self._stop = threading.Event()
        self._incoming: queue.Queue[T | None] = queue.Queue(_WAITING)
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        work = (threading.Thread(target=self._work, name=f"{self.thread} {name} work") for _ in range(self.workers))
        self._threads = [threading.Thread(target=self._run, name=f"{self.thread} {name}"), *work]
        for thread in self._threads:
            thread.daemon = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    # ── what a platform fills in ────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def open(self) -> WebSocket:
        """A connection, within ``patience.open``. Raises DeliveryError, WebSocketError."""

    @abstractmethod
    def take(self, socket: WebSocket, text: str) -> Next:
        """Answers a frame, and passes on what a person sent with it."""

    def greeted(self) -> None:
        """The connection stands: what people send comes in from now on."""
        self._stands = True
        self._note(connected=True)
        log.info("channel %s: %s is connected", self.name, self.what)

    def pass_on(self, incoming: T, names: Iterable[str]) -> None:
        """Puts aside what came in, unless any of its ``names`` was seen before: a platform sends again what was not
        answered, and two connections may carry the same."""
        names = list(names)
        with self._lock:
            if any(name in self._seen for name in names):
                return
            self._seen.update(dict.fromkeys(names))
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
        try:
            self._incoming.put_nowait(incoming)
        except queue.Full:
            log.error("channel %s: too much comes in; a message is not answered", self.name)

    def note_fault(self, error: str, hint: str | None = None) -> None:
        """Why there is no connection. Told once for each reason: the attempts go on."""
        level = logging.DEBUG if self.state.error == error else logging.WARNING
        log.log(level, "channel %s: %s: %s%s", self.name, self.what, error, f" ({hint})" if hint else "")
        self._note(connected=False, error=error, hint=hint)

    # ── from outside ────────────────────────────────────────────────────────────────────────────────────

    @property
    def state(self) -> Listening:
        with self._lock:
            return self._state

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, within: timedelta = timedelta(seconds=10)) -> None:
        """Closes the connection, then works on what still waits: the platform was told that it arrived, so nobody
        sends it again."""
        self._stop.set()
        ends = _MACHINE.monotonic() + within.total_seconds()
        reader, *workers = self._threads
        self._join(reader, ends)
        try:
            for _ in workers:
                self._incoming.put(None, timeout=max(0.001, ends - _MACHINE.monotonic()))
        except queue.Full:
            log.warning("channel %s: too much waits to be worked on now", self.name)
        for thread in workers:
            self._join(thread, ends)
        if any(thread.is_alive() for thread in workers):
            log.warning("channel %s: what still waits is not answered", self.name)

    def _join(self, thread: threading.Thread, ends: float) -> None:
        if thread.is_alive():
            thread.join(max(0.0, ends - _MACHINE.monotonic()))

    # ── the loop ────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            self._around.beat()
            if not self._around.leading():
                self._stop.wait(_TURN)
                continue
            began = _MACHINE.monotonic()
            try:
                self._once()
                failures = 0 if self._steady(began) else failures + 1
            except DeliveryError as error:
                failures += 1
                self.note_fault(f"{error.code}: {error.detail}", error.hint)
            except WebSocketError as error:
                failures += 1
                self.note_fault(str(error))
            except Exception:  # the last line of defence of a loop: buttons must not end with a bug
                failures += 1
                self._note(connected=False, error="a fault of costguard's own; see the log")
                log.exception("channel %s: %s failed", self.name, self.what)
            if failures:
                self._pause(failures)

    def _once(self) -> None:
        """One connection, and its successors while the platform itself asks for them."""
        following = True
        while following and not self._stop.is_set():
            began = _MACHINE.monotonic()
            self._stands = False
            following = self._serve(self.open()) and self._steady(began)

    def _steady(self, began: float) -> bool:
        return _MACHINE.monotonic() - began >= self.patience.steady.total_seconds()

    def _serve(self, socket: WebSocket) -> bool:
        """Reads until the connection ends; True when the platform wants another one in its place."""
        heard = _MACHINE.monotonic()
        while not self._stop.is_set() and self._around.leading():
            self._around.beat()
            try:
                text = socket.receive(_TURN)
            except WebSocketError as error:
                self._note(connected=False, error=str(error))
                log.info("channel %s: %s", self.name, error)
                break
            if text is not None:
                heard = _MACHINE.monotonic()
                then = self.take(socket, text)
                if then is Next.REPLACE:
                    log.info("channel %s: %s is about to be closed; opening another", self.name, self.what)
                    name = f"{self.thread} {self.name} end"
                    threading.Thread(target=self._finish, args=(socket,), name=name, daemon=True).start()
                    return True
                if then is Next.LEAVE:
                    break
            elif _MACHINE.monotonic() - heard > self._silence():
                self.note_fault("nothing came on the connection; it is replaced")
                break
        else:
            self._note(connected=False)
        socket.close()
        return False

    def _silence(self) -> float:
        """How long nothing may come: a greeting is due soon."""
        if not self._stands:
            return self.patience.open.total_seconds()
        return self.patience.silence.total_seconds() if self.chatty else float("inf")

    def _finish(self, socket: WebSocket) -> None:
        """Reads a connection that is to be closed until it is."""
        ends = _MACHINE.monotonic() + self.patience.last.total_seconds()
        try:
            while not self._stop.is_set() and (left := ends - _MACHINE.monotonic()) > 0:
                if (text := socket.receive(min(_TURN, left))) is not None:
                    self.take(socket, text)
        except WebSocketError as error:
            log.debug("channel %s: the replaced connection ended: %s", self.name, error)
        socket.close()

    def _pause(self, failures: int) -> None:
        waits = self.patience.backoff
        ends = _MACHINE.monotonic() + waits[min(failures, len(waits)) - 1].total_seconds()
        while not self._stop.is_set() and (left := ends - _MACHINE.monotonic()) > 0:
            self._around.beat()
            self._stop.wait(min(_TURN, left))

    def _note(self, *, connected: bool, error: str = "", hint: str | None = None) -> None:
        with self._lock:
            before = self._state
            since = before.since if before.connected is connected else self._clock.now()
            opened = before.opened + (1 if connected else 0)
            self._state = state = replace(
                before, connected=connected, since=since, opened=opened, error=error, hint=hint
            )
        self._around.changed(state)

    def _work(self) -> None:
        while (incoming := self._incoming.get()) is not None:
            try:
                self._handle(incoming)
            except Exception:  # one message must not end the work on all others
                log.exception("channel %s: a message or press could not be worked on", self.name)
