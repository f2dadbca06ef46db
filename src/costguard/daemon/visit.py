"""A visit: one person at the desk, inside one transaction. What presses and commands share.

Whether they may is asked here, to answer in their words, and again by the lever itself.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from costguard.daemon import levers
from costguard.daemon.levers import Person
from costguard.domain.press import Reply
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Keep
from costguard.engine.settings import EngineSettings
from costguard.notify.story import clean
from costguard.notify.words.desk import DeskWords
from costguard.store import levers as stored

# A second press of the same keep asks for hardly more than the first: it is the same wish.
_SAME = timedelta(minutes=5)
FALSE_ALARM_HOLDS = timedelta(hours=24)
UNTIL_IDLE_AT_MOST = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Visit:
    """``person`` is somebody whom the configuration knows."""

    conn: Connection
    now: datetime
    person: Person
    settings: EngineSettings
    speech: DeskWords

    @property
    def admins(self) -> str:
        return self.speech.words.list_comma.join(self.settings.admins)

    def when(self, at: datetime) -> str:
        return self.speech.words.when(at, self.now, ZoneInfo(self.settings.timezone))

    def owner_of(self, resource: Resource) -> str | None:
        return self.person.ownership.of(self.conn, resource)

    def refused(self, resource: Resource) -> Reply | None:
        """Why this person may not act for the box; None when they may."""
        owner = self.owner_of(resource)
        if self.person.may(owner):
            return None
        name = name_of(resource)
        if owner is None:
            return Reply(self.speech.unowned(name, self.admins))
        return Reply(self.speech.not_yours(name, clean(owner), self.admins))

    def keep(self, resource: Resource, until: datetime, reason: str, *, until_idle: bool = False) -> Reply:
        """Keeps the box. A promise that lasts as long already stands, and is never shortened by a press."""
        if (covered := self.covered(resource, until, until_idle=until_idle)) is not None:
            return covered
        name, longest = name_of(resource), self.settings.keep_max
        if until - self.now > longest:
            return Reply(self.speech.too_long(self.speech.words.duration(longest)))
        levers.keep(
            self.conn, str(resource.ref), person=self.person, now=self.now, reason=reason, until=until,
            longest=longest, until_idle=until_idle,
        )  # fmt: skip
        say = self.speech.kept_until_idle if until_idle else self.speech.kept
        return Reply(say(self.person.name, name, self.when(until)), settled=True, public=True)

    def covered(self, resource: Resource, until: datetime | None = None, *, until_idle: bool = False) -> Reply | None:
        """That a promise is in force which says as much already (None: any promise)."""
        known = stored.keeps(self.conn, self.now).get(resource.ref)
        if known is None or (until is not None and not _covers(known, until, until_idle)):
            return None
        text = self.speech.already_kept(clean(known.by), name_of(resource), self.when(known.until), known.until_idle)
        return Reply(text, settled=True, public=True)

    def claim(self, resource: Resource) -> Reply:
        """The person's own box from now on, unless it is somebody else's."""
        name, owner = name_of(resource), self.owner_of(resource)
        if owner == self.person.name:
            return Reply(self.speech.already_owned(owner, name), public=True)
        if owner is not None and (refusal := self.refused(resource)) is not None:
            return refusal
        levers.claim(self.conn, str(resource.ref), owner=self.person.name, person=self.person, now=self.now)
        return Reply(self.speech.claimed(self.person.name, name), settled=True, public=True)


def name_of(resource: Resource) -> str:
    return clean(resource.name or resource.ref.id)


def _covers(known: Keep, until: datetime, until_idle: bool) -> bool:
    """Whether the promise already says as much. One until idle may end at any time, so it covers no time."""
    return until_idle or (not known.until_idle and known.until >= until - _SAME)
