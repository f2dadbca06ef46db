"""Feishu custom bot: HTTP 200 says nothing, ``code`` 0 (``StatusCode`` 0 of old bots) says it was taken.

The bot takes 100 messages a minute and 5 a second, of 20 KB each, and has no key against duplicates.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from costguard.domain.notice import Receipt
from costguard.errors import DeliveryError, DeliveryReason
from costguard.net.http import HttpClient, HttpError, HttpResponse
from costguard.notify.feishu.codes import meaning
from costguard.notify.feishu.config import FeishuConfig
from costguard.notify.feishu.sign import sign
from costguard.notify.inert import escape
from costguard.ports import Clock, Message

MAX_BYTES = 20 * 1024
PER_MINUTE = 90


class FeishuBot:
    """A group behind a custom bot. 90 a minute leave room below the bot's 100."""

    kind = "feishu"
    render_format = "feishu"
    idempotent = False

    def __init__(self, config: FeishuConfig, clock: Clock, http: HttpClient) -> None:
        self.name = config.name
        self.max_per_minute = config.max_per_minute or PER_MINUTE
        self._url, self._secret, self._keyword = config.url, config.secret, config.keyword
        self._clock, self._http = clock, http

    def __repr__(self) -> str:
        return f"FeishuBot({self.name!r})"

    def send(self, message: Message) -> Receipt:
        """One attempt, signed now. Raises DeliveryError."""
        signed = sign(self._secret.get_secret_value(), self._clock.now()) if self._secret else {}
        # Bytes count, not characters: escaped to ASCII a Chinese character would take six instead of three.
        content = json.dumps({**signed, **self._payload(message)}, ensure_ascii=False).encode()
        if len(content) > MAX_BYTES:
            raise DeliveryError(self.name, "payload", f"the message is longer than {MAX_BYTES} bytes", code="9499")
        try:
            answer = self._http.request(
                "POST", self._url.get_secret_value(), headers={"Content-Type": "application/json"}, content=content
            )
        except HttpError as error:
            reason: DeliveryReason = "maybe_delivered" if error.written else "timeout"
            raise DeliveryError(self.name, reason, str(error)) from None
        return self._judge(answer)

    def _judge(self, answer: HttpResponse) -> Receipt:
        try:
            body = answer.json()
        except ValueError:
            body = None
        code = body.get("code", body.get("StatusCode")) if isinstance(body, dict) else None
        if not isinstance(code, int) or isinstance(code, bool):
            what = "not Feishu's answer: is a proxy or a login page in between?"
            raise DeliveryError(self.name, "server", what, code=str(answer.status))
        if code == 0 and answer.status == 200:
            return Receipt()
        found = meaning(code)
        retry_at = self._clock.now() + found.wait if found.wait else None
        raise DeliveryError(self.name, found.reason, found.detail, code=str(code), retry_at=retry_at, hint=found.hint)

    def _payload(self, message: Message) -> dict[str, object]:
        card = message.payload.get("card")
        if isinstance(card, Mapping) and not message.plain:
            return {"msg_type": "interactive", "card": self._keyed_card(card)}
        # A text knows <at> and nothing else; what is plain must stay so.
        return {"msg_type": "text", "content": {"text": self._keyed(escape(message.body))}}

    def _keyed(self, text: str) -> str:
        return f"{self._keyword}\n{text}" if self._keyword and self._keyword not in text else text

    def _keyed_card(self, card: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self._keyword or any(self._keyword in text for text in _texts(card)):
            return card
        header = card["header"]
        title = {**header["title"], "content": f"{self._keyword} · {header['title']['content']}"}
        return {**card, "header": {**header, "title": title}}


def _texts(value: object) -> Iterator[str]:
    """Every text that a card shows."""
    if isinstance(value, Mapping):
        if isinstance(content := value.get("content"), str):
            yield content
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
