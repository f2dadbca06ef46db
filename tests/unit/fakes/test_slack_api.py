"""The Web API judged by Slack's own SDK and by plain HTTP: what it refuses, and how it says so."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from costguard.testing.cloud import Fault
from tests.fakes.slack_api import APP_TOKEN, BOT_TOKEN, BOT_USER, Channel, SlackApi

HOME = "C012AB3CD"
SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "<@U012ZHANG> *train* <https://x.example|open>"}}


@pytest.fixture
def slack() -> Iterator[SlackApi]:
    with SlackApi() as server:
        yield server


@pytest.fixture
def bot(slack: SlackApi) -> WebClient:
    return WebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[], timeout=5)


def call(slack: SlackApi, method: str, arguments: Any, token: str = BOT_TOKEN) -> dict[str, Any]:
    answer = httpx.post(
        f"{slack.api_url}{method}", json=arguments, headers={"Authorization": f"Bearer {token}"}, trust_env=False
    )
    assert answer.status_code == 200
    result: dict[str, Any] = answer.json()
    return result


def test_the_bot_posts_updates_and_threads(slack: SlackApi, bot: WebClient) -> None:
    posted = bot.chat_postMessage(channel=HOME, text="warned", blocks=[SECTION], unfurl_links=False)
    bot.chat_postMessage(channel=HOME, text="stopped", thread_ts=posted["ts"])
    bot.chat_update(channel=posted["channel"], ts=posted["ts"], text="kept by li", blocks=[SECTION])
    first, second = slack.posted
    assert (first.text, first.blocks) == ("kept by li", [SECTION])
    assert [edit["text"] for edit in first.edits] == ["warned"]
    assert slack.thread(first) == [second]
    assert first.delivered.mentions == ("@U012ZHANG",)


def test_a_form_is_as_good_as_json(slack: SlackApi) -> None:
    form = {"token": BOT_TOKEN, "channel": HOME, "text": "x", "blocks": json.dumps([SECTION])}
    answer = httpx.post(f"{slack.api_url}chat.postMessage", data=form, trust_env=False)
    assert answer.json()["ok"]
    assert slack.posted[0].blocks == [SECTION]


def test_a_person_is_found_and_written_to_and_the_update_needs_the_conversations_id(
    slack: SlackApi, bot: WebClient
) -> None:
    person = bot.users_lookupByEmail(email="ZW@example.com")["user"]["id"]
    assert bot.users_info(user=person)["user"]["profile"]["email"] == "zw@example.com"
    posted = bot.chat_postMessage(channel=person, text="x")
    assert posted["channel"] == bot.conversations_open(users=person)["channel"]["id"] == "D012ZHANG"
    bot.chat_update(channel=posted["channel"], ts=posted["ts"], text="y")
    assert call(slack, "chat.update", {"channel": person, "ts": posted["ts"], "text": "y"})["error"] == (
        "channel_not_found"
    )


def test_scopes_are_told_in_a_header(slack: SlackApi, bot: WebClient) -> None:
    answer = bot.auth_test()
    assert answer["user_id"] == BOT_USER
    assert set(answer.headers["x-oauth-scopes"].split(",")) == slack.scopes


@pytest.mark.parametrize(
    ("method", "token", "error"),
    [
        ("chat.postMessage", "", "not_authed"),
        ("chat.postMessage", "xoxb-other", "invalid_auth"),
        ("chat.postMessage", APP_TOKEN, "not_allowed_token_type"),
        ("auth.test", APP_TOKEN, "not_allowed_token_type"),
        ("apps.connections.open", BOT_TOKEN, "not_allowed_token_type"),
        ("chat.destroyEverything", BOT_TOKEN, "unknown_method"),
        ("users.lookupByEmail", BOT_TOKEN, "invalid_arguments"),  # application/json is not taken there
    ],
)
def test_tokens_are_judged(slack: SlackApi, method: str, token: str, error: str) -> None:
    arguments = {"channel": HOME, "text": "x"} if method.startswith("chat.") else {}
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = httpx.post(f"{slack.api_url}{method}", json=arguments, headers=headers, trust_env=False)
    assert (answer.status_code, answer.json()) == (200, {"ok": False, "error": error})


def test_a_token_in_a_json_body_does_not_count(slack: SlackApi) -> None:
    body = {"token": BOT_TOKEN, "channel": HOME, "text": "x"}
    answer = httpx.post(f"{slack.api_url}chat.postMessage", json=body, trust_env=False)
    assert answer.json()["error"] == "not_authed"


@pytest.mark.parametrize(
    ("method", "scope", "arguments"),
    [
        ("chat.postMessage", "chat:write", {"channel": HOME, "text": "x"}),
        ("users.info", "users:read", {"user": "U012LI"}),
        ("conversations.open", "im:write", {"users": "U012LI"}),
    ],
)
def test_a_missing_scope_is_named(slack: SlackApi, method: str, scope: str, arguments: dict[str, str]) -> None:
    slack.scopes.remove(scope)
    answer = call(slack, method, arguments)
    assert (answer["error"], answer["needed"]) == ("missing_scope", scope)


def test_a_revoked_token(slack: SlackApi) -> None:
    slack.token_state = "token_revoked"
    assert call(slack, "auth.test", {})["error"] == "token_revoked"


def archived(slack: SlackApi) -> None:
    slack.channels[HOME].archived = True


def not_a_member(slack: SlackApi) -> None:
    slack.channels[HOME].member = False


def private_without_us(slack: SlackApi) -> None:
    slack.channels[HOME] = Channel(HOME, member=False, private=True)


@pytest.mark.parametrize(
    ("prepare", "arguments", "error"),
    [
        (None, {"channel": "#nowhere"}, "channel_not_found"),
        (archived, {}, "is_archived"),
        (not_a_member, {}, "not_in_channel"),
        (private_without_us, {}, "channel_not_found"),
        (None, {"text": ""}, "no_text"),
        (None, {"text": 5}, "invalid_arguments"),
        (None, {"colour": "red"}, "invalid_arguments"),
        (None, {"client_msg_id": "7f3c"}, "invalid_arguments"),
        (None, {"thread_ts": "1.0"}, "thread_not_found"),
        (None, {"metadata": {"alert": "7f3c"}}, "invalid_metadata_format"),
        (None, {"markdown_text": "**x**"}, "markdown_text_conflict"),
        (None, {"blocks": [SECTION | {"x": 1}]}, "invalid_blocks"),
        (None, {"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3000}}] * 5},
         "msg_blocks_too_long"),
    ],
)  # fmt: skip
def test_what_a_message_is_refused_for(
    slack: SlackApi, prepare: Callable[[SlackApi], None] | None, arguments: dict[str, Any], error: str
) -> None:
    if prepare:
        prepare(slack)
    answer = call(slack, "chat.postMessage", {"channel": HOME, "text": "x", **arguments})
    assert (answer["ok"], answer["error"]) == (False, error)
    assert slack.posted == []


def test_faults_in_blocks_are_pointed_at(bot: WebClient) -> None:
    button = {"type": "button", "text": {"type": "plain_text", "text": "Keep"}, "action_id": "keep"}
    with pytest.raises(SlackApiError) as caught:
        bot.chat_postMessage(channel=HOME, text="x", blocks=[{"type": "actions", "elements": [button, button]}])
    assert caught.value.response["errors"] == ["/blocks/0/elements/1/action_id: used twice in the block"]


def test_a_public_channel_takes_a_stranger_with_the_scope_for_it(slack: SlackApi) -> None:
    slack.channels[HOME].member = False
    slack.scopes.add("chat:write.public")
    assert call(slack, "chat.postMessage", {"channel": "#gpu-ops", "text": "x"})["channel"] == HOME


def test_long_text_is_cut_on_posting_and_refused_on_updating(slack: SlackApi) -> None:
    ts = call(slack, "chat.postMessage", {"channel": HOME, "text": "x" * 40_001})["ts"]
    assert len(slack.posted[0].text) == 40_000
    assert call(slack, "chat.update", {"channel": HOME, "ts": ts, "text": "x" * 4_000})["ok"]
    assert call(slack, "chat.update", {"channel": HOME, "ts": ts, "text": "x" * 4_001})["error"] == "msg_too_long"


def test_what_an_update_is_refused_for(slack: SlackApi) -> None:
    theirs = slack.written_by("U012LI", HOME, "hello")
    assert update(slack, theirs.ts) == "cant_update_message"
    assert update(slack, "1.0") == "message_not_found"
    assert update(slack, theirs.ts, channel="#gpu-ops") == "channel_not_found"
    ours = call(slack, "chat.postMessage", {"channel": HOME, "text": "x"})["ts"]
    assert update(slack, ours, unfurl_links=False) == "invalid_arguments"
    slack.channels[HOME].edit_window = timedelta(hours=1)
    slack.clock.advance(timedelta(hours=2))
    assert update(slack, ours) == "edit_window_closed"
    archived(slack)
    assert update(slack, ours) == "is_inactive"
    assert [message.edits for message in slack.posted] == [[], []]


def update(slack: SlackApi, ts: str, **more: Any) -> str:
    answer = call(slack, "chat.update", {"channel": HOME, "ts": ts, "text": "new", **more})
    return str(answer["error"])


def test_an_ephemeral_message_is_seen_by_one_and_cannot_be_changed(slack: SlackApi, bot: WebClient) -> None:
    ts = bot.chat_postEphemeral(channel=HOME, user="U012LI", text="only you")["message_ts"]
    assert [message.seen_by for message in slack.ephemeral] == ["U012LI"]
    assert slack.posted == []
    assert update(slack, ts) == "message_not_found"
    slack.channels[HOME].people = frozenset({"U012ZHANG"})
    answer = call(slack, "chat.postEphemeral", {"channel": HOME, "user": "U012LI", "text": "x"})
    assert answer["error"] == "user_not_in_channel"


def test_one_message_a_second_in_each_channel(slack: SlackApi) -> None:
    slack.channels["C2"] = Channel("C2", "other")
    headers = {"Authorization": f"Bearer {BOT_TOKEN}"}

    def post(channel: str) -> httpx.Response:
        body = {"channel": channel, "text": "x"}
        return httpx.post(f"{slack.api_url}chat.postMessage", json=body, headers=headers, trust_env=False)

    assert [post(HOME).status_code for _ in range(6)] == [200] * 5 + [429]
    refused = post(HOME)
    assert (refused.headers["Retry-After"], refused.json()["error"]) == ("1", "ratelimited")
    assert post("C2").status_code == 200
    slack.clock.advance(timedelta(seconds=1))
    assert post(HOME).status_code == 200


@pytest.mark.parametrize(
    ("fault", "status", "word"),
    [
        (Fault.THROTTLED, 429, "ratelimited"),
        (Fault.SERVER_ERROR, 503, "service_unavailable"),
        (Fault.UNAUTHENTICATED, 200, "invalid_auth"),
        (Fault.FORBIDDEN, 200, "missing_scope"),
        (Fault.HTML, 200, "airport"),
    ],
)
def test_faults(slack: SlackApi, fault: Fault, status: int, word: str) -> None:
    slack.fail(fault, times=1)
    answer = httpx.post(f"{slack.api_url}auth.test", json={}, trust_env=False)
    assert (answer.status_code, word in answer.text) == (status, True)


def test_a_lost_answer_has_delivered(slack: SlackApi, bot: WebClient) -> None:
    slack.fail(Fault.LOST_ANSWER, times=1)
    with pytest.raises(ConnectionResetError):
        bot.chat_postMessage(channel=HOME, text="x")
    assert [message.text for message in slack.posted] == ["x"]


def test_a_response_url_works_five_times_within_half_an_hour(slack: SlackApi) -> None:
    url = slack.reply_url(HOME, "U012LI")
    answers = [httpx.post(url, json={"text": "x"}, trust_env=False) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [404]
    assert answers[5].json()["error"] == "used_url"
    assert [message.seen_by for message in slack.ephemeral] == ["U012LI"] * 5
    late = slack.reply_url(HOME, "U012LI")
    slack.clock.advance(timedelta(minutes=31))
    assert httpx.post(late, json={"text": "x"}, trust_env=False).json()["error"] == "expired_url"


def test_a_response_url_replaces_what_was_pressed(slack: SlackApi, bot: WebClient) -> None:
    ts = bot.chat_postMessage(channel=HOME, text="warned")["ts"]
    url = slack.reply_url(HOME, "U012LI", ts)
    assert httpx.post(url, json={"text": "kept", "replace_original": True}, trust_env=False).json() == {"ok": True}
    assert (slack.posted[0].text, slack.ephemeral) == ("kept", [])
    assert httpx.post(url, json={"text": "x", "colour": "red"}, trust_env=False).status_code == 400
    httpx.post(url, json={"text": "all see it", "response_type": "in_channel"}, trust_env=False)
    assert slack.posted[1].text == "all see it"
