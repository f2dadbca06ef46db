"""The channel contract passes for right channels and fails for each kind of wrong one."""

import logging
from collections.abc import Callable, Iterator

import pytest

from costguard.errors import DeliveryError
from costguard.ports import Channel, Message
from costguard.testing.channel_contract import ChannelContract, PlatformFixture
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.dingtalk import DingTalkServer
from tests.fakes.slack import SlackServer
from tests.unit.testing.reference_channels import ReferenceChannel, render_dingtalk, render_slack


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(autouse=True)
def quiet_client() -> Iterator[None]:
    """httpx writes whole URLs at INFO; a channel's client is kept at WARNING."""
    loggers = [logging.getLogger(name) for name in ("httpx", "httpcore")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


class TestSlack(ChannelContract):
    @pytest.fixture
    def platform(self, clock: FakeClock) -> Iterator[PlatformFixture]:
        with SlackServer(clock) as server:
            yield server

    @pytest.fixture
    def channel(self, platform: SlackServer) -> Channel:
        return ReferenceChannel("slack", platform.webhook_url, platform.clock)

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        return render_slack


class TestDingTalk(ChannelContract):
    @pytest.fixture
    def platform(self, clock: FakeClock) -> Iterator[PlatformFixture]:
        with DingTalkServer(clock) as server:
            yield server

    @pytest.fixture
    def channel(self, platform: DingTalkServer) -> Channel:
        return ReferenceChannel("dingtalk", platform.robot_url, platform.clock)

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        return render_dingtalk


Check = Callable[[Channel, PlatformFixture, Message, pytest.LogCaptureFixture], None]
suite = ChannelContract()
WRONG: dict[str, Check] = {
    "trusts HTTP 200": lambda c, p, m, _: suite.test_http_200_alone_is_no_success(c, p, m),
    "follows redirects": lambda c, p, m, _: suite.test_http_200_alone_is_no_success(c, p, m),
    "retries itself": lambda c, p, m, _: suite.test_a_broken_connection_is_told_and_not_retried(c, p, m, Fault.RESET),
    "signs once": lambda c, p, m, _: suite.test_a_message_is_signed_when_it_is_sent(c, p, m),
    "sends no key": lambda c, p, m, _: suite.test_the_same_key_is_delivered_once(c, p, m),
    "leaks the url": lambda c, p, m, log: suite.test_no_secret_leaves_in_logs_or_errors(c, p, m, log),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_each_mistake_is_caught(wrong: str, clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    with DingTalkServer(clock) as server:
        channel = ReferenceChannel("dingtalk", server.robot_url, clock, wrong)
        with pytest.raises((AssertionError, DeliveryError, pytest.fail.Exception)):
            WRONG[wrong](channel, server, render_dingtalk("train-a800-03"), caplog)


def test_a_renderer_that_lets_names_ping_is_caught(clock: FakeClock) -> None:
    def careless(name: str) -> Message:
        blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": name or "x"}}]
        return Message(f"Stopping {name}", name, name, "key-1", {"blocks": blocks})

    with SlackServer(clock) as server:
        channel = ReferenceChannel("slack", server.webhook_url, clock)
        with pytest.raises(AssertionError, match="!channel"):
            suite.test_hostile_names_are_only_text(channel, server, careless, careless("train-a800-03"))


def test_a_channel_of_a_platform_without_keys_says_maybe_delivered(clock: FakeClock) -> None:
    with SlackServer(clock) as server:
        channel = ReferenceChannel("slack", server.webhook_url, clock)
        suite.test_the_same_key_is_delivered_once(channel, server, render_slack("train-a800-03"))
        assert len(server.delivered()) == 1
