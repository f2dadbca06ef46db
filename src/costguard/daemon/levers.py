"""People's levers: what a person may pull, from the command line, the API or a chat.

Each lever says what it matched, writes its ledger line in the same transaction, and only changes rows: the next cycle,
and the look right before acting, honour them, and one that is under way is made again. ``undo`` is elsewhere: it calls
a provider.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import cast

from sqlalchemy import Connection

from costguard.daemon import savings, timers
from costguard.daemon.ownership import Ownership
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import Evidence, Subject
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.notice import Notice, NoticeKind, NoticeState, SendReason
from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.snapshot import Keep
from costguard.domain.time import format_duration
from costguard.engine.events import Event, EventKind
from costguard.engine.lifecycle import advance
from costguard.errors import UsageError
from costguard.notify.facts import cleared_facts
from costguard.notify.route import follow_up
from costguard.store import actions, inventory, ledger, levers, outbox

DISPUTE_HOLDS = timedelta(days=7)
# Who has, or is just getting, a message.
_GOT = (NoticeState.SENT, NoticeState.SENDING)
CALLED = (ActionState.EXECUTING, ActionState.IN_DOUBT, ActionState.VERIFYING)
"""The provider has been called: a word against it comes too late, and only ``undo`` helps."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who pulls a lever. ``owns`` None: an operator, whom nothing is refused; else owner names they may act for.

    ``ownership`` knows whose a resource is; ``via`` is where the word came from, for the ledger (``slack:U012``).
    """

    name: str
    owns: frozenset[str] | None = None
    ownership: Ownership = field(default_factory=Ownership)
    via: str = ""

    def may(self, owner: str | None) -> bool:
        """Whether they may act for this owner's boxes; a box that nobody owns is an operator's."""
        return self.owns is None or (owner is not None and owner in self.owns)


def find(conn: Connection, text: str) -> Resource:
    """The one resource that ``text`` names: an id, account/id, a full ref, or a unique name.

    Raises UsageError with the candidates when several fit, and when none does.
    """
    found: Sequence[Resource] = inventory.find(conn, text)
    if len(found) == 1:
        return found[0]
    if not found:
        near = nearest(conn, text)
        meant = f"did you mean {near}? " if near else ""
        raise UsageError(f"no resource is called {text!r}; {meant}`costguard fleet` lists what is known")
    raise UsageError(
        f"{text!r} fits {len(found)} resources; write one of these in full",
        [f"{r.ref}  {r.name}" for r in found],
    )


def nearest(conn: Connection, text: str) -> str:
    """The known name that is most like ``text``; empty where none is near."""
    names = {r.name.lower(): r.name for r in inventory.resources(conn) if r.name}
    near = get_close_matches(text.lower(), names, n=1, cutoff=0.6)
    return names[near[0]] if near else ""


def keep(
    conn: Connection,
    text: str,
    *,
    person: Person,
    now: datetime,
    reason: str,
    until: datetime,
    longest: timedelta,
    until_idle: bool = False,
) -> Keep:
    """Keeps a resource until a time. Raises UsageError for the past, for longer than ``longest``, for no reason."""
    resource = _own(conn, text, person)
    if not reason.strip():
        raise UsageError("say why: --reason is what the others will read")
    if until <= now:
        raise UsageError(f"{until.isoformat()} is in the past")
    if until - now > longest:
        raise UsageError(f"at most {format_duration(longest)} at a time (notify.keep_max)")
    promise = Keep(resource.ref, until, person.name, reason.strip(), now, until_idle)
    levers.keep(conn, promise)
    actions.look_again(conn, resource.ref)
    how = " or until it is idle" if until_idle else ""
    text = f"kept until {until.isoformat()}{how}: {promise.reason}"
    _note(conn, now, resource, person, text, {"lever": "keep", "until": until, "reason": promise.reason})
    return promise


def under_way(conn: Connection, ref: ResourceRef) -> Action | None:
    """What a keep of this resource came too late for; it protects the resource from whatever comes next."""
    found = actions.list_actions(conn, ref=ref, states=CALLED)
    return next((action for action in found if action.response.ends_billing), None)


def unkeep(conn: Connection, text: str, *, person: Person, now: datetime) -> Resource:
    """Ends a promise. Raises UsageError when there is none."""
    resource = _own(conn, text, person)
    if levers.unkeep(conn, resource.ref) is None:
        raise UsageError(f"{resource.name} is not kept")
    _note(conn, now, resource, person, "no longer kept", {"lever": "unkeep"})
    return resource


def claim(conn: Connection, text: str, *, owner: str, person: Person, now: datetime) -> Resource:
    """Says who owns a resource; beats its tags. Raises UsageError when it is somebody else's already."""
    resource = find(conn, text)
    known = person.ownership.of(conn, resource)
    if known is not None and not person.may(known):
        raise UsageError(f"{resource.name} is {known}'s; they or an operator may give it away")
    levers.claim(conn, resource.ref, owner, by=person.name, at=now)
    actions.look_again(conn, resource.ref)
    _note(conn, now, resource, person, f"claimed for {owner}", {"lever": "claim", "owner": owner})
    return resource


