"""The desk: where people act from a chat, whichever chat it is. The seam between a platform and the levers.

A channel turns what its platform sends into a :class:`Click` or a :class:`Said` (``domain/press.py``), gives it to
:meth:`Desk.press` or :meth:`Desk.command` after it has acknowledged it, and shows the :class:`Reply` as its docstring
says. Which buttons a message has comes with it, as ``Message.buttons``; a button's value goes back unchanged.

The desk looks up everything else: who the handle is (``owners`` of the configuration), whose the box is, what is still
to be decided. A platform may deliver an event twice (same ``event``: same reply, done once); people press twice, late,
and under messages that are out of date: then the ladder's state decides, and the reply says what is the case.
Nothing here raises for what a person did; when the database cannot be written, the reply says that nothing was done.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from costguard.daemon import levers
from costguard.daemon.answers import Answers
from costguard.daemon.commands import Command, Verb, parse
from costguard.daemon.levers import Person
from costguard.daemon.ownership import Ownership
from costguard.daemon.presses import START, Pressed
from costguard.daemon.visit import UNTIL_IDLE_AT_MOST, Visit, name_of
from costguard.domain.action import Action
from costguard.domain.press import Click, Press, Reply, Said, Sender
from costguard.domain.resource import Resource
from costguard.engine.settings import EngineSettings
from costguard.errors import CostguardError, StaleWrite, StoreError, UndoneBefore, UsageError
from costguard.notify.route import Routing
from costguard.notify.story import clean
from costguard.notify.words.speech import desk_words
from costguard.ports import Clock
from costguard.store import actions, inventory, kv
from costguard.store import levers as stored
from costguard.store.database import Database

log = logging.getLogger(__name__)

PRESSES = "press/"
"""Prefix of the keys by which an event is known; retention forgets them."""

_TRIES = 3
_KEEP = timedelta(hours=2)
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Desk:
    """One configuration's desk; thread-safe. ``undo`` starts what an action stopped, for the person named
    (``app/undo.py``)."""

    database: Database
    clock: Clock
    settings: EngineSettings
    routing: Routing
    undo: Callable[[str, str], Action]
    ownership: Ownership = field(default_factory=Ownership)

    def press(self, click: Click) -> Reply:
        """What came of a press. An empty text: the same event is being worked on, and its reply goes elsewhere."""
        try:
            reply = self._once(click.sender, click.event, lambda conn: self._pressed(conn, click))
            return self._start_again(click) if reply is START else reply
        except StoreError as error:
            return self._not_done(click.channel, error)

    def command(self, said: Said) -> Reply:
        """What came of a line that somebody wrote."""
        try:
            return self._once(said.sender, said.event, lambda conn: self._commanded(conn, said))
        except StoreError as error:
            return self._not_done(said.channel, error)

    def _not_done(self, channel: str, error: StoreError) -> Reply:
        """Somebody who wants a box kept must not take silence for a yes."""
        log.error("channel %s: what somebody asked for was not done: %s", channel, error)
        return Reply(desk_words(self._language(channel, None)).not_done())

    # ── presses ─────────────────────────────────────────────────────────────────────────────────────────

    def _pressed(self, conn: Connection, click: Click) -> Reply:
        visit = self._visit(conn, click.channel, click.sender)
        if isinstance(visit, Reply):
            return visit
        # Of two people who press at once, the second finds what the first one did.
        action = actions.get(conn, click.value, alone=True)
        ref = action.subject.ref if action is not None else None
        resource = inventory.resource(conn, ref) if ref is not None else None
        if action is None or resource is None:
            return Reply(visit.speech.gone())
        return Pressed(visit, action, resource).answer(click.press)

    def _start_again(self, click: Click) -> Reply:
        """Calls the provider, outside of any transaction; of two people who press at once ``undo`` lets one through."""
        assert click.press is Press.START_AGAIN, "only a start leaves the transaction without its reply"
        with self.database.read() as conn:
            visit = self._visit(conn, click.channel, click.sender)
            action = actions.get(conn, click.value)
        assert isinstance(visit, Visit), "a stranger was refused before"
        assert action is not None, "a missing action was told before"
        name = clean(action.subject.name or action.subject.id)
        try:
            self.undo(click.value, visit.person.name)
        except UndoneBefore as error:
            reply = Reply(visit.speech.already_started(clean(error.by), name), settled=True, public=True)
        except CostguardError as error:
            reply = Reply(visit.speech.not_started(name, clean(error)))
        else:
            reply = Reply(visit.speech.started(visit.person.name, name), settled=True, public=True)
        try:
            with self.database.write() as conn:
                kv.put(conn, _key(click.sender, click.event), _row(reply), self.clock.now())
        except StoreError as error:
            # The box is what it is; only a second delivery would be told nothing.
            log.warning("channel %s: a reply could not be kept: %s", click.channel, error)
        return reply

    # ── commands ────────────────────────────────────────────────────────────────────────────────────────

    def _commanded(self, conn: Connection, said: Said) -> Reply:
        command = parse(said.text)
        speech = desk_words(self._language(said.channel, None))
        if command.verb is Verb.HELP:
            return Reply(speech.help)
        if command.verb is Verb.UNKNOWN:
            return Reply(speech.unknown_command(clean(command.unclear)[:80], command.near))
        visit = self._visit(conn, said.channel, said.sender)
        if isinstance(visit, Reply):
            return visit
        answers = Answers(
            conn, visit.now, self.settings.owners, self.settings.timezone, not self.settings.enforce, visit.speech
        )
        match command.verb:
            case Verb.STATUS:
                return Reply(answers.status(), public=True)
            case Verb.BURNING:
                return Reply(answers.burning(), public=True)
            case Verb.PAUSE | Verb.RESUME:
                return self._switch(visit, command)
        found = self._find(visit, command)
        if isinstance(found, Reply):
            return found
        match command.verb:
            case Verb.WHY:
                return Reply(answers.why(found), public=True)
            case Verb.CLAIM:
                return visit.claim(found)
            case Verb.UNKEEP:
                return _unkeep(visit, found)
            case _:
                kept = _keep(visit, found, command)
                if levers.under_way(visit.conn, found.ref) is None:
                    return kept
                return replace(kept, text=f"{kept.text}\n{visit.speech.under_way(name_of(found))}")

    def _switch(self, visit: Visit, command: Command) -> Reply:
        """The kill switch, for admins."""
        if visit.person.owns is not None:
            return Reply(visit.speech.admins_only(visit.admins))
        if command.unclear:
            return Reply(visit.speech.bad_time(clean(command.unclear)))
        who = visit.person.name
        if command.verb is Verb.PAUSE:
            until = command.until(visit.now, ZoneInfo(self.settings.timezone))
            levers.pause(visit.conn, person=visit.person, now=visit.now, reason=visit.person.via, until=until)
            return Reply(visit.speech.paused(who, visit.when(until) if until else ""), public=True)
        if stored.paused(visit.conn, visit.now) is None:
            return Reply(visit.speech.not_paused())
        levers.resume(visit.conn, person=visit.person, now=visit.now)
        return Reply(visit.speech.resumed(who), public=True)

    def _find(self, visit: Visit, command: Command) -> Resource | Reply:
        """The box that a command names; else what to write."""
        speech, text = visit.speech, command.target
        if not text:
            return Reply(speech.needs_resource(speech.examples[command.verb.value]))
        found = inventory.find(visit.conn, text)
        if len(found) == 1:
            return found[0]
        shown = clean(text)[:80]
        if found:
            refs = (clean(str(resource.ref)) for resource in found[:_SHOWN])
            return Reply(speech.several(shown, speech.words.list_comma.join(refs)))
        return Reply(speech.no_such(shown, clean(levers.nearest(visit.conn, text))))

    # ── who, and what was said before ───────────────────────────────────────────────────────────────────

    def _visit(self, conn: Connection, channel: str, sender: Sender) -> Visit | Reply:
        """The person at the desk; for somebody whom nobody knows, what to do about it."""
        owner = sender.owner or self._known_as(sender)
        speech = desk_words(self._language(channel, owner))
        if owner is None:
            shown = clean(sender.shown) or clean(sender.handle)
            return Reply(speech.stranger(shown, f"{sender.kind}: {clean(sender.handle)}"))
        owns = None if owner in self.settings.admins else frozenset({owner})
        via = f"{sender.kind}:{sender.handle} in {channel}"
        return Visit(conn, self.clock.now(), Person(owner, owns, self.ownership, via), self.settings, speech)

    def _known_as(self, sender: Sender) -> str | None:
        people = self.routing.people.values()
        return next((person.name for person in people if person.known_as(sender.kind, sender.handle)), None)

    def _language(self, channel: str, owner: str | None) -> str:
        place, person = self.routing.places.get(channel), self.routing.people.get(owner or "")
        return (place and place.language) or (person and person.language) or self.routing.language

    def _once(self, sender: Sender, event: str, work: Callable[[Connection], Reply]) -> Reply:
        """The work of an event in one transaction with its reply, which a second delivery gets as well."""
        for attempt in range(_TRIES):
            try:
                with self.database.write() as conn:
                    # Of two deliveries at once, one waits here for the other.
                    if not kv.add(conn, _key(sender, event), _row(Reply("")), self.clock.now()):
                        return _reply(kv.get(conn, _key(sender, event)) or {})
                    reply = work(conn)
                    kv.put(conn, _key(sender, event), _row(reply), self.clock.now())
                    return reply
            except StaleWrite:
                # The cycle changed the ladder meanwhile: it is looked at anew.
                if attempt == _TRIES - 1:
                    raise
            except UsageError as error:
                return Reply(clean(error))
        raise AssertionError("unreachable: the last try returns or raises")


def forget(conn: Connection, before: datetime) -> int:
    """Forgets the events before then: no platform delivers one again after days."""
    return kv.prune(conn, PRESSES, before)


def _row(reply: Reply) -> Mapping[str, Any]:
    return {"text": reply.text, "settled": reply.settled, "public": reply.public}


def _reply(row: Mapping[str, Any]) -> Reply:
    return Reply(row.get("text", ""), row.get("settled", False), row.get("public", False))


def _key(sender: Sender, event: str) -> str:
    return f"{PRESSES}{sender.kind}/{event[:200]}"


def _keep(visit: Visit, resource: Resource, command: Command) -> Reply:
    if command.unclear:
        return Reply(visit.speech.bad_time(clean(command.unclear)[:80]))
    if (refusal := visit.refused(resource)) is not None:
        return refusal
    reason = visit.speech.reason
    if command.until_idle:
        until = visit.now + min(UNTIL_IDLE_AT_MOST, visit.settings.keep_max)
        return visit.keep(resource, until, reason, until_idle=True)
    until_said = command.until(visit.now, ZoneInfo(visit.settings.timezone))
    return visit.keep(resource, until_said or visit.now + _KEEP, reason)


def _unkeep(visit: Visit, resource: Resource) -> Reply:
    if (refusal := visit.refused(resource)) is not None:
        return refusal
    try:
        levers.unkeep(visit.conn, str(resource.ref), person=visit.person, now=visit.now)
    except UsageError:
        return Reply(visit.speech.not_kept(name_of(resource)))
    return Reply(visit.speech.unkept(visit.person.name, name_of(resource)), public=True)
