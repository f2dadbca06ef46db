"""The configuration's words, as the engine, the routing and the pages take them."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from costguard.config.channels import (
    Channel,
    ChannelBase,
    DingtalkChannel,
    EmailChannel,
    FeishuChannel,
    SlackChannel,
    WebhookChannel,
    WecomChannel,
)
from costguard.config.load import Config
from costguard.daemon.reminders import Evening
from costguard.engine.settings import EngineSettings
from costguard.engine.settings import Owner as EngineOwner
from costguard.engine.sharing import SharedCost
from costguard.errors import ConfigError
from costguard.notify.dingtalk.app_config import DingTalkAppConfig
from costguard.notify.dingtalk.config import DingTalkConfig
from costguard.notify.email.config import EmailConfig
from costguard.notify.feishu.config import FeishuConfig
from costguard.notify.route import Person, Place, Routing
from costguard.notify.settings import ChannelConfig, DeliverySettings
from costguard.notify.slack.bot_config import SlackBotConfig
from costguard.notify.slack.config import SlackConfig
from costguard.notify.webhook.config import WebhookConfig
from costguard.notify.wecom.config import WecomConfig
from costguard.rules.currency import Rates
from costguard.rules.fields import TimeGrammar
from costguard.web.auth import Token
from costguard.web.settings import PageSettings


def owners(config: Config) -> tuple[EngineOwner, ...]:
    """Owners as matching reads them; ``has_route``: some channel can reach them."""
    kinds = {place_kind(channel) for channel in config.settings.channels}
    return tuple(
        EngineOwner(
            name=owner.name,
            names=owner.names,
            tags=owner.tags,
            team=owner.team,
            has_route=bool(
                owner.channels
                or (owner.slack and "slack" in kinds)
                or (owner.dingtalk_mobile and "dingtalk" in kinds)
                or (owner.dingtalk and "dingtalk_app" in kinds)
                or (owner.email and ("email" in kinds or any(map(finds_people, config.settings.channels))))
            ),
        )
        for owner in config.settings.owners
    )


def shared_costs(config: Config) -> tuple[SharedCost, ...]:
    """The rules of ``shared`` as reports apply them; percentages as exact parts of one."""
    found = []
    for rule in config.settings.shared:
        parts = rule.split if isinstance(rule.split, dict) else {}
        found.append(
            SharedCost(
                rule.name,
                **{key: getattr(rule.match, key) for key in type(rule.match).model_fields},
                to=rule.to,
                by_cost=rule.split == "by_cost",
                shares={name: Fraction(str(part)) / 100 for name, part in parts.items()},
                among=rule.among,
            )
        )
    return tuple(found)


def engine_settings(config: Config) -> EngineSettings:
    settings = config.settings
    return EngineSettings(
        enforce=settings.mode == "enforce",
        fence_names=settings.never_stop.names,
        fence_tags=settings.never_stop.tags,
        per_hour=settings.limits.per_hour,
        share=settings.limits.share,
        timezone=settings.timezone.key,
        notify_default=settings.notify.default,
        owners=owners(config),
        admins=settings.admins,
        repeat=settings.notify.repeat,
        keep_max=settings.notify.keep_max,
    )


def routing(config: Config) -> Routing:
    settings = config.settings
    return Routing(
        places={
            c.name: Place(c.name, place_kind(c), c.language, c.fallback, finds_people(c)) for c in settings.channels
        },
        people={
            o.name: Person(o.name, o.language, o.slack, o.dingtalk_mobile, o.email, o.channels, o.dingtalk)
            for o in settings.owners
        },
        default=settings.notify.default,
        dry_run=settings.notify.dry_run.to,
        language=settings.language,
        group_wait=settings.notify.group_wait,
    )


def evenings(config: Config) -> tuple[Evening, ...]:
    zone = config.settings.timezone
    return tuple(
        Evening(replace(TimeGrammar(days=entry.days).to_range(zone), start=entry.at), entry.to)
        for entry in config.settings.reminders
    )


def delivery_settings(config: Config) -> DeliverySettings:
    notify = config.settings.notify
    return DeliverySettings(backoff=notify.retry, group_wait=notify.group_wait, repeat=notify.repeat)


def place_kind(channel: Channel) -> str:
    """The kind of a channel as routing and rendering know it: one platform may have two ways in."""
    return "dingtalk_app" if isinstance(channel, DingtalkChannel) and channel.mode == "stream" else channel.kind


def finds_people(channel: ChannelBase) -> bool:
    """Whether the channel can look people up by their address."""
    return isinstance(channel, SlackChannel) and channel.token is not None


def channel_config(channel: ChannelBase) -> ChannelConfig:
    """One configured channel as its sender takes it. Raises ConfigError for a kind that cannot send yet."""
    common: dict[str, Any] = {
        "name": channel.name, "language": channel.language, "fallback": channel.fallback,
        "proxy": channel.proxy.get_secret_value() if channel.proxy else None, "max_per_minute": channel.max_per_minute,
    }  # fmt: skip
    match channel:
        case SlackChannel() if channel.url is not None:
            return SlackConfig(**common, url=channel.url)
        case SlackChannel() if channel.token is not None:
            return SlackBotConfig(
                **common, token=channel.token, channel=channel.channel or "", app_token=channel.app_token,
                signing_secret=channel.signing_secret,
                endpoint=channel.endpoint.get_secret_value() if channel.endpoint else None,
            )  # fmt: skip
        case DingtalkChannel() if channel.url is not None:
            return DingTalkConfig(**common, url=channel.url, secret=channel.secret, keyword=channel.keyword)
        case DingtalkChannel() if channel.client_id is not None:
            return DingTalkAppConfig(
                **common, client_id=channel.client_id, client_secret=channel.client_secret,
                conversation=channel.conversation, robot_code=channel.robot_code, card_template=channel.card_template,
                endpoint=channel.endpoint.get_secret_value() if channel.endpoint else None,
            )  # fmt: skip
        case FeishuChannel():
            return FeishuConfig(**common, url=channel.url, secret=channel.secret, keyword=channel.keyword)
        case WecomChannel():
            return WecomConfig(**common, url=channel.url)
        case WebhookChannel():
            return WebhookConfig(**common, url=channel.url, secret=channel.secret)
        case EmailChannel():
            return EmailConfig(**common, smtp=channel.smtp, to=channel.to, sender=channel.sender)
        case _:
            raise ConfigError(f"channel {channel.name} cannot send in this version")


def page_settings(config: Config, demo_speed: int = 0) -> PageSettings:
    settings = config.settings
    return PageSettings(
        zone=settings.timezone,
        currency=settings.currency,
        mode=settings.mode,
        rates=Rates(settings.currency, settings.rates()),
        owners=owners(config),
        demo_speed=demo_speed,
    )


def tokens(config: Config) -> tuple[Token, ...]:
    return tuple(Token(t.name, t.token.get_secret_value(), frozenset(t.scopes)) for t in config.settings.web.tokens)
