"""Explain: for one resource, every policy's match, judgement and guards, and what would change the verdict.

Pure, and the same functions that decide. The document is for JSON and for rendering alike; its values are
what :mod:`costguard.domain.codec` encodes.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Answer, GuardCode, Verdict
from costguard.domain.finding import EvidenceValue, Finding, Judgement, Outcome, Subject, SubjectType
from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.snapshot import Snapshot, SourceState
from costguard.engine.activity import activity_of
from costguard.engine.close import Closing, held_back
from costguard.engine.effective import dry_run_code
from costguard.engine.evaluate import Evaluation, Prepared
from costguard.engine.guard import Case, answers, guard
from costguard.engine.ladder import Ladder
from costguard.engine.limits import Limits
from costguard.engine.outlook import Outlook, of_judgement, of_ladder, outlook
from costguard.engine.ownership import owner_of
from costguard.engine.plan import new_owner, passed_on
from costguard.engine.protection import protection_of
from costguard.engine.settings import EngineSettings
from costguard.rules.burn import billed_per_hour
from costguard.rules.reasons import sentence

Document = dict[str, object]
OFF = "off"

_REMEDY: Mapping[GuardCode, str] = {
    GuardCode.STALE: "its inventory and usage are read again",
    GuardCode.PROTECTED: "the keep tag, keep or lock is taken away",
    GuardCode.FENCED: "never_stop no longer names it",
    GuardCode.SELF: "costguard runs somewhere else",
    GuardCode.BUSY: "every source is quiet for 30 min",
    GuardCode.UNKNOWN: "the missing samples arrive",
    GuardCode.GROUP_MEMBER: "never: scale the group in, or delete the job",
    GuardCode.UNSUPPORTED: "the adapter can do it and the account allows it",
    GuardCode.SAVES_NOTHING: "a stop ends its bill",
    GuardCode.LOSES_DATA: "nothing would be lost, or the stop rung says accept_loss",
    GuardCode.TOO_YOUNG: "it has run for a while",
    GuardCode.COOLDOWN: "24 h pass without another restart",
    GuardCode.OUTSIDE_HOURS: "only_during opens",
    GuardCode.NOT_WARNED: "the warning is delivered",
    GuardCode.NOT_DUE: "its time comes",
    GuardCode.LIMIT: "a place under the limit gets free",
    GuardCode.INVENTORY: "the inventory is whole again, or a person looked",
    GuardCode.APPROVAL: "an admin or the owner decides",
    GuardCode.PAUSED: "somebody resumes",
    GuardCode.LEASE: "this process leads",
    GuardCode.NOT_ARMED: "the account is listed in enforce_accounts and is who it should be",
    GuardCode.DRY_RUN: "configuration, account and policy all say mode: enforce",
}


def explain(
    ref: ResourceRef,
    evaluation: Evaluation,
    open_actions: Iterable[Action],
    snapshot: Snapshot,
    settings: EngineSettings,
    executed: Iterable[Action] = (),
    claimed: str | None = None,
    closed: Iterable[Action] = (),
) -> Document:
    """The whole story of one resource. Raises KeyError for a ref that the snapshot does not hold.

    ``closed`` are the ended ladders that may still hold their findings, as planning gets them.
    """
    resource = snapshot.resources[ref]
    rows = tuple(open_actions)
    limits = Limits(evaluation, snapshot, settings, (*rows, *executed))
    held = Closing(evaluation, snapshot, settings, str).held(a for a in closed if a.subject.ref == ref)
    account = snapshot.accounts.get(ref.account)
    owner, found_by = owner_of(resource, settings.owners, account, claimed)
    seen = activity_of(resource, snapshot)
    protection = protection_of(resource, snapshot)
    policies: list[Document] = []
    prospects: list[Outlook] = []
    for _, ready in sorted(evaluation.policies.items()):
        document, ahead = _policy(ready, resource, evaluation, rows, snapshot, settings, limits, held)
        policies.append(document)
        prospects += ahead
    next_ = outlook(prospects)
    return {
        "schema": "costguard.explain/1",
        "at": snapshot.now,
        "resource": {
            "ref": str(ref), "name": resource.name, "state": resource.state.value, "raw_state": resource.raw_state,
            "started_at": resource.started_at, "observed_at": resource.observed_at, "price": resource.price,
            "billed_per_hour": billed_per_hour(resource), "owner": owner, "owner_found_by": found_by,
            "group": resource.group,
        },
        "outlook": {
            "prospect": next_.prospect.value, "policy": next_.policy or None, "response": next_.response.value,
            "at": next_.at, "code": next_.code.value, "reason": next_.reason,
        },
        "activity": {
            "verdict": seen.activity.value if resource.is_running else OFF, "reason": seen.reason,
            "signals": [{"signal": name, "says": proof.value, "max": value} for name, proof, value in seen.signals],
        },
        "protection": None if protection is None else {"why": protection.why, "until": protection.until},
        "sources": _sources(ref, snapshot),
        "signals": _signals(ref, snapshot),
        "policies": policies,
    }  # fmt: skip


def _policy(
    ready: Prepared,
    resource: Resource,
    evaluation: Evaluation,
    rows: tuple[Action, ...],
    snapshot: Snapshot,
    settings: EngineSettings,
    limits: Limits,
    held: Mapping[str, Action],
) -> tuple[Document, list[Outlook]]:
    account = snapshot.accounts.get(resource.ref.account)
    dry = dry_run_code(ready.policy, Subject.of(resource), snapshot, settings)
    match = ready.matcher.explain(resource, account)
    document: Document = {
        "policy": ready.policy.name,
        "rule": ready.kind.name,
        "mode": ready.policy.mode,
        "effective_mode": "enforce" if dry is None else dry.value,
        "matched": match.matched,
        "why_not": match.why_not,
    }
    if not match.matched:
        return document | {"windows": [], "ladders": []}, []
    mine = [a for a in evaluation.judgements.get(ready.policy.name, ()) if a.subject.ref == resource.ref]
    ladders = [_ladder(ready, resource, answer, rows, snapshot, settings, limits, held) for answer in mine]
    windows = [
        {"metric": spec.metric.value, "window": spec.length}
        for spec in sorted(ready.kind.needs(ready.policy.when), key=lambda s: (s.metric, s.length))
    ]
    told = {"windows": windows, "ladders": [told for told, _ in ladders]}
    return document | told, [ahead for _, ahead in ladders]


def _ladder(
    ready: Prepared,
    resource: Resource,
    answer: Judgement,
    rows: tuple[Action, ...],
    snapshot: Snapshot,
    settings: EngineSettings,
    limits: Limits,
    held: Mapping[str, Action],
) -> tuple[Document, Outlook]:
    evidence: Mapping[str, EvidenceValue] = answer.evidence
    document: Document = {
        "outcome": answer.outcome.value, "reason": answer.reason, "threshold": answer.threshold, "since": answer.since,
        "evidence": dict(evidence), "waste_per_hour": answer.waste_per_hour,
    }  # fmt: skip
    ladder = ready.ladder(SubjectType.RESOURCE, answer.threshold)
    row = next(
        (
            r
            for r in rows
            if (r.policy, r.subject, r.threshold) == (ready.policy.name, answer.subject, answer.threshold)
        ),
        None,
    )
    finding = Finding(
        ready.policy.name, ready.hash, ready.kind.name, answer.subject, answer.since or snapshot.now, evidence,
        answer.waste_per_hour, answer.started_at, answer.threshold,
    )  # fmt: skip
    dry = dry_run_code(ready.policy, answer.subject, snapshot, settings)
    action = row or _imagined(finding, ladder, dry is not None, snapshot.now)
    index = ladder.next_acting(min(action.rung, len(ladder.rungs)))
    ended = held.get(finding.fingerprint) if row is None and answer.outcome is Outcome.FIRES else None
    document["action"] = (
        None
        if row is None
        else {
            "id": row.id, "state": row.state.value, "warned_at": row.warned_at, "rung": row.rung,
            "heard": [{"owner": owner, "at": at} for owner, at in sorted(row.heard.items(), key=lambda one: one[1])],
        }
    )  # fmt: skip
    if index is None or (ended is not None and ended.state is ActionState.DONE):
        told: Document = {"response": "notify", "guards": [], "verdict": None, "changes": _changes(answer, [])}
        return document | told, of_judgement(ready.policy.name, answer)
    limit = None
    if ladder.rungs[index].do.ends_billing:
        limit = limits.ask(ready.policy.name, resource.ref.account, dry is not None)
    case = Case(
        ready, finding, action, ladder.rungs[index], ladder.due(action, index), ladder.warned_before(index), resource,
        snapshot.accounts.get(resource.ref.account), snapshot, settings, dry, limit,
    )  # fmt: skip
    every = answers(case)
    verdict, do = guard(case) if ended is None else held_back(ended), ladder.rungs[index].do
    due, ahead = case.due_at, of_judgement(ready.policy.name, answer)
    owner = new_owner(row, ladder, resource, snapshot, settings) if row is not None and dry is None else None
    if owner is not None and verdict.answer is not Answer.DENY:
        # The next cycle starts the ladder again.
        verdict, due = passed_on(owner), None
    if answer.outcome is Outcome.FIRES:
        flying = row is not None and row.state.in_flight
        ahead = of_ladder(ready.policy.name, do, verdict, due, dry, flying=flying)
    told = {
        "response": do.value,
        "due_at": due,
        "verdict": _verdict(verdict),
        "guards": [_verdict(one) for _, one in every],
        "changes": _changes(answer, [verdict] if ended else [v for _, v in every if v.answer is not Answer.ALLOW]),
    }
    return document | told, ahead


def _verdict(verdict: Verdict) -> Document:
    return {
        "answer": verdict.answer.value,
        "code": verdict.code.value,
        "reason": verdict.reason,
        "until": verdict.until,
    }


def _changes(answer: Judgement, against: list[Verdict]) -> list[str]:
    """What would have to change for the rung to act, in order."""
    changes = []
    if answer.outcome is not Outcome.FIRES:
        word = "the rule fires" if answer.outcome is Outcome.CLEAR else "what is missing arrives and the rule fires"
        changes.append(f"{word} (now: {sentence(answer.reason, answer.evidence)})")
    changes.extend(f"{_REMEDY[one.code]} ({one.reason})" for one in against)
    return changes


def _imagined(finding: Finding, ladder: Ladder, dry: bool, now: datetime) -> Action:
    """The ladder that a finding would open now, for a resource that has none."""
    return Action(
        id="", policy=finding.policy, policy_hash=finding.policy_hash, rule=finding.rule, subject=finding.subject,
        threshold=finding.threshold, started_at=finding.started_at, response=ladder.response(0),
        state=ActionState.RECORDED if dry else ActionState.PROPOSED, dry_run=dry, since=finding.since,
        held_since=now, created_at=now, updated_at=now,
    )  # fmt: skip


def _sources(ref: ResourceRef, snapshot: Snapshot) -> list[Document]:
    found: list[Document] = [
        {
            "source": s.source, "state": s.state.value, "fresh": s.fresh(snapshot.now), "age": s.age(snapshot.now),
            "error": s.error,
        }
        for s in snapshot.sources
        if (s.account, s.region) == (ref.account, ref.region)
    ]  # fmt: skip
    found += [
        {
            "source": f"{s.source}:{s.account}", "state": s.state.value, "fresh": s.fresh(snapshot.now),
            "age": s.age(snapshot.now),
            # A note on an answer that came is about other boxes.
            "error": snapshot.refused_by.get(ref, {}).get(s.account)
            or (s.error if s.state is not SourceState.OK else None),
        }
        for s in snapshot.monitors()
    ]  # fmt: skip
    return found


def _signals(ref: ResourceRef, snapshot: Snapshot) -> list[Document]:
    """Every usage window as it arrived, with its freshness; sources side by side, never mixed."""
    windows = [
        (spec.length, window) for spec, found in snapshot.usage.get(ref, {}).items() for window in found
    ]  # fmt: skip
    windows.sort(key=lambda p: (p[1].series.metric, p[0], p[1].series.source, p[1].series.gpu_index or 0))
    return [
        {
            "metric": w.series.metric.value, "gpu_index": w.series.gpu_index, "source": w.series.source,
            "statistic": w.series.statistic.value, "cards": w.series.cards, "window": length, "max": w.max,
            "mean": w.mean, "samples": w.samples, "expected": w.expected, "coverage": round(w.coverage, 4),
            "last_at": w.last_at, "age": max(timedelta(), snapshot.now - w.last_at),
        }
        for length, w in windows
    ]  # fmt: skip
