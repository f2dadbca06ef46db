"""The Stream against a strict one: answers, reconnecting, silence, who is connected, and a clean end."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from costguard.net.http import HttpClient
from costguard.notify.dingtalk.api import DingTalkApi as Api
from costguard.notify.dingtalk.frames import CardClick, RobotMessage
from costguard.notify.dingtalk.stream import Incoming, Stream
from costguard.notify.listening import Circumstances, Patience
from costguard.ports import Listening
from costguard.testing.clock import FakeClock
from tests.fakes.dingtalk_openapi import Card, DingTalkApi
from tests.fakes.dingtalk_reference import CLIENT_ID, CLIENT_SECRET, GROUP
from tests.fakes.dingtalk_stream import DingTalkStream

QUICK = Patience(
    open=timedelta(seconds=3),
    alive=timedelta(seconds=0.3),
    silence=timedelta(seconds=30),
    steady=timedelta(seconds=0.2),
    backoff=(timedelta(seconds=0.05), timedelta(seconds=0.1)),
    last=timedelta(seconds=2),
)


@dataclass
class Rig:
    api: DingTalkApi
    server: DingTalkStream
    came: list[Incoming] = field(default_factory=list)
    states: list[Listening] = field(default_factory=list)
    beats: int = 0
    leads: bool = True
    patience: Patience = QUICK
    secret: str = CLIENT_SECRET
    respond: Callable[[CardClick], dict[str, Any]] = lambda _click: {}
    handle: Callable[[Incoming], None] = lambda _incoming: None

    def __post_init__(self) -> None:
        self._streams: list[Stream] = []

    def start(self) -> Stream:
        http = HttpClient(deadline=timedelta(seconds=2))
        api = Api("dev", CLIENT_ID, self.secret, http, self.api.clock, endpoint=self.api.url)
        around = Circumstances(lambda: self.leads, self.states.append, self._beat, self.patience)
        stream = Stream(api, self.api.clock, self._handle, around, respond=lambda click: self.respond(click))
        self._streams.append(stream)
        stream.start()
        return stream

    def end(self) -> None:
        for stream in self._streams:
            stream.stop()

    def wait(self, what: Callable[[], bool]) -> None:
        self.server.wait_until(what)

    def _handle(self, incoming: Incoming) -> None:
        self.came.append(incoming)
        self.handle(incoming)

    def _beat(self) -> None:
        self.beats += 1


@pytest.fixture
def rig() -> Iterator[Rig]:
    with DingTalkApi(FakeClock()) as api, DingTalkStream(api) as server:
        found = Rig(api, server)
        yield found
        found.end()


def test_what_people_write_comes_in_and_is_answered(rig: Rig) -> None:
    rig.start()
    frame = rig.server.say("zw01", "保留 train-03 2小时").wait()
    rig.wait(lambda: len(rig.came) == 1)
    (message,) = rig.came
    assert isinstance(message, RobotMessage)
    assert (message.text, message.user, message.nick) == ("保留 train-03 2小时", "zw01", "张伟")
    assert (message.group, message.conversation) == (True, GROUP)
    assert frame.acked
    alone = rig.server.say("li02", "状态", alone=True).wait()
    rig.wait(lambda: len(rig.came) == 2)
    assert alone.acked


def test_a_click_comes_in_and_its_answer_may_change_the_card(rig: Rig) -> None:
    card = Card("costguard.a1.k", "t", {"tips": "old", "title": "x"}, GROUP, rig.api.clock.now())
    rig.api.cards[card.out_track_id] = card
    rig.respond = lambda _click: {
        "cardUpdateOptions": {"updateCardDataByKey": True}, "cardData": {"cardParamMap": {"tips": "new"}},
    }  # fmt: skip
    rig.start()
    assert rig.server.press("zw01", card, "keep_2h").wait().acked
    rig.wait(lambda: len(rig.came) == 1)
    (click,) = rig.came
    assert isinstance(click, CardClick)
    assert (click.card, click.action, click.user) == ("costguard.a1.k", "keep_2h", "zw01")
    assert card.params == {"tips": "new", "title": "x"}


def test_pings_are_answered_and_events_that_nobody_wants(rig: Rig) -> None:
    rig.start()
    assert rig.server.ping_frame().wait().acked
    assert rig.server.ping()
    assert rig.came == []


def test_work_never_delays_an_answer(rig: Rig) -> None:
    """DingTalk waits two seconds for a click's answer; a start at a cloud may take half a minute."""
    gate = threading.Event()
    rig.handle = lambda _incoming: bool(gate.wait(5)) and None
    rig.start()
    frames = [rig.server.say("zw01", f"状态 {n}") for n in range(3)]
    assert all(frame.wait().answered_after < 1 for frame in frames)
    gate.set()
    rig.wait(lambda: len(rig.came) == 3)
    texts = [message.text for message in rig.came if isinstance(message, RobotMessage)]
    assert texts == ["状态 0", "状态 1", "状态 2"], "in their order"


def test_the_same_delivery_twice_is_one(rig: Rig) -> None:
    rig.start()
    frame = rig.server.say("zw01", "状态").wait()
    rig.server.send_again(frame)
    frame.wait()
    rig.server.say("zw01", "帮助").wait()
    rig.wait(lambda: len(rig.came) == 2)
    assert [m.text for m in rig.came if isinstance(m, RobotMessage)] == ["状态", "帮助"]


