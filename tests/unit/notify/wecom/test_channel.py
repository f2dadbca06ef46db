"""The WeCom robot against a strict robot: the contract every channel passes, and what is WeCom's own."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from costguard.errors import DeliveryError
from costguard.net.http import HttpClient
from costguard.notify.render import render as render_facts
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.notify.wecom.channel import WecomRobot
from costguard.notify.wecom.config import WecomConfig
from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import ChannelContract
from costguard.testing.clock import FakeClock
from tests.fakes.wecom import WecomServer
from tests.unit.notify.messages import warning_about

USERID = "zhangwei"


class TestWecomRobot(ChannelContract):
    @pytest.fixture
    def platform(self) -> Iterator[WecomServer]:  # type: ignore[override]
        with WecomServer(FakeClock(SAMPLE_NOW)) as server:
            yield server

    @pytest.fixture
    def channel(self, platform: WecomServer) -> WecomRobot:  # type: ignore[override]
        config = WecomConfig(name="ops", url=platform.robot_url)  # type: ignore[arg-type]
        return WecomRobot(config, platform.clock, HttpClient(deadline=timedelta(seconds=2)))

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        return lambda name: warning_about(name, "wecom", USERID)

    @pytest.mark.parametrize("language", ["zh", "en"])
    def test_every_kind_of_message_is_taken(self, channel: WecomRobot, platform: WecomServer, language: str) -> None:
        for name, facts in sample_facts().items():
            platform.clock.advance(timedelta(seconds=4))
            channel.send(render_facts(facts, fmt="wecom", language=language, now=SAMPLE_NOW, idem_key=name))
        assert len(platform.delivered()) == len(sample_facts())

    def test_the_owner_is_really_mentioned(self, channel: WecomRobot, platform: WecomServer) -> None:
        channel.send(warning_about("train-a800-03", "wecom", USERID))
        assert platform.delivered()[0].mentions == (USERID,)

    def test_too_long_is_refused_without_asking(self, channel: WecomRobot, platform: WecomServer) -> None:
        with pytest.raises(DeliveryError) as caught:
            channel.send(make_message("t", body="机" * 1366))
        assert caught.value.reason == "payload"
        assert platform.request_count() == 0

    def test_the_last_resort_is_cut_and_never_lost(self, channel: WecomRobot, platform: WecomServer) -> None:
        """J12: a text takes 2,048 bytes; no character is cut in two."""
        channel.send(make_message("t", body="机" * 2000, plain=True))
        text = platform.delivered()[0].text
        assert text == "机" * 681 + "…"
        assert len(text.encode()) <= 2048

    def test_the_pace_stays_below_the_robots_limit(self, channel: WecomRobot, platform: WecomServer) -> None:
        """Three minutes at the channel's own pace; the 21st message of a minute is refused."""
        for number in range(54):
            channel.send(make_message(idem_key=f"k{number}"))
            platform.clock.advance(timedelta(minutes=1) / channel.max_per_minute)
        assert len(platform.delivered()) == 54
        platform.clock.advance(timedelta(minutes=1))
        for _ in range(20):
            channel.send(make_message())
        with pytest.raises(DeliveryError) as caught:
            channel.send(make_message())
        assert caught.value.reason == "rate"
        assert caught.value.retry_at == platform.clock.now() + timedelta(minutes=1)
