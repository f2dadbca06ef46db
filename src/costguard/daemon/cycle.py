"""The cycle: snapshot → evaluate → plan → one transaction. Nothing here calls a provider.

The plan is made from one consistent read and stored by compare-and-swap: when a lever or the act loop
changed a row in between, everything is read and decided again.
"""

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from costguard.daemon import documents, fleet, metrics, timers
from costguard.daemon.drafts import Drafter
from costguard.daemon.facts import note_cycle
from costguard.daemon.lead import Leadership
from costguard.daemon.snapshot import SnapshotBuilder
from costguard.domain.action import Action, ActionState
from costguard.domain.finding import Finding, Outcome
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.resource import ResourceRef
from costguard.domain.snapshot import Snapshot
from costguard.engine.close import CLEAR_AFTER
from costguard.engine.evaluate import Evaluation, Prepared, evaluate
from costguard.engine.plan import Plan, PlanFacts, plan
from costguard.engine.settings import EngineSettings
from costguard.errors import StaleWrite
from costguard.ports import Clock
from costguard.store import actions, cycles, findings, kv, ledger, levers, outbox
from costguard.store.database import Database

_log = logging.getLogger(__name__)

HOUR = timedelta(minutes=60)
_TRIES = 3
_CLOSED = (ActionState.DONE, ActionState.FAILED, ActionState.CANCELLED)
RESTARTED = "restarted"
# A clock that is kept by NTP never moves that far at once.
_LEAP = timedelta(minutes=2)


def new_id() -> str:
    """A short random id for actions, cycles and messages; never guessed from another."""
    return secrets.token_hex(6)


@dataclass(frozen=True, slots=True)
class CycleResult:
    """What one cycle saw and stored."""

    document: documents.Document
    evaluation: Evaluation
    plan: Plan
    snapshot: Snapshot


