"""Between DingTalk's Stream and the desk: clicks and lines in, replies out.

A reply goes where its question came from: under a card, into the group, or to the person alone. Everything in it is
text; nothing that somebody called a box can mention, link or format.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from costguard.domain.press import Button, Click, Press, Reply, Said, Sender
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
    """Serves the channels of one application: what comes in is of the group that it came from, else of the first.

    ``speech`` is what each channel speaks, by its name; ``people`` are the owners.
    """

    def __init__(
        self,
        channels: Sequence[DingTalkApp],
        desk: Desk,
        speech: Mapping[str, DeskWords],
        people: Mapping[str, Person],
    ) -> None:
        self._channels, self._desk, self._speech, self._people = tuple(channels), desk, speech, people

    def respond(self, click: CardClick) -> Mapping[str, Any]:
        """What a click changes at once, for who clicked: a button that asks first becomes its yes and no."""
        channel = self._of(click.space)
        shown = asked(click.action, self._maker(channel, click))
        if shown is None:
            return {}
        variables = channel.buttons(shown)
        return {"cardUpdateOptions": {"updateCardDataByKey": True}, "cardData": {"cardParamMap": variables}}

    def handle(self, incoming: RobotMessage | CardClick) -> None:
        """Takes a click or a line to the desk and shows what it says."""
        try:
            if isinstance(incoming, CardClick):
                self._clicked(self._of(incoming.space), incoming)
            else:
                self._said(self._of(incoming.conversation), incoming)
        except DeliveryError as error:
            log.warning("a reply could not be shown: %s", error)

    def _of(self, conversation: str) -> DingTalkApp:
        return next((one for one in self._channels if one.conversation == conversation), self._channels[0])

    def _maker(self, channel: DingTalkApp, click: CardClick) -> Callable[[Press], Button]:
        words = self._speech[channel.name].words
        return lambda press: button(press, about(click.card), "", words)

    # ── clicks ──────────────────────────────────────────────────────────────────────────────────────────

    def _clicked(self, channel: DingTalkApp, click: CardClick) -> None:
        try:
            press = Press(click.action)
        except ValueError:
            if asked(click.action, self._maker(channel, click)) is None:
                log.warning("channel %s: a click that means nothing here", channel.name)
            return
        sender = Sender(PLATFORM, click.user, click.user)
        reply = self._desk.press(Click(channel.name, sender, press, about(click.card), click.id))
        if reply.settled:
            self._settle(channel, click.card, reply)
        elif reply.public:
            channel.say(_markdown(reply.text))
        else:
            self._alone(channel, click.user, reply)

    def _settle(self, channel: DingTalkApp, card: str, reply: Reply) -> None:
        """The reply takes the place of the buttons, for all to read."""
        tips = cut_bytes(escape(reply.text), _TIPS_BYTES)
        try:
            channel.update(card, {**channel.buttons(()), "tips": tips})
        except DeliveryError as error:
            log.warning("a card could not be changed: %s", error)
            channel.say(_markdown(reply.text))

    def _alone(self, channel: DingTalkApp, user: str, reply: Reply) -> None:
        try:
            channel.tell(user, _markdown(reply.text))
        except DeliveryError as error:
            log.warning("a person could not be answered alone: %s", error)
            channel.say(_markdown(reply.text))

    # ── lines ───────────────────────────────────────────────────────────────────────────────────────────

    def _said(self, channel: DingTalkApp, message: RobotMessage) -> None:
        sender = Sender(PLATFORM, message.user, message.nick)
        event = message.id or f"{message.conversation}/{message.text}"
        reply = self._desk.command(Said(channel.name, sender, message.text, event))
        text = _markdown(reply.text)
        homeless = next((one for one in self._channels if not one.conversation), None)
        if message.group and homeless is not None and channel.conversation != message.conversation:
            text += "\n\n" + self._group(homeless, message)
        self._answer(channel, message, text)

    def _group(self, channel: DingTalkApp, message: RobotMessage) -> str:
        """Takes the group of somebody known for the channel's; to strangers it is only said what its id is."""
        speech = self._speech[channel.name]
        if any(person.known_as(PLATFORM, message.user) for person in self._people.values()):
            channel.move_in(message.conversation)
            return speech.here()
        return speech.conversation(escape(message.conversation))

    def _answer(self, channel: DingTalkApp, message: RobotMessage, text: str) -> None:
        if message.session:
            try:
                return self._through_session(channel, message, text)
            except DeliveryError as error:
                log.info("%s; answering without the session", error)
        if message.group:
            channel.say(text, conversation=message.conversation)
        else:
            channel.tell(message.user, text)

    def _through_session(self, channel: DingTalkApp, message: RobotMessage, text: str) -> None:
        """The conversation's own webhook: needs no permission, and mentions who asked."""
        body: dict[str, Any] = {"msgtype": "markdown", "markdown": {"title": "costguard", "text": text}}
        if message.group and message.user:
            # In markdown only those are mentioned whom the text names.
            body["markdown"]["text"] = f"@{message.user}\n\n{text}"
            body["at"] = {"atUserIds": [message.user], "isAtAll": False}
        headers = {"Content-Type": "application/json"}
        content = json.dumps(body, ensure_ascii=False).encode()
        try:
            answer = channel.http.request("POST", message.session, headers=headers, content=content)
            found = answer.json()
        except HttpError as error:
            raise DeliveryError(channel.name, "timeout", str(error)) from None
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("errcode") != 0:
            raise DeliveryError(channel.name, "server", "the conversation's webhook did not take a reply")


def _markdown(text: str) -> str:
    """A reply's lines; a single newline is no line break in this markdown."""
    return cut_bytes("\n\n".join(escape(clean(line)) for line in text.split("\n")), _REPLY_BYTES)
