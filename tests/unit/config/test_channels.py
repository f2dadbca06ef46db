"""Kinds of channels: their keys, and what this version can send to."""

import pytest
from pydantic import TypeAdapter, ValidationError

import costguard.config.channels as channels
from costguard.config.channels import CHANNELS, Channel, ChannelBase, unavailable

_ANY: TypeAdapter[ChannelBase] = TypeAdapter(Channel)
HOOK = "https://hooks.slack.com/services/T/B/x"
KEY = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ROBOT = "https://oapi.dingtalk.com/robot/send?access_token=x"
BOT = "https://open.feishu.cn/open-apis/bot/v2/hook/x"


@pytest.mark.parametrize(
    "channel",
    [
        {"kind": "slack", "url": HOOK},
        {"kind": "dingtalk", "url": ROBOT, "secret": "SECx"},
        {"kind": "dingtalk", "url": "http://127.0.0.1:8787/robot/send?access_token=x", "keyword": "告警"},
        {"kind": "slack", "token": "xoxb-1", "channel": "C1"},
        {"kind": "slack", "token": "xoxb-1", "channel": "C1", "app_token": "xapp-1", "endpoint": "http://127.0.0.1:1/"},
        {"kind": "slack", "token": "xoxb-1", "channel": "C1", "signing_secret": "x"},
        {"kind": "dingtalk", "mode": "stream", "client_id": "a", "client_secret": "b"},
        {
            "kind": "dingtalk",
            "mode": "stream",
            "client_id": "a",
            "client_secret": "b",
            "conversation": "cid1",
            "robot_code": "r",
            "card_template": None,
            "endpoint": "https://api.dingtalk.io",
        },
        {"kind": "feishu", "url": BOT, "secret": "x", "keyword": "告警"},
        {"kind": "wecom", "url": "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=x"},
        {"kind": "email", "smtp": "smtps://a@b.cc:p@h", "to": "a@b"},
        {"kind": "email", "smtp": "smtp://h:25", "to": ["a@b", "c@d"], "from": "Guard <a@b>"},
        {"kind": "webhook", "url": HOOK},
        {"kind": "webhook", "url": HOOK, "secret": f"whsec_{KEY} {KEY}"},
    ],
)
def test_what_can_be_sent_to_in_this_version(channel: dict[str, object]) -> None:
    assert unavailable(_ANY.validate_python({"name": "c", **channel})) is None


@pytest.mark.parametrize(
    "channel",
    [
        {"kind": "slack", "url": HOOK, "token": "xoxb-1", "channel": "C1"},
        {"kind": "slack", "url": HOOK, "secret": "x"},
        {"kind": "slack", "url": HOOK, "app_token": "xapp-1"},
        {"kind": "slack", "token": "xoxb-1"},
        {"kind": "slack", "token": "xapp-1", "channel": "C1"},
        {"kind": "slack", "token": "xoxb-1", "channel": "C1", "app_token": "xoxb-1"},
        {"kind": "slack", "url": "hooks.slack.com/x"},
        {"kind": "slack", "url": "https://"},
        {"kind": "slack", "url": "https://a b/"},
        {"kind": "dingtalk", "url": ROBOT, "secret": " "},
        {"kind": "dingtalk", "mode": "stream", "client_id": "a"},
        {"kind": "dingtalk", "mode": "stream", "client_id": "a", "client_secret": "b", "keyword": "告警"},
        {"kind": "dingtalk", "url": ROBOT, "conversation": "cid1"},
        {"kind": "dingtalk", "mode": "stream", "client_id": "a", "client_secret": "b", "endpoint": "api.dingtalk.com"},
        {"kind": "email", "smtp": "smtps://a@b.cc:p@h", "to": []},
        {"kind": "email", "smtp": "smtps://a@b.cc:p@h", "to": ["nobody"]},
        {"kind": "email", "smtp": "smtps://u:p@h", "to": ["a@b"]},
        {"kind": "email", "smtp": "imap://u:p@h", "to": ["a@b"]},
        {"kind": "email", "smtp": "smtps://a@b.cc:p@h", "to": ["a@b"], "proxy": "http://proxy:3128"},
        {"kind": "feishu", "url": HOOK},
        {"kind": "wecom", "url": HOOK},
        {"kind": "webhook", "url": HOOK, "secret": "whsec_c2hvcnQ="},
        {"kind": "webhook", "url": HOOK, "secret": "no base64 at all"},
        {"kind": "pager"},
    ],
)
def test_keys_that_do_not_belong_or_lack(channel: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        _ANY.validate_python({"name": "c", **channel})


def test_stream_mode_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "find_spec", lambda name: None)
    stream = {"name": "c", "kind": "dingtalk", "mode": "stream", "client_id": "a", "client_secret": "b"}
    found = unavailable(_ANY.validate_python(stream))
    assert found is not None
    assert "costguard[dingtalk]" in found[1]


def test_every_kind_is_in_the_table() -> None:
    schema = _ANY.json_schema()
    assert set(schema["discriminator"]["mapping"]) == set(CHANNELS)
