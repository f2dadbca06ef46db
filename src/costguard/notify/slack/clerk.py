"""Between Slack and the desk: presses and commands in, replies out.

What was decided under a message takes the place of its buttons, for everybody; what is for one person alone is shown
to that person alone, at the ``response_url`` that came with the press. Works after Slack has its acknowledgement.
"""

import logging
from collections.abc import Mapping, Sequence

from costguard.domain.press import Click, Reply, Said, Sender
from costguard.notify.route import Person
from costguard.notify.slack.api import SlackError
from costguard.notify.slack.bot import SlackBot
from costguard.notify.slack.channel import TEXT
from costguard.notify.slack.interaction import KIND, Pressed, Typed, Who
from costguard.notify.slack.markup import escape, settled
from costguard.notify.story import cut
from costguard.ports import Desk

log = logging.getLogger(__name__)


class SlackClerk:
    """Serves the channels of one app: what comes in is of the conversation that it came from, else of the first."""

    def __init__(self, bots: Sequence[SlackBot], desk: Desk, people: Mapping[str, Person]) -> None:
        self.bots, self._desk, self._people = tuple(bots), desk, people
        self._by_conversation = {bot.conversation: bot for bot in reversed(bots)}

    def work(self, incoming: Pressed | Typed) -> None:
        """The same for threads that nobody waits for: whatever goes wrong is in the log."""
        try:
            self.handle(incoming)
        except Exception:  # one press must not end the work on all others
            log.exception("channel %s: a press or command could not be worked on", self.bots[0].name)

    def handle(self, incoming: Pressed | Typed) -> None:
        """Takes a press or a command to the desk and shows what it says."""
        bot = self._by_conversation.get(incoming.conversation, self.bots[0])
        sender = Sender(KIND, incoming.who.id, incoming.who.name, self._owner(bot, incoming.who))
        if isinstance(incoming, Typed):
            reply = self._desk.command(Said(bot.name, sender, incoming.text, incoming.event))
        else:
            reply = self._desk.press(Click(bot.name, sender, incoming.press, incoming.value, incoming.event))
        if not reply.text:
            return
        if isinstance(incoming, Pressed) and reply.settled and self._settle(bot, incoming, reply):
            return
        self._answer(bot, incoming, reply)

    def _owner(self, bot: SlackBot, who: Who) -> str | None:
        """The owner whose address is this member's, where no owner has the member id."""
        people = self._people.values()
        if any(person.known_as(KIND, who.id) for person in people):
            return None
        for person in people:
            if person.slack is None and person.email:
                try:
                    if bot.find(person.email) == who.id:
                        return person.name
                except SlackError as error:
                    log.info("channel %s: %s could not be looked up: %s", bot.name, person.name, error)
        return None

    def _settle(self, bot: SlackBot, press: Pressed, reply: Reply) -> bool:
        """Shows in the message what was decided; False when it cannot be changed."""
        if not press.blocks:
            return False
        content = {"text": cut(press.text or escape(reply.text), TEXT), "blocks": settled(press.blocks, reply.text)}
        try:
            bot.update(press.conversation, press.ts, content)
        except SlackError as error:
            log.warning("channel %s: a message could not be changed: %s", bot.name, error)
            return False
        return True

    def _answer(self, bot: SlackBot, incoming: Pressed | Typed, reply: Reply) -> None:
        public = reply.public or reply.settled
        body: dict[str, object] = {
            "text": "\n".join(escape(line) for line in cut(reply.text, TEXT).split("\n")),
            "response_type": "in_channel" if public else "ephemeral",
        }
        if isinstance(incoming, Pressed):
            body["replace_original"] = False
        try:
            bot.api.respond(incoming.reply_url, body)
        except SlackError as error:
            log.warning("channel %s: a reply could not be shown: %s", bot.name, error)
