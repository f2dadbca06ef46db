"""DingTalk as an application against a strict platform: the contract of every channel, cards, and what stands in."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from costguard.errors import DeliveryError
from costguard.net.http import HttpClient
from costguard.notify.dingtalk.app import DingTalkApp
from costguard.notify.dingtalk.app_config import DingTalkAppConfig
from costguard.notify.dingtalk.template import STANDARD
from costguard.notify.render import render as render_facts
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.ports import Message
from costguard.testing.builders import make_message
from costguard.testing.channel_contract import ChannelContract
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.dingtalk_openapi import Card, DingTalkApi
from tests.fakes.dingtalk_reference import (
    API_ANSWERS,
    CLIENT_ID,
    CLIENT_SECRET,
    CREATE,
    GROUP,
    GROUP_SEND,
    PERSON_SEND,
    TEMPLATE,
)
from tests.fakes.server import Answer
from tests.unit.notify.messages import warning_about

OWNER = "zw01"


def app(server: DingTalkApi, **fields: Any) -> DingTalkApp:
    given = {"name": "dev", "conversation": GROUP, "card_template": TEMPLATE, "endpoint": server.url, **fields}
    config = DingTalkAppConfig(client_id=SecretStr(CLIENT_ID), client_secret=SecretStr(CLIENT_SECRET), **given)
    return DingTalkApp(config, server.clock, HttpClient(deadline=timedelta(seconds=2)))


def warning(name: str = "train-a800-03", language: str = "zh") -> Message:
    return warning_about(name, "dingtalk_app", OWNER, language)


def the_card(server: DingTalkApi) -> Card:
    (card,) = server.cards.values()
    return card


@pytest.fixture
def server() -> Iterator[DingTalkApi]:
    with DingTalkApi(FakeClock(SAMPLE_NOW)) as running:
        yield running


class TestDingTalkApp(ChannelContract):
    @pytest.fixture
    def platform(self, server: DingTalkApi) -> DingTalkApi:  # type: ignore[override]
        # A card without its permission is no failure: test_what_cannot_be_a_card_is_said_in_words.
        server.answers = {name: a for name, a in API_ANSWERS.items() if "AccessTokenPermissionDenied" not in name}
        return server

    @pytest.fixture
    def channel(self, platform: DingTalkApi) -> DingTalkApp:  # type: ignore[override]
        return app(platform)

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        return warning


class TestDingTalkRobotOfAnApp(TestDingTalkApp):
    """The same without cards: markdown by the robot, whose own limit is in bytes of its parameter."""

    @pytest.fixture
    def platform(self, server: DingTalkApi) -> DingTalkApi:  # type: ignore[override]
        return server

    @pytest.fixture
    def channel(self, platform: DingTalkApi) -> DingTalkApp:  # type: ignore[override]
        return app(platform, card_template=None)

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        return lambda name: replace(warning(name), mentions=())


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("template", [TEMPLATE, None])
def test_every_kind_of_message_is_taken(server: DingTalkApi, language: str, template: str | None) -> None:
    channel = app(server, card_template=template)
    for name, facts in sample_facts().items():
        server.clock.advance(timedelta(seconds=4))
        channel.send(render_facts(facts, fmt="dingtalk_app", language=language, now=SAMPLE_NOW, idem_key=name))
    assert len(server.delivered()) == len(sample_facts())


def test_a_warning_is_a_card_with_buttons_that_mentions_its_owner(server: DingTalkApi) -> None:
    receipt = app(server).send(warning())
    card = the_card(server)
    assert receipt.message_ref == card.out_track_id
    assert card.pinged == (OWNER,)
    assert card.params["title"] == "30 分钟后关机 train-a800-03 ¥34.74/h"
    assert OWNER not in card.params["markdown"]
    labels = [button["text"] for button in json.loads(card.params["btns"])]
    assert labels == ["保留 2 小时", "保留到 09:00", "空闲后关机", "现在关机", "误报"]


def test_a_variable_has_at_most_a_kilobyte(server: DingTalkApi) -> None:
    for language in ("zh", "en"):
        for name in ("train-a800-03", "长" * 300, "x" * 3000):
            app(server).send(replace(warning(name, language), idem_key=f"{language}{name}"))
    assert all(len(value.encode()) <= 1024 for card in server.cards.values() for value in card.params.values())
    assert all(len(key) <= 100 for card in server.cards.values() for key in card.params)


def test_a_card_is_sent_once_however_often_it_is_asked_for(server: DingTalkApi) -> None:
    channel = app(server)
    channel.send(warning())
    channel.send(warning())
    assert len(server.cards) == 1


def test_a_card_that_exists_already_was_sent_by_us(server: DingTalkApi) -> None:
    """The page of the method names this answer; the platform here takes the card again instead."""
    channel = app(server)
    channel.api.token()
    server.answer_next(_refusal(400, "param.cardAlreadyExist"))
    assert channel.send(warning()).message_ref


def test_a_card_that_did_not_get_there_is_no_success(server: DingTalkApi) -> None:
    """It is told inside HTTP 200."""
    server.forbidden.add(GROUP)
    with pytest.raises(DeliveryError, match="not delivered") as caught:
        app(server).send(warning())
    assert caught.value.reason == "auth"


@pytest.mark.parametrize("problem", ["permission", "template"])
def test_what_cannot_be_a_card_is_said_in_words(
    server: DingTalkApi, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The refusal is logged, with what is missing; people hear of the box all the same."""
    if problem == "permission":
        server.permissions.discard("Card.Instance.Write")
    else:
        server.templates.clear()
    channel = app(server)
    channel.send(warning())
    assert ("Card.Instance.Write" if problem == "permission" else "card_template") in caplog.text
    group, alone = server.sent
    assert (group.to, alone.to) == ((GROUP,), (OWNER,))
    assert "保留 train-a800-03 2小时" in group.text
    server.permissions.add("Card.Instance.Write")
    server.templates.add(TEMPLATE)
    server.clock.advance(timedelta(hours=2))
    channel.send(replace(warning(), idem_key="later"))
    assert len(server.cards) == 1


