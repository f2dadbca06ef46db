"""WeCom group robot: HTTP 200 says nothing, ``errcode`` 0 says it was taken.

The robot takes 20 messages a minute, a markdown of 4,096 bytes, a text of 2,048, and has no key against duplicates.
"""

import json

from costguard.domain.notice import Receipt
from costguard.errors import DeliveryError, DeliveryReason
from costguard.net.http import HttpClient, HttpError, HttpResponse
from costguard.notify.story import cut_bytes
from costguard.notify.wecom.config import WecomConfig
from costguard.notify.wecom.errcodes import meaning
from costguard.notify.wecom.markup import MARKDOWN_BYTES
from costguard.ports import Clock, Message

TEXT_BYTES = 2048
PER_MINUTE = 18


class WecomRobot:
    """A group behind a robot. 18 a minute leave room below the robot's 20."""

    kind = "wecom"
    render_format = "wecom"
    idempotent = False

    def __init__(self, config: WecomConfig, clock: Clock, http: HttpClient) -> None:
        self.name = config.name
        self.max_per_minute = config.max_per_minute or PER_MINUTE
        self._url, self._clock, self._http = config.url, clock, http

    def __repr__(self) -> str:
        return f"WecomRobot({self.name!r})"

    def send(self, message: Message) -> Receipt:
        """One attempt. Raises DeliveryError."""
        if not message.plain and len(message.body.encode()) > MARKDOWN_BYTES:
            detail = f"the message is longer than {MARKDOWN_BYTES} bytes"
            raise DeliveryError(self.name, "payload", detail, code="40058")
        try:
            answer = self._http.request(
                "POST",
                self._url.get_secret_value(),
                headers={"Content-Type": "application/json"},
                content=json.dumps(_payload(message), ensure_ascii=False).encode(),
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
        errcode = body.get("errcode") if isinstance(body, dict) else None
        if not isinstance(errcode, int) or isinstance(errcode, bool):
            what = "not WeCom's answer: is a proxy or a login page in between?"
            raise DeliveryError(self.name, "server", what, code=str(answer.status))
        if errcode == 0 and answer.status == 200:
            return Receipt()
        found = meaning(errcode)
        retry_at = self._clock.now() + found.wait if found.wait else None
        raise DeliveryError(
            self.name, found.reason, found.detail, code=str(errcode), retry_at=retry_at, hint=found.hint
        )


def _payload(message: Message) -> dict[str, object]:
    if message.plain:
        # Nothing shorter follows a plain message, so it is cut rather than lost.
        return {"msgtype": "text", "text": {"content": cut_bytes(message.body, TEXT_BYTES)}}
    return {"msgtype": "markdown", "markdown": {"content": message.body}}
