"""DingTalk group robot: HTTP 200 says nothing, ``errcode`` 0 says it was taken.

The robot takes 20 messages a minute; the 21st locks it for ten minutes. ``msgUuid`` is its key against
duplicates: an uncertain send is repeated with the same one.
"""

import json
from datetime import timedelta

from costguard.domain.notice import Receipt
from costguard.errors import DeliveryError, DeliveryReason
from costguard.net.http import HttpClient, HttpError, HttpResponse
from costguard.notify.dingtalk.config import DingTalkConfig
from costguard.notify.dingtalk.errcodes import meaning, security_hint
from costguard.notify.dingtalk.markup import TITLE_BYTES
from costguard.notify.dingtalk.sign import sign
from costguard.notify.inert import escape
from costguard.notify.story import cut_bytes
from costguard.ports import Clock, Message

MAX_BYTES = 20_000
PER_MINUTE = 18
GATEWAY_WAIT = timedelta(seconds=60)


class DingTalkRobot:
    """A group behind a custom robot. 18 a minute leave room below the robot's 20."""

    kind = "dingtalk"
    render_format = "dingtalk"
    idempotent = True

    def __init__(self, config: DingTalkConfig, clock: Clock, http: HttpClient) -> None:
        self.name = config.name
        self.max_per_minute = config.max_per_minute or PER_MINUTE
        self._url, self._secret, self._keyword = config.url, config.secret, config.keyword
        self._clock, self._http = clock, http

    def __repr__(self) -> str:
        return f"DingTalkRobot({self.name!r})"

    def send(self, message: Message) -> Receipt:
        """One attempt, signed now. Raises DeliveryError."""
        # Bytes count, not characters: escaped to ASCII a Chinese character would take six instead of three.
        content = json.dumps(self._payload(message), ensure_ascii=False).encode()
        if len(content) > MAX_BYTES:
            raise DeliveryError(self.name, "payload", f"the message is longer than {MAX_BYTES} bytes", code="460101")
        params = sign(self._secret.get_secret_value(), self._clock.now()) if self._secret else None
        try:
            answer = self._http.request(
                "POST",
                self._url.get_secret_value(),
                params=params,
                headers={"Content-Type": "application/json"},
                content=content,
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
        if not isinstance(body, dict) or not isinstance(errcode, int) or isinstance(errcode, bool):
            raise self._no_answer(answer, body)
        if errcode == 0 and answer.status == 200:
            return Receipt()
        found = meaning(errcode)
        hint = security_hint(str(body.get("errmsg", ""))) if errcode == 310000 else found.hint
        retry_at = self._clock.now() + found.wait if found.wait else None
        raise DeliveryError(self.name, found.reason, found.detail, code=str(errcode), retry_at=retry_at, hint=hint)

    def _no_answer(self, answer: HttpResponse, body: object) -> DeliveryError:
        # The flood gateway in front of the robot answers 200 without an errcode: {"status":1111,"wait":5,…}.
        if isinstance(body, dict) and "wait" in body:
            wait = body["wait"]
            after = timedelta(seconds=wait) if isinstance(wait, int) and 0 < wait <= 3600 else GATEWAY_WAIT
            retry_at = self._clock.now() + after
            return DeliveryError(
                self.name, "rate", "DingTalk's gateway asks to wait", code="gateway", retry_at=retry_at
            )
        what = "not DingTalk's answer: is a proxy or a login page in between?"
        return DeliveryError(self.name, "server", what, code=str(answer.status))

    def _payload(self, message: Message) -> dict[str, object]:
        payload: dict[str, object] = {"msgUuid": message.idem_key}
        if message.mentions:
            payload["at"] = {"atMobiles": list(message.mentions), "isAtAll": False}
        if message.plain:
            return {"msgtype": "text", "text": {"content": self._keyed(message.body)}, **payload}
        title = cut_bytes(escape(message.title), TITLE_BYTES)
        return {"msgtype": "markdown", "markdown": {"title": title, "text": self._keyed(message.body)}, **payload}

    def _keyed(self, text: str) -> str:
        if self._keyword and self._keyword not in text:
            return f"{self._keyword}\n\n{text}"
        return text
