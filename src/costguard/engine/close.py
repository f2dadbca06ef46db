"""Closing: which open ladders end this cycle because what they were about is no longer so."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from costguard.domain.action import Action, ActionState
from costguard.domain.budget import FORECAST
from costguard.domain.copies import copy_with
from costguard.domain.decision import Decision, GuardCode, Verdict
from costguard.domain.finding import Judgement, Outcome, Subject, SubjectType
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.snapshot import Snapshot
from costguard.engine.effective import dry_run_code
from costguard.engine.evaluate import Evaluation
from costguard.engine.events import Event, EventKind
from costguard.engine.guard import defer, deny
from costguard.engine.ladder import RELEASE_MARGIN, Ladder, restarted
from costguard.engine.lifecycle import Transition, advance
from costguard.engine.notices import NoticeRequest, request
from costguard.engine.protection import keep_ended
from costguard.engine.settings import EngineSettings
from costguard.engine.steps import is_step, settling, story, told_below
from costguard.engine.walk import NewId
from costguard.rules.reasons import sentence

CLEAR_AFTER = 2
# What a rule answers when there is nothing left to end, and what is said of the ladder then.
_AT_ONCE = {
    "not_running": ("it is off now: nothing is left for this policy to do", "off"),
    "gone": ("it is gone", "gone"),
}
_HOLDS = frozenset({ActionState.DONE, ActionState.FAILED, ActionState.CANCELLED})


@dataclass(frozen=True, slots=True)
class TimerChange:
    """A provider-side release timer of ours to move (``at``, aware UTC) or to remove (None), and why."""

    ref: ResourceRef
    at: datetime | None
    action_id: str
    reason: str


def held_back(row: Action) -> Verdict:
    """What is said of a finding whose ladder ended without success: nothing starts until it clears."""
    why = f"{row.state.value}: {row.reason}; a person decides, or the finding clears"
    return deny(GuardCode.APPROVAL, why)


class Closing:
    """Collects what closing changes. ``updates`` holds changed rows by id."""

    def __init__(self, evaluation: Evaluation, snapshot: Snapshot, settings: EngineSettings, new_id: NewId) -> None:
        self._evaluation, self._snapshot, self._settings, self._new_id = evaluation, snapshot, settings, new_id
        self._index: dict[str, dict[tuple[Subject, str], Judgement]] = {}
        self.updates: dict[str, Action] = {}
        self.notices: list[NoticeRequest] = []
        self.ledger: list[LedgerEntry] = []
        self.timers: list[TimerChange] = []
        self.decisions: list[Decision] = []

    def latest(self, row: Action) -> Action:
        """The row as this cycle has changed it."""
        return self.updates.get(row.id, row)

    def close(self, row: Action) -> bool:
        """Ends the ladder if it is over. Not for rows in flight: those end by their own looks."""
        event = self._over(row)
        if event is None:
            return False
        self._apply(row, event, advance(row, event, self._snapshot.now, self._settings))
        return True

    def held(self, closed: Iterable[Action]) -> dict[str, Action]:
        """The fingerprints that ended rows still hold, counting those whose finding has cleared meanwhile."""
        holding: dict[str, Action] = {}
        for row in sorted(closed, key=lambda a: (a.updated_at, a.id)):
            if row.state not in _HOLDS or row.clear_count >= CLEAR_AFTER:
                continue
            if row.state is ActionState.CANCELLED and row.code is not GuardCode.APPROVAL:
                continue
            judgement = self._judgement(row)
            if self._policy_differs(row) or judgement is None or _another_run(row, judgement):
                self.updates[row.id] = copy_with(row, clear_count=CLEAR_AFTER)
            elif judgement.outcome is Outcome.CLEAR:
                self._count(row, judgement)
            elif judgement.outcome is Outcome.FIRES and row.clear_count:
                self.updates[row.id] = copy_with(row, clear_count=0)
            if self.latest(row).clear_count < CLEAR_AFTER:
                holding[row.fingerprint] = row
        return holding

    def _over(self, row: Action) -> Event | None:
        """The event that ends an open ladder, None while it goes on."""
        if self._policy_differs(row):
            return Event(EventKind.SUPERSEDE, "the policy is another one now", "policy")
        ready = self._evaluation.policies[row.policy]
        dry = dry_run_code(ready.policy, row.subject, self._snapshot, self._settings) is not None
        if dry != row.dry_run:
            return Event(EventKind.SUPERSEDE, "it only records now" if dry else "it is real now", "policy")
        if (kept := self._kept(row)) is not None:
            return kept
        judgement = self._judgement(row)
        if judgement is None:
            return Event(EventKind.SUPERSEDE, "it is gone, or the policy does not match it any more")
        if judgement.outcome is Outcome.CLEAR and judgement.reason in _AT_ONCE:
            return Event(EventKind.SUPERSEDE, *_AT_ONCE[judgement.reason])
        if _another_run(row, judgement):
            return Event(EventKind.SUPERSEDE, "it was started again", "restarted")
        if judgement.outcome is Outcome.UNKNOWN:
            self._unknown(row, judgement)
            return None
        if judgement.outcome is Outcome.FIRES:
            return None
        if self._count(row, judgement) >= CLEAR_AFTER:
            return Event(
                EventKind.SUPERSEDE, f"it no longer holds: {sentence(judgement.reason, judgement.evidence)}", "busy"
            )
        return None

    def _policy_differs(self, row: Action) -> bool:
        ready = self._evaluation.policies.get(row.policy)
        return ready is None or ready.hash != row.policy_hash

    def _kept(self, row: Action) -> Event | None:
        """A person's keep ends the ladders that it found; the ones that come later wait, protected."""
        resource = self._resource(row)
        keep = self._snapshot.keeps.get(resource.ref) if resource is not None else None
        if keep is None or resource is None or keep.until <= self._snapshot.now or row.created_at >= keep.at:
            return None
        if keep_ended(resource, self._snapshot) or self._ladder(row).next_acting(0) is None:
            return None
        return Event(EventKind.KEEP, f"kept by {keep.by}: {keep.reason}", who=keep.by)

    def _unknown(self, row: Action, judgement: Judgement) -> None:
        """Neither fires nor clears: the ladder waits, and a dry run before its due time says so."""
        now = self._snapshot.now
        early = row.dry_run and (row.due_at is None or row.due_at > now)
        reason = "the grace has not passed" if early else sentence(judgement.reason, judgement.evidence)
        verdict = defer(GuardCode.NOT_DUE, reason, row.due_at) if early else deny(GuardCode.UNKNOWN, reason)
        self.decisions.append(Decision(row.finding(), row.id, row.response, row.rung, verdict, row.due_at, row.dry_run))
        if verdict.code is not row.code:
            self.updates[row.id] = copy_with(row, code=verdict.code, reason=reason, updated_at=now)
            kind = LedgerKind.DEFERRED if early else LedgerKind.REFUSED
            self.ledger.append(self._line(row, kind, reason, verdict.code.value))
        if (ref := row.subject.ref) is not None and self._timer_is_set(row):
            self.timers.append(TimerChange(ref, None, row.id, reason))
            self.updates[row.id] = copy_with(restarted(row, now), code=verdict.code, reason=reason)

    def _count(self, row: Action, judgement: Judgement) -> int:
        """One more look with new data at which the finding did not hold."""
        newest = judgement.evidence.get("last_at")
        resource = self._resource(row)
        seen = newest if isinstance(newest, datetime) else resource.observed_at if resource else self._snapshot.now
        if row.last_sample_at is not None and seen <= row.last_sample_at:
            return row.clear_count
        count = CLEAR_AFTER if judgement.reason in _AT_ONCE else row.clear_count + 1
        self.updates[row.id] = copy_with(row, clear_count=count, last_sample_at=seen)
        return count

    def _apply(self, row: Action, event: Event, change: Transition) -> None:
        self.updates[row.id] = copy_with(change.action, clear_count=self.latest(row).clear_count)
        self.ledger.extend(change.ledger)
        if (ref := row.subject.ref) is not None and self._timer_is_set(row):
            keep = self._snapshot.keeps.get(ref) if event.kind is EventKind.KEEP else None
            at = keep.until + RELEASE_MARGIN if keep else None
            self.timers.append(TimerChange(ref, at, row.id, event.reason))
        tell = change.tell or (NoticeKind.CLEARED if self._only_told(row) else None)
        if tell is not None:
            resource, judgement = self._resource(row), self._judgement(row)
            finding = row.finding()
            ready = self._evaluation.policies.get(row.policy)
            if judgement is not None and judgement.outcome is Outcome.CLEAR:
                # What is told of a recovery are its own numbers.
                finding = replace(finding, evidence=judgement.evidence)
            self.notices.append(
                request(
                    change.action, finding, tell, self._new_id(), tell.value,
                    price=resource.price if resource else None, now=self._snapshot.now, reason=event.reason,
                    why=event.why, story=story(ready.policy, finding) if ready and is_step(finding) else "",
                )
            )  # fmt: skip

    def _only_told(self, row: Action) -> bool:
        """Whether people heard of it, and what they heard is over by what is known, not by what is missing.

        A forecast moves to and fro; what it is about is told by the steps that spend reaches. What goes on in the
        box's next run is not over. Of a budget's steps that recover at once the lowest is told; none that a bill's
        settling took back by a little.
        """
        if row.threshold.startswith(FORECAST):
            return False
        if is_step(row.finding()) and told_below(row.threshold, self._evaluation.judgements.get(row.policy, ())):
            return False
        judgement = self._judgement(row)
        if judgement is not None and (
            judgement.outcome is Outcome.FIRES or (is_step(judgement) and settling(judgement))
        ):
            return False
        told = row.rung > 0 and not row.dry_run and not self._policy_differs(row)
        return told and (row.subject.type is SubjectType.RESOURCE or judgement is not None)

    def _timer_is_set(self, row: Action) -> bool:
        if row.dry_run:
            return False
        if self._policy_differs(row):
            # The old policy's rungs are not known any more; what it may have set, the resource tells.
            resource = self._resource(row)
            return row.rung > 1 and resource is not None and resource.auto_release_at is not None
        return self._ladder(row).timer_before(row.rung)

    def _ladder(self, row: Action) -> Ladder:
        ready = self._evaluation.policies[row.policy]
        return ready.ladder(row.subject.type, row.threshold)

    def _judgement(self, row: Action) -> Judgement | None:
        if row.policy not in self._index:
            answers = self._evaluation.judgements.get(row.policy, ())
            self._index[row.policy] = {(a.subject, a.threshold): a for a in answers}
        return self._index[row.policy].get((row.subject, row.threshold))

    def _resource(self, row: Action) -> Resource | None:
        ref = row.subject.ref
        return self._snapshot.resources.get(ref) if ref is not None else None

    def _line(self, row: Action, kind: LedgerKind, text: str, code: str) -> LedgerEntry:
        return LedgerEntry(self._snapshot.now, kind, row.subject, text, action_id=row.id, policy=row.policy, code=code)


def _another_run(row: Action, judgement: Judgement) -> bool:
    """Whether the judgement is about a later run of the box. A start that is not known just now proves nothing."""
    known = judgement.started_at is not None or judgement.outcome is Outcome.FIRES
    return known and judgement.started_at != row.started_at
