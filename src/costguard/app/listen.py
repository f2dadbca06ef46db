"""Connections on which people's presses and lines come in from a chat: one for each channel that has any."""

from collections.abc import Callable

from costguard.app import settings as mapped
from costguard.app.app import App
from costguard.app.desk import desk_of
from costguard.daemon import metrics
from costguard.notify.dingtalk.app import DingTalkApp
from costguard.notify.dingtalk.clerk import Clerk
from costguard.notify.dingtalk.stream import Patience, Stream
from costguard.notify.words.speech import desk_words
from costguard.ports import Desk, Listener, Listening

_EVERY_S = 60.0


def chats(app: App, *, patience: Patience | None = None) -> list[Listener]:
    """Those of the configuration, not yet started. Only the leader's connect: a platform deals what comes in out among
    all connections, and followers do nothing."""
    desk = desk_of(app)
    return [
        _dingtalk(app, worker.channel, desk, patience)
        for worker in app.workers
        if isinstance(worker.channel, DingTalkApp)
    ]


def _dingtalk(app: App, channel: DingTalkApp, desk: Desk, patience: Patience | None) -> Stream:
    routing = mapped.routing(app.config)
    place = routing.places[channel.name]
    clerk = Clerk(channel, desk, desk_words(place.language or routing.language), people=routing.people)
    loop = f"stream {channel.name}"
    app.beats.expect(loop, _EVERY_S)
    return Stream(
        channel.api,
        app.clock,
        clerk.handle,
        respond=clerk.respond,
        proxy=channel.proxy,
        leading=lambda: app.lead.leads,
        changed=_told(channel.name),
        beat=lambda: app.beats.beat(loop),
        patience=patience,
    )


def _told(name: str) -> Callable[[Listening], None]:
    def tell(state: Listening) -> None:
        metrics.LISTENING.labels(name).set(state.connected)
        metrics.LISTENED.labels(name).set(state.opened)

    return tell
