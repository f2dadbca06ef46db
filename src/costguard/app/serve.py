"""``run``: the service. Loops on threads, the site on another, and the rule that it ends when a loop dies."""

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

import uvicorn
from starlette.routing import BaseRoute

from costguard import __version__
from costguard.app import settings as mapped
from costguard.app.app import App
from costguard.app.desk import desk_of
from costguard.app.explain import explain, explain_action
from costguard.app.jobs import jobs
from costguard.app.listen import chats
from costguard.app.slack import posts
from costguard.app.spend import run_spend
from costguard.app.undo import undo
from costguard.daemon.jobs import BackgroundDriver
from costguard.domain.action import Action
from costguard.errors import AddressTaken, CostguardError
from costguard.web.overview import ChatLine
from costguard.web.site import Site, create
from costguard.web.slack import routes as slack_routes

_log = logging.getLogger(__name__)
_STOP = timedelta(seconds=25)
_DIED = 3
_BACKLOG = 128


class LoopDied(CostguardError):
    """A loop fell silent; the process ends so that its supervisor starts it anew."""


def site_of(
    app: App,
    *,
    demo_speed: int = 0,
    chat: Callable[[], tuple[ChatLine, ...]] | None = None,
    mounts: Sequence[BaseRoute] = (),
) -> Site:
    """The site of an application."""
    page = mapped.page_settings(app.config, demo_speed)

    def explained(text: str, at: datetime | None) -> Mapping[str, object]:
        return explain(app, text, at)

    def spent(by: str, month: str | None, since: datetime | None) -> Mapping[str, object]:
        return run_spend(app, by=by, month=month, since=since)

    def explained_action(action_id: str) -> Mapping[str, object]:
        return explain_action(app, action_id)

    def undone(action_id: str, person: str) -> Action:
        return undo(app, action_id, person)

    return Site(
        database=app.database,
        clock=app.clock,
        version=__version__,
        page=lambda: page,
        language=app.config.settings.language,
        beats=app.beats,
        tokens=mapped.tokens(app.config),
        keep_max=app.settings.keep_max,
        explain=explained,
        explain_action=explained_action,
        spend=spent,
        undo=undone,
        leading=lambda: app.lead.leads,
        chat=chat,
        mounts=[*mounts, *slack_routes(posts(app, desk_of(app)), app.clock)],
    )


def serve(app: App, *, reload: Callable[[], App] | None = None) -> None:
    """Runs until SIGTERM or SIGINT; SIGHUP takes a new configuration or keeps the old one and says why.

    Raises LoopDied when a loop fell silent, AddressTaken when the page cannot be served where it should be.
    Must be called from the main thread.
    """
    stop, again = threading.Event(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    signal.signal(signal.SIGHUP, lambda *_: again.set())
    while True:
        again.clear()
        _one_life(app, stop, again)
        if stop.is_set():
            app.close()
            return
        if reload is not None:
            try:
                fresh = reload()
            except CostguardError as error:
                _log.error("the new configuration is not taken; the old one stays: %s", error)
            else:
                app.close()
                app = fresh
                _log.info("the new configuration is in force")


class _Leaving:
    """Ends the process when a round does not end by itself: 30 s after SIGTERM nobody is here any more.

    Unless it was asked to end, the supervisor sees a failure then, and starts it anew.
    """

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._timer = threading.Timer(_STOP.total_seconds(), self._leave)
        self._timer.daemon = True

    def begin(self) -> None:
        self._timer.start()

    def over(self) -> None:
        """Everything ended by itself; a process that only reloads lives on."""
        self._timer.cancel()

    def _leave(self) -> None:
        _log.error("a round did not end in time; leaving. Its action is looked at after the next start")
        logging.shutdown()
        os._exit(0 if self._stop.is_set() else _DIED)


def _listeners(host: str, port: int) -> list[socket.socket]:
    """Sockets that already take connections, one for each address of ``host``. Raises AddressTaken."""
    opened: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, address in dict.fromkeys((family, address) for family, _, _, _, address in found):
            opened.append(socket.create_server(address, family=family, backlog=_BACKLOG))
    except OSError as error:
        for listener in opened:
            listener.close()
        raise AddressTaken(
            f"web.listen {host}:{port} cannot be used: {error.strerror or error}. Another costguard may run there: "
            "end it, or set web.listen to a free port"
        ) from None
    return opened


def _one_life(app: App, stop: threading.Event, again: threading.Event) -> None:
    web = app.config.settings.web
    # Before anything else starts: a second daemon on this address polls nothing, and whoever reads that the page is
    # there can open it.
    listeners = _listeners(web.host, web.port)
    server = uvicorn.Server(uvicorn.Config(create(site_of(app)), log_level="warning", access_log=False, lifespan="off"))
    leaving = _Leaving(stop)
    with contextlib.ExitStack() as stack:
        stack.callback(leaving.over)
        thread = threading.Thread(target=server.run, kwargs={"sockets": listeners}, name="web", daemon=True)
        thread.start()
        driver = BackgroundDriver(jobs(app), app.beats)
        heard = chats(app)
        driver.start()
        for chat in heard:
            chat.start()
            stack.callback(chat.stop)
        stack.callback(thread.join, 5.0)
        stack.callback(setattr, server, "should_exit", True)
        stack.callback(driver.stop)
        _log.info("costguard %s runs: page at http://%s", __version__, web.listen)
        # Whatever still runs when the time is over is a call that the next start looks at.
        stack.callback(leaving.begin)
        while not stop.wait(1.0) and not again.is_set():
            if silent := app.beats.silent():
                raise LoopDied(f"these loops fell silent: {', '.join(silent)}")
            if not thread.is_alive():
                raise LoopDied(f"the web server on {web.listen} ended")
