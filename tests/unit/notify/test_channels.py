"""Every kind of channel that the configuration can ask for becomes a channel that can send."""

from datetime import timedelta

import pytest
from pydantic import TypeAdapter

from costguard.app.settings import channel_config
from costguard.config.channels import CHANNELS, Channel, ChannelBase, unavailable
from costguard.notify.channels import CHANNEL_KINDS, build_channel
from costguard.notify.render import FACTUAL, FORMATS
from costguard.testing.clock import FakeClock

_ANY: TypeAdapter[ChannelBase] = TypeAdapter(Channel)
_KEY = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ENTRIES: dict[str, tuple[dict[str, object], tuple[str, ...]]] = {
    "slack": ({"url": "https://hooks.slack.com/services/T0/B0/sEcret"}, ("sEcret",)),
    "slack_bot": ({"token": "xoxb-sEcret", "channel": "C1", "app_token": "xapp-s"}, ("xoxb-sEcret", "xapp-s")),
    "dingtalk": ({"url": "https://h/robot/send?access_token=sEcret", "secret": "SECx"}, ("sEcret", "SECx")),
    "dingtalk_app": ({"mode": "stream", "client_id": "id", "client_secret": "sEcret"}, ("sEcret",)),
    "feishu": ({"url": "https://h/open-apis/bot/v2/hook/sEcret", "secret": "sIgn", "keyword": "k"}, ("sEcret", "sIgn")),
    "wecom": ({"url": "https://h/cgi-bin/webhook/send?key=sEcret"}, ("sEcret",)),
    "email": ({"smtp": "smtps://a%40b.cc:sEcret@h", "to": ["c@d.ee"], "from": "a@b.cc"}, ("sEcret",)),
    "webhook": ({"url": "https://h/sEcret", "secret": f"whsec_{_KEY}"}, ("sEcret", f"whsec_{_KEY}", _KEY)),
}  # fmt: skip


# Two ways into one platform are two kinds of channel.
PLATFORM = {"dingtalk_app": "dingtalk", "slack_bot": "slack"}


def entry(kind: str, **more: object) -> ChannelBase:
    return _ANY.validate_python({"name": "c", "kind": PLATFORM.get(kind, kind), **ENTRIES[kind][0], **more})


def test_no_kind_is_forgotten() -> None:
    assert set(ENTRIES) == set(CHANNEL_KINDS)
    assert {PLATFORM.get(kind, kind) for kind in ENTRIES} == set(CHANNELS)


@pytest.mark.parametrize("kind", ENTRIES)
def test_from_the_configuration_to_a_channel(kind: str) -> None:
    """K04: and the redactor learns every secret of it."""
    _, secrets = ENTRIES[kind]
    configured = entry(kind, max_per_minute=7, language="en")
    assert unavailable(configured) is None
    config = channel_config(configured)
    assert (config.name, config.kind, config.language) == ("c", kind, "en")
    assert set(secrets) <= set(config.secrets())
    channel = build_channel(config, FakeClock(), deadline=timedelta(seconds=1))
    assert (channel.name, channel.max_per_minute) == ("c", 7)
    assert channel.kind in (kind, PLATFORM.get(kind))
    assert channel.render_format in {*FORMATS, *FACTUAL}
    assert "sEcret" not in f"{channel!r}{config!r}"


@pytest.mark.parametrize("kind", ENTRIES)
def test_the_platforms_own_pace_unless_told_otherwise(kind: str) -> None:
    channel = build_channel(channel_config(entry(kind)), FakeClock())
    expected = {
        "slack": 60, "slack_bot": 60, "dingtalk": 18, "dingtalk_app": 18, "feishu": 90, "wecom": 18, "email": 30,
        "webhook": 60,
    }  # fmt: skip
    assert channel.max_per_minute == expected[kind]
