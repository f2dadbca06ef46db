"""What doctor says of a Slack bot, proved by calls that nobody sees."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from costguard.net.http import HttpClient
from costguard.notify.slack.bot import SlackBot
from costguard.notify.slack.bot_config import SlackBotConfig
from costguard.ports import ChannelProbe
from costguard.testing.clock import FakeClock
from tests.fakes.slack_api import APP_TOKEN, BOT_TOKEN, SlackApi
from tests.fakes.slack_socket import SlackSocket

_APP = "add it to the app (OAuth & Permissions) and install it again"


@pytest.fixture
def slack() -> Iterator[SlackApi]:
    with SlackApi(FakeClock()) as server, SlackSocket(server):
        yield server


def probe(slack: SlackApi, **fields: object) -> list[ChannelProbe]:
    values = {"name": "team", "token": BOT_TOKEN, "channel": "C1", "endpoint": slack.api_url, **fields}
    http = HttpClient(deadline=timedelta(seconds=2))
    return list(SlackBot(SlackBotConfig(**values), slack.clock, http).probe())  # type: ignore[arg-type]


def test_all_is_well_and_nobody_sees_it(slack: SlackApi) -> None:
    assert probe(slack, app_token=APP_TOKEN) == [
        ChannelProbe("the bot costguard of the workspace example", True),
        ChannelProbe("Socket Mode can be opened: buttons and commands come in", True),
    ]
    assert slack.posted == []
    assert probe(slack, signing_secret="s")[1:] == [
        ChannelProbe("buttons and commands come in over HTTP, signed", True)
    ]
    (deaf,) = probe(slack)[1:]
    assert (deaf.fine, deaf.hint) == (None, "set app_token (Socket Mode) or signing_secret")


def test_each_scope_that_is_missing_is_named(slack: SlackApi) -> None:
    slack.scopes.clear()
    slack.scopes.add("im:write")
    slack.app_scopes.clear()
    assert probe(slack, app_token=APP_TOKEN)[1:] == [
        ChannelProbe("missing scope: chat:write; the bot can send nothing", False, _APP),
        ChannelProbe("missing scope: commands; /costguard does nothing", None, _APP),
        ChannelProbe(
            "missing scopes: users:read, users:read.email; owners are not found by their email", None,
            f"{_APP}, or give each owner their member id (slack: U…)",
        ),
        ChannelProbe(
            "Socket Mode: missing_scope: the app lacks a right", False,
            "add the scope connections:write to the app and install it again",
        ),
    ]  # fmt: skip


def test_a_token_that_is_refused_is_the_end_of_it(slack: SlackApi) -> None:
    (told,) = probe(slack, token="xoxb-another", app_token=APP_TOKEN)
    assert (told.fine, told.text) == (False, "the token: invalid_auth: Slack refused the token")
    (told,) = probe(slack, token=APP_TOKEN)
    assert "not_allowed_token_type" in told.text


def test_slack_out_of_reach_says_nothing_of_the_token(slack: SlackApi) -> None:
    (told,) = probe(slack, endpoint="http://127.0.0.1:9/", app_token=APP_TOKEN)
    assert told == ChannelProbe(
        "the token could not be checked: POST 127.0.0.1: cannot connect", False,
        "check DNS, proxy, firewall and the channel's endpoint, then try again",
    )  # fmt: skip
