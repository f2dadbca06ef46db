"""Slack incoming webhook: one POST, success is HTTP 200 with the body ``ok`` and nothing else.

A webhook returns no message id, so nothing can be updated later, and Slack has no key against duplicates.
"""

import json
from datetime import timedelta

from costguard.domain.notice import Receipt
from costguard.errors import DeliveryError, DeliveryReason
from costguard.net.http import HttpClient, HttpError, HttpResponse
from costguard.notify.slack.config import SlackConfig
from costguard.notify.slack.markup import escape
from costguard.notify.story import cut
from costguard.ports import Clock, Message

TEXT = 3000
DEFAULT_WAIT = timedelta(seconds=30)
PER_MINUTE = 60

# The words of a webhook's refusal (api.slack.com/messaging/webhooks): 400 is our message, the rest the channel.
_OURS = frozenset({"invalid_payload", "no_text", "invalid_blocks", "too_many_attachments"})
_THEIRS = {
    "action_prohibited": "an admin restricts posting to this channel",
    "posting_to_general_channel_denied": "posting to #general is restricted",
    "invalid_token": "the webhook's token is not valid; make a new webhook",
    "channel_not_found": "the webhook's channel does not exist any more",
    "user_not_found": "the webhook's user does not exist",
    "no_service": "the webhook was removed or disabled; make a new one",
    "no_service_id": "the webhook's address is not complete",
    "no_active_hooks": "the webhook was disabled; make a new one",
    "no_team": "the workspace does not exist",
    "team_disabled": "the workspace is disabled",
    "channel_is_archived": "the channel is archived; unarchive it or make a webhook for another",
}


class SlackWebhook:
    """A Slack channel behind an incoming webhook. 1 message a second is Slack's limit."""

    kind = "slack"
    render_format = "slack"
    idempotent = False

    def __init__(self, config: SlackConfig, clock: Clock, http: HttpClient) -> None:
        self.name = config.name
        self.max_per_minute = config.max_per_minute or PER_MINUTE
        self._url, self._clock, self._http = config.url, clock, http

    def __repr__(self) -> str:
        return f"SlackWebhook({self.name!r})"

    def send(self, message: Message) -> Receipt:
        """One attempt. Raises DeliveryError."""
        try:
            answer = self._http.request(
                "POST",
                self._url.get_secret_value(),
                headers={"Content-Type": "application/json; charset=utf-8"},
                content=json.dumps(_payload(message), ensure_ascii=False).encode(),
            )
        except HttpError as error:
            reason: DeliveryReason = "maybe_delivered" if error.written else "timeout"
            raise DeliveryError(self.name, reason, str(error)) from None
        if answer.status == 200 and answer.body == b"ok":
            return Receipt()
        raise self._refused(answer)

    def _refused(self, answer: HttpResponse) -> DeliveryError:
        status, word = answer.status, answer.text.strip()
        if status == 429:
            after = _seconds(answer.headers.get("retry-after")) or DEFAULT_WAIT
            return DeliveryError(
                self.name, "rate", "Slack asks to wait", code="429", retry_at=self._clock.now() + after
            )
        if word in _OURS:
            return DeliveryError(self.name, "payload", "Slack refused the message", code=word)
        if word in _THEIRS:
            return DeliveryError(self.name, "auth", "Slack refused the webhook", code=word, hint=_THEIRS[word])
        if 400 <= status < 500:
            return DeliveryError(self.name, "auth", "Slack refused the webhook", code=str(status))
        what = "not Slack's answer: is a proxy or a login page in between?" if status < 500 else "Slack has a fault"
        return DeliveryError(self.name, "server", what, code=str(status))


def _payload(message: Message) -> dict[str, object]:
    payload: dict[str, object] = {"unfurl_links": False, "unfurl_media": False}
    if message.plain:
        return {**payload, "text": cut(escape(message.body), TEXT)}
    blocks = message.payload.get("blocks")
    if blocks:
        # Always with text: it is the notification's line, and what clients without blocks show.
        return {**payload, "text": cut(escape(message.title), TEXT), "blocks": blocks}
    return {**payload, "text": message.body}


def _seconds(value: str | None) -> timedelta | None:
    return timedelta(seconds=int(value)) if value and value.isdigit() else None
