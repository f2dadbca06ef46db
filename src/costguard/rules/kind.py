"""RuleKind: what a rule must say about itself, so that one file and one registry line make a rule.

A rule is a typed ``when`` and a pure function from matched resources and a snapshot to judgements. It
knows no policy, no ladder and no guard.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from costguard.domain.finding import Evidence, Judgement, Outcome, Subject, SubjectType
from costguard.domain.money import Money
from costguard.domain.resource import Ends, Resource, State
from costguard.domain.snapshot import Snapshot
from costguard.domain.usage import Metric, WindowSpec
from costguard.rules.policy import When

W = TypeVar("W", bound=When)


@dataclass(frozen=True, slots=True)
class Words:
    """The same words in both languages of the product."""

    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class ActivityTests:
    """What counts as work when a rule's stop is about to happen. None: this source is not asked.

    Percent, cores and bytes per second; a source at or above its value is ACTIVE. ``coverage`` is the
    percentage of expected samples that a window needs to prove idleness.
    """

    gpu_util: float = 5.0
    cpu_cores: float | None = 1.0
    network: float | None = 1e6
    disk: float | None = 1e7
    connections: float | None = 1 / 60
    coverage: float = 90.0

    @property
    def levels(self) -> tuple[tuple[Metric, float], ...]:
        """From which value on each metric that is asked shows work."""
        asked = (
            (Metric.GPU_UTIL, self.gpu_util), (Metric.CPU_CORES, self.cpu_cores), (Metric.NETWORK, self.network),
            (Metric.DISK, self.disk), (Metric.CONNECTIONS, self.connections),
        )  # fmt: skip
        return tuple((metric, level) for metric, level in asked if level is not None)


def _no_windows(when: When) -> frozenset[WindowSpec]:
    return frozenset()


def _no_capabilities(when: When) -> frozenset[str]:
    return frozenset()


def _usual_activity(when: When) -> ActivityTests:
    return ActivityTests()


@dataclass(frozen=True, slots=True)
class RuleKind(Generic[W]):
    """One kind of rule.

    ``judge(when, matched, snapshot)`` yields at most one judgement per subject and threshold; it must
    answer for every matched resource whose state it can speak of, also when it does not fire. A rule
    whose ``subject`` is not a resource may yield judgements on resources too (a budget's boxes): their
    ladders take the policy's ``warn`` and acting rungs, the subject itself takes the rest.
    ``threshold`` of such steps is ``"80%"``, or ``"forecast:80%"``, which no acting rung without ``at``
    answers. ``needs(when)`` are the usage windows it reads; ``capabilities(when)`` the manifest names
    without which it can't judge. ``may_stop`` False: a policy of this kind may not stop or release.
    ``activity(when)`` is what the busy guard asks for this rule's stops. ``repeat_after`` is how long what was told
    stays untold at least while nothing changes; None tells it once. ``example`` is a whole YAML policy file.
    """

    name: str
    when: type[W]
    judge: Callable[[W, Sequence[Resource], Snapshot], Iterable[Judgement]]
    title: Words
    summary: Words
    example: str
    subject: SubjectType = SubjectType.RESOURCE
    may_stop: bool = True
    repeat_after: timedelta | None = timedelta()
    needs: Callable[[W], frozenset[WindowSpec]] = _no_windows
    capabilities: Callable[[W], frozenset[str]] = _no_capabilities
    activity: Callable[[W], ActivityTests] = _usual_activity


def judged(
    resource: Resource,
    outcome: Outcome,
    reason: str,
    *,
    since: datetime | None = None,
    evidence: Evidence | None = None,
    waste: Money | None = None,
) -> Judgement:
    """A judgement on a resource, bound to its current run (``started_at``)."""
    return Judgement(
        Subject.of(resource), outcome, reason, since, {} if evidence is None else evidence, waste, resource.started_at
    )


def not_running(resource: Resource) -> Judgement | None:
    """For rules on running boxes: the answer when it does not run, None when it does.

    A state on the way up or unknown is UNKNOWN: transitional states are skipped, not judged.
    """
    if resource.state is State.RUNNING:
        return None
    if resource.state in (State.PENDING, State.UNKNOWN):
        return judged(resource, Outcome.UNKNOWN, "state_unknown", evidence={"state": resource.raw_state})
    return judged(resource, Outcome.CLEAR, "not_running", evidence={"state": resource.raw_state})


def running_since(resource: Resource, snapshot: Snapshot) -> datetime | None:
    """When the current run began: ``started_at`` or a later start event. None is unknown (aware UTC)."""
    start = resource.started_at
    if start is None:
        return None
    for event in snapshot.power_events.get(resource.ref, ()):
        if event.what == "start" and start < event.at <= snapshot.now:
            start = event.at
    return start


def waste_of(resource: Resource) -> Money | None:
    """What an hour costs that a stop would save; None when unknown or when a stop saves nothing."""
    effect = resource.stop_effect
    if effect is not None and effect.compute_billing_ends is Ends.NO:
        return None
    return resource.price


def cost_since(resource: Resource, since: datetime, now: datetime) -> Money | None:
    """What the resource has cost from ``since`` to ``now`` at today's price; None when unknown."""
    return resource.price.per_hour_for(max(timedelta(), now - since)) if resource.price else None
