"""Plan: from findings and open ladders to what is stored, told and started this cycle.

Each policy and subject has its own ladder. Of the rungs on one resource that are due and allowed, the
mildest that ends the compute bill acts, then the earliest due, then by name; over all resources the most
wasteful go first. Nothing here calls out: a ladder that may act leaves as ``validating``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from operator import attrgetter

from costguard.domain.action import Action, ActionState
from costguard.domain.copies import copy_with
from costguard.domain.decision import ALLOW, Decision, GuardCode, Response, Verdict
from costguard.domain.finding import Finding, Subject
from costguard.domain.ledger import LedgerEntry
from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.snapshot import Snapshot
from costguard.engine.close import Closing, TimerChange, held_back
from costguard.engine.effective import dry_run_code
from costguard.engine.evaluate import Evaluation
from costguard.engine.events import Event, EventKind
from costguard.engine.guard import defer
from costguard.engine.ladder import Ladder, reached, restarted, unheard
from costguard.engine.lifecycle import advance
from costguard.engine.limits import Limits
from costguard.engine.notices import NoticeRequest
from costguard.engine.ownership import whose
from costguard.engine.protection import keep_ended, promise_ended
from costguard.engine.settings import EngineSettings
from costguard.engine.steps import Passed, passed
from costguard.engine.walk import NewId, Walk
from costguard.rules.currency import Rates

_SEVERITY = {Response.STOP: 0, Response.RELEASE: 1}
_FRESH = frozenset({"updated_at", "subject", "evidence", "waste_per_hour", "reason"})
_LASTING = attrgetter(*(f.name for f in fields(Action) if f.name not in _FRESH))


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What the store knows besides open ladders.

    ``executed``: actions called within the last 60 minutes, whatever became of them. ``closed``: terminal ones
    (done, failed, cancelled) with ``clear_count`` < 2, which hold their fingerprint until the finding clears.
    ``restarted_at``: the latest resume, end of a pause, restore, arming or change to enforce; ``kept_until``: when a
    person's keep of a resource last ran out (ladders from before these start again).
    """

    executed: tuple[Action, ...] = ()
    closed: tuple[Action, ...] = ()
    restarted_at: datetime | None = None
    kept_until: Mapping[ResourceRef, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """To be stored in one transaction: ``updates`` first (compare-and-swap), then ``inserts``.

    ``notices`` and ``ledger`` belong to them. ``timers`` are provider-side release timers to move or remove.
    ``ended_keeps`` are promises ``until_idle`` that have ended. ``decisions`` are for people and JSON.
    """

    updates: tuple[Action, ...] = ()
    inserts: tuple[Action, ...] = ()
    decisions: tuple[Decision, ...] = ()
    notices: tuple[NoticeRequest, ...] = ()
    ledger: tuple[LedgerEntry, ...] = ()
    timers: tuple[TimerChange, ...] = ()
    ended_keeps: tuple[ResourceRef, ...] = ()


def plan(
    evaluation: Evaluation,
    open_actions: Iterable[Action],
    snapshot: Snapshot,
    facts: PlanFacts,
    settings: EngineSettings,
    new_id: NewId,
) -> Plan:
    """One cycle's plan. ``open_actions`` are all that are not terminal, recorded dry runs included.

    ``new_id`` gives ids for new ladders and notice requests. Pure apart from it; the order of policies,
    resources and actions changes nothing else.
    """
    rows = sorted(open_actions, key=lambda a: a.id)
    closing = Closing(evaluation, snapshot, settings, new_id)
    kept = [row for row in rows if row.state.in_flight or not closing.close(row)]
    held = closing.held(facts.closed)
    by_fingerprint = {row.fingerprint: row for row in (closing.latest(r) for r in kept)}
    decisions: list[Decision] = []
    walks: list[Walk] = []
    unsaid = passed(evaluation)
    for finding in evaluation.findings:
        fingerprint = finding.fingerprint
        row = by_fingerprint.get(fingerprint)
        if row is not None and row.state.in_flight:
            decisions.append(Decision(finding, row.id, row.response, row.rung, ALLOW, row.due_at, row.dry_run))
        elif row is None and fingerprint in held:
            decisions.extend(_held(finding, held[fingerprint]))
        elif (
            walk := _walk(finding, row, evaluation, snapshot, facts, settings, new_id, unsaid.get(fingerprint, {}))
        ) is not None:
            walks.append(walk)
    flying = [row for row in kept if row.state.in_flight]
    limits = Limits(evaluation, snapshot, settings, [*flying, *facts.executed, *(w.action for w in walks)])
    rates = Rates(snapshot.currency, snapshot.exchange_rates)
    started = _choose(walks, {row.subject: row for row in flying}, limits, rates)
    timers = [*closing.timers, *(change for walk in walks if (change := _timer(walk)) is not None)]
    updates = list(closing.updates.values())
    inserts: list[Action] = []
    for walk in walks:
        if id(walk) in started:
            due = advance(walk.action, Event(EventKind.DUE), snapshot.now, settings).action
            action = copy_with(due, updated_at=snapshot.now)
        else:
            action = walk.settle()
        if walk.before is None:
            inserts.append(action)
        elif _differs(action, walk.before):
            updates.append(action)
        dry, due_at = walk.dry is not None, walk.due_at
        decisions.append(Decision(walk.finding, action.id, action.response, action.rung, walk.verdict, due_at, dry))
    decisions.extend(closing.decisions)
    decisions.sort(key=lambda d: (d.policy, d.subject.key, d.finding.threshold))
    return Plan(
        tuple(updates),
        tuple(inserts),
        tuple(decisions),
        (*closing.notices, *(n for w in walks for n in w.notices)),
        (*closing.ledger, *(line for w in walks for line in w.ledger)),
        tuple(timers),
        tuple(sorted(ref for ref in snapshot.keeps if _over(ref, snapshot))),
    )


def _over(ref: ResourceRef, snapshot: Snapshot) -> bool:
    resource = snapshot.resources.get(ref)
    return resource is not None and keep_ended(resource, snapshot)


def _held(finding: Finding, row: Action) -> list[Decision]:
    """A fingerprint that ended for good: done ones say nothing more, others wait for a person."""
    if row.state is ActionState.DONE:
        return []
    return [Decision(finding, row.id, row.response, row.rung, held_back(row), row.due_at, row.dry_run)]


def _walk(
    finding: Finding,
    row: Action | None,
    evaluation: Evaluation,
    snapshot: Snapshot,
    facts: PlanFacts,
    settings: EngineSettings,
    new_id: NewId,
    unsaid: Passed,
) -> Walk | None:
    """The ladder of one finding, one cycle further; None when no rung is for it."""
    ready = evaluation.policies[finding.policy]
    ladder = ready.ladder(finding.subject.type, finding.threshold)
    if not ladder.rungs:
        return None
    dry = dry_run_code(ready.policy, finding.subject, snapshot, settings)
    ref = finding.subject.ref
    resource = snapshot.resources.get(ref) if ref is not None else None
    action = _opened(finding, ladder, dry is not None, snapshot.now, new_id) if row is None else _seen(finding, row)
    owner = new_owner(action, ladder, resource, snapshot, settings)
    if row is not None and starts_again(action, resource, snapshot, facts):
        action = restarted(action, snapshot.now)
    elif row is not None and owner is not None:
        action = restarted(action, snapshot.now, heard=reached(action))
    walk = Walk(finding, ready, ladder, action, row, resource, dry, snapshot, settings, new_id)
    if row is None:
        walk.passed = unsaid
        walk.opened()
    elif owner is not None:
        walk.passed_on(owner)
    walk.step()
    if walk.action.code is GuardCode.PROTECTED and walk.verdict.code is not GuardCode.PROTECTED and row is not None:
        # What protected it is over: as if it were found only now.
        walk = replace(walk, action=restarted(action, snapshot.now), notices=[], ledger=[])
        walk.step()
    return walk


def _opened(finding: Finding, ladder: Ladder, dry: bool, now: datetime, new_id: NewId) -> Action:
    return Action(
        id=new_id(), policy=finding.policy, policy_hash=finding.policy_hash, rule=finding.rule,
        subject=finding.subject, threshold=finding.threshold, started_at=finding.started_at,
        response=ladder.response(0), state=ActionState.RECORDED if dry else ActionState.PROPOSED, dry_run=dry,
        since=finding.since, held_since=now, created_at=now, updated_at=now, evidence=finding.evidence,
        waste_per_hour=finding.waste_per_hour, code=GuardCode.OK,
    )  # fmt: skip


def _seen(finding: Finding, row: Action) -> Action:
    return copy_with(
        row,
        subject=finding.subject,
        since=min(row.since, finding.since),
        evidence=finding.evidence,
        waste_per_hour=finding.waste_per_hour,
        clear_count=0,
    )


def new_owner(
    action: Action, ladder: Ladder, resource: Resource | None, snapshot: Snapshot, settings: EngineSettings
) -> str | None:
    """Who has the box now and was not warned of what the ladder is about to do; None if nobody."""
    owner = whose(resource, snapshot) if resource is not None else None
    return owner if unheard(action, ladder, owner, settings.warning_life, snapshot.now) else None


def passed_on(owner: str) -> Verdict:
    """What holds a ladder back until :func:`new_owner` has been warned."""
    return defer(GuardCode.NOT_WARNED, f"its owner is now {owner}, who was not warned yet")


def starts_again(action: Action, resource: Resource | None, snapshot: Snapshot, facts: PlanFacts) -> bool:
    """Whether something happened since the ladder began after which people must be warned anew."""
    if action.warned_at is None and action.warning_id is None:
        return False
    if snapshot.paused_until is not None and snapshot.paused_until > snapshot.now:
        return True
    ends = [facts.restarted_at]
    if resource is not None:
        ends += [facts.kept_until.get(resource.ref), promise_ended(resource, snapshot)]
    return any(at is not None and action.held_since < at for at in ends)


def _choose(walks: list[Walk], flying: Mapping[Subject, Action], limits: Limits, rates: Rates) -> set[int]:
    """Which walks start now (by id()); the others' verdicts say why not. Dry ladders compete among themselves."""
    groups: dict[tuple[Subject, bool], list[Walk]] = {}
    for walk in walks:
        if walk.candidate and walk.warning_too_old:
            walk.restart()
        elif walk.candidate:
            groups.setdefault((walk.finding.subject, walk.dry is not None), []).append(walk)
    ordered = sorted(groups.items(), key=lambda item: _waste_first(item[1], rates))
    started: set[int] = set()
    for (subject, dry), group in ordered:
        if not dry and subject in flying:
            _defer(group, defer(GuardCode.LIMIT, f"{flying[subject].policy} already acts on it"))
            continue
        winner = None
        for walk in sorted(group, key=_mildest):
            if winner is not None:
                _defer([walk], defer(GuardCode.LIMIT, f"{winner.finding.policy} acts first"))
                continue
            full = limits.ask(walk.finding.policy, subject.account, dry) if walk.response.ends_billing else None
            if full is not None:
                _defer([walk], full)
                continue
            winner = walk
            _start(walk, limits, started)
    return started


def _start(walk: Walk, limits: Limits, started: set[int]) -> None:
    assert walk.acting is not None, "a candidate has a rung that acts"
    do = walk.ladder.rungs[walk.acting].do
    walk.action = copy_with(walk.action, rung=walk.acting, response=do, due_at=walk.due_at)
    limits.take(walk.action)
    if walk.dry is not None:
        walk.recorded()
    else:
        started.add(id(walk))


def _timer(walk: Walk) -> TimerChange | None:
    """A release timer that is set must go when the ladder starts again or a guard has something against it."""
    ref, before = walk.finding.subject.ref, walk.before
    if ref is None or before is None or walk.dry is not None or not walk.ladder.timer_before(before.rung):
        return None
    stands = walk.ladder.timer_before(walk.action.rung)
    if stands and walk.verdict.code in (GuardCode.OK, GuardCode.NOT_DUE):
        return None
    if stands:
        walk.action = restarted(walk.action, walk.snapshot.now)
    return TimerChange(ref, None, before.id, walk.verdict.reason or "the ladder starts again")


def _defer(walks: list[Walk], verdict: Verdict) -> None:
    for walk in walks:
        walk.verdict = verdict


def _mildest(walk: Walk) -> tuple[int, datetime, str, str]:
    assert walk.due_at is not None, "a candidate is due"
    return _SEVERITY.get(walk.response, 2), walk.due_at, walk.finding.policy, walk.finding.threshold


def _waste_first(group: list[Walk], rates: Rates) -> tuple[int, datetime, str]:
    """Most wasteful first; without a price, or a rate for it, last."""
    now = group[0].snapshot.now
    wastes = [rates.convert(w.finding.waste_per_hour, now) for w in group if w.finding.waste_per_hour is not None]
    most = max((money.nanos for money in wastes if money is not None), default=-1)
    return -most, min(_mildest(walk)[1] for walk in group), group[0].finding.subject.key


def _differs(new: Action, old: Action) -> bool:
    """Whether a row is worth writing: fresh evidence alone is not."""
    return _LASTING(new) != _LASTING(old)
