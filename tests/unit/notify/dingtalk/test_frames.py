"""Stream frames: what is read from them, what each is answered with, and rubbish that breaks nothing."""

import json
from typing import Any

import pytest

from costguard.notify.dingtalk.frames import (
    CARD_TOPIC,
    ROBOT_TOPIC,
    FrameError,
    answer,
    card_click,
    parse,
    robot_message,
)


def frame(kind: str, topic: str, data: object = None, message_id: str = "m-1") -> str:
    headers = {"topic": topic, "messageId": message_id, "contentType": "application/json", "time": "1690362102194"}
    return json.dumps({"specVersion": "1.0", "type": kind, "headers": headers, "data": json.dumps(data)})


def answered(text: str, **more: Any) -> dict[str, Any]:
    said = answer(parse(text), **more)
    assert said is not None
    found: dict[str, Any] = json.loads(said)
    assert found["headers"] == {"messageId": "m-1", "contentType": "application/json"}
    return found


def test_a_ping_is_answered_with_what_it_held() -> None:
    found = answered(frame("SYSTEM", "ping", {"opaque": "123-dsfs"}))
    assert (found["code"], found["message"], found["data"]) == (200, "OK", '{"opaque": "123-dsfs"}')


def test_a_disconnect_is_not_answered() -> None:
    coming = parse(frame("SYSTEM", "disconnect", {"reason": "connection is expired"}))
    assert coming.disconnect
    assert answer(coming) is None


@pytest.mark.parametrize(
    ("kind", "topic", "code", "data"),
    [
        ("CALLBACK", ROBOT_TOPIC, 200, {"response": None}),
        ("CALLBACK", CARD_TOPIC, 200, {"response": {}}),
        ("CALLBACK", "/v1.0/other", 404, {"response": None}),
        ("EVENT", "*", 200, {"status": "SUCCESS", "message": "ignored"}),
    ],
)
def test_what_each_kind_is_answered_with(kind: str, topic: str, code: int, data: object) -> None:
    """``data`` is JSON inside a string, as the protocol wants it."""
    found = answered(frame(kind, topic, {"a": 1}))
    assert (found["code"], json.loads(found["data"])) == (code, data)


def test_a_click_may_change_the_card_in_its_answer() -> None:
    change = {"cardData": {"cardParamMap": {"tips": "x"}}}
    assert json.loads(answered(frame("CALLBACK", CARD_TOPIC, {}), card=change)["data"]) == {"response": change}


def test_a_line_in_a_group() -> None:
    message = robot_message(
        {
            "conversationId": "cidAsXSBLnA==", "conversationType": "2", "msgId": "msg1", "senderNick": "张伟",
            "senderStaffId": "user01", "sessionWebhook": "https://oapi.dingtalk.com/robot/sendBySession?session=s3cret",
            "msgtype": "text", "text": {"content": " 保留 train-03 2小时 "},
        }
    )  # fmt: skip
    assert (message.text, message.user, message.nick) == ("保留 train-03 2小时", "user01", "张伟")
    assert (message.conversation, message.group, message.id) == ("cidAsXSBLnA==", True, "msg1")
    assert "s3cret" not in repr(message)


def test_rich_text_is_text_and_a_picture_is_none() -> None:
    base = {"conversationId": "cid", "conversationType": "1", "senderStaffId": "u"}
    rich = {"richText": [{"text": "状"}, {"type": "picture", "downloadCode": "x"}, {"text": "态"}]}
    assert robot_message({**base, "content": rich}).text == "状态"
    assert robot_message({**base, "content": {"downloadCode": "x"}}).text == ""
    assert not robot_message(base).group


def test_a_click_on_a_card() -> None:
    """Its content is JSON in a string once more."""
    content = json.dumps({"cardPrivateData": {"actionIds": ["keep_2h"], "params": {}}})
    data = {"type": "actionCallback", "outTrackId": "costguard.a1.k", "userId": "user01", "content": content}
    click = card_click(parse(frame("CALLBACK", CARD_TOPIC, data)))
    assert (click.id, click.card, click.action, click.user) == ("m-1", "costguard.a1.k", "keep_2h", "user01")


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "not json", '{"type": "SYSTEM"}', '{"headers": {}}', '{"type": 1, "headers": {}}',
        '{"type": "CALLBACK", "headers": {}, "data": "{"}', '{"type": "CALLBACK", "headers": {}, "data": "[1]"}',
        "[" * 100_000,
    ],
)  # fmt: skip
def test_rubbish_is_named_and_never_quoted(text: str) -> None:
    with pytest.raises(FrameError) as caught:
        parse(text)
    assert len(str(caught.value)) < 60


@pytest.mark.parametrize(
    "data",
    [
        {}, {"outTrackId": "x"}, {"userId": "u"}, {"outTrackId": 1, "userId": "u"},
        {"outTrackId": "x", "userId": "u", "content": "{"},
    ],
)  # fmt: skip
def test_a_click_without_card_or_person_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(FrameError):
        card_click(parse(frame("CALLBACK", CARD_TOPIC, data)))


def test_what_a_button_carries_beats_its_number_in_the_group() -> None:
    """A button group numbers the ids of its buttons; a template's own button carries nothing."""
    for private, action in (
        ({"actionIds": ["keep_2h0"], "params": {}}, "keep_2h"),
        ({"actionIds": ["stop_now3"], "params": {"action": "ask.stop_now~abd"}}, "ask.stop_now~abd"),
        ({"actionIds": ["keep_2h"]}, "keep_2h"),
    ):
        data = {"outTrackId": "x", "userId": "u", "content": json.dumps({"cardPrivateData": private})}
        assert card_click(parse(frame("CALLBACK", CARD_TOPIC, data))).action == action


def test_a_click_without_a_button_means_nothing() -> None:
    for content in (None, {}, {"cardPrivateData": []}, {"cardPrivateData": {"actionIds": []}}):
        data = {"outTrackId": "x", "userId": "u", "content": content}
        assert card_click(parse(frame("CALLBACK", CARD_TOPIC, data))).action == ""


def test_a_line_without_its_conversation_is_refused() -> None:
    with pytest.raises(FrameError, match="conversationId"):
        robot_message({"text": {"content": "x"}})
