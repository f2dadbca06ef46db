"""Route: one message → one outbox row for each place it goes to. Pure; runs when the message is queued.

The owner comes first. The owner's route is the owner's own channel, else the first channel that can mention
the owner: of the rung's channels, then of ``notify.default``, then of all. Quiet copies go to the rung's other
channels.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from costguard.domain.notice import Notice, NoticeKind, NoticeState
from costguard.notify.document import Facts

OWNER = "owner"
# These start or end something; they wait for nobody.
URGENT = frozenset({
    NoticeKind.WARN, NoticeKind.FAILED, NoticeKind.RESULT, NoticeKind.KEPT, NoticeKind.CLEARED, NoticeKind.APPROVAL,
    NoticeKind.TEST, NoticeKind.SOURCE, NoticeKind.UNSEEN_WORK,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Person:
    """An owner as the channels know them. Handles: Slack member id (U…), DingTalk mobile, e-mail address.

    ``channels`` are the owner's own route, where one is configured. ``dingtalk`` is the user id that a press or a
    line in DingTalk comes with.
    """

    name: str
    language: str | None = None
    slack: str | None = None
    dingtalk_mobile: str | None = None
    email: str | None = None
    channels: tuple[str, ...] = ()
    dingtalk: str | None = None

    def handle(self, kind: str) -> str | None:
        """The handle on a platform (a channel's kind); None where the person cannot be reached."""
        handles = {
            "slack": self.slack, "dingtalk": self.dingtalk_mobile, "dingtalk_app": self.dingtalk, "email": self.email,
        }  # fmt: skip
        return handles.get(kind)

    def known_as(self, kind: str, handle: str) -> bool:
        """Whether this is who a platform says that something came from."""
        handles = {"slack": (self.slack,), "dingtalk": (self.dingtalk, self.dingtalk_mobile), "email": (self.email,)}
        return bool(handle) and handle in handles.get(kind, ())


@dataclass(frozen=True, slots=True)
class Place:
    """A configured channel, as routing sees it. ``by_email``: it can find people by their address."""

    name: str
    kind: str
    language: str | None = None
    fallback: str | None = None
    by_email: bool = False

    def reaches(self, person: "Person") -> bool:
        """Whether this channel can mention the person or write to them."""
        return bool(person.handle(self.kind) or (self.by_email and person.email))


@dataclass(frozen=True, slots=True)
class Routing:
    """The configuration's part in routing. ``places`` are in the order of the file."""

    places: Mapping[str, Place]
    people: Mapping[str, Person] = field(default_factory=dict)
    default: tuple[str, ...] = ()
    dry_run: tuple[str, ...] = ()
    language: str = "zh"
    group_wait: timedelta = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Draft:
    """A message before routing.

    ``key`` is unique for the fact (``<action id>/warn/0``); ``to`` as a rung's ``to``: channels, owners' names and
    ``owner``; empty for the owner and ``notify.default``. ``owner`` is None when nobody knows whose it is.
    """

    kind: NoticeKind
    alert_key: str
    key: str
    facts: Facts
    created_at: datetime
    to: tuple[str, ...] = ()
    owner: str | None = None
    action_id: str | None = None
    not_after: datetime | None = None
    dry_run: bool = False


def route(draft: Draft, routing: Routing) -> list[Notice]:
    """The notices of one message; at least one unless no channel is configured at all.

    A dry run goes to ``notify.dry_run.to`` alone and mentions nobody.
    """
    if draft.dry_run:
        quiet = [name for name in routing.dry_run or routing.default if name in routing.places]
        return [_notice(draft, routing, name, (), own=False) for name in quiet]
    named = [name for name in draft.to if name in routing.places]
    wanted = not draft.to or OWNER in draft.to or draft.owner in draft.to
    owner = routing.people.get(draft.owner or "") if wanted else None
    asked = [routing.people[name] for name in draft.to if name in routing.people and name != draft.owner]
    own = owner_place(owner, named, routing) if owner else None
    mentions: dict[str, list[str]] = {}
    if owner and own:
        mentions[own] = [owner.name]
    for person in asked:
        if place := owner_place(person, named, routing):
            mentions.setdefault(place, []).append(person.name)
    for name in named or ([] if mentions else routing.default):
        if name in routing.places:
            mentions.setdefault(name, [])
    # Who asked for the owner alone did not ask for the conversation that can mention them.
    public = named if draft.to else routing.default
    return [
        _notice(draft, routing, name, people, own=name == own, personal=len(people) == 1 and name not in public)
        for name, people in mentions.items()
    ]


def owner_place(person: Person, named: Sequence[str], routing: Routing) -> str | None:
    """The channel that reaches this person: the first of their own, else one that can mention them, else None."""
    for name in person.channels:
        if name in routing.places:
            return name
    for name in dict.fromkeys((*named, *routing.default, *routing.places)):
        place = routing.places.get(name)
        if place and place.reaches(person):
            return name
    return None


def fallback_copy(notice: Notice, channel: str, now: datetime, language: str | None) -> Notice:
    """The same message for another channel. It keeps its age, so it supersedes nothing, and its promise: what
    the owner's route could not take counts as delivered when its fallback did."""
    root = notice.idem_key.rsplit("@", 1)[0]
    key = f"{root}@{channel}" + ("/owner" if notice.owner_route else "")
    return Notice(
        id=_id(key), kind=notice.kind, channel=channel, alert_key=notice.alert_key, idem_key=key, facts=notice.facts,
        created_at=notice.created_at, action_id=notice.action_id, language=language, mention=notice.mention,
        owner_route=notice.owner_route, not_after=notice.not_after, next_at=now, fallback_of=notice.id,
    )  # fmt: skip


def follow_up(told: Notice, kind: NoticeKind, key: str, facts: Facts, now: datetime) -> Notice:
    """Another message to whoever got this one: the same channel, language and mentions, at once."""
    key = f"{key}@{told.channel}"
    return Notice(
        id=_id(key), kind=kind, channel=told.channel, alert_key=told.alert_key, idem_key=key, facts=facts,
        created_at=now, action_id=told.action_id, mention=told.mention, language=told.language,
        owner_route=told.owner_route, next_at=now,
    )  # fmt: skip


def delivered_at(notices: Iterable[Notice]) -> datetime | None:
    """When a message counts as delivered: accepted by the owner's route (or its fallback) when there is one,
    else by any of its channels; None when not yet. ``notices`` are all rows of the message."""
    rows = list(notices)
    told = [n for n in rows if n.owner_route] or rows
    return min((n.sent_at for n in told if n.state is NoticeState.SENT and n.sent_at), default=None)


def _notice(
    draft: Draft, routing: Routing, channel: str, people: Sequence[str], *, own: bool, personal: bool = False
) -> Notice:
    place = routing.places[channel]
    key = f"{draft.key}@{channel}"
    wait = timedelta(0) if draft.kind in URGENT else routing.group_wait
    theirs = routing.people[people[0]].language if people else None
    return Notice(
        id=_id(key), kind=draft.kind, channel=channel, alert_key=draft.alert_key, idem_key=key, facts=draft.facts,
        created_at=draft.created_at, action_id=draft.action_id, mention=tuple(people),
        language=place.language or theirs or routing.language, owner_route=own, not_after=draft.not_after,
        next_at=draft.created_at + wait, personal=personal,
    )  # fmt: skip


def _id(key: str) -> str:
    return "n-" + hashlib.sha256(key.encode()).hexdigest()[:16]
