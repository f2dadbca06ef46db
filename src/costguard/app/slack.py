"""Where presses and commands from Slack come in: a Socket Mode connection or signed posts for each app."""

from collections.abc import Callable, Iterable
from itertools import groupby

from costguard.app import settings as mapped
from costguard.app.app import App
from costguard.app.circumstances import circumstances
from costguard.notify.listening import Patience
from costguard.notify.slack.bot import SlackBot
from costguard.notify.slack.clerk import SlackClerk
from costguard.notify.slack.socket import SlackSocket
from costguard.ports import Desk
from costguard.web.slack import Post


def sockets(app: App, desk: Desk, patience: Patience | None = None) -> list[SlackSocket]:
    """One connection for each app that has an app token, not yet started; only the leader's connect."""
    return [_socket(app, clerk, patience) for clerk in _clerks(app, desk, lambda bot: bot.app_token)]


def posts(app: App, desk: Desk) -> list[Post]:
    """The apps that post here, by their signing secrets."""
    clerks = _clerks(app, desk, lambda bot: bot.signing_secret)
    return [Post(clerk.bots[0].signing_secret or "", clerk.work) for clerk in clerks]


def _clerks(app: App, desk: Desk, secret: Callable[[SlackBot], str | None]) -> Iterable[SlackClerk]:
    """The channels that share a secret are one app's."""
    people = mapped.routing(app.config).people
    bots = [worker.channel for worker in app.workers if isinstance(worker.channel, SlackBot)]
    heard = sorted((bot for bot in bots if secret(bot)), key=lambda bot: secret(bot) or "")
    return [SlackClerk(list(group), desk, people) for _, group in groupby(heard, key=secret)]


def _socket(app: App, clerk: SlackClerk, patience: Patience | None) -> SlackSocket:
    bot = clerk.bots[0]
    around = circumstances(app, [one.name for one in clerk.bots], patience)
    return SlackSocket(
        bot.name, bot.api, bot.app_token or "", app.clock, clerk.work, around, proxy=bot.proxy,
        learn=app.redactor.passing,
    )  # fmt: skip