def test_a_disconnect_is_followed_by_another_connection_at_once(rig: Rig) -> None:
    """A message to a robot is sent once: the gap must be as small as can be, and the old one is read to its end."""
    stream = rig.start()
    rig.server.wait_connected()
    time.sleep(QUICK.steady.total_seconds() + 0.1)
    begun = time.monotonic()
    rig.server.disconnect(close=False)
    rig.server.wait_connected(2)
    assert time.monotonic() - begun < 1
    assert rig.server.say("zw01", "状态").wait().acked
    assert stream.state.connected
    assert not any(state.error for state in rig.states)


@pytest.mark.parametrize("how", ["disconnect", "drop"])
def test_an_ended_connection_is_replaced(rig: Rig, how: str) -> None:
    stream = rig.start()
    for count in (1, 2, 3):
        rig.server.wait_connected(count)
        getattr(rig.server, how)()
    rig.server.wait_connected(4)
    assert rig.server.say("zw01", "状态").wait().acked
    rig.wait(lambda: stream.state.connected)
    assert stream.state.opened == rig.server.opened


def test_a_connection_that_went_deaf_is_replaced(rig: Rig) -> None:
    """As behind a NAT that forgot it: open for TCP, no pong."""
    rig.start()
    rig.server.wait_connected()
    rig.server.go_silent()
    rig.server.wait_connected(2)
    assert rig.server.say("zw01", "状态").wait().acked


def test_a_connection_on_which_nothing_comes_is_replaced(rig: Rig) -> None:
    """It answers pings, and DingTalk has stopped delivering on it: only what comes is a sign of life."""
    rig.patience = Patience(silence=timedelta(seconds=1), steady=timedelta(0), backoff=(timedelta(seconds=0.05),))
    stream = rig.start()
    rig.server.wait_connected(2)
    assert any("nothing came" in state.error for state in rig.states)
    for _ in range(4):
        time.sleep(0.4)
        rig.server.ping_frame()
    assert stream.state.opened == rig.server.opened == 2, "a ping is a sign of life"


def test_a_gateway_that_is_gone_is_asked_again_until_it_is_back(rig: Rig) -> None:
    rig.api.gateway = None
    stream = rig.start()
    rig.wait(lambda: rig.api.calls("/v1.0/gateway/connections/open") >= 3)
    assert "DingTalk has a fault" in stream.state.error
    assert not stream.state.connected
    rig.api.gateway = rig.server
    rig.server.wait_connected()
    rig.wait(lambda: stream.state.connected)
    assert stream.state.error == ""


def test_the_waits_between_attempts_grow(rig: Rig) -> None:
    rig.patience = Patience(backoff=(timedelta(seconds=0.1), timedelta(seconds=0.4), timedelta(seconds=30)))
    rig.api.gateway = None
    rig.start()
    rig.wait(lambda: rig.api.calls("/v1.0/gateway/connections/open") == 3)
    time.sleep(1)
    assert rig.api.calls("/v1.0/gateway/connections/open") == 3
    assert rig.beats > 3, "a wait is no silence of the loop"


def test_wrong_credentials_are_said(rig: Rig) -> None:
    rig.secret = "wrong"
    stream = rig.start()
    rig.wait(lambda: bool(stream.state.error))
    assert "authFailed" in stream.state.error
    assert "凭证" in (stream.state.hint or "")


def test_only_the_leader_is_connected(rig: Rig) -> None:
    rig.leads = False
    stream = rig.start()
    time.sleep(1.2)
    assert rig.server.opened == 0
    rig.leads = True
    rig.server.wait_connected()
    lines = list(rig.server.lines)
    rig.leads = False
    rig.server.wait_gone(lines)
    rig.wait(lambda: not stream.state.connected)
    assert stream.state.error == ""


def test_a_fault_in_the_work_ends_nothing(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    def fail(incoming: Incoming) -> None:
        raise RuntimeError("a fault of ours")

    rig.handle = fail
    rig.start()
    rig.server.say("zw01", "状态").wait()
    rig.wait(lambda: "could not be worked on" in caplog.text)
    rig.handle = lambda _incoming: None
    rig.server.say("zw01", "状态").wait()
    rig.wait(lambda: len(rig.came) == 2)


def test_rubbish_on_the_wire_ends_nothing(rig: Rig) -> None:
    rig.start()
    rig.server.wait_connected()
    rig.server.newest.send("not json")
    rig.server.newest.send('{"type": "CALLBACK", "headers": {"topic": "/v1.0/im/bot/messages/get"}}')
    assert rig.server.ping_frame().wait().acked


def test_the_end_is_clean_and_quick(rig: Rig) -> None:
    stream = rig.start()
    rig.server.wait_connected()
    lines = list(rig.server.lines)
    begun = time.monotonic()
    stream.stop()
    assert time.monotonic() - begun < 3
    rig.server.wait_gone(lines)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("stream dev")]


def test_an_end_that_comes_before_anything_stood(rig: Rig) -> None:
    rig.api.gateway = None
    stream = rig.start()
    begun = time.monotonic()
    stream.stop()
    assert time.monotonic() - begun < 3
