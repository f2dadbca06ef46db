"""The Slack bot against a strict Slack: the contract every channel passes, threads, updates, direct messages."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from costguard.errors import DeliveryError
from costguard.net.http import HttpClient
from costguard.notify.render import render as render_facts
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.notify.slack.bot import SlackBot, place_of
from costguard.notify.slack.bot_config import SlackBotConfig
from costguard.ports import Message
from costguard.testing.channel_contract import ChannelContract
from costguard.testing.clock import FakeClock
from tests.fakes.server import Answer, Request
from tests.fakes.slack_api import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET, Channel, SlackApi
from tests.unit.notify.messages import warning_about

TEAM = "C012AB3CD"
ZW = "U012ZHANG"


@pytest.fixture
def slack() -> Iterator[SlackApi]:
    with SlackApi(FakeClock(SAMPLE_NOW)) as server:
        yield server


@pytest.fixture
def bot(slack: SlackApi) -> SlackBot:
    return bot_of(slack)


def bot_of(slack: SlackApi, **fields: object) -> SlackBot:
    values: dict[str, object] = {
        "name": "team", "token": BOT_TOKEN, "channel": TEAM, "app_token": APP_TOKEN, "signing_secret": SIGNING_SECRET,
        "endpoint": slack.api_url, **fields,
    }  # fmt: skip
    return SlackBot(SlackBotConfig(**values), slack.clock, HttpClient(deadline=timedelta(seconds=2)))  # type: ignore[arg-type]


def told(name: str, language: str = "en", **changes: object) -> Message:
    message = render_facts(
        sample_facts()[name], fmt="slack_bot", language=language, now=SAMPLE_NOW, idem_key=name,
        mentions={"zhangwei": ZW},
    )  # fmt: skip
    return replace(message, **changes)  # type: ignore[arg-type]


class TestSlackBot(ChannelContract):
    @pytest.fixture
    def platform(self, slack: SlackApi) -> SlackApi:  # type: ignore[override]
        return slack

    @pytest.fixture
    def channel(self, bot: SlackBot) -> SlackBot:  # type: ignore[override]
        return bot

    @pytest.fixture
    def render(self) -> Callable[[str], Message]:
        return lambda name: warning_about(name, "slack_bot", ZW)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_kind_of_message_is_taken_by_slack(bot: SlackBot, slack: SlackApi, language: str) -> None:
    for name in sample_facts():
        slack.clock.advance(timedelta(seconds=2))
        bot.send(told(name, language))
    assert len(slack.posted) == len(sample_facts())
    assert all(message.content["unfurl_links"] is False for message in slack.posted)


def test_a_warning_has_its_buttons_and_a_bot_that_hears_nothing_has_none(bot: SlackBot, slack: SlackApi) -> None:
    bot.send(told("warning"))
    buttons = [element for _, element in slack.posted[0].elements]
    assert [button["action_id"] for button in buttons] == [
        "keep_2h", "keep_morning", "when_idle", "stop_now", "false_alarm",
    ]  # fmt: skip
    assert {button["value"] for button in buttons} == {"act-7f3c"}
    assert [button["text"]["text"] for button in buttons if "confirm" in button] == ["Stop now"]
    deaf = bot_of(slack, app_token=None, signing_secret=None)
    assert (bot.render_format, deaf.render_format) == ("slack_bot", "slack")


def test_the_outcome_takes_the_place_of_the_warning_and_is_said_in_its_thread(bot: SlackBot, slack: SlackApi) -> None:
    first = bot.send(told("warning"))
    assert first.message_ref == f"{TEAM}/{slack.posted[0].ts}"
    again = bot.send(told("warning", follows=first.message_ref))
    bot.send(told("result", follows=first.message_ref, outcome=True))
    warning, reminder, note = slack.posted
    assert again.message_ref == f"{TEAM}/{reminder.ts}"
    assert "Stopped train-a800-03" in warning.text
    assert [element["action_id"] for _, element in warning.elements] == ["start_again", "false_alarm"]
    assert (reminder.thread_ts, reminder.content["reply_broadcast"]) == (warning.ts, True)
    assert (note.thread_ts, note.content.get("reply_broadcast"), note.blocks) == (warning.ts, None, [])
    assert note.delivered.mentions == (f"@{ZW}",), "a change notifies nobody; the note in the thread does"


@pytest.mark.parametrize("word", ["message_not_found", "edit_window_closed", "cant_update_message"])
def test_what_follows_a_message_that_cannot_be_changed_stands_alone(bot: SlackBot, slack: SlackApi, word: str) -> None:
    """Somebody deleted the warning, or the workspace locks old messages: the result is told all the same."""
    first = bot.send(told("warning"))
    slack.answer(slack.answers["is_archived"].__class__(200, f'{{"ok":false,"error":"{word}"}}', frozenset()))
    receipt = bot.send(told("result", follows=first.message_ref, outcome=True))
    alone = slack.posted[-1]
    assert receipt.message_ref == f"{TEAM}/{alone.ts}"
    assert (alone.thread_ts, bool(alone.blocks)) == ("", True)


def test_a_lost_answer_after_the_change_repeats_the_change_and_the_note(bot: SlackBot, slack: SlackApi) -> None:
    first = bot.send(told("warning"))
    result = told("result", follows=first.message_ref, outcome=True)
    respond = slack.respond

    def deaf(request: Request) -> Answer:
        if request.path.endswith("postMessage"):
            return Answer(503, b"service_unavailable", {"Content-Type": "text/html"})
        return respond(request)

    slack.respond = deaf  # type: ignore[method-assign]
    with pytest.raises(DeliveryError) as caught:
        bot.send(result)
    assert caught.value.reason == "server"
    slack.respond = respond  # type: ignore[method-assign]
    bot.send(result)
    assert len(slack.thread(slack.posted[0])) == 1
    assert slack.calls("chat.update") == 2


def test_what_is_for_one_person_is_written_to_them(bot: SlackBot, slack: SlackApi) -> None:
    first = bot.send(told("warning", to=ZW))
    assert slack.posted[0].channel == slack.people[ZW].dm
    bot.send(told("kept", follows=first.message_ref, outcome=True, to=ZW))
    assert "Kept by" in slack.posted[0].text
    assert slack.posted[1].channel == slack.people[ZW].dm


def test_a_person_who_cannot_be_written_to_is_mentioned_in_the_conversation(bot: SlackBot, slack: SlackApi) -> None:
    bot.send(told("warning", to="U0GONE"))
    assert slack.posted[0].channel == TEAM
    assert slack.posted[0].delivered.mentions == (f"@{ZW}",)


@pytest.mark.parametrize(
    ("spoil", "word", "hint"),
    [
        (lambda s: s.channels.update({TEAM: Channel(TEAM, member=False)}), "not_in_channel", "/invite @costguard"),
        (lambda s: s.channels.update({TEAM: Channel(TEAM, archived=True)}), "is_archived", "unarchive it"),
        (lambda s: s.channels.clear(), "channel_not_found", "conversation's id"),
        (lambda s: s.scopes.clear(), "missing_scope", "add the scope chat:write"),
        (lambda s: setattr(s, "token_state", "token_revoked"), "token_revoked", "install the app again"),
    ],
)
def test_a_setting_that_is_wrong_says_what_to_do(
    bot: SlackBot, slack: SlackApi, spoil: Callable[[SlackApi], None], word: str, hint: str
) -> None:
    spoil(slack)
    with pytest.raises(DeliveryError) as caught:
        bot.send(told("warning"))
    assert (caught.value.reason, caught.value.code) == ("auth", word)
    assert hint in (caught.value.hint or "")


def test_people_are_found_by_their_address_and_remembered(bot: SlackBot, slack: SlackApi) -> None:
    assert bot.find("ZW@example.com") == bot.find("zw@example.com") == ZW
    assert bot.find("nobody@example.com") is bot.find("nobody@example.com") is None
    assert slack.calls("users.lookupByEmail") == 2
    slack.clock.advance(timedelta(hours=13))
    assert bot.find("zw@example.com") == ZW
    assert slack.calls("users.lookupByEmail") == 3
    slack.scopes.discard("users:read.email")
    slack.clock.advance(timedelta(hours=13))
    assert bot.find("zw@example.com") is None, "without the right nobody is found, and nothing else suffers"


def test_the_place_of_a_receipt() -> None:
    assert place_of("C1/1.2") == ("C1", "1.2")
    assert place_of("track-1") is None


@pytest.mark.parametrize(
    ("language", "told"),
    [("en", "or here: `/costguard keep ID 2h`"), ("zh", "也可以在这里写：`/costguard 保留 ID 2小时`")],
)
def test_a_digest_of_warnings_says_what_to_write(language: str, told: str) -> None:
    """It has no buttons: which of the boxes would be meant?"""
    heard, deaf = (
        render_facts(sample_facts()["group"], fmt=fmt, language=language, now=SAMPLE_NOW, idem_key="g").body
        for fmt in ("slack_bot", "slack")
    )
    assert told in heard
    assert "`/costguard" not in deaf
    one = render_facts(sample_facts()["warning"], fmt="slack_bot", language=language, now=SAMPLE_NOW, idem_key="w")
    assert one.buttons
    assert "`/costguard" not in one.body
