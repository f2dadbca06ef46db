"""Runs the demo: makes a configuration in a temporary folder, serves page and inbox, and drives the clock."""

import logging
import socket
import tempfile
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol, runtime_checkable

import uvicorn
from markupsafe import Markup
from rich.console import Console
from starlette.routing import Mount

from costguard import assets
from costguard.app.app import App
from costguard.app.demo.story import Story
from costguard.app.jobs import jobs
from costguard.app.serve import site_of
from costguard.config.load import Config, load
from costguard.daemon import levers
from costguard.daemon.jobs import BackgroundDriver, Job, SteppedDriver
from costguard.domain.resource import Kind, ResourceRef
from costguard.errors import UsageError
from costguard.net.clock import ScaledClock, SteppedClock
from costguard.notify.inbox.server import inbox_app
from costguard.notify.inbox.store import InboxMessage, InboxStore
from costguard.ports import Clock, Connection
from costguard.web.chat import dingtalk_html, slack_html
from costguard.web.overview import ChatLine
from costguard.web.site import create
from costguard.web.words import Language, word

_log = logging.getLogger(__name__)

RATE = 60.0
_START = datetime.fromisoformat("2026-11-12T18:00:00+08:00")
_EVERY = timedelta(seconds=30)
_SHOWN = 60
# In the demo's own time, which runs far faster than the machine's.
_TTL = timedelta(hours=2)
_SECRETS = {"ops": "SEC0demo"}


class DemoLever(Protocol):
    """A lever that somebody of the simulated team pulls at ``at``."""

    at: datetime
    who: str
    do: str
    region: str
    kind: Kind
    resource_id: str
    lasts: timedelta | None
    reason: str


@runtime_checkable
class Scripted(Protocol):
    """A connection whose people pull levers."""

    def due_levers(self, since: datetime, until: datetime) -> Sequence[DemoLever]: ...


def configuration(folder: Path, inbox: str, language: Language) -> Config:
    """The demo's configuration, loaded from a copy in ``folder`` beside which the database will lie."""
    path = folder / "costguard.yaml"
    path.write_text((Path(__file__).parent / "costguard.yaml").read_text("utf-8"), "utf-8")
    env = {"DEMO_INBOX": inbox, "DEMO_POLICIES": str(assets.policies()), "DEMO_LANGUAGE": language}
    return load(path, env)


def run(
    *,
    listen: str = "127.0.0.1:8787",
    headless: bool = False,
    minutes: int | None = None,
    rate: float = RATE,
    language: Language = "zh",
    console: Console,
    stop: threading.Event | None = None,
) -> App:
    """The demo until ``minutes`` of its own time have passed (None: until ``stop``). Returns the closed app.

    Raises UsageError when the address is taken.
    """
    with tempfile.TemporaryDirectory(prefix="costguard-demo-") as name:
        inbox = InboxStore()
        server = socket.socket()
        try:
            host, port = ("127.0.0.1", 0) if headless else _address(listen)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                server.bind((host, port))
            except OSError as error:
                raise UsageError(f"{listen} is taken ({error.strerror}); try --listen 127.0.0.1:8788") from None
            url = f"http://{host}:{server.getsockname()[1]}"
            clock: Clock = SteppedClock(_START) if headless else ScaledClock(_START, rate)
            app = App.open(
                configuration(Path(name), f"{url}/inbox", language), clock, threads=1 if headless else 4, lease_ttl=_TTL
            )
            web, thread = serve_site(app, inbox, server, 0 if headless else int(rate))
            try:
                _drive(app, clock, console, language, url, minutes, rate, stop)
            finally:
                web.should_exit = True
                thread.join(5.0)
                app.close()
            return app
        finally:
            server.close()


def _drive(
    app: App,
    clock: Clock,
    console: Console,
    language: Language,
    url: str,
    minutes: int | None,
    rate: float,
    stop: threading.Event | None,
) -> None:
    story = Story(app, console, language)
    people = Job("people", _EVERY, People(app).act)
    loops = jobs(app)
    work = [loops[0], people, *loops[1:]]
    started = clock.now()
    end = None if minutes is None else started + timedelta(minutes=minutes)
    if isinstance(clock, SteppedClock):
        assert end is not None, "a headless demo has an end"
        SteppedDriver(work, clock).run_until(end, story.tell)
    else:
        console.print(word("demo.page", language, url=f"{url}/?lang={language}"), highlight=False)
        stop = stop or threading.Event()
        driver = BackgroundDriver(work, app.beats, rate)
        driver.start()
        try:
            while not stop.wait(1.0) and (end is None or clock.now() < end):
                story.tell(clock.now())
        except KeyboardInterrupt:
            console.print()
        finally:
            driver.stop()
    story.summary(started, clock.now())


class People:
    """The simulated team's own acts through costguard's levers: keeping and claiming."""

    def __init__(self, app: App) -> None:
        self._app, self._since = app, app.clock.now()

    def act(self) -> None:
        now = self._app.clock.now()
        for account in self._app.accounts.values():
            connection: Connection = account.connection()
            if isinstance(connection, Scripted):
                for lever in connection.due_levers(self._since, now):
                    self._pull(account.name, account.provider, lever, now)
        self._since = now

    def _pull(self, account: str, provider: str, lever: DemoLever, now: datetime) -> None:
        ref = ResourceRef(provider, account, lever.region, lever.kind, lever.resource_id)
        person = levers.Person(lever.who)
        try:
            with self._app.database.write() as conn:
                if lever.do == "keep":
                    until = now + (lever.lasts or timedelta(hours=2))
                    longest = self._app.settings.keep_max
                    levers.keep(
                        conn, str(ref), person=person, now=now, reason=lever.reason, until=until, longest=longest
                    )
                else:
                    levers.claim(conn, str(ref), owner=lever.who, person=person, now=now)
        except UsageError as error:
            _log.warning("%s could not %s: %s", lever.who, lever.do, error)


def serve_site(
    app: App, inbox: InboxStore, listening: socket.socket, speed: int
) -> tuple[uvicorn.Server, threading.Thread]:
    """The page and the inbox of a demo on a bound socket. Ends when the server's ``should_exit`` is set."""
    zone = app.config.settings.timezone

    def chat() -> tuple[ChatLine, ...]:
        newest = inbox.messages(max(0, inbox.count - _SHOWN))
        return tuple(
            ChatLine(m.platform, m.received_at.astimezone(zone).strftime("%H:%M"), _html(m)) for m in reversed(newest)
        )

    site = site_of(app, demo_speed=speed, chat=chat, mounts=[Mount("/inbox", inbox_app(inbox, _SECRETS, app.clock))])
    server = uvicorn.Server(uvicorn.Config(create(site), log_level="warning", access_log=False, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="web", daemon=True)
    listening.listen(128)
    thread.start()
    return server, thread


def _html(message: InboxMessage) -> Markup:
    payload: Mapping[str, object] = message.payload
    return dingtalk_html(payload) if message.platform == "dingtalk" else slack_html(payload)


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"{listen!r} is not HOST:PORT, like 127.0.0.1:8787")
    return host.strip("[]"), int(port)
