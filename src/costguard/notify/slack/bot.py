"""Slack as a bot: one conversation, its threads, messages that change as their story moves on, and direct messages.

What became of a message is shown in its place, and said in its thread, because a change notifies nobody. What else
follows is said in the thread and shown in the conversation. A message that is for one person alone is written to
them; where Slack refuses that, it goes to the conversation with a mention. Slack has no key against duplicates.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from costguard.domain.notice import Receipt
from costguard.net.http import HttpClient
from costguard.notify.slack.api import ENDPOINT, SlackApi, SlackError
from costguard.notify.slack.bot_config import SlackBotConfig
from costguard.notify.slack.channel import PER_MINUTE, TEXT
from costguard.notify.slack.markup import escape
from costguard.notify.slack.probe import probe
from costguard.notify.slack.words import UNCHANGEABLE, UNREACHABLE
from costguard.notify.story import cut
from costguard.ports import ChannelProbe, Clock, Message

log = logging.getLogger(__name__)

QUIET = {"unfurl_links": False, "unfurl_media": False}


class SlackBot:
    """A conversation (``conversation``) behind a bot's token. ``app_token`` and ``signing_secret`` are how presses
    come in; both None: the buttons are left out, because nobody would hear them."""

    kind = "slack"
    idempotent = False

    def __init__(self, config: SlackBotConfig, clock: Clock, http: HttpClient) -> None:
        self.name = config.name
        self.max_per_minute = config.max_per_minute or PER_MINUTE
        self.conversation = config.channel
        self.app_token = config.app_token.get_secret_value() if config.app_token else None
        self.signing_secret = config.signing_secret.get_secret_value() if config.signing_secret else None
        self.proxy = config.proxy
        self.render_format = "slack_bot" if self.listens else "slack"
        self.api = SlackApi(config.name, config.token.get_secret_value(), http, clock, config.endpoint or ENDPOINT)

    def __repr__(self) -> str:
        return f"SlackBot({self.name!r})"

    @property
    def listens(self) -> bool:
        """Whether presses and commands can reach costguard."""
        return self.app_token is not None or self.signing_secret is not None

    def find(self, email: str) -> str | None:
        """The member id behind an address. Raises SlackError."""
        return self.api.find(email)

    def probe(self) -> Sequence[ChannelProbe]:
        """Token, scopes and Socket Mode, by calls that nobody sees and that change nothing."""
        return tuple(probe(self.api, self.app_token, listens=self.listens))

    def send(self, message: Message) -> Receipt:
        """One attempt. Raises DeliveryError."""
        if message.follows is not None and (where := place_of(message.follows)) is not None:
            try:
                return self._follow(message, *where)
            except SlackError as error:
                if error.code not in UNCHANGEABLE:
                    raise
                log.info("channel %s: what this follows is there no more (%s)", self.name, error.code)
        if message.to is not None:
            try:
                return self._post({"channel": message.to, **content(message)})
            except SlackError as error:
                if error.code not in UNREACHABLE:
                    raise
                log.warning("channel %s: a person cannot be written to: %s", self.name, error)
        return self._post({"channel": self.conversation, **content(message)})

    def update(self, conversation: str, ts: str, shown: Mapping[str, Any]) -> None:
        """Changes a message of the bot's own for everybody. ``shown``: ``text`` and ``blocks``. Raises SlackError."""
        # Blocks that are left out would stay as they were.
        self.api.call("chat.update", {"channel": conversation, "ts": ts, "blocks": [], **shown})

    def _follow(self, message: Message, conversation: str, ts: str) -> Receipt:
        thread = {"channel": conversation, "thread_ts": ts}
        if not message.outcome:
            return self._post({**thread, **content(message), "reply_broadcast": True})
        self.update(conversation, ts, shown(message))
        mentioned = "".join(f" <@{handle}>" for handle in message.mentions)
        text = cut(escape(message.title), TEXT) + mentioned
        return self._post({**thread, **QUIET, "text": text})

    def _post(self, arguments: Mapping[str, Any]) -> Receipt:
        answer = self.api.call("chat.postMessage", arguments, delivers=True)
        where, ts = answer.get("channel"), answer.get("ts")
        if not isinstance(where, str) or not isinstance(ts, str):
            raise SlackError(self.name, "server", "an answer without channel and ts", code="chat.postMessage")
        return Receipt(message_ref=f"{where}/{ts}")


def place_of(message_ref: str) -> tuple[str, str] | None:
    """(conversation, ts) of a receipt's ``message_ref``; None for another channel's."""
    conversation, slash, ts = message_ref.partition("/")
    return (conversation, ts) if slash and conversation and ts else None


def content(message: Message) -> dict[str, Any]:
    """What ``chat.postMessage`` takes of a message."""
    return {**QUIET, **shown(message)}


def shown(message: Message) -> dict[str, Any]:
    """What people see: always ``text``, the notification's line, and the blocks where the message has some."""
    blocks = message.payload.get("blocks")
    if message.plain or not blocks:
        return {"text": cut(escape(message.body), TEXT)}
    return {"text": cut(escape(message.title), TEXT), "blocks": blocks}