def test_a_person_who_cannot_be_written_to_stops_nothing(server: DingTalkApi) -> None:
    server.forbidden.add(OWNER)
    app(server, card_template=None).send(warning())
    assert [sent.to for sent in server.sent] == [(GROUP,)]


def test_a_digest_that_no_card_can_hold_is_markdown(server: DingTalkApi) -> None:
    boxes = [{"type": "resource", "id": f"i-{n}", "name": f"box-{n}-of-the-night-run"} for n in range(30)]
    items = [{**sample_facts()["warning"], "subject": box} for box in boxes]
    facts = {**sample_facts()["group"], "items": items}
    channel = app(server)
    channel.send(
        render_facts(
            facts, fmt="dingtalk_app", language="zh", now=SAMPLE_NOW, idem_key="d", mentions={"zhangwei": OWNER}
        )
    )
    assert not server.cards
    text = server.sent[0].text
    assert all(f"box-{n}-of-the-night-run" in text for n in range(30))
    assert "：`保留 ID 2小时`、`认领 ID`" in text, "there are no buttons for many boxes"


def test_the_group_must_be_known(server: DingTalkApi) -> None:
    with pytest.raises(DeliveryError, match="conversation") as caught:
        app(server, conversation=None).send(warning())
    assert caught.value.reason == "auth"
    assert server.request_count() == 0


def test_a_group_that_was_learned_is_remembered(server: DingTalkApi) -> None:
    class Kept:
        known: str | None = None

        def recall(self) -> str | None:
            return self.known

        def remember(self, conversation: str) -> None:
            self.known = conversation

    memory, channel = Kept(), app(server, conversation=None)
    channel.memory = memory
    channel.move_in(GROUP)
    channel.send(warning())
    other = app(server, conversation=None)
    other.memory = memory
    other.send(replace(warning(), idem_key="second"))
    assert {card.space for card in server.cards.values()} == {GROUP}


def test_a_card_changes_for_everybody(server: DingTalkApi) -> None:
    channel = app(server)
    track = channel.send(warning()).message_ref
    assert track is not None
    channel.update(track, {**channel.buttons(()), "tips": "张伟 保留 train-a800-03 到北京时间 23:30"})
    card = the_card(server)
    assert json.loads(card.params["btns"]) == []
    assert card.params["tips"].startswith("张伟")
    assert "train-a800-03" in card.params["markdown"], "only what is named changes"


def test_a_card_that_is_gone_says_so(server: DingTalkApi) -> None:
    with pytest.raises(DeliveryError, match="card does not exist"):
        app(server).update("costguard.nothing.x", {"tips": "x"})


def test_a_person_is_written_to_alone(server: DingTalkApi) -> None:
    channel = app(server)
    channel.tell(OWNER, "你好")
    assert [(sent.to, sent.text) for sent in server.sent] == [((OWNER,), "你好")]
    with pytest.raises(DeliveryError, match="cannot be written to"):
        channel.tell("nobody", "x")


def test_the_token_is_renewed_when_it_is_refused(server: DingTalkApi) -> None:
    channel = app(server)
    channel.send(warning())
    server.expire_token()
    channel.send(replace(warning(), idem_key="after"))
    assert len(server.cards) == 2


def test_a_body_of_more_than_twenty_thousand_bytes_is_not_sent(server: DingTalkApi) -> None:
    message = warning()
    card = {**message.payload["card"], "extra": "机" * 7000}  # type: ignore[dict-item]
    with pytest.raises(DeliveryError) as caught:
        app(server).send(replace(message, payload={**message.payload, "card": card}))
    assert caught.value.reason == "payload"
    assert server.request_count() == 0


