"""The action lifecycle: a table from (state, event) to what happens next. docs/lifecycle.md shows it.

Pure: it changes a copy of the row and says what to do; the daemon stores the row first, in one
transaction with the ledger and the notices, and does the thing after. So a process that dies anywhere
leaves a row that tells the next one what to look at.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from costguard.domain.action import Action, ActionState
from costguard.domain.copies import copy_with
from costguard.domain.decision import Answer, GuardCode, Response
from costguard.domain.finding import Evidence
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.money import Money
from costguard.domain.notice import NoticeKind
from costguard.engine.events import Event, EventKind, Look
from costguard.engine.settings import EngineSettings

S = ActionState


class Do(StrEnum):
    """What the daemon does after the row is committed."""

    NOTHING = "nothing"
    LOOK = "look"  # read live, evaluate again, ask the guards again
    HOOK = "hook"  # start the hook, then report HOOK_STARTED
    CALL = "call"  # call the provider once, with the row's token
    VERIFY = "verify"  # read live until ENDED or the deadline


# A box whose hook says that it works counts as at work for so long.
AFTER_BUSY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Transition:
    """The row as it is to be stored, what to tell, what to write down, and what to do once it is stored.

    ``busy`` asks the daemon to note that the box works now (a hook said so), so that its idle clock restarts.
    ``saving`` tells that a confirmed end of billing is to be booked.
    """

    action: Action
    do: Do = Do.NOTHING
    ledger: tuple[LedgerEntry, ...] = ()
    tell: NoticeKind | None = None
    saving: bool = False
    busy: bool = False


class IllegalEvent(ValueError):
    """An event that cannot happen in this state: a mistake of the caller, never of the world."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One application of the table."""

    action: Action
    event: Event
    now: datetime
    settings: EngineSettings = field(default_factory=EngineSettings)

    def to(self, state: ActionState, **fields: object) -> Action:
        return copy_with(self.action, state=state, updated_at=self.now, **fields)

    def line(
        self, kind: LedgerKind, text: str, action: Action | None = None, money: Money | None = None
    ) -> LedgerEntry:
        row = action or self.action
        code = row.code.value if kind in (LedgerKind.REFUSED, LedgerKind.DEFERRED) else None
        return LedgerEntry(
            self.now, kind, row.subject, text, self.event.who, row.id, row.policy, code, money,
            self._facts(kind, row),
        )  # fmt: skip

    def _facts(self, kind: LedgerKind, row: Action) -> Evidence:
        """What the line rests on: the whole evidence of a call, the word for why a ladder was dropped."""
        if kind is LedgerKind.EXECUTED:
            return row.evidence
        return {"why": self.event.why} if kind is LedgerKind.SUPERSEDED and self.event.why else {}


Handler = Callable[[_Step], Transition]


def advance(action: Action, event: Event, now: datetime, settings: EngineSettings | None = None) -> Transition:
    """What ``event`` makes of ``action``. ``now`` is aware UTC.

    A terminal row stays as it is, whatever happens; a look or a lever that comes late changes nothing.
    Raises IllegalEvent for an event that the state does not know.
    """
    if action.state.terminal:
        return Transition(action)
    handler = TABLE.get((action.state, event.kind))
    if handler is None:
        raise IllegalEvent(f"{event.kind.value} cannot happen to an action that is {action.state.value}")
    return handler(_Step(action, event, now, settings or EngineSettings()))


def _warned(step: _Step) -> Transition:
    at = step.event.at or step.now
    if step.action.warned_at is not None or step.event.warning_id != step.action.warning_id:
        return Transition(step.action)
    state = step.action.state if step.action.state is S.RECORDED else S.WARNED
    action = step.to(state, warned_at=at, code=GuardCode.NOT_DUE)
    return Transition(action, ledger=(step.line(LedgerKind.WARNING, "the warning was delivered"),))


def _due(step: _Step) -> Transition:
    deadline = step.now + step.settings.call_deadline
    return Transition(step.to(S.VALIDATING, deadline=deadline, code=GuardCode.OK, reason=""), Do.LOOK)


