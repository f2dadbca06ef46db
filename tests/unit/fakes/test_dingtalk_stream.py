"""Stream mode by a bare client, as the official SDKs speak it and as they must not."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.fakes.dingtalk_openapi import Card, DingTalkApi
from tests.fakes.dingtalk_reference import CLIENT_ID, CLIENT_SECRET, GROUP, TEMPLATE
from tests.fakes.dingtalk_stream import BOT_TOPIC, CARD_TOPIC, DingTalkStream

TOPICS = [{"type": "CALLBACK", "topic": BOT_TOPIC}, {"type": "CALLBACK", "topic": CARD_TOPIC}]
OPEN = {"clientId": CLIENT_ID, "clientSecret": CLIENT_SECRET, "subscriptions": TOPICS, "ua": "test/1"}
JSON_PLEASE = {"Accept": "application/json"}


@pytest.fixture
def api() -> Iterator[DingTalkApi]:
    with DingTalkApi() as server:
        yield server


@pytest.fixture
def stream(api: DingTalkApi) -> Iterator[DingTalkStream]:
    with DingTalkStream(api) as server:
        yield server


@pytest.fixture
def line(api: DingTalkApi, stream: DingTalkStream) -> Iterator[ClientConnection]:
    with connect(address(api), proxy=None, close_timeout=0.2) as client:
        stream.wait_connected()
        yield client


@pytest.fixture
def card(api: DingTalkApi) -> Card:
    made = Card("7f3c", TEMPLATE, {"state": "warned", "title": "t"}, GROUP, api.clock.now())
    api.cards["7f3c"] = made
    return made


def open_connection(api: DingTalkApi, **change: Any) -> httpx.Response:
    body = {key: value for key, value in (OPEN | change).items() if value is not None}
    url = f"{api.url}/v1.0/gateway/connections/open"
    return httpx.post(url, json=body, headers=JSON_PLEASE, trust_env=False)


def address(api: DingTalkApi, **change: Any) -> str:
    given = open_connection(api, **change).json()
    return f"{given['endpoint']}?ticket={given['ticket']}"


def answer(line: ClientConnection, frame: dict[str, Any], data: Any = "{}", code: int = 200) -> None:
    headers = {"contentType": "application/json", "messageId": frame["headers"]["messageId"]}
    line.send(json.dumps({"code": code, "headers": headers, "message": "OK", "data": data}))


def heard(line: ClientConnection) -> tuple[dict[str, Any], dict[str, Any]]:
    frame = json.loads(line.recv(timeout=2))
    return frame, json.loads(frame["data"])


def test_what_is_said_to_the_robot_arrives(api: DingTalkApi, stream: DingTalkStream, line: ClientConnection) -> None:
    said = stream.say("zw01", "保留 train-03 2小时")
    frame, data = heard(line)
    assert (frame["specVersion"], frame["type"], frame["headers"]["topic"]) == ("1.0", "CALLBACK", BOT_TOPIC)
    assert (data["text"]["content"], data["senderStaffId"], data["conversationId"]) == (
        " 保留 train-03 2小时",
        "zw01",
        GROUP,
    )
    reply = {"msgtype": "text", "text": {"content": "已保留"}}
    assert httpx.post(data["sessionWebhook"], json=reply, trust_env=False).json()["errcode"] == 0
    answer(line, frame)
    assert said.wait().acked
    assert [sent.text for sent in api.sent] == ["已保留"]


def test_alone_with_the_robot(api: DingTalkApi, stream: DingTalkStream, line: ClientConnection) -> None:
    stream.say("admin03", "状态", alone=True)
    _, data = heard(line)
    assert (data["conversationType"], data["text"]["content"], data["isAdmin"]) == ("1", "状态", True)
    assert "isInAtList" not in data


def test_the_answer_to_a_press_may_change_the_card(stream: DingTalkStream, line: ClientConnection, card: Card) -> None:
    pressed = stream.press("li02", card, "keep_2h", {"alert": "7f3c"})
    frame, data = heard(line)
    assert frame["headers"]["topic"] == CARD_TOPIC
    assert (data["userId"], data["outTrackId"]) == ("li02", "7f3c")
    content = json.loads(data["content"])
    assert content == {"cardPrivateData": {"actionIds": ["keep_2h"], "params": {"alert": "7f3c"}}}
    change = {"cardUpdateOptions": {"updateCardDataByKey": True}, "cardData": {"cardParamMap": {"state": "kept"}}}
    answer(line, frame, json.dumps({"response": change}))
    assert pressed.wait().acked
    assert card.params == {"state": "kept", "title": "t"}


def test_a_code_that_is_not_200_is_no_success(stream: DingTalkStream, line: ClientConnection) -> None:
    said = stream.say("zw01", "状态")
    answer(line, heard(line)[0], code=500)
    assert not said.wait().acked


def test_the_platforms_ping_wants_its_data_back(stream: DingTalkStream, line: ClientConnection) -> None:
    ping = stream.ping_frame()
    frame, data = heard(line)
    assert (frame["type"], frame["headers"]["topic"]) == ("SYSTEM", "ping")
    answer(line, frame, frame["data"])
    assert ping.wait().reply == data
    stream.ping_frame()
    answer(line, heard(line)[0])
    stream.wait_until(lambda: bool(stream.refusals))
    assert "carries the ping's data" in stream.refusals.pop()


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ({"code": 200, "headers": {"messageId": "other"}, "message": "OK", "data": "{}"}, "no frame"),
        ({"code": "200", "headers": {}, "message": "OK", "data": "{}"}, "a number"),
        ({"code": 200, "message": "OK", "data": "{}"}, "an answer is"),
        ({"code": 200, "headers": {}, "ok": True}, "an answer is"),
    ],
)
def test_wrong_answers_are_refused(
    stream: DingTalkStream, line: ClientConnection, reply: dict[str, Any], complaint: str
) -> None:
    line.send(json.dumps(reply))
    with pytest.raises(ConnectionClosed):
        line.recv(timeout=2)
    assert complaint in stream.refusals.pop()


@pytest.mark.parametrize("data", [{"response": "OK"}, "OK", None, "[]"])
def test_the_data_of_an_answer_is_a_string_with_an_object(
    stream: DingTalkStream, line: ClientConnection, data: Any
) -> None:
    said = stream.say("zw01", "状态")
    answer(line, heard(line)[0], data)
    stream.wait_until(lambda: bool(stream.refusals))
    assert "a string that holds a JSON object" in stream.refusals.pop()
    assert not said.acked


def test_values_for_a_card_are_strings(stream: DingTalkStream, line: ClientConnection, card: Card) -> None:
    stream.press("li02", card, "keep_2h")
    answer(line, heard(line)[0], json.dumps({"response": {"cardData": {"cardParamMap": {"hours": 2}}}}))
    stream.wait_until(lambda: bool(stream.refusals))
    assert "map of strings" in stream.refusals.pop()
    assert card.updates == []


def test_a_second_answer_is_refused_until_the_frame_comes_again(stream: DingTalkStream, line: ClientConnection) -> None:
    said = stream.say("zw01", "状态")
    frame, _ = heard(line)
    answer(line, frame)
    said.wait()
    stream.send_again(said)
    assert heard(line)[0]["headers"]["messageId"] == frame["headers"]["messageId"]
    for _ in range(2):
        answer(line, frame)
    stream.wait_until(lambda: bool(stream.refusals))
    assert "answered before" in stream.refusals.pop()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"clientSecret": "x"}, (401, "authFailed")),
        ({"subscriptions": []}, (400, "invalidParameter")),
        ({"subscriptions": [{"topic": BOT_TOPIC}]}, (400, "invalidParameter")),
        ({"subscriptions": [{"type": "WISH", "topic": BOT_TOPIC}]}, (400, "invalidParameter")),
        ({"secret": "x"}, (400, "invalidParameter")),
    ],
)
def test_connections_that_are_not_opened(
    api: DingTalkApi, stream: DingTalkStream, change: dict[str, Any], expected: tuple[int, str]
) -> None:
    refused = open_connection(api, **change)
    assert (refused.status_code, refused.json()["code"]) == expected


def test_who_does_not_ask_for_json_gets_xml(api: DingTalkApi, stream: DingTalkStream) -> None:
    answered = httpx.post(f"{api.url}/v1.0/gateway/connections/open", json=OPEN, trust_env=False)
    assert answered.headers["content-type"] == "text/xml"


def test_without_a_stream_server_there_is_no_gateway(api: DingTalkApi) -> None:
    assert open_connection(api).status_code == 503


def test_a_ticket_opens_one_connection(api: DingTalkApi, stream: DingTalkStream) -> None:
    url = address(api)
    with connect(url, proxy=None):
        pass
    with pytest.raises(InvalidStatus, match="403"), connect(url, proxy=None):
        pass


def test_nobody_hears_a_topic_that_nobody_wants(
    api: DingTalkApi, stream: DingTalkStream, card: Card, monkeypatch: Any
) -> None:
    monkeypatch.setattr(stream, "wait_until", lambda what, _wait=stream.wait_until: _wait(what, 0.2))
    with connect(address(api, subscriptions=TOPICS[:1]), proxy=None) as line:
        stream.say("zw01", "状态")
        assert heard(line)[1]["senderStaffId"] == "zw01"
        with pytest.raises(AssertionError, match="no connection subscribed"):
            stream.press("li02", card, "keep_2h")


def test_strangers_and_lost_cards_cannot_be_pressed(api: DingTalkApi, stream: DingTalkStream, card: Card) -> None:
    with pytest.raises(LookupError, match="nobody"):
        stream.press("who", card, "keep_2h")
    del api.cards["7f3c"]
    with pytest.raises(LookupError, match="no card"):
        stream.press("li02", card, "keep_2h")


def test_a_disconnect_is_announced_and_then_done(stream: DingTalkStream, line: ClientConnection) -> None:
    stream.disconnect(close=False)
    frame, data = heard(line)
    assert (frame["type"], frame["headers"]["topic"], list(data)) == ("SYSTEM", "disconnect", ["reason"])
    answer(line, frame)  # the Python SDK does
    assert stream.ping()
    stream.disconnect()
    heard(line)
    with pytest.raises(ConnectionClosed):
        line.recv(timeout=2)


def test_silence(stream: DingTalkStream, line: ClientConnection) -> None:
    stream.go_silent()
    assert not line.ping().wait(0.3)
    assert len(stream.lines) == 1
