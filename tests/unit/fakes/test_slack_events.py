"""Deliveries over HTTP are signed as Slack signs them: its own verifier says so."""

from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import parse_qs

import pytest
from slack_sdk import WebClient
from slack_sdk.signature import Clock, SignatureVerifier

from tests.fakes.server import Answer, Request, StrictServer
from tests.fakes.slack_api import BOT_TOKEN, SIGNING_SECRET, SlackApi
from tests.fakes.slack_events import SlackDeliveries

KEEP = {"type": "button", "text": {"type": "plain_text", "text": "Keep"}, "action_id": "keep", "value": "7f3c"}


class App(StrictServer):
    """Answers 200 to what Slack's verifier accepts and 401 to the rest."""

    def respond(self, request: Request) -> Answer:
        clock = Clock()
        clock.now = lambda: self.clock.now().timestamp()  # type: ignore[method-assign]
        good = SignatureVerifier(SIGNING_SECRET, clock).is_valid_request(request.body, dict(request.headers))
        return Answer(200 if good else 401, b"")


@pytest.fixture
def api() -> Iterator[SlackApi]:
    with SlackApi() as server:
        yield server


@pytest.fixture
def app(api: SlackApi) -> Iterator[App]:
    with App(api.clock) as server:
        yield server


@pytest.fixture
def slack(api: SlackApi, app: App) -> SlackDeliveries:
    return SlackDeliveries(api, f"{app.url}/slack/interactive")


def test_a_press_is_a_signed_form_with_a_payload(api: SlackApi, app: App, slack: SlackDeliveries) -> None:
    bot = WebClient(token=BOT_TOKEN, base_url=api.api_url, retry_handlers=[])
    bot.chat_postMessage(channel="U012ZHANG", text="x", blocks=[{"type": "actions", "elements": [KEEP]}])
    heard = slack.press("U012ZHANG", api.posted[0], "keep")
    assert heard.acked
    assert list(app.requests[0].form) == ["payload"]
    assert '"id": "D012ZHANG", "name": "directmessage"' in app.requests[0].form["payload"]


def test_a_command_is_a_plain_form(app: App, slack: SlackDeliveries) -> None:
    assert slack.slash("U012LI", "保留 train-03 2h").acked
    assert parse_qs(app.requests[0].body.decode())["text"] == ["保留 train-03 2h"]


def test_spoilt_signatures_are_spoilt(slack: SlackDeliveries) -> None:
    slack.skew = timedelta(minutes=-6)
    assert slack.slash("U012LI", "status").status == 401
    slack.skew = timedelta(0)
    slack.tamper = b"&user_id=U0OTHER"
    assert slack.slash("U012LI", "status").status == 401
    slack.tamper = b""
    slack.secret = "another"
    assert slack.slash("U012LI", "status").status == 401
    assert not slack.slash("U012LI", "status").acked
