"""lifetime: a running box older than it may be, counted from its start or its creation."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, model_validator

from costguard.domain.finding import EvidenceValue, Judgement, Outcome
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import parse_duration
from costguard.rules.fields import Duration
from costguard.rules.globs import folded_tag
from costguard.rules.kind import RuleKind, Words, cost_since, judged, not_running, running_since, waste_of
from costguard.rules.policy import StopWhen

_LATE = timedelta(minutes=15)  # a provider's timer acts within minutes; past that it did not


class LifetimeWhen(StopWhen):
    """A tag on the box, where ``tag`` is set, goes before ``max_age``."""

    max_age: Duration | None = Field(None, description="how old a box may become")
    tag: str | None = Field(None, min_length=1, description="a tag that holds a box's own age limit: costguard:ttl")
    since: Literal["start", "creation"] = Field("start", description="which moment the age counts from")
    backstop: bool = Field(False, description="also set the provider's own release timer (needs allow_release)")

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if self.max_age is None and self.tag is None:
            raise ValueError("lifetime needs max_age, or tag: costguard:ttl")
        return self


def _limit(when: LifetimeWhen, resource: Resource) -> tuple[timedelta | None, str, str | None]:
    """(limit, reason when there is none, the raw tag)."""
    if when.tag is not None:
        if resource.tags is None:
            return None, "tags_unreadable", None
        if found := folded_tag(resource.tags, when.tag):
            try:
                span = parse_duration(found[1].strip().lower())
            except ValueError:
                return None, "ttl_malformed", found[1]
            return (span, "", found[1]) if span else (None, "ttl_malformed", found[1])
    return when.max_age, "no_ttl", None


def judge(when: LifetimeWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    for resource in resources:
        yield not_running(resource) or _one(when, resource, snapshot)


def _one(when: LifetimeWhen, resource: Resource, snapshot: Snapshot) -> Judgement:
    limit, reason, raw = _limit(when, resource)
    if limit is None:
        outcome = Outcome.CLEAR if reason == "no_ttl" else Outcome.UNKNOWN
        return judged(resource, outcome, reason, evidence={"ttl": raw})
    begin = resource.created_at if when.since == "creation" else running_since(resource, snapshot)
    if begin is None:
        return judged(resource, Outcome.UNKNOWN, "age_unknown", evidence={"max_age": limit})
    age = max(timedelta(), snapshot.now - begin)
    evidence: dict[str, EvidenceValue] = {"age": age, "max_age": limit, "counted_from": begin, "since": when.since}
    if raw is not None:
        evidence["ttl"] = raw
    if resource.auto_release_at is not None and resource.auto_release_at + _LATE <= snapshot.now:
        evidence["timer_missed"] = resource.auto_release_at
    if age < limit:
        return judged(resource, Outcome.CLEAR, "young_enough", evidence=evidence)
    over = begin + limit
    evidence |= {"over_by": age - limit, "price": resource.price, "cost": cost_since(resource, over, snapshot.now)}
    return judged(resource, Outcome.FIRES, "too_old", since=over, evidence=evidence, waste=waste_of(resource))


LIFETIME = RuleKind(
    name="lifetime",
    when=LifetimeWhen,
    judge=judge,
    title=Words("Older than allowed", "超过最长运行时间"),
    summary=Words(
        "A box that has run (or existed) longer than max_age, or than its own costguard:ttl tag says. "
        "An unknown age and a malformed tag never fire.",
        "机器运行（或存在）超过 max_age，或超过自身标签 costguard:ttl 的期限。启动时间未知或标签写错时绝不触发。",
    ),
    example="""\
policies:
  - name: experiments-two-days
    rule: lifetime
    match: {kinds: [vm], tags: {role: [experiment]}}
    when: {max_age: 48h, tag: "costguard:ttl", since: start, when_busy: hold, when_unknown: hold}
    respond:
      - {do: warn, to: [owner]}
      - {after: 2h, do: stop}
""",
)
