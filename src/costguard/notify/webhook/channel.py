"""A generic webhook: one signed POST; any 2xx is the success, nothing is followed.

``webhook-id`` stays the same over all attempts of a notice, so a receiver that remembers it drops a repeat.
Source: github.com/standard-webhooks/standard-webhooks, spec.
"""

import json
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from costguard.domain.codec import instant
from costguard.domain.notice import Receipt
from costguard.errors import DeliveryError, DeliveryReason
from costguard.net.http import HttpClient, HttpError, HttpResponse
from costguard.notify.webhook.config import WebhookConfig
from costguard.notify.webhook.sign import sign
from costguard.ports import Clock, Message

MAX_BYTES = 20_000
PER_MINUTE = 60
DEFAULT_WAIT, LONGEST_WAIT = timedelta(seconds=30), timedelta(hours=1)

# What a person can do about a status. 4xx that are not here mean that the receiver will not have it as it is.
_THEIRS = {
    401: "the receiver refused the signature: is the secret the same, is the clock of this machine right?",
    403: "the receiver does not allow this; a firewall in between?",
    404: "nothing listens at this address; look at the path",
    405: "nothing takes a POST at this address; look at the path",
    410: "the receiver is gone for good: remove this channel or give it a new url",
}
_OURS = (400, 413, 415, 422)
_LATER = (408, 425)
REDIRECTED = "redirects are not followed: set url to where it leads"


class Webhook:
    """A receiver that follows Standard Webhooks."""

    kind = "webhook"
    render_format = "webhook"
    idempotent = True

    def __init__(self, config: WebhookConfig, clock: Clock, http: HttpClient) -> None:
        self.name = config.name
        self.max_per_minute = config.max_per_minute or PER_MINUTE
        self._url, self._secret, self._clock, self._http = config.url, config.secret, clock, http

    def __repr__(self) -> str:
        return f"Webhook({self.name!r})"

    def send(self, message: Message) -> Receipt:
        """One attempt, signed now. Raises DeliveryError."""
        now = self._clock.now()
        content = json.dumps(_event(message, now), ensure_ascii=False).encode()
        if len(content) > MAX_BYTES:
            raise DeliveryError(self.name, "payload", f"the message is longer than {MAX_BYTES} bytes", code="413")
        headers = {
            "Content-Type": "application/json",
            "webhook-id": message.idem_key,
            "webhook-timestamp": str(int(now.timestamp())),
        }
        if self._secret:
            headers["webhook-signature"] = sign(
                self._secret.get_secret_value(), message.idem_key, headers["webhook-timestamp"], content
            )
        try:
            answer = self._http.request("POST", self._url.get_secret_value(), headers=headers, content=content)
        except HttpError as error:
            reason: DeliveryReason = "maybe_delivered" if error.written else "timeout"
            raise DeliveryError(self.name, reason, str(error)) from None
        return self._judge(answer, now)

    def _judge(self, answer: HttpResponse, now: datetime) -> Receipt:
        status, code = answer.status, str(answer.status)
        if 200 <= status < 300:
            if answer.body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
                what = "a page, not a receiver's answer: is a proxy or a login page in between?"
                raise DeliveryError(self.name, "server", what, code=code)
            return Receipt()
        after = _wait(answer.headers.get("retry-after"), now)
        if status == 429:
            retry_at = now + (after or DEFAULT_WAIT)
            raise DeliveryError(self.name, "rate", "the receiver asks to wait", code=code, retry_at=retry_at)
        if 300 <= status < 400:
            raise DeliveryError(self.name, "auth", "the receiver answers with a redirect", code=code, hint=REDIRECTED)
        if status in _OURS:
            raise DeliveryError(self.name, "payload", "the receiver refused the message", code=code)
        if 400 <= status < 500 and status not in _LATER:
            raise DeliveryError(
                self.name, "auth", "the receiver refused the request", code=code, hint=_THEIRS.get(status)
            )
        raise DeliveryError(
            self.name, "server", "the receiver has a fault", code=code, retry_at=now + after if after else None
        )


def _event(message: Message, now: datetime) -> object:
    if (event := message.payload.get("event")) and not message.plain:
        return event
    data = {"title": message.title, "text": message.body, "facts": None}
    return {"type": "costguard.message", "timestamp": instant(now), "data": data}


def _wait(value: str | None, now: datetime) -> timedelta | None:
    """``Retry-After`` in seconds or as a date, at most an hour; None when there is none that can be read."""
    if not value:
        return None
    if value.isdigit():
        return min(timedelta(seconds=int(value[:9])), LONGEST_WAIT)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(at - now, timedelta(0)), LONGEST_WAIT)