def _first_look(step: _Step) -> Transition:
    event = step.event
    seen = _seen(step)
    if event.hook:
        assert event.hook_timeout is not None, "a hook has a timeout"
        action = copy_with(
            seen, state=S.PREPARING, deadline=step.now + event.hook_timeout, hook_started_at=step.now,
            hook_run=None, hook_output=None,
        )  # fmt: skip
        return Transition(action, Do.HOOK)
    return Transition(copy_with(seen, state=S.REVALIDATING, deadline=step.now + step.settings.call_deadline), Do.LOOK)


def _seen(step: _Step) -> Action:
    evidence = step.event.evidence if step.event.evidence is not None else step.action.evidence
    return step.to(step.action.state, evidence=evidence, waste_per_hour=step.event.waste or step.action.waste_per_hour)


def _second_look(step: _Step) -> Transition:
    if not step.event.token:
        raise IllegalEvent("a call needs a fresh token")
    if step.event.token == step.action.token:
        raise IllegalEvent("a token is used for one call only")
    action = copy_with(
        _seen(step), state=S.EXECUTING, token=step.event.token, lease_token=step.event.lease_token,
        executed_at=step.now, deadline=step.now + step.settings.call_deadline,
    )  # fmt: skip
    line = step.line(LedgerKind.EXECUTED, f"{action.response.value} is called", action, action.waste_per_hour)
    return Transition(action, Do.CALL, (line,))


def _changed(step: _Step) -> Transition:
    return _ended(step, S.SUPERSEDED, LedgerKind.SUPERSEDED, step.event.reason or "the situation changed")


def _superseded(step: _Step) -> Transition:
    return _ended(step, S.SUPERSEDED, LedgerKind.SUPERSEDED, step.event.reason or "superseded")


def _cancelled(step: _Step) -> Transition:
    """By a person. The code APPROVAL holds the fingerprint: no new ladder until the finding has cleared."""
    reason = step.event.reason or f"cancelled by {step.event.who}"
    return _ended(step, S.CANCELLED, LedgerKind.CANCELLED, reason, GuardCode.APPROVAL)


def _kept(step: _Step) -> Transition:
    reason = step.event.reason or f"kept by {step.event.who}"
    return _ended(step, S.CANCELLED, LedgerKind.CANCELLED, reason, GuardCode.PROTECTED)


def _ended(step: _Step, state: ActionState, kind: LedgerKind, reason: str, code: GuardCode | None = None) -> Transition:
    action = step.to(state, ended_at=step.now, reason=reason, code=code or step.action.code, deadline=None)
    warned = step.action.warned_at is not None and not step.action.dry_run
    told = {S.CANCELLED: NoticeKind.KEPT, S.SUPERSEDED: NoticeKind.CLEARED}[state] if warned else None
    return Transition(action, ledger=(step.line(kind, reason, action),), tell=told)


def _refused(step: _Step) -> Transition:
    """The ladder stays open: the plan asks again each cycle."""
    verdict = step.event.verdict
    assert verdict is not None, "a refusal has its verdict"
    action = step.to(
        S.DEFERRED, code=verdict.code, reason=verdict.reason, deadline=None, hook_started_at=None, hook_run=None
    )
    kind = LedgerKind.REFUSED if verdict.answer is Answer.DENY else LedgerKind.DEFERRED
    # Somebody asked for it at once, and waits.
    tell = NoticeKind.NOTIFY if step.action.hastened_at is not None else None
    return Transition(action, ledger=(step.line(kind, verdict.reason, action),), tell=tell)


def _hook_started(step: _Step) -> Transition:
    return Transition(step.to(S.PREPARING, hook_run=step.event.run))


def _hook_saved(step: _Step) -> Transition:
    action = step.to(S.REVALIDATING, hook_output=step.event.output, deadline=step.now + step.settings.call_deadline)
    return Transition(action, Do.LOOK)


def _hook_busy(step: _Step) -> Transition:
    """Exit 75: the box works. The ladder ends, and the idle clock starts again."""
    reason = step.event.reason or "the hook says that it is busy"
    changed = _ended(step, S.CANCELLED, LedgerKind.CANCELLED, reason, GuardCode.BUSY)
    return replace(changed, action=replace(changed.action, hook_output=step.event.output), busy=True)


