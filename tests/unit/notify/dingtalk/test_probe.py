"""What doctor proves of a DingTalk application: nothing is sent, nothing changes, what is missing has its name."""

from collections.abc import Iterator

import pytest

from costguard.notify.samples import SAMPLE_NOW
from costguard.ports import ChannelProbe
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.dingtalk_openapi import DingTalkApi
from tests.fakes.dingtalk_reference import PERSON_SEND, UPDATE
from tests.fakes.dingtalk_stream import DingTalkStream
from tests.unit.notify.dingtalk.test_app import app


@pytest.fixture
def server() -> Iterator[DingTalkApi]:
    with DingTalkApi(FakeClock(SAMPLE_NOW)) as api, DingTalkStream(api):
        yield api


def told(probes: list[ChannelProbe]) -> dict[bool | None, str]:
    return {fine: "\n".join(f"{p.text} {p.hint}" for p in probes if p.fine is fine) for fine in (True, False, None)}


def test_all_is_well(server: DingTalkApi) -> None:
    probes = app(server).probe()
    assert [probe.fine for probe in probes] == [True] * 4
    assert server.delivered() == []
    assert server.cards == {}


def test_wrong_credentials_end_it(server: DingTalkApi) -> None:
    channel = app(server)
    channel.api._secret = "wrong"  # as one that was reset
    (only,) = channel.probe()
    assert only.fine is False
    assert "client_secret" in only.text
    assert "凭证" in only.hint


@pytest.mark.parametrize("permission", ["Card.Instance.Write", "qyapi_robot_sendmsg"])
def test_a_missing_permission_is_named(server: DingTalkApi, permission: str) -> None:
    server.permissions.discard(permission)
    found = told(list(app(server).probe()))
    assert permission in found[False]
    assert permission not in found[True]
    assert "权限管理" in found[False]


def test_without_cards_nobody_asks_for_them(server: DingTalkApi) -> None:
    server.permissions.discard("Card.Instance.Write")
    assert all(probe.fine for probe in app(server, card_template=None).probe())


def test_a_gateway_that_refuses_costs_the_buttons(server: DingTalkApi) -> None:
    server.gateway = None
    assert "no buttons and commands" in told(list(app(server).probe()))[False]


def test_a_stream_that_leads_nowhere(server: DingTalkApi) -> None:
    class Nowhere:
        endpoint = "ws://127.0.0.1:9/connect"

        def admit(self, topics: frozenset[str]) -> str:
            return "ticket"

    server.gateway = Nowhere()
    assert "cannot connect" in told(list(app(server).probe()))[False]


def test_what_cannot_be_told_is_no_fault(server: DingTalkApi) -> None:
    server.fail(Fault.SERVER_ERROR, on=lambda request: request.path in (PERSON_SEND, UPDATE))
    found = told(list(app(server).probe()))
    assert found[False] == ""
    assert found[None].count("could not be told") == 2


def test_an_unknown_group_says_how_to_make_it_known(server: DingTalkApi) -> None:
    assert "speak to the robot" in told(list(app(server, conversation=None).probe()))[False]


def test_out_of_reach_names_no_code(server: DingTalkApi) -> None:
    (only,) = app(server, endpoint="http://127.0.0.1:9").probe()
    assert (only.fine, only.text) == (False, "no access token: POST 127.0.0.1: cannot connect")
