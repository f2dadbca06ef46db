"""The channel kinds: configuration model and channel by name. Another platform is another line here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from costguard.net.http import HttpClient
from costguard.notify.dingtalk.app import DingTalkApp
from costguard.notify.dingtalk.app_config import DingTalkAppConfig
from costguard.notify.dingtalk.channel import DingTalkRobot
from costguard.notify.dingtalk.config import DingTalkConfig
from costguard.notify.email.channel import Email
from costguard.notify.email.config import EmailConfig
from costguard.notify.email.smtp import SmtpClient
from costguard.notify.feishu.channel import FeishuBot
from costguard.notify.feishu.config import FeishuConfig
from costguard.notify.settings import ChannelConfig
from costguard.notify.slack.bot import SlackBot
from costguard.notify.slack.bot_config import SlackBotConfig
from costguard.notify.slack.channel import SlackWebhook
from costguard.notify.slack.config import SlackConfig
from costguard.notify.webhook.channel import Webhook
from costguard.notify.webhook.config import WebhookConfig
from costguard.notify.wecom.channel import WecomRobot
from costguard.notify.wecom.config import WecomConfig
from costguard.ports import Channel, Clock

SEND_DEADLINE = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Network:
    """How a channel reaches the outside: every call within ``deadline`` as a whole, ``before_call`` before it."""

    deadline: timedelta
    before_call: Callable[[], None] | None

    def http(self, proxy: str | None) -> HttpClient:
        return HttpClient(proxy=proxy, deadline=self.deadline, max_body=64 * 1024, before_call=self.before_call)

    def smtp(self) -> SmtpClient:
        return SmtpClient(deadline=self.deadline, before_call=self.before_call)


Make = Callable[[Any, Clock, Network], Channel]


@dataclass(frozen=True, slots=True)
class ChannelKind:
    """``config`` is the pydantic model of one entry of ``channels:``; ``make`` builds the channel from it."""

    config: type[ChannelConfig]
    make: Make


def _over_http(channel: Callable[[Any, Clock, HttpClient], Channel]) -> Make:
    return lambda config, clock, network: channel(config, clock, network.http(config.proxy))


def _over_smtp(channel: Callable[[Any, Clock, SmtpClient], Channel]) -> Make:
    return lambda config, clock, network: channel(config, clock, network.smtp())


CHANNEL_KINDS: Mapping[str, ChannelKind] = MappingProxyType(
    {
        "slack": ChannelKind(SlackConfig, _over_http(SlackWebhook)),
        "slack_bot": ChannelKind(SlackBotConfig, _over_http(SlackBot)),
        "dingtalk": ChannelKind(DingTalkConfig, _over_http(DingTalkRobot)),
        "dingtalk_app": ChannelKind(DingTalkAppConfig, _over_http(DingTalkApp)),
        "feishu": ChannelKind(FeishuConfig, _over_http(FeishuBot)),
        "wecom": ChannelKind(WecomConfig, _over_http(WecomRobot)),
        "webhook": ChannelKind(WebhookConfig, _over_http(Webhook)),
        "email": ChannelKind(EmailConfig, _over_smtp(Email)),
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
    return CHANNEL_KINDS[config.kind].make(config, clock, Network(deadline, before_call))
