"""Slack's webhook judged by Slack's own SDK and by plain HTTP."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from slack_sdk.webhook import WebhookClient

from costguard.testing.cloud import Fault
from tests.fakes.slack import SlackServer

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "<@U012ZHANG> *train* <https://x.example|open>"}}


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


def post(slack: SlackServer, content: Any, **options: Any) -> httpx.Response:
    return httpx.post(slack.webhook_url, json=content, trust_env=False, **options)


def test_the_webhook_says_ok_to_slacks_own_client(slack: SlackServer) -> None:
    answer = WebhookClient(slack.webhook_url).send(text="hello", blocks=[SECTION])
    assert (answer.status_code, answer.body) == (200, "ok")
    (delivered,) = slack.delivered()
    assert delivered.notification == "hello"
    assert delivered.mentions == ("@U012ZHANG",)
    assert delivered.links == ("https://x.example",)


@pytest.mark.parametrize(
    ("content", "status", "word"),
    [
        ({}, 400, "no_text"),
        ({"text": ""}, 400, "no_text"),
        ({"text": " \n"}, 400, "no_text"),
        ({"text": 1}, 400, "invalid_payload"),
        ({"text": "x", "colour": "red"}, 400, "invalid_payload"),
        ([], 400, "invalid_payload"),
        ({"text": "x", "attachments": [{}] * 101}, 400, "too_many_attachments"),
        (
            {"text": "x", "blocks": [{"type": "header", "text": {"type": "plain_text", "text": ""}}]},
            400,
            "invalid_blocks",
        ),
        ({"text": "x", "blocks": [SECTION | {"x": 1}]}, 400, "invalid_blocks"),
    ],
)
def test_what_the_webhook_refuses(slack: SlackServer, content: Any, status: int, word: str) -> None:
    answer = post(slack, content)
    assert (answer.status_code, answer.text) == (status, word)
    assert slack.delivered() == []


def test_a_form_with_a_payload_is_taken_and_other_bodies_are_not(slack: SlackServer) -> None:
    form = httpx.post(slack.webhook_url, data={"payload": json.dumps({"text": "x"})}, trust_env=False)
    plain = httpx.post(slack.webhook_url, content=b'{"text":"x"}', headers={"Content-Type": "text/plain"})
    assert (form.text, plain.text) == ("ok", "invalid_payload")


@pytest.mark.parametrize(
    ("state", "status"),
    [("no_service", 404), ("channel_is_archived", 410), ("action_prohibited", 403), ("rollup_error", 500)],
)
def test_a_broken_hook_says_its_word(slack: SlackServer, state: str, status: int) -> None:
    slack.hook_state = state
    answer = post(slack, {"text": "x"})
    assert (answer.status_code, answer.text) == (status, state)


def test_another_hooks_path_has_no_service(slack: SlackServer) -> None:
    answer = httpx.post(slack.webhook_url[:-1], json={"text": "x"}, trust_env=False)
    assert (answer.status_code, answer.text) == (404, "no_service")


def test_one_a_second_after_a_short_burst(slack: SlackServer) -> None:
    answers = [post(slack, {"text": "x"}).status_code for _ in range(7)]
    assert answers == [200] * 5 + [429] * 2
    refused = post(slack, {"text": "x"})
    assert refused.headers["Retry-After"] == "1"
    assert refused.json()["error"] == "rate_limited"
    slack.clock.advance(timedelta(seconds=1))
    assert post(slack, {"text": "x"}).status_code == 200
    assert len(slack.delivered()) == 6


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("<!channel> x", ("!channel",)),
        ("<!here|here>", ("!here",)),
        ("<@U0AAAAAAA> <@U0AAAAAAA>", ("@U0AAAAAAA",)),
        ("<!subteam^S012|team>", ("!subteam^S012",)),
        ("&lt;!channel&gt; @channel @here", ()),
    ],
)
def test_who_is_pinged(slack: SlackServer, text: str, mentions: tuple[str, ...]) -> None:
    post(slack, {"text": text})
    assert slack.delivered()[0].mentions == mentions


def test_plain_text_objects_are_not_parsed(slack: SlackServer) -> None:
    post(slack, {"text": "x", "blocks": [{"type": "header", "text": {"type": "plain_text", "text": "<!channel>"}}]})
    (delivered,) = slack.delivered()
    assert (delivered.mentions, delivered.text) == ((), "x\n<!channel>")


@pytest.mark.parametrize(
    ("fault", "status", "word"),
    [
        (Fault.THROTTLED, 429, "rate_limited"),
        (Fault.SERVER_ERROR, 503, "service_unavailable"),
        (Fault.UNAUTHENTICATED, 403, "invalid_token"),
        (Fault.FORBIDDEN, 403, "action_prohibited"),
        (Fault.HTML, 200, "airport"),
    ],
)
def test_faults(slack: SlackServer, fault: Fault, status: int, word: str) -> None:
    slack.fail(fault, times=1)
    answer = post(slack, {"text": "x"})
    assert answer.status_code == status
    assert word in answer.text
    assert post(slack, {"text": "x"}).text == "ok"
