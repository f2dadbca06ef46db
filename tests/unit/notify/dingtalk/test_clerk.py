"""The clerk: clicks and lines to the desk, replies to where they belong, on a strict platform."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.press import Click, Press, Reply, Said
from costguard.notify.dingtalk.app import DingTalkApp
from costguard.notify.dingtalk.card import about, track_id
from costguard.notify.dingtalk.clerk import Clerk
from costguard.notify.dingtalk.frames import CardClick, RobotMessage
from costguard.notify.route import Person
from costguard.notify.samples import SAMPLE_NOW
from costguard.notify.words.speech import desk_words
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.dingtalk_openapi import Card, DingTalkApi
from tests.fakes.dingtalk_reference import GROUP, SESSION
from tests.unit.notify.dingtalk.test_app import app, warning

PEOPLE = {"zhangwei": Person("zhangwei", dingtalk="zw01"), "li": Person("li", dingtalk_mobile="13800000000")}


@dataclass
class Desk:
    """Says what it is told to, and keeps what it was asked."""

    reply: Reply = field(default_factory=lambda: Reply("好"))
    asked: list[Click | Said] = field(default_factory=list)

    def press(self, click: Click) -> Reply:
        self.asked.append(click)
        return self.reply

    def command(self, said: Said) -> Reply:
        self.asked.append(said)
        return self.reply


@dataclass
class Rig:
    server: DingTalkApi
    channel: DingTalkApp
    desk: Desk = field(default_factory=Desk)
    language: str = "zh"
    others: list[DingTalkApp] = field(default_factory=list)

    @property
    def clerk(self) -> Clerk:
        speech = {channel.name: desk_words(self.language) for channel in (self.channel, *self.others)}
        return Clerk([self.channel, *self.others], self.desk, speech, PEOPLE)

    def card(self) -> Card:
        if not self.server.cards:
            self.channel.send(warning())
        (found,) = self.server.cards.values()
        return found

    def click(self, action: str, user: str = "zw01") -> CardClick:
        return CardClick("m1", self.card().out_track_id, action, user, GROUP)

    def line(self, text: str = "状态", *, user: str = "zw01", group: bool = True, session: bool = True) -> RobotMessage:
        where = GROUP if group else "cidalone"
        url = self.server.session_webhook(where if group else user)[0] if session else ""
        return RobotMessage("msg1", text, user, "张伟", where, group, url)


@pytest.fixture
def rig() -> Iterator[Rig]:
    with DingTalkApi(FakeClock(SAMPLE_NOW)) as server:
        yield Rig(server, app(server))


def shown(card: Card) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(card.params["btns"])
    return found


def actions(card: Card) -> list[str]:
    return [carried(button) for button in shown(card)]


def carried(button: dict[str, Any]) -> str:
    return str(button["event"]["params"]["params"]["action"])


def test_a_click_is_taken_to_the_desk(rig: Rig) -> None:
    rig.clerk.handle(rig.click("keep_2h"))
    (click,) = rig.desk.asked
    assert isinstance(click, Click)
    action = rig.card().out_track_id.split(".")[1]
    assert (click.channel, click.press, click.value, click.event) == ("dev", Press.KEEP_2H, action, "m1")
    assert (click.sender.kind, click.sender.handle) == ("dingtalk", "zw01")


def test_what_is_settled_takes_the_place_of_the_buttons(rig: Rig) -> None:
    rig.desk.reply = Reply("zhangwei 保留 train-a800-03 到北京时间 23:30", settled=True, public=True)
    rig.clerk.handle(rig.click("keep_2h"))
    card = rig.card()
    assert shown(card) == []
    assert card.params["tips"] == "zhangwei 保留 train-a800-03 到北京时间 23:30"
    assert card.params["markdown"], "the rest of the card stays"
    assert rig.server.sent == []


def test_a_card_that_cannot_be_changed_is_answered_in_the_group(rig: Rig) -> None:
    rig.desk.reply = Reply("已处理", settled=True, public=True)
    click = rig.click("keep_2h")
    rig.server.cards.clear()
    rig.clerk.handle(click)
    assert [(sent.to, sent.text) for sent in rig.server.sent] == [((GROUP,), "已处理")]


def test_a_refusal_is_for_who_clicked_alone(rig: Rig) -> None:
    rig.desk.reply = Reply("costguard 不认识 li02。请管理员把 li02 写进 costguard.yaml 的 owners。")
    before = rig.card().params
    rig.clerk.handle(rig.click("keep_2h", "li02"))
    assert [sent.to for sent in rig.server.sent] == [("li02",)]
    assert rig.card().params == before


def test_a_refusal_that_reaches_nobody_alone_is_said_in_the_group(rig: Rig) -> None:
    """Somebody outside of the application's visible range."""
    rig.server.forbidden.add("li02")
    rig.clerk.handle(rig.click("keep_2h", "li02"))
    assert [sent.to for sent in rig.server.sent] == [(GROUP,)]


