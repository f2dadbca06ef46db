"""The inbox takes what the real channels send, over real HTTP, and is as strict as it must be."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from costguard.errors import DeliveryError
from costguard.net.http import HttpClient
from costguard.notify.channels import build_channel
from costguard.notify.dingtalk.config import DingTalkConfig
from costguard.notify.inbox.server import inbox_app
from costguard.notify.inbox.store import InboxStore
from costguard.notify.samples import SAMPLE_NOW
from costguard.notify.slack.config import SlackConfig
from costguard.testing.clock import FakeClock
from tests.unit.notify.messages import warning_about

SECRET = "SECinbox"


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(SAMPLE_NOW)


@pytest.fixture
def store() -> InboxStore:
    return InboxStore()


@pytest.fixture
def url(store: InboxStore, clock: FakeClock) -> Iterator[str]:
    app = Starlette(routes=[Mount("/inbox", inbox_app(store, {"ops": SECRET}, clock))])
    with serving(app) as base:
        yield f"{base}/inbox"


def robot(url: str, secret: str = SECRET) -> DingTalkConfig:
    return DingTalkConfig(name="ops", url=f"{url}/robot/send?access_token=ops", secret=secret)  # type: ignore[arg-type]


def test_both_platforms_messages_arrive_as_they_were_sent(url: str, store: InboxStore, clock: FakeClock) -> None:
    build_channel(robot(url), clock).send(warning_about("train-a800-03", "dingtalk", "13800000000"))
    slack = SlackConfig(name="team", url=f"{url}/slack/team")  # type: ignore[arg-type]
    build_channel(slack, clock).send(warning_about("train-a800-03", "slack", "U012", "en"))
    first, second = store.messages()
    assert (first.platform, first.channel, first.received_at) == ("dingtalk", "ops", SAMPLE_NOW)
    assert first.title == "30 分钟后关机 train-a800-03 ¥34.74/h"
    assert (second.platform, second.channel) == ("slack", "team")
    assert second.title == "Stopping in 30 min: train-a800-03 · ¥34.74/h"
    assert second.payload["blocks"]
    assert store.messages(after=first.number) == (second,)


def test_a_repeat_under_the_same_key_is_kept_once(url: str, store: InboxStore, clock: FakeClock) -> None:
    channel = build_channel(robot(url), clock)
    message = warning_about("a", "dingtalk", "13800000000")
    channel.send(message)
    channel.send(message)
    assert store.count == 1


@pytest.mark.parametrize(("secret", "skew"), [("SECother", 0), (SECRET, 61)])
def test_a_wrong_signature_is_refused(url: str, store: InboxStore, clock: FakeClock, secret: str, skew: int) -> None:
    late = FakeClock(SAMPLE_NOW + timedelta(minutes=skew))
    with pytest.raises(DeliveryError) as caught:
        build_channel(robot(url, secret), late).send(warning_about("a", "dingtalk", "13800000000"))
    assert caught.value.reason == "auth"
    assert store.count == 0
    assert clock.now() == SAMPLE_NOW


@pytest.mark.parametrize(
    ("path", "body", "answer"),
    [
        ("/slack/team", b"{", "invalid_payload"),
        ("/slack/team", b"[]", "invalid_payload"),
        ("/slack/team", b"{}", "no_text"),
        ("/robot/send", b"{}", "40035"),
        ("/robot/send?access_token=free", b"{}", "40035"),
        ("/robot/send?access_token=free", b'{"msgtype": "text", "text": "x"}', "40035"),
        ("/robot/send?access_token=free", b"x" * 20_001, "460101"),
        ("/robot/send?access_token=ops&timestamp=\xe5&sign=x", b"{}", "310000"),
    ],
)
def test_what_is_not_a_message_is_refused(url: str, store: InboxStore, path: str, body: bytes, answer: str) -> None:
    assert answer in HttpClient().request("POST", url + path, content=body).text
    assert store.count == 0


def test_plain_text_has_a_title_too(url: str, store: InboxStore, clock: FakeClock) -> None:
    message = warning_about("a", "dingtalk", "13800000000")
    build_channel(robot(url), clock).send(replace(message, plain=True, body="first\nsecond"))
    assert store.messages()[0].title == "first"
