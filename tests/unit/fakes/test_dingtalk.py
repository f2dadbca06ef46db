"""The DingTalk robot judged by its published rules."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, quote_plus

import httpx
import pytest

from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.dingtalk import ACCESS_TOKEN, MAX_BYTES, SECRET, DingTalkServer

TEXT = {"msgtype": "text", "text": {"content": "hello"}}


@pytest.fixture
def robot() -> Iterator[DingTalkServer]:
    with DingTalkServer() as server:
        yield server


def sign(robot: DingTalkServer, *, secret: str = SECRET, ago: timedelta = timedelta(0)) -> dict[str, str]:
    """timestamp and sign by the recipe; a time is looked for whose sign has a + in it, to test the encoding."""
    stamp = int((robot.clock.now() - ago).timestamp() * 1000)
    while True:
        digest = hmac.new(secret.encode(), f"{stamp}\n{secret}".encode(), hashlib.sha256).digest()
        if "+" in (text := base64.b64encode(digest).decode()):
            return {"timestamp": str(stamp), "sign": text}
        stamp += 1


def send(robot: DingTalkServer, message: Any = TEXT, **query: str) -> dict[str, Any]:
    params = {"access_token": ACCESS_TOKEN, **sign(robot), **query}
    answer = httpx.post(f"{robot.url}/robot/send", params=params, json=message, trust_env=False)
    assert answer.status_code == 200
    value: dict[str, Any] = answer.json()
    return value


def send_raw(robot: DingTalkServer, query: str) -> int:
    answer = httpx.post(f"{robot.url}/robot/send?access_token={ACCESS_TOKEN}&{query}", json=TEXT, trust_env=False)
    return int(answer.json()["errcode"])


def test_a_sign_made_with_openssl_is_taken() -> None:
    """``printf '1700000000000\\nSECabc' | openssl dgst -sha256 -hmac SECabc -binary | base64``."""
    clock = FakeClock(datetime.fromtimestamp(1_700_000_000, UTC))
    with DingTalkServer(clock, secret="SECabc") as robot:
        query = {"timestamp": "1700000000000", "sign": "jcUpW0QmtKduN03n4JqQ0PBosVjqnM8gU7fIIvsDmCM="}
        assert send(robot, **query)["errcode"] == 0


def test_the_sign_is_encoded_exactly_once(robot: DingTalkServer) -> None:
    signed = sign(robot)
    stamp, text = signed["timestamp"], signed["sign"]
    assert send_raw(robot, f"timestamp={stamp}&sign={quote_plus(text)}") == 0
    assert send_raw(robot, f"timestamp={stamp}&sign={quote(text, safe='')}") == 0
    assert send_raw(robot, f"timestamp={stamp}&sign={text}") == 310000
    assert send_raw(robot, f"timestamp={stamp}&sign={quote(quote(text, safe=''), safe='')}") == 310000


@pytest.mark.parametrize(
    ("ago", "errcode"),
    [
        (timedelta(minutes=59), 0),
        (timedelta(minutes=61), 310000),
        (timedelta(minutes=-59), 0),
        (timedelta(minutes=-61), 310000),
    ],
)
def test_a_sign_lives_an_hour(robot: DingTalkServer, ago: timedelta, errcode: int) -> None:
    """J08, J09."""
    assert send(robot, **sign(robot, ago=ago))["errcode"] == errcode


def test_a_skewed_platform_refuses_a_right_sign(robot: DingTalkServer) -> None:
    robot.clock_skew = timedelta(hours=2)
    assert send(robot)["errcode"] == 310000


@pytest.mark.parametrize(
    ("query", "errcode"),
    [
        ({"access_token": "other"}, 300005),
        ({"sign": ""}, 310000),
        ({"timestamp": "now"}, 310000),
        ({"extra": "1"}, 40035),
    ],
)
def test_a_query_that_is_refused(robot: DingTalkServer, query: dict[str, str], errcode: int) -> None:
    assert send(robot, **query)["errcode"] == errcode
    assert robot.messages == []


def test_a_lost_access_token_is_a_missing_parameter(robot: DingTalkServer) -> None:
    """What happens when a client's ``params=`` replaces the query of the URL."""
    answer = httpx.post(f"{robot.url}/robot/send", params=sign(robot), json=TEXT, trust_env=False)
    assert answer.json()["errcode"] == 40035


@pytest.mark.parametrize(
    ("message", "errcode"),
    [
        (TEXT, 0),
        ({"msgtype": "markdown", "markdown": {"title": "t", "text": "x"}}, 0),
        ({"msgtype": "actionCard", "actionCard": {"title": "t", "text": "x", "singleTitle": "o", "singleURL": "u"}}, 0),
        ({"msgtype": "actionCard", "actionCard": {"title": "t", "text": "x"}}, 40035),
        ({"msgtype": "markdown", "markdown": {"title": "", "text": "x"}}, 40035),
        ({"msgtype": "markdown", "markdown": {"text": "x"}}, 40035),
        ({"msgtype": "markdown", "markdown": {"title": "t", "text": "x", "colour": "r"}}, 40035),
        ({"msgtype": "markdown", "text": {"content": "x"}}, 40035),
        ({**TEXT, "idem": "x"}, 40035),
        ({**TEXT, "at": {"mobiles": []}}, 40035),
        ({**TEXT, "at": {"atMobiles": [13800000000]}}, 40035),
        ({**TEXT, "at": {"isAtAll": "false"}}, 40035),
        ({"msgtype": "card", "card": {}}, 400105),
        ({}, 400105),
        ([], 40035),
    ],
)
def test_shapes(robot: DingTalkServer, message: Any, errcode: int) -> None:
    assert send(robot, message)["errcode"] == errcode
    assert len(robot.messages) == (errcode == 0)


