"""The Feishu bot against a strict bot: the contract every channel passes, and what is Feishu's own."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from costguard.errors import DeliveryError
from costguard.net.http import HttpClient
from costguard.notify.feishu.channel import FeishuBot
from costguard.notify.feishu.config import FeishuConfig
from costguard.notify.render import render as render_facts
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import ChannelContract
from costguard.testing.clock import FakeClock
from tests.fakes.feishu import FeishuServer
from tests.unit.notify.messages import warning_about

OPEN_ID = "ou_0123456789abcdef"


def bot(server: FeishuServer, **fields: object) -> FeishuBot:
    config = FeishuConfig(name="ops", url=server.bot_url, secret=server.secret or None, **fields)  # type: ignore[arg-type]
    return FeishuBot(config, server.clock, HttpClient(deadline=timedelta(seconds=2)))


class TestFeishuBot(ChannelContract):
    @pytest.fixture
    def platform(self) -> Iterator[FeishuServer]:  # type: ignore[override]
        with FeishuServer(FakeClock(SAMPLE_NOW)) as server:
            yield server

    @pytest.fixture
    def channel(self, platform: FeishuServer) -> FeishuBot:  # type: ignore[override]
        return bot(platform)

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        return lambda name: warning_about(name, "feishu", OPEN_ID)

    @pytest.mark.parametrize("language", ["zh", "en"])
    def test_every_kind_of_message_is_taken(self, channel: FeishuBot, platform: FeishuServer, language: str) -> None:
        for name, facts in sample_facts().items():
            platform.clock.advance(timedelta(seconds=1))
            channel.send(render_facts(facts, fmt="feishu", language=language, now=SAMPLE_NOW, idem_key=name))
        assert len(platform.delivered()) == len(sample_facts())

    def test_the_owner_is_really_mentioned(self, channel: FeishuBot, platform: FeishuServer) -> None:
        channel.send(warning_about("train-a800-03", "feishu", OPEN_ID))
        assert platform.delivered()[0].mentions == (OPEN_ID,)

    def test_a_plain_text_mentions_nobody(self, channel: FeishuBot, platform: FeishuServer) -> None:
        """Texts know <at> too."""
        hostile = '<at user_id="all">所有人</at> train-a800-03'
        channel.send(make_message("t", body=hostile, plain=True))
        assert platform.delivered()[0].mentions == ()

    def test_keyword_mode(self) -> None:
        """J10: the keyword is put in front where it is missing, and a missing one is explained."""
        with FeishuServer(FakeClock(SAMPLE_NOW), keywords=("告警",)) as server:
            message = warning_about("train-a800-03", "feishu", OPEN_ID)
            with pytest.raises(DeliveryError, match="keyword") as caught:
                bot(server).send(message)
            assert caught.value.reason == "auth"
            bot(server, keyword="告警").send(message)
            bot(server, keyword="告警").send(replace(message, plain=True))
            card, text = server.delivered()
            assert card.notification == f"告警 · {message.title}"
            assert text.text.startswith("告警\n")

    def test_the_keyword_is_not_doubled(self) -> None:
        with FeishuServer(FakeClock(SAMPLE_NOW), keywords=("关机",)) as server:
            message = warning_about("train-a800-03", "feishu", OPEN_ID)
            bot(server, keyword="关机").send(message)
            assert server.delivered()[0].notification == message.title

    def test_a_bot_without_signing(self) -> None:
        with FeishuServer(FakeClock(SAMPLE_NOW), secret="") as server:
            bot(server).send(make_message())
            assert set(json.loads(server.requests[-1].body)) == {"msg_type", "content"}

    def test_too_long_is_refused_without_asking(self, channel: FeishuBot, platform: FeishuServer) -> None:
        with pytest.raises(DeliveryError) as caught:
            channel.send(replace(make_message(), body="x" * 20_480))
        assert caught.value.reason == "payload"
        assert platform.request_count() == 0

    def test_the_pace_stays_below_the_bots_limits(self, channel: FeishuBot, platform: FeishuServer) -> None:
        """A minute and a half at the channel's own pace; 5 a second and 100 a minute are never reached."""
        for number in range(135):
            channel.send(make_message(idem_key=f"k{number}"))
            platform.clock.advance(timedelta(minutes=1) / channel.max_per_minute)
        assert len(platform.delivered()) == 135
        for _ in range(4):
            channel.send(make_message())
        with pytest.raises(DeliveryError) as caught:
            channel.send(make_message())
        assert caught.value.reason == "rate"
