"""Connections on which people's presses and lines come in from a chat: one for each application that has any."""

from collections.abc import Sequence
from itertools import groupby

from costguard.app import settings as mapped
from costguard.app import slack
from costguard.app.app import App
from costguard.app.circumstances import circumstances
from costguard.app.desk import desk_of
from costguard.notify.dingtalk.app import DingTalkApp
from costguard.notify.dingtalk.clerk import Clerk
from costguard.notify.dingtalk.stream import Stream
from costguard.notify.listening import Patience
from costguard.notify.words.speech import desk_words
from costguard.ports import Desk, Listener


def chats(app: App, *, patience: Patience | None = None) -> list[Listener]:
    """Those of the configuration, not yet started. Only the leader's connect: a platform deals what comes in out among
    all connections, and followers do nothing."""
    desk = desk_of(app)
    return [*_streams(app, desk, patience), *slack.sockets(app, desk, patience)]


def _streams(app: App, desk: Desk, patience: Patience | None) -> list[Listener]:
    """One for each application of DingTalk, whatever number of groups it writes to."""
    channels = [worker.channel for worker in app.workers if isinstance(worker.channel, DingTalkApp)]
    by_application = groupby(sorted(channels, key=_application), key=_application)
    return [_stream(app, list(group), desk, patience) for _, group in by_application]


def _application(channel: DingTalkApp) -> str:
    return channel.application


def _stream(app: App, channels: Sequence[DingTalkApp], desk: Desk, patience: Patience | None) -> Stream:
    routing = mapped.routing(app.config)
    places = [routing.places[channel.name] for channel in channels]
    speech = {place.name: desk_words(place.language or routing.language) for place in places}
    clerk = Clerk(channels, desk, speech, routing.people)
    channel = channels[0]
    around = circumstances(app, [one.name for one in channels], patience)
    return Stream(channel.api, app.clock, clerk.handle, around, respond=clerk.respond, proxy=channel.proxy)
