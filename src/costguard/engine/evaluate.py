"""Evaluate: policies and a snapshot in, judgements and findings out. Nothing else is looked at.

Policies do not see each other and resources do not see each other, so the order of neither changes an
answer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from costguard.domain.finding import Finding, Judgement, Outcome, SubjectType
from costguard.domain.resource import Resource, ResourceRef, State
from costguard.domain.snapshot import Snapshot
from costguard.domain.usage import WindowSpec
from costguard.engine.activity import ACTIVITY_WINDOWS
from costguard.engine.ladder import Ladder, rungs_for
from costguard.rules.kind import ActivityTests, RuleKind
from costguard.rules.match import Matcher, compile_match
from costguard.rules.policy import Policy
from costguard.rules.registry import kind_of
from costguard.rules.scope import scoped


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A policy made ready once: its kind, its matcher, its hash, the windows that it reads, its tests of activity."""

    policy: Policy
    kind: RuleKind[Any]
    matcher: Matcher
    hash: str
    needs: frozenset[WindowSpec]
    activity: ActivityTests
    _ladders: dict[tuple[SubjectType, str], Ladder] = field(default_factory=dict, init=False, repr=False)

    def ladder(self, subject: SubjectType, threshold: str) -> Ladder:
        """The ladder of a subject of this type; without rungs when none is for it. Made once for each threshold."""
        key = subject, threshold
        if key not in self._ladders:
            self._ladders[key] = Ladder(rungs_for(self.policy, self.kind.subject, subject, threshold))
        return self._ladders[key]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the rules say. ``judgements`` by policy name, also those that do not fire; ``matched`` the refs
    of the resources that the policy speaks of; ``findings`` ordered by policy, subject and threshold.
    ``running`` counts running resources by (policy, account), and by ("", account) for all: shares are of these."""

    policies: Mapping[str, Prepared]
    judgements: Mapping[str, tuple[Judgement, ...]]
    findings: tuple[Finding, ...]
    matched: Mapping[str, tuple[ResourceRef, ...]]
    running: Mapping[tuple[str, str], int]


def prepare(policy: Policy) -> Prepared:
    kind, when = kind_of(policy), policy.when
    return Prepared(
        policy, kind, compile_match(policy.match), policy.content_hash, kind.needs(when), kind.activity(when)
    )


def windows_needed(policies: Iterable[Policy]) -> frozenset[WindowSpec]:
    """Every usage window that these policies read, and those of the busy guard if any of them can act."""
    needed: set[WindowSpec] = set()
    for policy in policies:
        needed |= kind_of(policy).needs(policy.when)
        if any(rung.do.acts for rung in policy.respond):
            needed |= ACTIVITY_WINDOWS
    return frozenset(needed)


def evaluate(policies: Iterable[Policy | Prepared], snapshot: Snapshot) -> Evaluation:
    """Every policy's judgements. Pure: the same input gives the same answer, in any order of its parts."""
    prepared = {p.policy.name: p for p in (p if isinstance(p, Prepared) else prepare(p) for p in policies)}
    pairs = [(r, snapshot.accounts.get(r.ref.account)) for r in snapshot.resources.values()]
    judgements: dict[str, tuple[Judgement, ...]] = {}
    matched: dict[str, tuple[ResourceRef, ...]] = {}
    findings: list[Finding] = []
    running = Counter(("", resource.ref.account) for resource, _ in pairs if resource.state is State.RUNNING)
    for name, ready in prepared.items():
        resources = ready.matcher.select(pairs)
        answers = _judge(ready, resources, snapshot)
        judgements[name] = answers
        running.update((name, resource.ref.account) for resource in resources if resource.state is State.RUNNING)
        matched[name] = tuple(resource.ref for resource in resources)
        fires = [answer for answer in answers if answer.outcome is Outcome.FIRES]
        fires.sort(key=lambda answer: (answer.subject.key, answer.threshold))
        findings.extend(_finding(ready, answer) for answer in fires)
    findings.sort(key=attrgetter("policy"))
    return Evaluation(prepared, judgements, tuple(findings), matched, running)


def _judge(ready: Prepared, resources: Sequence[Resource], snapshot: Snapshot) -> tuple[Judgement, ...]:
    if ready.kind.subject is SubjectType.RESOURCE:
        return tuple(ready.kind.judge(ready.policy.when, resources, snapshot))
    answers = ready.kind.judge(ready.policy.when, resources, scoped(ready.matcher, resources, snapshot))
    # A budget speaks of its boxes too, but they are only a finding where some rung is for them.
    return tuple(
        a for a in answers if ready.ladder(a.subject.type, a.threshold).rungs
    )  # fmt: skip


def _finding(ready: Prepared, answer: Judgement) -> Finding:
    since = answer.since
    assert since is not None, f"rule {ready.kind.name} fires without since"
    return Finding(
        ready.policy.name, ready.hash, ready.kind.name, answer.subject, since, answer.evidence,
        answer.waste_per_hour, answer.started_at, answer.threshold,
    )  # fmt: skip


def with_live(snapshot: Snapshot, resource: Resource) -> Snapshot:
    """The snapshot with one resource as a live read just saw it (its owner already resolved)."""
    return replace(snapshot, resources={**snapshot.resources, resource.ref: resource})
