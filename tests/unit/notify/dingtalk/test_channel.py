"""The DingTalk robot against a strict robot: the contract every channel passes, and what is DingTalk's own."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from costguard.errors import DeliveryError
from costguard.net.http import HttpClient
from costguard.notify.dingtalk.channel import DingTalkRobot
from costguard.notify.dingtalk.config import DingTalkConfig
from costguard.notify.render import render as render_facts
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import ChannelContract
from costguard.testing.clock import FakeClock
from tests.fakes.dingtalk import DingTalkServer
from tests.unit.notify.messages import warning_about

MOBILE = "13800000000"


def robot(server: DingTalkServer, **fields: object) -> DingTalkRobot:
    config = DingTalkConfig(name="ops", url=server.robot_url, secret=server.secret or None, **fields)  # type: ignore[arg-type]
    return DingTalkRobot(config, server.clock, HttpClient(deadline=timedelta(seconds=2)))


class TestDingTalkRobot(ChannelContract):
    @pytest.fixture
    def platform(self) -> Iterator[DingTalkServer]:  # type: ignore[override]
        with DingTalkServer(FakeClock(SAMPLE_NOW)) as server:
            yield server

    @pytest.fixture
    def channel(self, platform: DingTalkServer) -> DingTalkRobot:  # type: ignore[override]
        return robot(platform)

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        return lambda name: warning_about(name, "dingtalk", MOBILE)

    @pytest.mark.parametrize("language", ["zh", "en"])
    def test_every_kind_of_message_is_taken(
        self, channel: DingTalkRobot, platform: DingTalkServer, language: str
    ) -> None:
        for name, facts in sample_facts().items():
            platform.clock.advance(timedelta(seconds=4))
            channel.send(render_facts(facts, fmt="dingtalk", language=language, now=SAMPLE_NOW, idem_key=name))
        assert len(platform.delivered()) == len(sample_facts())

    def test_the_owner_is_really_mentioned(self, channel: DingTalkRobot, platform: DingTalkServer) -> None:
        """The mobile stands in the text as well: in markdown only such a mention works."""
        channel.send(warning_about("train-a800-03", "dingtalk", MOBILE))
        assert platform.delivered()[0].mentions == (MOBILE,)

    def test_chinese_costs_three_bytes_a_character(self, channel: DingTalkRobot, platform: DingTalkServer) -> None:
        channel.send(replace(make_message(), body="机" * 6000))
        assert len(platform.requests[-1].body) < 20_000

    def test_keyword_mode(self) -> None:
        """J10: the keyword is put in front where it is missing, and a missing one is explained."""
        with DingTalkServer(FakeClock(SAMPLE_NOW), keywords=("costguard",)) as server:
            message = replace(make_message(), body="没有那个词", title="没有")
            with pytest.raises(DeliveryError, match="keyword") as caught:
                robot(server).send(message)
            assert caught.value.reason == "auth"
            robot(server, keyword="costguard").send(message)
            robot(server, keyword="costguard").send(replace(message, plain=True, idem_key="k2"))
            assert all("costguard" in delivered.text for delivered in server.delivered())

    def test_a_robot_without_signing(self) -> None:
        with DingTalkServer(FakeClock(SAMPLE_NOW), secret="") as server:
            robot(server).send(make_message())
            assert "sign" not in server.requests[-1].query
            assert server.requests[-1].query["access_token"]

    def test_too_long_is_refused_without_asking(self, channel: DingTalkRobot, platform: DingTalkServer) -> None:
        with pytest.raises(DeliveryError) as caught:
            channel.send(replace(make_message(), body="x" * 20_000))
        assert caught.value.reason == "payload"
        assert platform.request_count() == 0

    def test_the_key_goes_along(self, channel: DingTalkRobot, platform: DingTalkServer) -> None:
        """J16."""
        channel.send(make_message(idem_key="abc"))
        assert json.loads(platform.requests[-1].body)["msgUuid"] == "abc"