def _hook_failed(step: _Step) -> Transition:
    why = step.event.reason or "no answer in time"
    if step.event.go_on:
        line = step.line(LedgerKind.SYSTEM, f"{step.action.response.value} goes on without its hook or look: {why}")
        return replace(_hook_saved(step), ledger=(line,))
    return _failed(step, f"the hook failed: {why}")


def _failed(step: _Step, why: str) -> Transition:
    """Alert and try again later; after the last retry the ladder is held for a person."""
    attempt, waits = step.action.attempt + 1, step.settings.retries
    held = attempt > len(waits)
    action = step.to(
        S.FAILED if held else S.DEFERRED,
        attempt=attempt, error=why, reason=why, deadline=None, hook_started_at=None, hook_run=None,
        hook_output=step.event.output or step.action.hook_output,
        retry_at=None if held else step.now + waits[attempt - 1],
        ended_at=step.now if held else None,
        code=GuardCode.APPROVAL if held else GuardCode.NOT_DUE,
    )  # fmt: skip
    return Transition(action, ledger=(step.line(LedgerKind.FAILED, why, action),), tell=NoticeKind.FAILED)


def _accepted(step: _Step) -> Transition:
    action = step.to(S.VERIFYING, deadline=step.now + step.settings.verify_deadline, error=None)
    return Transition(action, Do.VERIFY)


def _throttled(step: _Step) -> Transition:
    """An explicit refusal: nothing was done. Two fresh looks come before the next call; no attempt is spent."""
    action = step.to(
        S.DEFERRED, retry_at=step.now + step.event.after, executed_at=None, deadline=None, code=GuardCode.NOT_DUE,
        reason="the provider asked for a pause", hook_started_at=None, hook_run=None,
    )  # fmt: skip
    return Transition(action, ledger=(step.line(LedgerKind.DEFERRED, action.reason, action),))


def _rejected(step: _Step) -> Transition:
    return _failed(step, step.event.reason or "the provider refused")


def _lost(step: _Step) -> Transition:
    """The outcome is open: look, never repeat blindly."""
    action = step.to(
        S.IN_DOUBT, error=step.event.reason or "the outcome of the call is not known",
        deadline=step.now + step.settings.verify_deadline,
    )  # fmt: skip
    return Transition(action, Do.VERIFY)


def _looked(step: _Step) -> Transition:
    match step.event.look:
        case Look.ENDED:
            return _done(step, confirmed=True)
        case Look.ENDED_BILLED:
            return _done(step, confirmed=False)
        case Look.GONE if step.action.response is Response.RELEASE:
            return _done(step, confirmed=True)
        case Look.GONE:
            return _superseded(_because(step, "the resource is gone", "gone"))
        case Look.RESTARTED:
            return _superseded(_because(step, "somebody started it again", "restarted"))
        case Look.UNDERWAY | Look.UNCHANGED:
            return _not_yet(step)
        case None:
            raise IllegalEvent("a look has to show something")


def _because(step: _Step, reason: str, why: str) -> _Step:
    return replace(step, event=replace(step.event, reason=reason, why=why))


def _not_yet(step: _Step) -> Transition:
    underway = step.event.look is Look.UNDERWAY
    if step.action.deadline is None or step.now < step.action.deadline:
        # Something is happening: then the call did arrive.
        action = step.to(S.VERIFYING) if underway and step.action.state is S.IN_DOUBT else step.action
        return Transition(action, Do.VERIFY)
    if step.action.state is S.VERIFYING:
        return _failed(step, "accepted, but not seen to happen in time")
    return _failed(step, step.action.error or "the call was lost")


def _done(step: _Step, *, confirmed: bool) -> Transition:
    """``more``: a rung in the middle of a ladder is done, the ladder goes on. Else the row ends here."""
    row = step.action
    if step.event.more and not row.response.ends_billing:
        state = S.WARNED if row.warned_at is not None else S.PROPOSED
        action = step.to(
            state, rung=row.rung + 1, token=None, executed_at=None, approved_by=None, deadline=None, retry_at=None,
            attempt=0, error=None, code=GuardCode.NOT_DUE, reason="", hook_started_at=None, hook_run=None,
        )  # fmt: skip
        return Transition(action, ledger=(step.line(LedgerKind.CONFIRMED, f"{row.response.value} is done", action),))
    action = step.to(
        S.DONE, ended_at=step.now, deadline=None, error=None, code=GuardCode.OK,
        reason="" if confirmed else "done, but the provider still bills it",
    )  # fmt: skip
    line = step.line(LedgerKind.CONFIRMED, action.reason or f"{row.response.value} is confirmed", action)
    saving = confirmed and row.response.ends_billing
    return Transition(action, ledger=(line,), tell=NoticeKind.RESULT, saving=saving)