def heartbeat(conn: Connection, text: str, *, span: timedelta, person: Person, now: datetime) -> datetime:
    """A job's word that it is alive; returns until when. No ledger line: these come every few minutes."""
    if not timedelta(0) < span <= timedelta(days=1):
        raise UsageError("a heartbeat holds for up to 24h")
    ref = find(conn, text).ref
    actions.look_again(conn, ref)
    return levers.heartbeat(conn, ref, now + span, by=person.name, at=now)


def pause(conn: Connection, *, person: Person, now: datetime, reason: str, until: datetime | None) -> None:
    """The kill switch: nothing is executed from now on. Raises UsageError for an end that has passed."""
    _operator(person)
    if until is not None and until <= now:
        raise UsageError(f"{until.isoformat()} is in the past")
    levers.pause(conn, by=person.name, reason=reason, at=now, until=until)
    actions.look_again(conn)
    how_long = f"until {until.isoformat()}" if until else "until somebody resumes"
    evidence = _via(person, {"lever": "pause", "until": until, "reason": reason})
    text = f"paused {how_long}: {reason}"
    ledger.append(conn, [LedgerEntry(now, LedgerKind.LEVER, None, text, person.name, evidence=evidence)])


def resume(conn: Connection, *, person: Person, now: datetime) -> None:
    """Ends every pause. Raises UsageError when nothing was paused."""
    _operator(person)
    if not levers.resume(conn, by=person.name, at=now):
        raise UsageError("nothing is paused")
    text = "resumed; every open ladder starts again with a fresh warning"
    evidence = _via(person, {"lever": "resume"})
    ledger.append(conn, [LedgerEntry(now, LedgerKind.LEVER, None, text, person.name, evidence=evidence)])


def cancel(conn: Connection, action_id: str, *, person: Person, now: datetime) -> Action:
    """Ends an open ladder. A new one, with a new warning, begins only after the finding has cleared.

    Raises UsageError for an action that has ended, or whose call is already under way.
    """
    action = action_of(conn, action_id)
    _own_action(conn, action, person)
    if action.state.terminal:
        raise UsageError(f"action {action.id} is {action.state.value}; there is nothing to cancel")
    if action.state in CALLED:
        raise UsageError(f"action {action.id} has already called the provider; use `costguard undo {action.id}`")
    ended = actions.save(conn, advance(action, Event(EventKind.CANCEL, who=person.name), now).action)
    timers.ended(conn, ended, f"cancelled by {person.name}", now)
    _hush(conn, action)
    _call_off(conn, ended, person, now)
    _note_action(conn, now, action, person, "cancelled", {"lever": "cancel"})
    return ended


def approve(conn: Connection, action_id: str, *, person: Person, now: datetime) -> Action:
    """Gives the approval that a rung waits for. Raises UsageError for an action that does not wait."""
    action = action_of(conn, action_id)
    _own_action(conn, action, person)
    if action.state.terminal or action.code is not GuardCode.APPROVAL:
        raise UsageError(f"action {action.id} does not wait for an approval")
    approved = actions.save(conn, replace(action, approved_by=person.name, updated_at=now))
    _note_action(conn, now, action, person, "approved", {"lever": "approve"})
    return approved


def stop_now(conn: Connection, action_id: str, *, person: Person, now: datetime) -> Action:
    """Ends the grace of an announced stop, and gives the approval that it may wait for.

    Everything else is asked as ever: both live looks and every other guard, so a box that works is not stopped.
    Raises UsageError for an action that has ended, is under way, only records, or announces no stop.
    """
    action = action_of(conn, action_id)
    _own_action(conn, action, person)
    if action.state.terminal or action.state.in_flight or action.dry_run:
        raise UsageError(f"action {action.id} is {action.state.value}; there is nothing to bring forward")
    if action.response is not Response.STOP:
        raise UsageError(f"action {action.id} announces no stop")
    # due_at as well: the act loop sees by it that something came due, and decides without waiting for the next cycle.
    hastened = replace(action, hastened_at=now, due_at=now, approved_by=person.name, updated_at=now)
    stored = actions.save(conn, hastened)
    _note_action(conn, now, action, person, "asked to stop now", {"lever": "stop_now"})
    return stored


