"""Where presses and commands from Slack come in: a Socket Mode connection or signed posts for each app."""

from collections.abc import Callable, Iterable
from itertools import groupby

from costguard.app import settings as mapped
from costguard.app.app import App
from costguard.daemon import metrics
from costguard.notify.slack.bot import SlackBot
from costguard.notify.slack.clerk import SlackClerk
from costguard.notify.slack.socket import Patience, SlackSocket
from costguard.ports import Desk, Listening
from costguard.web.slack import Post

_EVERY_S = 60.0


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
    loop = f"socket {bot.name}"
    app.beats.expect(loop, _EVERY_S)

    def changed(state: Listening) -> None:
        for one in clerk.bots:
            metrics.LISTENING.labels(one.name).set(state.connected)
            metrics.LISTENED.labels(one.name).set(state.opened)

    return SlackSocket(
        bot.name, bot.api, bot.app_token or "", app.clock, clerk.work, proxy=bot.proxy,
        leading=lambda: app.lead.leads, changed=changed, beat=lambda: app.beats.beat(loop),
        learn=app.redactor.passing, patience=patience,
    )  # fmt: skip
