"""Socket Mode against a strict one: acknowledged before it is worked on, watched, replaced, ended within seconds."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from costguard.net.http import HttpClient
from costguard.notify.listening import Circumstances, Patience
from costguard.notify.slack.api import SlackApi as Api
from costguard.notify.slack.interaction import Pressed, Typed
from costguard.notify.slack.socket import SlackSocket
from costguard.ports import Listening
from costguard.testing.clock import FakeClock
from tests.fakes.slack_api import APP_TOKEN, BOT_TOKEN, SlackApi
from tests.fakes.slack_socket import SlackSocket as Platform

ZW = "U012ZHANG"
HASTY = Patience(
    open=timedelta(seconds=0.5), alive=timedelta(seconds=0.2), steady=timedelta(0), backoff=(timedelta(seconds=0.02),),
    last=timedelta(seconds=1),
)  # fmt: skip


@pytest.fixture
def slack() -> Iterator[SlackApi]:
    with SlackApi(FakeClock()) as server:
        yield server


@pytest.fixture
def platform(slack: SlackApi) -> Iterator[Platform]:
    with Platform(slack) as server:
        yield server


class Heard:
    """A connection and what came in on it."""

    def __init__(self, slack: SlackApi, work: Callable[[Pressed | Typed], None] = lambda _: None) -> None:
        self.incoming: list[Pressed | Typed] = []
        self.states: list[Listening] = []
        self.secrets: list[str] = []
        self.work = work
        api = Api("team", BOT_TOKEN, HttpClient(deadline=timedelta(seconds=2)), slack.clock, slack.api_url)
        around = Circumstances(changed=self.states.append, patience=HASTY)
        self.socket = SlackSocket("team", api, APP_TOKEN, slack.clock, self.take, around, learn=self.secrets.append)
        self.socket.start()

    def take(self, incoming: Pressed | Typed) -> None:
        self.incoming.append(incoming)
        self.work(incoming)


@pytest.fixture
def heard(slack: SlackApi, platform: Platform) -> Iterator[Heard]:
    made = Heard(slack)
    eventually(lambda: made.socket.state.connected)
    yield made
    made.socket.stop()


def eventually(what: Callable[[], object], seconds: float = 5.0) -> None:
    ends = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.01)


def test_an_envelope_is_acknowledged_before_it_is_worked_on(slack: SlackApi, platform: Platform) -> None:
    """The work takes far longer than Slack waits."""
    go = threading.Event()
    made = Heard(slack, lambda _: go.wait(10) and None)
    try:
        envelopes = [platform.slash(ZW, text) for text in ("status", "help", "why a", "keep a", "resume")]
        assert all(envelope.wait().acked for envelope in envelopes)
        go.set()
        eventually(lambda: len(made.incoming) == 5)
        assert {i.text for i in made.incoming if isinstance(i, Typed)} == {
            "status",
            "help",
            "why a",
            "keep a",
            "resume",
        }
    finally:
        go.set()
        made.socket.stop()


def test_a_connection_that_breaks_or_goes_deaf_is_replaced(heard: Heard, platform: Platform) -> None:
    """J03's neighbour: half-open TCP is noticed by the missing pong, not by the next press."""
    opened = heard.socket.state.opened
    platform.lines[0].silent = True
    eventually(lambda: heard.socket.state.opened == opened + 1)
    assert platform.slash(ZW, "status").wait().acked
    assert [state.connected for state in heard.states][:3] == [True, False, True]


def test_one_that_slack_refuses_says_why_and_is_tried_again(slack: SlackApi) -> None:
    slack.app_scopes.clear()
    made = Heard(slack)
    try:
        eventually(lambda: made.socket.state.error)
        assert made.socket.state.error == "missing_scope: the app lacks a right"
        assert made.socket.state.hint == "add the scope connections:write to the app and install it again"
        slack.app_scopes.add("connections:write")
        with Platform(slack):
            eventually(lambda: made.socket.state.connected)
            assert made.socket.state.error == ""
            made.socket.stop()
    finally:
        made.socket.stop()