def dispute(conn: Connection, action_id: str, *, reason: str, person: Person, now: datetime) -> Action:
    """Marks a stop as wrong: counted in reports, and that box is in dry run for seven days."""
    action = action_of(conn, action_id)
    if action.executed_at is None or (ref := action.subject.ref) is None:
        raise UsageError(f"action {action.id} stopped nothing; there is nothing to dispute")
    if not reason.strip():
        raise UsageError("say why: --reason is what the next reader learns from")
    word = levers.Dispute(action.id, ref, person.name, reason.strip(), now, now + DISPUTE_HOLDS)
    levers.dispute(conn, word)
    savings.dispute(conn, action.id, now)
    disputed = actions.save(conn, replace(action, disputed_by=person.name, updated_at=now))
    actions.look_again(conn, ref)
    _note_action(conn, now, action, person, f"disputed: {word.reason}", {"lever": "dispute", "reason": word.reason})
    return disputed


def action_of(conn: Connection, action_id: str) -> Action:
    """The action by id or a unique beginning of it. Raises UsageError."""
    action = actions.get(conn, action_id)
    if action is not None:
        return action
    near = [a for a in actions.list_actions(conn) if len(action_id) >= 4 and a.id.startswith(action_id)]
    if len(near) == 1:
        return near[0]
    raise UsageError(f"no action {action_id!r}; `costguard actions` lists them", [a.id for a in near])


def _hush(conn: Connection, action: Action) -> None:
    """A warning that is still waiting to be sent must not go out for a ladder that has ended."""
    for notice in outbox.list_notices(conn, action_id=action.id, states=[NoticeState.PENDING]):
        outbox.suppress(conn, notice.id, SendReason.NEWER)


def _call_off(conn: Connection, action: Action, person: Person, now: datetime) -> None:
    """Whoever was warned, or asked for an approval, hears that it is off; nobody else does."""
    told: dict[str, Notice] = {}
    for notice in outbox.list_notices(conn, action_id=action.id, states=_GOT):
        if notice.kind in (NoticeKind.WARN, NoticeKind.APPROVAL):
            told.setdefault(notice.channel, notice)
    if not told:
        return
    resource = inventory.resource(conn, action.subject.ref) if action.subject.ref else None
    key = f"{action.id}:{action.held_since:%Y%m%dT%H%M%S}:cancelled"
    calls_off = []
    for notice in told.values():
        facts = cleared_facts(
            action=action, resource=resource, now=now, timezone=str(notice.facts["timezone"]), why="cancelled",
            by=person.name, links=cast("Mapping[str, str]", notice.facts["links"]),
        )  # fmt: skip
        calls_off.append(follow_up(notice, NoticeKind.CLEARED, key, facts, now))
    outbox.enqueue(conn, calls_off)


def _own(conn: Connection, text: str, person: Person) -> Resource:
    resource = find(conn, text)
    owner = person.ownership.of(conn, resource)
    if not person.may(owner):
        raise UsageError(f"{person.name} may not act for {owner or 'a resource without owner'}")
    return resource


def _operator(person: Person) -> None:
    if person.owns is not None:
        raise UsageError(f"{person.name} may not pause or resume; an operator may")


def _own_action(conn: Connection, action: Action, person: Person) -> None:
    ref = action.subject.ref
    resource = inventory.resource(conn, ref) if ref else None
    if person.owns is not None and (resource is None or not person.may(person.ownership.of(conn, resource))):
        raise UsageError(f"{person.name} may not act on {action.subject.name or action.subject.id}")


def _note(conn: Connection, now: datetime, resource: Resource, person: Person, text: str, evidence: Evidence) -> None:
    entry = LedgerEntry(now, LedgerKind.LEVER, Subject.of(resource), text, person.name, evidence=_via(person, evidence))
    ledger.append(conn, [entry])


def _note_action(
    conn: Connection, now: datetime, action: Action, person: Person, text: str, evidence: Evidence
) -> None:
    entry = LedgerEntry(
        now,
        LedgerKind.LEVER,
        action.subject,
        text,
        person.name,
        action_id=action.id,
        policy=action.policy,
        evidence=_via(person, evidence),
    )
    ledger.append(conn, [entry])


def _via(person: Person, evidence: Evidence) -> Evidence:
    return {**evidence, "via": person.via} if person.via else evidence
