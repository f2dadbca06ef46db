"""``channels:`` of costguard.yaml: one model per kind of place that notices go to.

All kinds of the contract are described here, so that their keys are checked and documented; which of them this version
can send to is answered by :func:`unavailable`.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from costguard.config.texts import Language, Name
from costguard.notify.dingtalk.template import STANDARD
from costguard.notify.email.config import check_mail
from costguard.notify.webhook.sign import keys
from costguard.rules.fields import Strict
from costguard.rules.policy import Texts


def http_url(secret: SecretStr) -> SecretStr:
    """An http or https address with a host. The message never shows it: webhook addresses are secrets."""
    if not _is_http(secret.get_secret_value()):
        raise ValueError("not an address: it starts with https:// (or http://) and a host")
    return secret


def _is_http(text: str) -> bool:
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not any(c.isspace() for c in text)


def _filled(secret: SecretStr) -> SecretStr:
    if not secret.get_secret_value().strip():
        raise ValueError("is empty")
    return secret


Secret = Annotated[SecretStr, AfterValidator(_filled)]
SecretUrl = Annotated[SecretStr, AfterValidator(http_url)]


class ChannelBase(Strict):
    """What every channel has."""

    name: Name
    """How policies, notify and other channels refer to it."""

    language: Language | None = None
    """The language of its messages; the configuration's language when left out."""

    fallback: str | None = None
    """The channel that takes over when this one is broken or a warning failed three times; none when left out."""

    proxy: SecretUrl | None = None
    """An HTTP proxy for this channel alone. Left out, the environment's HTTPS_PROXY and NO_PROXY hold."""

    max_per_minute: int | None = Field(None, ge=1, le=600)
    """How many messages a minute this channel gets. Left out, the platform's own limit with a margin: DingTalk locks a
    robot for ten minutes after the twentieth message of a minute, so 18 there and at WeCom; 90 at Feishu, 60 at Slack
    and webhooks, 30 mails."""


_BOT_ONLY = frozenset({"channel", "app_token", "signing_secret", "endpoint"})


class SlackChannel(ChannelBase):
    """Slack: an incoming webhook (``url``), or a bot (``token`` and ``channel``; for buttons and commands ``app_token``
    or ``signing_secret``)."""

    kind: Literal["slack"]

    url: SecretUrl | None = None
    """The incoming webhook's address; it is the secret. A webhook can only post: no buttons, no updates."""

    token: Secret | None = None
    """The bot's token (xoxb-…) with the scopes chat:write and commands, and where owners are known by their ``email``
    also users:read and users:read.email."""

    channel: str | None = None
    """The conversation's id (C…) that the bot posts to; invite the bot to it. What is for one owner alone is written to
    them directly."""

    app_token: Secret | None = None
    """The app-level token (xapp-…, scope connections:write) for Socket Mode: buttons and commands without a public URL.
    Two installations must not share an app: Slack gives each press to one of them."""

    signing_secret: Secret | None = None
    """Checks that a press or command that arrives over HTTP comes from Slack: the app's Request URLs are
    ``/slack/interactivity`` and ``/slack/commands`` of this service. Not needed with ``app_token``."""

    endpoint: SecretUrl | None = None
    """Where Slack's Web API is, when it is not https://slack.com/api/."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.url is None) == (self.token is None):
            raise ValueError("slack needs either url (incoming webhook) or token and channel (bot)")
        if self.token is not None and not self.channel:
            raise ValueError("a slack bot needs channel, the id of the conversation (C…)")
        if self.url is not None and (strange := sorted(self.model_fields_set & _BOT_ONLY)):
            raise ValueError(f"a webhook has no {', '.join(strange)}: those are of a bot (token)")
        if self.token is not None and self.token.get_secret_value().startswith("xapp-"):
            raise ValueError("token is the bot's (xoxb-…); this is the app-level token, which belongs into app_token")
        if self.app_token is not None and self.app_token.get_secret_value().startswith("xox"):
            raise ValueError("app_token is the app-level token (xapp-…); this is the bot's, which belongs into token")
        return self


_ROBOT_ONLY = frozenset({"url", "secret", "keyword"})
_STREAM_ONLY = frozenset({"client_id", "client_secret", "conversation", "robot_code", "card_template", "endpoint"})


class DingtalkChannel(ChannelBase):
    """DingTalk: a group robot (``url``, ``secret``), or Stream mode (``client_id``, ``client_secret``)."""

    kind: Literal["dingtalk"]

    mode: Literal["robot", "stream"] = "robot"
    """robot posts into one group; stream adds buttons and commands without a public URL."""

    url: SecretUrl | None = None
    """The robot's address with its access_token; it is a secret."""

    secret: Secret | None = None
    """The signing secret (SEC…) when the robot's security is 加签. Signed at the moment of sending."""

    keyword: str | None = None
    """A word put in front of every message when the robot's security is a keyword (自定义关键词)."""

    client_id: Secret | None = None
    """The internal application's client id (stream)."""

    client_secret: Secret | None = None
    """The internal application's client secret (stream)."""

    conversation: str | None = Field(None, min_length=1, max_length=200)
    """The group that messages go to (stream): its openConversationId (cid…). Left out, the first group in which one of
    the ``owners`` writes to the robot; until then nothing can be sent."""

    robot_code: str | None = Field(None, min_length=1, max_length=200)
    """The robot's code (stream) where it is not the client id."""

    card_template: str | None = Field(STANDARD, min_length=1, max_length=200)
    """The interactive card's template (stream). Left out, DingTalk's own card of markdown and buttons; null for
    messages without buttons, which say the commands in words. A template of one's own gets the variables title,
    markdown, tips and btns (a button group), and is published in the card platform."""

    endpoint: SecretUrl | None = None
    """Where DingTalk's API is (stream), when it is not https://api.dingtalk.com: https://api.dingtalk.io for
    organisations outside of China."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.mode == "robot":
            if self.url is None:
                raise ValueError("a dingtalk robot needs url, the address with access_token")
            if "access_token=" not in self.url.get_secret_value():
                raise ValueError("the robot's url must hold its access_token")
            if strange := sorted(self.model_fields_set & _STREAM_ONLY):
                raise ValueError(f"only mode: stream has {', '.join(strange)}")
        elif self.client_id is None or self.client_secret is None:
            raise ValueError("dingtalk stream mode needs client_id and client_secret")
        elif strange := sorted(self.model_fields_set & _ROBOT_ONLY):
            raise ValueError(f"mode: stream has no {', '.join(strange)}: those are of a group robot")
        return self


class FeishuChannel(ChannelBase):
    """Feishu or Lark custom bot."""

    kind: Literal["feishu"]

    url: SecretUrl
    """The bot's address; it is a secret."""

    secret: Secret | None = None
    """The signing secret when signature checking is on."""

    keyword: str | None = None
    """A word put in front of every message when the bot wants one."""

    @model_validator(mode="after")
    def _token(self) -> Self:
        if not self.url.get_secret_value().partition("/bot/v2/hook/")[2]:
            raise ValueError("the bot's url must end in /open-apis/bot/v2/hook/ and its token")
        return self


