"""DingTalk as an application of the organisation: cards with buttons, and a robot for everything else.

What has buttons or mentions somebody goes out as an interactive card, and the card is what is updated later. What a
card cannot hold is markdown from the application's robot, and so is everything for an hour after DingTalk has said that
the application may send no cards. A robot cannot mention in a group, so those whom it should are written to directly. A
card's outTrackId is its key against duplicates; the robot has none.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from costguard.domain.notice import NoticeKind, Receipt
from costguard.domain.press import Button
from costguard.errors import DeliveryError
from costguard.net.http import HttpClient
from costguard.notify.dingtalk.api import ENDPOINT, ApiError, DingTalkApi
from costguard.notify.dingtalk.app_config import DingTalkAppConfig
from costguard.notify.dingtalk.card import VALUE_BYTES, buttons, track_id
from costguard.notify.dingtalk.markup import TITLE_BYTES
from costguard.notify.dingtalk.probe import probe
from costguard.notify.dingtalk.template import STANDARD
from costguard.notify.inert import escape
from costguard.notify.story import cut_bytes
from costguard.ports import ChannelProbe, Clock, Message

log = logging.getLogger(__name__)

PER_MINUTE = 18
PARAM_BYTES = 15_000
MAX_BYTES = 20_000
_SENT_ALREADY = "param.cardAlreadyExist"
_NO_CARDS = frozenset({
    "Forbidden.AccessDenied.AccessTokenPermissionDenied", "param.templateNotExist", "param.cardTemplateNotExist",
    "param.templateUnpublished",
})  # fmt: skip
_GONE = frozenset({"param.cardNotExist", "param.outTrackIdNotExist"})
_ALONE, _DELIVER = "oToMessages", "deliver"
_UNREACHABLE = frozenset({_ALONE, _DELIVER, "staffId.notExisted", "param.userIdNotExist"})
_QUIET = frozenset({NoticeKind.KEPT, NoticeKind.CLEARED})
_TRY_CARDS_AGAIN = timedelta(hours=1)


class Memory(Protocol):
    """Where a channel without a configured group keeps the one that it was called into."""

    def recall(self) -> str | None: ...
    def remember(self, conversation: str) -> None: ...


class DingTalkApp:
    """A group (``conversation``) behind an application. Also answers people, and changes the cards it sent."""

    kind = "dingtalk_app"
    render_format = "dingtalk_app"

    def __init__(self, config: DingTalkAppConfig, clock: Clock, http: HttpClient) -> None:
        self.name = config.name
        self.max_per_minute = config.max_per_minute or PER_MINUTE
        self._conversation = config.conversation
        self.application = config.client_id.get_secret_value()
        self._robot = config.robot_code or self.application
        self._template = config.card_template
        self._clock = clock
        self._cards_again: datetime | None = None
        self.proxy = config.proxy
        self.http = http
        self.memory: Memory | None = None
        self.api = DingTalkApi(
            config.name, self.application, config.client_secret.get_secret_value(), http, clock,
            endpoint=config.endpoint or ENDPOINT,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"DingTalkApp({self.name!r})"

    @property
    def conversation(self) -> str | None:
        """The group: the configured one, else the one in which somebody known has written to the robot."""
        if self._conversation is None and self.memory is not None:
            self._conversation = self.memory.recall()
        return self._conversation

    def move_in(self, conversation: str) -> None:
        """Messages go to this group from now on."""
        if self.memory is not None:
            self.memory.remember(conversation)
        self._conversation = conversation

    @property
    def idempotent(self) -> bool:
        """As long as there are cards: messages of the robot have no key."""
        return self._cards

    @property
    def _cards(self) -> bool:
        again = self._cards_again
        return self._template is not None and (again is None or self._clock.now() >= again)

    # ── sending ─────────────────────────────────────────────────────────────────────────────────────────

    def send(self, message: Message) -> Receipt:
        """One attempt. Raises DeliveryError.

        What became of a card is shown in it. A result or failure is a message besides, because a change notifies
        nobody; that a box was kept, or needs nothing any more, is not worth one.
        """
        if message.follows is not None and message.outcome and self._become(message.follows, message):
            if message.payload.get("kind") in _QUIET:
                return Receipt(message_ref=message.follows)
            return replace(self._new(message), message_ref=message.follows)
        return self._new(message)

    def _new(self, message: Message) -> Receipt:
        if message.to is not None:
            try:
                return self._post(message, message.to)
            except DeliveryError as error:
                if error.code not in _UNREACHABLE:
                    raise
                log.warning("channel %s: a person cannot be written to: %s", self.name, error)
        if not self.conversation:
            hint = "write @ and the robot's name in the group: it answers with the id for `conversation`"
            raise DeliveryError(self.name, "auth", "the group is not known", code="conversation", hint=hint)
        return self._post(message, None)

    def _post(self, message: Message, to: str | None) -> Receipt:
        """To one person, or into the group."""
        wanted = (message.buttons or message.mentions) and not message.plain
        if wanted and "card" in message.payload and self._cards:
            try:
                return self._card(message, to)
            except ApiError as error:
                if error.code not in _NO_CARDS:
                    raise
                # It was refused, so nothing went out: the same in words is better than a warning that comes late.
                self._cards_again = self._clock.now() + _TRY_CARDS_AGAIN
                log.warning("channel %s: in words, without buttons: %s", self.name, error)
        param = _text(message.body) if message.plain else self._markdown(message.title, message.body)
        if to is not None:
            self._alone(param, to)
            return Receipt()
        self._group(param, self.conversation or "")
        for user in () if message.plain else message.mentions:
            try:
                self._alone(param, user)
            except DeliveryError as error:
                # The group has it; this copy only stands in for a mention.
                log.warning("a person could not be written to: %s", error)
        return Receipt()

    def _become(self, track: str, message: Message) -> bool:
        """Shows in the card that began the story what became of it; False when that card is there no more."""
        held = message.payload.get("card")
        said = dict(held) if isinstance(held, Mapping) else {"tips": cut_bytes(escape(message.title), VALUE_BYTES)}
        try:
            self.update(track, {**said, **self.buttons(())})
        except ApiError as error:
            if error.code not in _GONE and error.code not in _NO_CARDS:
                raise
            log.info("channel %s: a card cannot be changed: %s", self.name, error)
            return False
        return True

    def update(self, track: str, variables: Mapping[str, str]) -> None:
        """Changes these variables of a card that was sent, for everybody who sees it. Raises DeliveryError."""
        body = {
            "outTrackId": track, "cardData": {"cardParamMap": dict(variables)}, "userIdType": 1,
            "cardUpdateOptions": {"updateCardDataByKey": True},
        }  # fmt: skip
        self._accepted(self.api.call("PUT", "/v1.0/card/instances", self._sized(body), delivers=False))

    def buttons(self, shown: tuple[Button, ...]) -> dict[str, str]:
        """The variable of this channel's cards for their buttons."""
        return buttons(shown, standard=self._template == STANDARD)

    def tell(self, user: str, text: str, title: str = "costguard") -> None:
        """Writes to one person. Raises DeliveryError."""
        self._alone(self._markdown(title, text), user)

    def _alone(self, param: Mapping[str, str], user: str) -> None:
        body = {"robotCode": self._robot, "userIds": [user], **param}
        answer = self.api.call("POST", "/v1.0/robot/oToMessages/batchSend", self._sized(body))
        refused = answer.get("invalidStaffIdList") or answer.get("flowControlledStaffIdList")
        if refused or not answer.get("processQueryKey"):
            detail = "the person cannot be written to"
            hint = "is the person in the application's visible range (可见范围)?"
            raise DeliveryError(self.name, "payload", detail, code=_ALONE, hint=hint)

    def say(self, text: str, title: str = "costguard", conversation: str = "") -> None:
        """Writes markdown into a group. Raises DeliveryError."""
        self._group(self._markdown(title, text), conversation or self.conversation or "")

    def probe(self) -> Sequence[ChannelProbe]:
        """Token, Stream, permissions and group, by calls that nobody sees and that change nothing."""
        return probe(self.api, self.conversation, proxy=self.proxy, cards=self._template is not None)

    # ── the wire ────────────────────────────────────────────────────────────────────────────────────────

    def _card(self, message: Message, to: str | None) -> Receipt:
        track = track_id(message.buttons[0].value if message.buttons else "", message.idem_key)
        held = message.payload.get("card")
        variables: dict[str, str] = dict(held) if isinstance(held, Mapping) else {}
        body = {
            "cardTemplateId": self._template,
            "outTrackId": track,
            "callbackType": "STREAM",
            "cardData": {"cardParamMap": {**variables, **self.buttons(message.buttons)}},
            "userIdType": 1,
            **self._space(message, to),
        }
        try:
            self._accepted(self.api.call("POST", "/v1.0/card/instances/createAndDeliver", self._sized(body)))
        except ApiError as error:
            # An earlier attempt of ours, whose answer was lost, has sent it.
            if error.code != _SENT_ALREADY:
                raise
        return Receipt(message_ref=track)

    def _space(self, message: Message, to: str | None) -> dict[str, Any]:
        """Where a card goes, and its line in the list of conversations and in the notification."""
        line = cut_bytes(escape(message.title), TITLE_BYTES)
        model = {
            "supportForward": False, "lastMessageI18n": {"ZH_CN": line, "EN_US": line},
            "notification": {"alertContent": line, "notificationOff": False},
        }  # fmt: skip
        deliver: dict[str, Any] = {"robotCode": self._robot}
        if to is not None:
            return {
                "openSpaceId": f"dtv1.card//IM_ROBOT.{to}", "imRobotOpenSpaceModel": model,
                "imRobotOpenDeliverModel": {**deliver, "spaceType": "IM_ROBOT"},
            }  # fmt: skip
        at = message.payload.get("at")
        if isinstance(at, Mapping) and at:
            deliver["atUserIds"] = dict(at)
        return {
            "openSpaceId": f"dtv1.card//IM_GROUP.{self.conversation}", "imGroupOpenSpaceModel": model,
            "imGroupOpenDeliverModel": deliver,
        }  # fmt: skip

    def _group(self, param: Mapping[str, str], conversation: str) -> None:
        body = {"robotCode": self._robot, "openConversationId": conversation, **param}
        answer = self.api.call("POST", "/v1.0/robot/groupMessages/send", self._sized(body))
        if not answer.get("processQueryKey"):
            raise ApiError(self.name, "server", "an answer without processQueryKey", code="groupMessages")

    def _markdown(self, title: str, text: str) -> dict[str, str]:
        param = _json({"title": cut_bytes(escape(title), TITLE_BYTES), "text": text})
        return {"msgKey": "sampleMarkdown", "msgParam": param}

    def _accepted(self, answer: Mapping[str, Any]) -> None:
        """A card's answer says inside HTTP 200 whether it was taken, and for each place whether it got there."""
        result = answer.get("result")
        places = result.get("deliverResults") if isinstance(result, Mapping) else None
        wrong = [p for p in places if isinstance(p, Mapping) and p.get("success") is not True] if places else []
        if answer.get("success") is not True:
            raise ApiError(self.name, "server", "DingTalk did not take the card", code="card")
        if wrong:
            hint = "is the robot in the group, and is `conversation` that group's id?"
            raise ApiError(self.name, "auth", "the card was not delivered", code=_DELIVER, hint=hint)

    def _sized(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The body, when DingTalk would take its size: bytes count, not characters."""
        param = body.get("msgParam")
        if isinstance(param, str) and len(param.encode()) > PARAM_BYTES:
            raise DeliveryError(self.name, "payload", f"the message is longer than {PARAM_BYTES} bytes", code="size")
        if len(_json(body).encode()) > MAX_BYTES:
            raise DeliveryError(self.name, "payload", f"the message is longer than {MAX_BYTES} bytes", code="size")
        return body


def _text(text: str) -> dict[str, str]:
    return {"msgKey": "sampleText", "msgParam": _json({"content": text})}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