@dataclass
class Cycle:
    """Runs cycles for one configuration. ``last`` is the evaluation that the act loop shares."""

    database: Database
    clock: Clock
    builder: SnapshotBuilder
    settings: EngineSettings
    policies: Sequence[Prepared]
    drafter: Drafter
    lead: Leadership
    mode: str
    timers: Callable[[], None] = lambda: None
    peek: Callable[[Sequence[ResourceRef]], bool] = lambda refs: False
    last: Evaluation | None = field(default=None)
    _seen: tuple[datetime, float] | None = field(default=None, init=False)

    def run(self) -> CycleResult:
        """One cycle. Raises LeaseLost when another process leads, StaleWrite when rows keep changing."""
        for attempt in range(_TRIES):
            try:
                return self._once()
            except StaleWrite:
                _log.info("rows changed while the plan was made; deciding again")
                if attempt == _TRIES - 1:
                    raise
        raise AssertionError("unreachable: the last try returns or raises")

    def leapt(self) -> None:
        """Notes that the clock was set forward, or the machine slept: a grace that has passed by the clock alone was
        nobody's, so people are warned again."""
        now, monotonic = self.clock.now(), self.clock.monotonic()
        before, self._seen = self._seen, (now, monotonic)
        if before is None:
            return
        ahead = now - before[0] - timedelta(seconds=monotonic - before[1])
        if ahead <= _LEAP:
            return
        text = f"the clock leapt forward by {ahead.total_seconds() / 60:.0f} min: people are warned again"
        _log.warning("%s", text)
        with self.database.write() as conn:
            kv.put(conn, RESTARTED, {"at": now.isoformat()}, now)
            ledger.append(conn, [LedgerEntry(now, LedgerKind.SYSTEM, None, text)])

    def _once(self) -> CycleResult:
        token = self.lead.check()
        self.leapt()
        started, began = self.clock.now(), self.clock.monotonic()
        snapshot, open_actions, facts = self._read(started)
        evaluation = evaluate(self.policies, snapshot)
        fresh = self._to_be_warned(evaluation, open_actions, facts)
        if fresh and self.peek(fresh):
            snapshot, open_actions, facts = self._read(started)
            evaluation = evaluate(self.policies, snapshot)
        found = plan(evaluation, open_actions, snapshot, facts, self.settings, new_id)
        seen, burn = fleet.see(snapshot)
        notices = [n for request in found.notices for n in self.drafter.notices(request, snapshot)]
        with self.database.write() as conn:
            self.lead.fence(conn, token)
            stored = [actions.save(conn, action) for action in found.updates]
            stored += [actions.insert(conn, action) for action in found.inserts]
            outbox.enqueue(conn, notices)
            ledger.append(conn, found.ledger)
            timers.want(conn, found.timers, started)
            for ref in found.ended_keeps:
                levers.unkeep(conn, ref)
            current = findings.sync(conn, evaluation.findings, started, unknown=_unknown(evaluation, started)).current
            fleet.record(conn, seen, burn, found.decisions)
            finished = self.clock.now()
            document = documents.cycle(
                mode=self.mode,
                started_at=started,
                finished_at=finished,
                statuses=snapshot.sources,
                findings=current,
                decisions=found.decisions,
                actions=stored,
                notices=notices,
                pause=levers.paused(conn, started),
            )
            note_cycle(conn, snapshot.last_run, started)
            cycles.record(conn, cycles.CycleRecord(new_id(), started, finished, document))
            cycles.prune(conn, started - HOUR)
        self.last = evaluation
        if found.timers:
            self.timers()
        self._measure(found, stored, began)
        return CycleResult(document, evaluation, found, snapshot)

    def _read(self, now: datetime) -> tuple[Snapshot, tuple[Action, ...], PlanFacts]:
        with self.database.read() as conn:
            return self.builder.build(conn, now, leader=True), actions.open_actions(conn), plan_facts(conn, now)

    def _to_be_warned(
        self, evaluation: Evaluation, open_actions: Sequence[Action], facts: PlanFacts
    ) -> list[ResourceRef]:
        """Boxes for which a ladder that may stop begins in this cycle."""
        known = {a.fingerprint for a in (*open_actions, *facts.closed)}
        refs = {
            f.subject.ref
            for f in evaluation.findings
            if evaluation.policies[f.policy].policy.can_end and f.fingerprint not in known
        }
        return sorted(ref for ref in refs if ref is not None)

    def _measure(self, found: Plan, stored: Sequence[Action], began: float) -> None:
        metrics.CYCLES.inc()
        metrics.CYCLE_SECONDS.observe(max(0.0, self.clock.monotonic() - began))
        metrics.LAST_CYCLE.set(self.clock.now().timestamp())
        for decision in found.decisions:
            metrics.DECISIONS.labels(decision.verdict.answer.value, decision.verdict.code.value).inc()
        for action in stored:
            metrics.TRANSITIONS.labels(action.state.value).inc()


def plan_facts(conn: Connection, now: datetime) -> PlanFacts:
    """What planning needs from the store besides open ladders."""
    executed = actions.executed_since(conn, now - HOUR)
    closed = tuple(a for a in actions.closed(conn, _CLOSED, CLEAR_AFTER))
    return replace(beginnings(conn, now), executed=executed, closed=closed)


def beginnings(conn: Connection, now: datetime) -> PlanFacts:
    """Only what makes ladders start again."""
    since = now - timedelta(days=40)
    # A pause that ran out by itself has ended as much as one that somebody ended.
    ends = [p.resumed_at or p.until for p in levers.pauses(conn, since)]
    if (restarted := kv.get(conn, RESTARTED)) is not None:
        ends.append(datetime.fromisoformat(restarted["at"]))
    # What lies ahead was written while the clock was.
    moments = [at for at in ends if at is not None and at <= now]
    return PlanFacts(restarted_at=max(moments, default=None), kept_until=levers.kept_until(conn, since, now))


def _unknown(evaluation: Evaluation, now: datetime) -> set[str]:
    """Fingerprints that some rule could not judge now: what is unknown clears nothing."""
    return {
        Finding(
            name, evaluation.policies[name].hash, evaluation.policies[name].kind.name, answer.subject,
            answer.since or now, {}, None, answer.started_at, answer.threshold,
        ).fingerprint
        for name, answers in evaluation.judgements.items()
        for answer in answers
        if answer.outcome is Outcome.UNKNOWN
    }  # fmt: skip