class WecomChannel(ChannelBase):
    """WeCom (企业微信) group robot."""

    kind: Literal["wecom"]

    url: SecretUrl
    """The robot's address; the key inside is the secret."""

    @model_validator(mode="after")
    def _key(self) -> Self:
        if "key=" not in urlsplit(self.url.get_secret_value()).query:
            raise ValueError("the robot's url must hold its key (…/cgi-bin/webhook/send?key=…)")
        return self


class EmailChannel(ChannelBase):
    """E-mail over SMTP with TLS."""

    kind: Literal["email"]

    smtp: Secret
    """``smtps://user:password@host:465`` or ``smtp://user:password@host:587`` (STARTTLS), never without TLS. User and
    password are URL-encoded; many providers want an app password (授权码)."""

    to: Texts = Field(min_length=1)
    """The addresses that get every message; owners with an ``email`` get what is about their boxes as well."""

    sender: str | None = Field(None, alias="from")
    """The From address; the SMTP user when left out."""

    @model_validator(mode="after")
    def _usable(self) -> Self:
        check_mail(self.smtp.get_secret_value(), self.to, self.sender)
        if self.proxy is not None:
            raise ValueError("proxy does not apply to e-mail: SMTP goes through no HTTP proxy")
        return self


class WebhookChannel(ChannelBase):
    """A generic webhook, signed as Standard Webhooks say."""

    kind: Literal["webhook"]

    url: SecretUrl
    """Where each notice is posted as JSON; redirects are not followed."""

    secret: Secret | None = None
    """The signing secret (``whsec_`` and base64 of 24 to 64 bytes); two with a space between them while it is rotated.
    Left out, nothing is signed."""

    @model_validator(mode="after")
    def _keys(self) -> Self:
        if self.secret is not None:
            keys(self.secret.get_secret_value())
        return self


Channel = Annotated[
    SlackChannel | DingtalkChannel | FeishuChannel | WecomChannel | EmailChannel | WebhookChannel,
    Field(discriminator="kind"),
]


CHANNELS: Mapping[str, type[ChannelBase]] = {
    "slack": SlackChannel, "dingtalk": DingtalkChannel, "feishu": FeishuChannel, "wecom": WecomChannel,
    "email": EmailChannel, "webhook": WebhookChannel,
}  # fmt: skip
"""Kind → model."""


def unavailable(channel: ChannelBase) -> tuple[str, str] | None:
    """The key that asks for what this version cannot send to, and a sentence; None when it can."""
    match channel:
        case SlackChannel(app_token=SecretStr()) if find_spec("websockets") is None:
            return "app_token", "slack's Socket Mode needs the extra: pip install 'costguard[slack]'"
        case DingtalkChannel(mode="stream") if find_spec("websockets") is None:
            return "mode", "dingtalk stream mode needs the extra: pip install 'costguard[dingtalk]'"
    return None
