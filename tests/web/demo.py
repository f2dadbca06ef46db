"""The demo after 68 minutes: boxes warned, kept, stopped and refused, all at once, and a chat inbox."""

import json
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.demo import run as demo
from costguard.app.jobs import jobs
from costguard.daemon.jobs import Job, SteppedDriver
from costguard.net.clock import SteppedClock
from costguard.notify.inbox.store import InboxStore
from tests.web.stage import once

STARTED = datetime(2026, 11, 12, 10, tzinfo=UTC)
RAN = timedelta(minutes=68)


@contextmanager
def _at(folder: Path, clock: SteppedClock, inbox: InboxStore) -> Iterator[tuple[App, str]]:
    """The demo's application on a clock, its page and inbox served."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    app = App.open(demo.configuration(folder, f"{url}/inbox", "zh"), clock, threads=1)
    web, thread = demo.serve_site(app, inbox, listening, 60)
    try:
        yield app, url
    finally:
        web.should_exit = True
        thread.join(5.0)
        app.close()
        listening.close()


def _run(folder: Path) -> None:
    folder.mkdir()
    clock, inbox = SteppedClock(STARTED), InboxStore()
    with _at(folder, clock, inbox) as (app, _):
        # A fast clock need not look so often.
        loops = jobs(app, deliver=timedelta(seconds=30), act=timedelta(seconds=30))
        people = Job("people", timedelta(seconds=30), demo.People(app).act)
        SteppedDriver([loops[0], people, *loops[1:]], clock).run_until(STARTED + RAN)
    messages = [[m.platform, m.channel, m.received_at.isoformat(), m.payload] for m in inbox.messages()]
    (folder / "inbox.json").write_text(json.dumps(messages), "utf-8")


@pytest.fixture(scope="session")
def demo_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, str]]:
    """The application and the page's address; time stands still."""
    ran = once(tmp_path_factory, "demo", _run)
    # A copy for each worker: starting the application writes its configuration anew.
    folder = shutil.copytree(ran, tmp_path_factory.mktemp("site") / "demo")
    inbox = InboxStore()
    for platform, channel, at, payload in json.loads((folder / "inbox.json").read_text("utf-8")):
        inbox.add(platform, channel, datetime.fromisoformat(at), payload)
    with _at(folder, SteppedClock(STARTED + RAN), inbox) as found:
        yield found
