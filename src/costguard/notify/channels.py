"""The channel kinds: configuration model and channel by name. Another platform is another line here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from costguard.net.http import HttpClient
from costguard.notify.dingtalk.channel import DingTalkRobot
from costguard.notify.dingtalk.config import DingTalkConfig
from costguard.notify.feishu.channel import FeishuBot
from costguard.notify.feishu.config import FeishuConfig
from costguard.notify.settings import ChannelConfig
from costguard.notify.slack.channel import SlackWebhook
from costguard.notify.slack.config import SlackConfig
from costguard.notify.webhook.channel import Webhook
from costguard.notify.webhook.config import WebhookConfig
from costguard.notify.wecom.channel import WecomRobot
from costguard.notify.wecom.config import WecomConfig
from costguard.ports import Channel, Clock

SEND_DEADLINE = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class ChannelKind:
    """``config`` is the pydantic model of one entry of ``channels:``; ``make`` builds the channel from it."""

    config: type[ChannelConfig]
    make: Callable[[Any, Clock, HttpClient], Channel]


CHANNEL_KINDS: Mapping[str, ChannelKind] = MappingProxyType(
    {
        "slack": ChannelKind(SlackConfig, SlackWebhook),
        "dingtalk": ChannelKind(DingTalkConfig, DingTalkRobot),
        "feishu": ChannelKind(FeishuConfig, FeishuBot),
        "wecom": ChannelKind(WecomConfig, WecomRobot),
        "webhook": ChannelKind(WebhookConfig, Webhook),
    }
)


def build_channel(
    config: ChannelConfig,
    clock: Clock,
    *,
    before_call: Callable[[], None] | None = None,
    deadline: timedelta = SEND_DEADLINE,
) -> Channel:
    """A channel that can send. Opens no connection. Raises KeyError for an unknown kind."""
    http = HttpClient(proxy=config.proxy, deadline=deadline, max_body=64 * 1024, before_call=before_call)
    return CHANNEL_KINDS[config.kind].make(config, clock, http)
