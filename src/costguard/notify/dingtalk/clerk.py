"""Between DingTalk's Stream and the desk: clicks and lines in, replies out.

A reply goes where its question came from: under a card, into the group, or to the person alone. Everything in it is
text; nothing that somebody called a box can mention, link or format.
"""

import json
import logging
from collections.abc import Mapping
from typing import Any

from costguard.domain.press import Click, Press, Reply, Said, Sender
from costguard.errors import DeliveryError
from costguard.net.http import HttpError
from costguard.notify.buttons import button
from costguard.notify.dingtalk.app import DingTalkApp
from costguard.notify.dingtalk.card import about, asked
from costguard.notify.dingtalk.frames import CardClick, RobotMessage
from costguard.notify.inert import escape
from costguard.notify.route import Person
from costguard.notify.story import clean, cut_bytes
from costguard.notify.words.desk import DeskWords
from costguard.ports import Desk

log = logging.getLogger(__name__)

PLATFORM = "dingtalk"
_REPLY_BYTES, _TIPS_BYTES = 6000, 900


class Clerk:
    """Takes what comes in on one channel. ``people`` are the owners; ``speech`` is the channel's language."""

    def __init__(
        self,
        app: DingTalkApp,
        desk: Desk,
        speech: DeskWords,
        *,
        people: Mapping[str, Person],
    ) -> None:
        self._app, self._desk, self._speech = app, desk, speech
        self._people = people

    def respond(self, click: CardClick) -> Mapping[str, Any]:
        """What a click changes at once, for who clicked: a button that asks first becomes its yes and no."""
        shown = asked(click.action, lambda press: button(press, about(click.card), "", self._speech.words))
        if shown is None:
            return {}
        variables = self._app.buttons(shown)
        return {"cardUpdateOptions": {"updateCardDataByKey": True}, "cardData": {"cardParamMap": variables}}

    def handle(self, incoming: RobotMessage | CardClick) -> None:
        """Takes a click or a line to the desk and shows what it says."""
        try:
            if isinstance(incoming, CardClick):
                self._clicked(incoming)
            else:
                self._said(incoming)
        except DeliveryError as error:
            log.warning("a reply could not be shown: %s", error)

    # ── clicks ──────────────────────────────────────────────────────────────────────────────────────────

    def _clicked(self, click: CardClick) -> None:
        value = about(click.card)
        try:
            press = Press(click.action)
        except ValueError:
            if asked(click.action, lambda press: button(press, value, "", self._speech.words)) is None:
                log.warning("channel %s: a click that means nothing here", self._app.name)
            return
        sender = Sender(PLATFORM, click.user, click.user)
        reply = self._desk.press(Click(self._app.name, sender, press, value, click.id))
        if reply.settled:
            self._settle(click.card, reply)
        elif reply.public:
            self._app.say(_markdown(reply.text))
        else:
            self._alone(click.user, reply)

    def _settle(self, card: str, reply: Reply) -> None:
        """The reply takes the place of the buttons, for all to read."""
        tips = cut_bytes(escape(reply.text), _TIPS_BYTES)
        try:
            self._app.update(card, {**self._app.buttons(()), "tips": tips})
        except DeliveryError as error:
            log.warning("a card could not be changed: %s", error)
            self._app.say(_markdown(reply.text))

    def _alone(self, user: str, reply: Reply) -> None:
        try:
            self._app.tell(user, _markdown(reply.text))
        except DeliveryError as error:
            log.warning("a person could not be answered alone: %s", error)
            self._app.say(_markdown(reply.text))

    # ── lines ───────────────────────────────────────────────────────────────────────────────────────────

    def _said(self, message: RobotMessage) -> None:
        sender = Sender(PLATFORM, message.user, message.nick)
        event = message.id or f"{message.conversation}/{message.text}"
        reply = self._desk.command(Said(self._app.name, sender, message.text, event))
        text = _markdown(reply.text)
        if message.group and not self._app.conversation:
            text += "\n\n" + self._group(message)
        self._answer(message, text)

    def _group(self, message: RobotMessage) -> str:
        """Takes the group of somebody known for the channel's; to strangers it is only said what its id is."""
        if any(person.known_as(PLATFORM, message.user) for person in self._people.values()):
            self._app.move_in(message.conversation)
            return self._speech.here()
        return self._speech.conversation(escape(message.conversation))

    def _answer(self, message: RobotMessage, text: str) -> None:
        if message.session:
            try:
                return self._through_session(message, text)
            except DeliveryError as error:
                log.info("%s; answering without the session", error)
        if message.group:
            self._app.say(text, conversation=message.conversation)
        else:
            self._app.tell(message.user, text)

    def _through_session(self, message: RobotMessage, text: str) -> None:
        """The conversation's own webhook: needs no permission, and mentions who asked."""
        body: dict[str, Any] = {"msgtype": "markdown", "markdown": {"title": "costguard", "text": text}}
        if message.group and message.user:
            # In markdown only those are mentioned whom the text names.
            body["markdown"]["text"] = f"@{message.user}\n\n{text}"
            body["at"] = {"atUserIds": [message.user], "isAtAll": False}
        headers = {"Content-Type": "application/json"}
        content = json.dumps(body, ensure_ascii=False).encode()
        try:
            answer = self._app.http.request("POST", message.session, headers=headers, content=content)
            found = answer.json()
        except HttpError as error:
            raise DeliveryError(self._app.name, "timeout", str(error)) from None
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("errcode") != 0:
            raise DeliveryError(self._app.name, "server", "the conversation's webhook did not take a reply")


def _markdown(text: str) -> str:
    """A reply's lines; a single newline is no line break in this markdown."""
    return cut_bytes("\n\n".join(escape(clean(line)) for line in text.split("\n")), _REPLY_BYTES)
