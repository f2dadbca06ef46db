"""The Slack webhook against a strict Slack: the contract every channel passes, and what is Slack's own."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from costguard.errors import DeliveryError
from costguard.net.http import HttpClient
from costguard.notify.render import render as render_facts
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.notify.slack.channel import SlackWebhook
from costguard.notify.slack.config import SlackConfig
from costguard.ports import Message
from costguard.testing.channel_contract import ChannelContract, PlatformAnswer
from costguard.testing.clock import FakeClock
from tests.fakes.slack import SlackServer
from tests.unit.notify.messages import warning_about


class TestSlackWebhook(ChannelContract):
    @pytest.fixture
    def platform(self) -> Iterator[SlackServer]:  # type: ignore[override]
        with SlackServer(FakeClock(SAMPLE_NOW)) as server:
            yield server

    @pytest.fixture
    def channel(self, platform: SlackServer) -> SlackWebhook:  # type: ignore[override]
        config = SlackConfig(name="hook", url=platform.webhook_url)  # type: ignore[arg-type]
        return SlackWebhook(config, platform.clock, HttpClient(deadline=timedelta(seconds=2)))

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        return lambda name: warning_about(name, "slack", "U012ZHANG")

    @pytest.mark.parametrize("language", ["zh", "en"])
    def test_every_kind_of_message_is_valid_block_kit(
        self, channel: SlackWebhook, platform: SlackServer, language: str
    ) -> None:
        for name, facts in sample_facts().items():
            platform.clock.advance(timedelta(seconds=2))
            channel.send(render_facts(facts, fmt="slack", language=language, now=SAMPLE_NOW, idem_key=name))
        assert len(platform.delivered()) == len(sample_facts())

    def test_the_owner_is_really_mentioned(self, channel: SlackWebhook, platform: SlackServer) -> None:
        channel.send(warning_about("train-a800-03", "slack", "U012ZHANG"))
        assert platform.delivered()[0].mentions == ("@U012ZHANG",)

    def test_nothing_unfurls(self, channel: SlackWebhook, platform: SlackServer, message: Message) -> None:
        channel.send(message)
        sent = json.loads(platform.requests[-1].body)
        assert (sent["unfurl_links"], sent["unfurl_media"]) == (False, False)

    def test_an_archived_channel_needs_a_person(
        self, channel: SlackWebhook, platform: SlackServer, message: Message
    ) -> None:
        platform.hook_state = "channel_is_archived"
        with pytest.raises(DeliveryError, match="archived") as caught:
            channel.send(message)
        assert caught.value.reason == "auth"
        assert caught.value.code == "channel_is_archived"

    def test_the_pace_of_slack_is_told_as_rate(
        self, channel: SlackWebhook, platform: SlackServer, message: Message
    ) -> None:
        for number in range(5):
            channel.send(replace(message, idem_key=f"k{number}"))
        with pytest.raises(DeliveryError) as caught:
            channel.send(message)
        assert caught.value.reason == "rate"
        assert caught.value.retry_at == platform.clock.now() + timedelta(seconds=1)

    def test_an_unreachable_server_delivered_nothing(self, platform: SlackServer, message: Message) -> None:
        config = SlackConfig(name="hook", url="http://127.0.0.1:9/services/T/B/x")  # type: ignore[arg-type]
        with pytest.raises(DeliveryError) as caught:
            SlackWebhook(config, platform.clock, HttpClient()).send(message)
        assert caught.value.reason == "timeout"

    def test_429_without_a_time_waits_all_the_same(
        self, channel: SlackWebhook, platform: SlackServer, message: Message
    ) -> None:
        platform.answer(PlatformAnswer(429, "slow down", frozenset({"rate"})))
        with pytest.raises(DeliveryError) as caught:
            channel.send(message)
        assert caught.value.retry_at == platform.clock.now() + timedelta(seconds=30)