def _again(step: _Step) -> Transition:
    """Nothing had been called: look again. A hook that has run is not run twice."""
    return Transition(step.to(step.action.state, deadline=step.now + step.settings.call_deadline), Do.LOOK)


def _approved(step: _Step) -> Transition:
    action = step.to(step.action.state, approved_by=step.event.who)
    return Transition(action, ledger=(step.line(LedgerKind.LEVER, f"approved by {step.event.who}", action),))


def _recover_hook(step: _Step) -> Transition:
    """A hook that is known to run is waited for. Whether another one started cannot be told, so it failed."""
    if step.action.hook_run is not None:
        return Transition(step.action, Do.HOOK)
    return _hook_failed(replace(step, event=replace(step.event, reason="costguard stopped while it was started")))


def _recover_call(step: _Step) -> Transition:
    return _lost(replace(step, event=replace(step.event, reason="costguard stopped during the call")))


def _keep_looking(step: _Step) -> Transition:
    return Transition(step.action, Do.VERIFY)


def _nothing(step: _Step) -> Transition:
    return Transition(step.action)


_LOOKS: Mapping[EventKind, Handler] = {
    EventKind.CHANGED: _changed, EventKind.REFUSED: _refused, EventKind.CANCEL: _cancelled, EventKind.KEEP: _kept,
    EventKind.WARNED: _nothing,
}  # fmt: skip
_WAITS: Mapping[EventKind, Handler] = {
    EventKind.DUE: _due, EventKind.CANCEL: _cancelled, EventKind.KEEP: _kept, EventKind.SUPERSEDE: _superseded,
    EventKind.RECOVER: _nothing, EventKind.WARNED: _warned, EventKind.APPROVE: _approved,
}  # fmt: skip
# After the call only looking decides: a person's word comes too late to prevent it.
_TOO_LATE: Mapping[EventKind, Handler] = {
    EventKind.CANCEL: _nothing, EventKind.KEEP: _nothing, EventKind.WARNED: _nothing,
}  # fmt: skip

_BY_STATE: Mapping[ActionState, Mapping[EventKind, Handler]] = {
    S.PROPOSED: _WAITS,
    S.WARNED: _WAITS,
    S.DEFERRED: _WAITS,
    S.RECORDED: {k: h for k, h in _WAITS.items() if k is not EventKind.DUE},
    S.VALIDATING: {**_LOOKS, EventKind.HOLDS: _first_look, EventKind.RECOVER: _again},
    S.PREPARING: {
        EventKind.HOOK_STARTED: _hook_started, EventKind.HOOK_SAVED: _hook_saved, EventKind.HOOK_BUSY: _hook_busy,
        EventKind.HOOK_FAILED: _hook_failed, EventKind.CANCEL: _cancelled, EventKind.KEEP: _kept,
        EventKind.RECOVER: _recover_hook, EventKind.WARNED: _nothing, EventKind.CHANGED: _changed,
        EventKind.THROTTLED: _throttled,
    },
    S.REVALIDATING: {**_LOOKS, EventKind.HOLDS: _second_look, EventKind.RECOVER: _again},
    S.EXECUTING: {
        **_TOO_LATE, EventKind.ACCEPTED: _accepted, EventKind.THROTTLED: _throttled, EventKind.REJECTED: _rejected,
        EventKind.LOST: _lost, EventKind.RECOVER: _recover_call,
    },
    S.IN_DOUBT: {**_TOO_LATE, EventKind.LOOKED: _looked, EventKind.RECOVER: _keep_looking},
    S.VERIFYING: {**_TOO_LATE, EventKind.LOOKED: _looked, EventKind.RECOVER: _keep_looking},
}  # fmt: skip

TABLE: Mapping[tuple[ActionState, EventKind], Handler] = {
    (state, kind): handler for state, row in _BY_STATE.items() for kind, handler in row.items()
}