def test_plain_text_is_a_text_message(server: DingTalkApi) -> None:
    app(server).send(make_message(plain=True, body="**not bold**"))
    assert server.sent[0].msgtype == "sampleText"
    assert server.calls(CREATE) == 0
    assert server.calls(GROUP_SEND) == 1
    assert server.calls(PERSON_SEND) == 0


def test_a_lost_answer_of_markdown_is_a_doubt(server: DingTalkApi) -> None:
    channel = app(server, card_template=None)
    assert not channel.idempotent
    channel.api.token()
    server.fail(Fault.LOST_ANSWER, times=1)
    with pytest.raises(DeliveryError) as caught:
        channel.send(replace(warning(), mentions=()))
    assert caught.value.reason == "maybe_delivered"


def test_dingtalks_own_template_gets_its_own_variable(server: DingTalkApi) -> None:

    server.templates.add(STANDARD)
    app(server, card_template=STANDARD).send(warning(language="en"))
    held = json.loads(the_card(server).params["sys_full_json_obj"])["msgButtons"]
    assert [(b["text"], b["id"]) for b in held][:2] == [("Keep 2 h", "keep_2h"), ("Keep until 09:00", "keep_morning")]
    assert all(b["request"] is True for b in held)


def _refusal(status: int, code: str) -> Answer:

    return Answer(status, json.dumps({"code": code, "message": "?"}).encode())


def told(name: str, follows: str | None, **more: Any) -> Message:
    message = render_facts(
        sample_facts()[name], fmt="dingtalk_app", language="zh", now=SAMPLE_NOW, idem_key=name,
        mentions={"zhangwei": OWNER},
    )  # fmt: skip
    return replace(message, follows=follows, outcome=True, **more)


@pytest.mark.parametrize("name", ["kept", "cleared"])
def test_good_news_changes_the_card_and_disturbs_nobody(server: DingTalkApi, name: str) -> None:
    channel = app(server)
    track = channel.send(warning()).message_ref
    receipt = channel.send(told(name, track))
    assert receipt.message_ref == track
    card = the_card(server)
    assert card.params["title"] == told(name, None).title
    assert json.loads(card.params["btns"]) == []
    assert server.sent == []


@pytest.mark.parametrize(("name", "labels"), [("result", ["重新启动", "误报"]), ("failed", [])])
def test_a_result_changes_the_card_and_is_a_message_besides(server: DingTalkApi, name: str, labels: list[str]) -> None:
    channel = app(server)
    track = channel.send(warning()).message_ref
    receipt = channel.send(told(name, track))
    assert receipt.message_ref == track, "what follows is still about the first"
    assert json.loads(server.cards[str(track)].params["btns"]) == []
    title = told(name, None).title
    assert server.cards[str(track)].params["title"] == title
    fresh = [card for card in server.cards.values() if card.out_track_id != track]
    if labels:
        assert [b["text"] for b in json.loads(fresh[0].params["btns"])] == labels
    else:
        assert [sent.text.split("\n")[0] for sent in server.sent] == [f"### {title}"]


def test_what_follows_a_card_that_is_gone_is_said_anew(server: DingTalkApi) -> None:
    receipt = app(server).send(told("kept", "costguard.a.gone"))
    assert receipt.message_ref != "costguard.a.gone"
    assert len(server.delivered()) == 1


def test_a_change_that_got_no_answer_is_tried_again(server: DingTalkApi) -> None:
    channel = app(server)
    track = channel.send(warning()).message_ref
    server.fail(Fault.LOST_ANSWER, on=lambda request: request.method == "PUT", times=1)
    with pytest.raises(DeliveryError) as caught:
        channel.send(told("kept", track))
    assert caught.value.reason == "timeout"
    channel.send(told("kept", track))
    assert server.sent == []


@pytest.mark.parametrize("template", [TEMPLATE, None])
def test_what_is_for_one_person_is_written_to_them(server: DingTalkApi, template: str | None) -> None:
    channel = app(server, card_template=template, conversation=None)
    channel.send(replace(warning(), to=OWNER))
    if template:
        assert the_card(server).space == OWNER
    else:
        assert [sent.to for sent in server.sent] == [(OWNER,)]


@pytest.mark.parametrize("template", [TEMPLATE, None])
def test_a_person_who_cannot_be_reached_is_told_in_the_group(server: DingTalkApi, template: str | None) -> None:
    server.forbidden.add(OWNER)
    app(server, card_template=template).send(replace(warning(), to=OWNER))
    if template:
        assert the_card(server).space == GROUP
        assert the_card(server).pinged == (OWNER,)
    else:
        assert [sent.to for sent in server.sent] == [(GROUP,)]