def test_one_that_never_says_hello_is_replaced(heard: Heard, platform: Platform) -> None:
    """Also when it was to take another's place: what Slack does not greet gets no presses."""
    greet, platform.greet = platform.greet, lambda line: None  # type: ignore[method-assign]
    platform.disconnect("warning")
    eventually(lambda: "nothing came on the connection" in heard.socket.state.error)
    platform.greet = greet  # type: ignore[method-assign]
    eventually(lambda: heard.socket.state.connected)
    assert platform.slash(ZW, "status").wait().acked


def test_socket_mode_that_is_switched_off_is_told(heard: Heard, platform: Platform) -> None:
    platform.disconnect("link_disabled")
    eventually(lambda: any(state.hint for state in heard.states))
    told = next(state for state in heard.states if state.hint)
    assert (told.connected, told.hint) == (False, "switch it on: Socket Mode of the app")


def test_what_makes_no_sense_is_acknowledged_and_ends_nothing(heard: Heard, platform: Platform) -> None:
    for kind, payload in (("interactive", {}), ("events_api", {"event": {}}), ("slash_commands", {"text": 7})):
        assert platform.send(kind, payload).wait().acked
    line = platform.lines[0]
    line.send("no json")
    line.send(json.dumps(["a list"]))
    line.send(json.dumps({"envelope_id": 7}))
    assert platform.slash(ZW, "status").wait().acked
    eventually(lambda: heard.incoming)
    assert [type(incoming) for incoming in heard.incoming] == [Typed]


def test_an_envelope_that_comes_again_is_one(heard: Heard, platform: Platform) -> None:
    envelope = platform.slash(ZW, "status").wait()
    platform.send_again(envelope)
    assert envelope.wait().acked
    assert platform.slash(ZW, "help").wait().acked
    eventually(lambda: len(heard.incoming) == 2)
    assert [i.text for i in heard.incoming if isinstance(i, Typed)] == ["status", "help"]


def test_what_was_acknowledged_is_worked_on_when_it_ends(slack: SlackApi, platform: Platform) -> None:
    """A restart of the daemon: Slack has its answer and will not send the press again."""
    go, slow = threading.Event(), threading.Event()

    def work(_: Pressed | Typed) -> None:
        slow.set()
        go.wait(10)

    made = Heard(slack, work)
    eventually(lambda: made.socket.state.connected)
    texts = {f"keep box-{number}" for number in range(6)}
    assert all(platform.slash(ZW, text).wait().acked for text in sorted(texts))
    assert slow.wait(5)
    threading.Timer(0.3, go.set).start()
    made.socket.stop()
    assert {i.text for i in made.incoming if isinstance(i, Typed)} == texts


def test_it_ends_within_seconds_whatever_is_going_on(slack: SlackApi, platform: Platform) -> None:
    busy = threading.Event()
    made = Heard(slack, lambda _: busy.wait(30) and None)
    assert platform.slash(ZW, "status").wait().acked
    platform.lines[0].silent = True
    began = time.monotonic()
    made.socket.stop(timedelta(seconds=1))
    assert time.monotonic() - began < 4
    busy.set()
    eventually(lambda: not any(t.name.startswith("socket") and t.is_alive() for t in threading.enumerate()))


def test_the_address_is_a_secret(slack: SlackApi, platform: Platform, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = Heard(slack)
    eventually(lambda: made.socket.state.connected)
    platform.disconnect("warning")
    eventually(lambda: made.socket.state.opened == 2)
    made.socket.stop()
    assert len(made.secrets) == 2
    said = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith(("costguard", "websockets", "http")))
    assert not [secret for secret in (*made.secrets, "ticket=", APP_TOKEN) if secret in said]
    assert APP_TOKEN not in f"{made.socket!r}"