def test_wrong_method_and_content_type(robot: DingTalkServer) -> None:
    params = {"access_token": ACCESS_TOKEN, **sign(robot)}
    url = f"{robot.url}/robot/send"
    assert httpx.get(url, params=params, trust_env=False).json()["errcode"] == 43002
    assert httpx.post(url, params=params, data={"a": "b"}, trust_env=False).json()["errcode"] == 43004


@pytest.mark.parametrize(("size", "errcode"), [(MAX_BYTES, 0), (MAX_BYTES + 1, 460101)])
def test_twenty_thousand_bytes_and_no_more(robot: DingTalkServer, size: int, errcode: int) -> None:
    """J12: bytes of the request, not characters."""
    empty = json.dumps({"msgtype": "text", "text": {"content": ""}}).encode()
    room = size - len(empty)
    content = "机" * (room // 3) + "x" * (room % 3)
    body = json.dumps({"msgtype": "text", "text": {"content": content}}, ensure_ascii=False).encode()
    assert len(body) == size
    params = {"access_token": ACCESS_TOKEN, **sign(robot)}
    headers = {"Content-Type": "application/json"}
    answer = httpx.post(f"{robot.url}/robot/send", params=params, content=body, headers=headers, trust_env=False)
    assert answer.json()["errcode"] == errcode


def test_twenty_a_minute_then_ten_minutes_of_silence(robot: DingTalkServer) -> None:
    """J06."""
    assert [send(robot)["errcode"] for _ in range(20)] == [0] * 20
    assert send(robot)["errcode"] == 130101
    robot.clock.advance(timedelta(minutes=9, seconds=59))
    assert send(robot)["errcode"] == 130101
    robot.clock.advance(timedelta(seconds=1))
    assert send(robot)["errcode"] == 0
    assert len(robot.messages) == 21


def test_eighteen_a_minute_are_never_locked(robot: DingTalkServer) -> None:
    for _ in range(60):
        assert send(robot)["errcode"] == 0
        robot.clock.advance(timedelta(seconds=3.34))
    assert not robot.locked


def test_a_key_is_delivered_once(robot: DingTalkServer) -> None:
    """J16."""
    for key in ("a", "a", "b"):
        assert send(robot, {**TEXT, "msgUuid": key})["errcode"] == 0
    assert [message.uuid for message in robot.messages] == ["a", "b"]


def test_a_lost_answer_with_a_key_is_no_duplicate(robot: DingTalkServer) -> None:
    robot.fail(Fault.LOST_ANSWER, times=1)
    with pytest.raises(httpx.TransportError):
        send(robot, {**TEXT, "msgUuid": "a"})
    assert send(robot, {**TEXT, "msgUuid": "a"})["errcode"] == 0
    assert len(robot.messages) == 1


@pytest.mark.parametrize(
    ("message", "mentions"),
    [
        ({**TEXT, "at": {"atMobiles": ["138"]}}, ("138",)),
        ({"msgtype": "markdown", "markdown": {"title": "t", "text": "x @138"}, "at": {"atMobiles": ["138"]}}, ("138",)),
        ({"msgtype": "markdown", "markdown": {"title": "t", "text": "x"}, "at": {"atMobiles": ["138"]}}, ()),
        ({"msgtype": "markdown", "markdown": {"title": "t", "text": "x @138"}}, ()),
        ({"msgtype": "markdown", "markdown": {"title": "t", "text": "@所有人"}}, ()),
        ({**TEXT, "at": {"isAtAll": True}}, ("@all",)),
        (
            {
                "msgtype": "actionCard",
                "actionCard": {"title": "t", "text": "@138", "singleTitle": "o", "singleURL": "u"},
                "at": {"atMobiles": ["138"]},
            },
            (),
        ),
    ],
)
def test_who_is_really_pinged(robot: DingTalkServer, message: Any, mentions: tuple[str, ...]) -> None:
    assert send(robot, message)["errcode"] == 0
    assert robot.messages[0].mentions == mentions


def test_keyword_mode(robot: DingTalkServer) -> None:
    """J10."""
    robot.keywords = ("costguard", "关机")
    assert send(robot)["errcode"] == 310000
    markdown = {"msgtype": "markdown", "markdown": {"title": "30 分钟后关机", "text": "x"}}
    assert send(robot, markdown)["errcode"] == 0


def test_a_stuck_robot_and_the_flood_gateway(robot: DingTalkServer) -> None:
    """J05: the gateway's 200 has no errcode."""
    robot.robot_state = 400102
    assert send(robot)["errcode"] == 400102
    robot.flooded = True
    answer = send(robot)
    assert "errcode" not in answer
    assert answer["wait"] == 5
    assert robot.messages == []


def test_signatures_are_told_for_leak_tests(robot: DingTalkServer) -> None:
    signed = sign(robot)
    send(robot, **signed)
    assert {signed["sign"], quote(signed["sign"], safe="")} <= set(robot.signatures())