def test_what_everybody_should_know_is_said_in_the_group(rig: Rig) -> None:
    rig.desk.reply = Reply("大家看", public=True)
    rig.clerk.handle(rig.click("mine"))
    assert [sent.to for sent in rig.server.sent] == [(GROUP,)]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_stop_asks_first_and_can_be_taken_back(rig: Rig, language: str) -> None:
    """The card changes for who clicked, in the answer to the click; nothing is done yet."""
    rig.language = language
    (stop,) = [action for action in actions(rig.card()) if "stop_now~" in action and action.startswith("ask.")]
    changed = rig.clerk.respond(rig.click(stop))
    assert changed["cardUpdateOptions"] == {"updateCardDataByKey": True}
    yes, no = json.loads(changed["cardData"]["cardParamMap"]["btns"])
    assert (yes["text"], no["text"]) == {"zh": ("✓ 现在关机", "先不关"), "en": ("✓ Stop now", "Not yet")}[language]
    assert carried(yes) == "stop_now"
    assert yes["color"] == "red"
    back = rig.clerk.respond(rig.click(carried(no)))
    again = json.loads(back["cardData"]["cardParamMap"]["btns"])
    assert [carried(button) for button in again] == actions(rig.card())
    for action in (stop, carried(no)):
        rig.clerk.handle(rig.click(action))
    assert rig.desk.asked == []
    assert rig.clerk.respond(rig.click("stop_now")) == {}
    rig.clerk.handle(rig.click("stop_now"))
    assert len(rig.desk.asked) == 1


@pytest.mark.parametrize("action", ["", "nonsense", "ask.", "ask.nonsense~a", "back.~", "back.~X", "ask.stop_now~"])
def test_a_click_that_means_nothing_does_nothing(rig: Rig, action: str) -> None:
    rig.clerk.handle(rig.click(action))
    assert rig.clerk.respond(rig.click(action)) == {}
    assert rig.desk.asked == []


def test_a_card_of_somebody_else_is_about_nothing(rig: Rig) -> None:
    rig.clerk.handle(CardClick("m1", "other-card", "keep_2h", "zw01"))
    (click,) = rig.desk.asked
    assert isinstance(click, Click)
    assert click.value == ""


def test_a_line_is_answered_where_it_was_written(rig: Rig) -> None:
    rig.desk.reply = Reply("3 台在运行，1 台空闲\n· train-03 21:30 关机", public=True)
    rig.clerk.handle(rig.line("状态"))
    (said,) = rig.desk.asked
    assert isinstance(said, Said)
    assert (said.text, said.channel, said.event) == ("状态", "dev", "msg1")
    assert (said.sender.kind, said.sender.handle, said.sender.shown) == ("dingtalk", "zw01", "张伟")
    (sent,) = rig.server.sent
    assert (sent.to, sent.pinged) == ((GROUP,), ("zw01",))
    assert sent.text == "@zw01\n\n3 台在运行，1 台空闲\n\n· train-03 21:30 关机"


def test_a_line_to_the_robot_alone_mentions_nobody(rig: Rig) -> None:
    rig.clerk.handle(rig.line(group=False))
    (sent,) = rig.server.sent
    assert (sent.to, sent.pinged, sent.text) == (("zw01",), (), "好")


@pytest.mark.parametrize("group", [True, False])
def test_a_session_that_is_over_is_answered_by_the_robot(rig: Rig, group: bool) -> None:
    line = rig.line(group=group)
    rig.server.clock.advance(timedelta(hours=2))
    rig.clerk.handle(line)
    assert [sent.to for sent in rig.server.sent] == [(GROUP,) if group else ("zw01",)]


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.HTML])
def test_a_session_that_fails_is_answered_by_the_robot(rig: Rig, fault: Fault) -> None:
    rig.server.fail(fault, on=lambda request: request.path == SESSION, times=1)
    rig.clerk.handle(rig.line())
    assert [sent.to for sent in rig.server.sent] == [(GROUP,)]


def test_a_reply_that_cannot_be_shown_is_a_line_in_the_log(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.server.permissions.clear()
    line = rig.line(session=False)
    rig.clerk.handle(line)
    assert "could not be shown" in caplog.text
    assert "qyapi" in caplog.text or "permission" in caplog.text


@pytest.mark.parametrize(("user", "known"), [("zw01", True), ("li02", False)])
def test_the_group_is_learned_from_somebody_known(rig: Rig, user: str, known: bool) -> None:
    """A stranger who adds the robot to a group of theirs gets no messages there."""
    rig.channel = app(rig.server, conversation=None)
    rig.clerk.handle(rig.line(user=user))
    assert rig.channel.conversation == (GROUP if known else None)
    text = rig.server.sent[0].text
    assert ("从现在起" in text) is known
    assert (GROUP in text) is not known


def test_each_group_is_its_own_channel(rig: Rig) -> None:
    """Two groups of one application share its connection."""
    rig.server.groups["cidsecond=="] = "第二个群"
    rig.others = [app(rig.server, name="second", conversation="cidsecond==")]
    rig.desk.reply = Reply("大家看", public=True)
    rig.clerk.handle(replace(rig.click("mine"), space="cidsecond=="))
    line = rig.line()
    rig.clerk.handle(replace(line, conversation="cidsecond==", id="msg2", session=""))
    assert [said.channel for said in rig.desk.asked] == ["second", "second"]
    assert {sent.to for sent in rig.server.sent} == {("cidsecond==",)}


def test_hostile_words_in_a_reply_are_only_text(rig: Rig) -> None:
    rig.desk.reply = Reply("没有叫 @所有人 [点我](https://evil.example) **x** 的资源", public=True)
    rig.clerk.handle(rig.line())
    (sent,) = rig.server.sent
    assert sent.pinged == ("zw01",)
    assert sent.delivered.links == ()
    assert "**" not in sent.text


def test_the_key_of_a_card_says_what_it_is_about() -> None:

    assert about(track_id("act-1.x", "0123456789abcdef0123")) == "act-1.x"
    assert about("costguard..0123") == ""
    assert about("something.else.x") == ""
