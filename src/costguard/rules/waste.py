"""waste: what costs money and serves nobody: disks and addresses of nothing, boxes stopped long ago, quiet endpoints.

How long something has been so must be known: what was unhooked an hour ago is not old because it was made long ago.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from costguard.domain.finding import EvidenceValue, Judgement, Outcome
from costguard.domain.money import Money, total
from costguard.domain.resource import Kind, Resource, ResourceRef, State
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import utc
from costguard.domain.usage import Metric, WindowSpec
from costguard.rules.burn import billed_per_hour
from costguard.rules.fields import Duration
from costguard.rules.kind import RuleKind, Words, judged, running_since
from costguard.rules.policy import When
from costguard.rules.windows import Proof, read_box, windows_of

DETACHED_AT = "detached_at"
"""Attribute of a disk or address: when it lost its box, ISO 8601 with a zone, where the provider tells."""
SOURCE_DISK = "volume"
"""Attribute of a snapshot: the id of the disk that it was taken of."""

_REQUEST = 1 / 3600  # connections per second that still count as none: one in an hour
_COVERAGE = 90.0
_HANGING = frozenset({Kind.DISK, Kind.ADDRESS})
_BOXES = frozenset({Kind.VM, Kind.NOTEBOOK})

WasteKind = Literal["disk", "address", "snapshot", "vm", "endpoint"]


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


class WasteWhen(When):
    """``vm`` speaks of notebooks too. A snapshot is waste when its disk is gone."""

    kinds: Annotated[tuple[WasteKind, ...], BeforeValidator(_listed)] = Field(
        ("disk", "address", "snapshot", "vm", "endpoint"), min_length=1, description="what is looked at"
    )
    unattached_for: Duration = Field(
        timedelta(days=7),
        description="how long a disk or address belongs to nothing, a snapshot has no disk, an endpoint no request",
    )
    stopped_for: Duration = Field(timedelta(days=14), description="how long a box has been stopped")

    @model_validator(mode="after")
    def _some_time(self) -> Self:
        if not self.unattached_for or not self.stopped_for:
            raise ValueError("unattached_for and stopped_for are more than zero, like 7d")
        return self


def needs(when: WasteWhen) -> frozenset[WindowSpec]:
    return frozenset({WindowSpec(Metric.CONNECTIONS, when.unattached_for)} if "endpoint" in when.kinds else ())


def judge(when: WasteWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    hanging: dict[tuple[str, str], list[Resource]] = defaultdict(list)
    for thing in snapshot.resources.values():
        if thing.depends_on is not None and thing.ref.kind in _HANGING:
            hanging[thing.ref.account, thing.depends_on].append(thing)
    for resource in resources:
        yield _one(when, resource, snapshot, hanging)


def _one(
    when: WasteWhen, resource: Resource, snapshot: Snapshot, hanging: Mapping[tuple[str, str], list[Resource]]
) -> Judgement:
    kind = resource.ref.kind
    if resource.state in (State.GONE, State.DELETING):
        return judged(resource, Outcome.CLEAR, "gone")
    if resource.state in (State.PENDING, State.UNKNOWN):
        return judged(resource, Outcome.UNKNOWN, "state_unknown", evidence={"state": resource.raw_state})
    if kind in _BOXES and "vm" in when.kinds:
        return _stopped(when, resource, snapshot, hanging)
    if kind.value not in when.kinds:
        return judged(resource, Outcome.CLEAR, "another_kind")
    if kind is Kind.ENDPOINT:
        return _quiet(when, resource, snapshot)
    if kind is Kind.SNAPSHOT:
        return _orphan(when, resource, snapshot)
    return _unattached(when, resource, snapshot)


def _unattached(when: WasteWhen, resource: Resource, snapshot: Snapshot) -> Judgement:
    if resource.depends_on is not None:
        return judged(resource, Outcome.CLEAR, "attached", evidence={"attached_to": resource.depends_on})
    since = _told(resource.attributes.get(DETACHED_AT)) or snapshot.unattached_since.get(resource.ref)
    if since is None:
        return judged(resource, Outcome.UNKNOWN, "unattached_since_unknown")
    span = snapshot.now - since
    evidence: dict[str, EvidenceValue] = {"unattached_for": span, "size_gib": resource.size_gib}
    return _old_enough(resource, since, when.unattached_for, "unattached", evidence, snapshot)


def _told(text: str | None) -> datetime | None:
    """A provider's own instant; anything else is not known."""
    if text is None:
        return None
    try:
        return utc(datetime.fromisoformat(text))
    except ValueError:
        return None


def _orphan(when: WasteWhen, resource: Resource, snapshot: Snapshot) -> Judgement:
    disk = resource.depends_on or resource.attributes.get(SOURCE_DISK)
    if disk is None:
        return judged(resource, Outcome.UNKNOWN, "source_unknown")
    ref = resource.ref
    status = snapshot.source(ref.account, ref.region, f"inventory.{Kind.DISK.value}")
    if status is None or not status.fresh(snapshot.now):
        return judged(resource, Outcome.UNKNOWN, "disks_not_listed", evidence={"source": disk})
    if ResourceRef(ref.provider, ref.account, ref.region, Kind.DISK, disk) in snapshot.resources:
        return judged(resource, Outcome.CLEAR, "attached", evidence={"attached_to": disk})
    if resource.created_at is None:
        return judged(resource, Outcome.UNKNOWN, "age_unknown")
    evidence: dict[str, EvidenceValue] = {
        "age": snapshot.now - resource.created_at,
        "source": disk,
        "size_gib": resource.size_gib,
    }
    return _old_enough(resource, resource.created_at, when.unattached_for, "orphan", evidence, snapshot)


def _stopped(
    when: WasteWhen, resource: Resource, snapshot: Snapshot, hanging: Mapping[tuple[str, str], list[Resource]]
) -> Judgement:
    if resource.state is not State.STOPPED:
        return judged(resource, Outcome.CLEAR, "not_stopped", evidence={"state": resource.raw_state})
    if resource.stopped_at is None:
        return judged(resource, Outcome.UNKNOWN, "stopped_since_unknown")
    parts = hanging.get((resource.ref.account, resource.ref.id), [])
    evidence: dict[str, EvidenceValue] = {
        "stopped_for": snapshot.now - resource.stopped_at,
        "parts": tuple(part.name or part.ref.id for part in parts),
    }
    burns = [burn for one in (resource, *parts) if (burn := billed_per_hour(one))]
    return _old_enough(resource, resource.stopped_at, when.stopped_for, "stopped", evidence, snapshot, burns)


def _quiet(when: WasteWhen, resource: Resource, snapshot: Snapshot) -> Judgement:
    """An endpoint that no request reached; the maximum counts, and nothing arriving is unknown."""
    if not resource.is_running:
        return judged(resource, Outcome.CLEAR, "not_running")
    windows = windows_of(snapshot, resource.ref, WindowSpec(Metric.CONNECTIONS, when.unattached_for))
    reading = read_box(windows, _REQUEST, when.unattached_for, _COVERAGE)
    evidence: dict[str, EvidenceValue] = {"window": when.unattached_for, "last_at": reading.last_at}
    if reading.proof is Proof.BUSY:
        return judged(resource, Outcome.CLEAR, "requests", evidence=evidence)
    started = running_since(resource, snapshot)
    begin = snapshot.now - when.unattached_for
    if reading.proof is Proof.UNKNOWN or started is None:
        reason = f"requests_{reading.reason}" if reading.proof is Proof.UNKNOWN else "start_unknown"
        return judged(resource, Outcome.UNKNOWN, reason, evidence=evidence)
    if started > begin:
        return judged(resource, Outcome.CLEAR, "just_started", evidence=evidence)
    return _old_enough(resource, begin, when.unattached_for, "no_requests", evidence, snapshot)


def _old_enough(
    resource: Resource,
    since: datetime,
    least: timedelta,
    reason: str,
    evidence: dict[str, EvidenceValue],
    snapshot: Snapshot,
    burns: Sequence[Money] | None = None,
) -> Judgement:
    if snapshot.now - since < least:
        return judged(resource, Outcome.CLEAR, "not_long_enough", evidence=evidence)
    if burns is None:
        burns = [burn] if (burn := billed_per_hour(resource)) else []
    sums = total(burns)
    waste = sums[0] if len(sums) == 1 else None
    age = max(timedelta(), snapshot.now - since)
    evidence |= {
        "kind": resource.ref.kind.value,
        "reason": reason,
        "cost_per_day": waste.per_hour_for(timedelta(days=1)) if waste is not None else None,
        "cost": waste.per_hour_for(age) if waste is not None else None,
    }
    return judged(resource, Outcome.FIRES, reason, since=since, evidence=evidence, waste=waste)


WASTE = RuleKind(
    name="waste",
    when=WasteWhen,
    judge=judge,
    needs=needs,
    repeat_after=timedelta(hours=24),
    title=Words("Unused", "闲置资源"),
    summary=Words(
        "Disks and addresses that belong to nothing, snapshots whose disk is gone, boxes stopped for long with what "
        "they still cost, endpoints without a request. A release (only with allow_release) lives here.",
        "没有挂载的云盘与公网 IP、源云盘已删除的快照、长期停机但仍在计费的机器、没有请求的推理服务。"
        "释放（需要 allow_release）也在这条规则里。",
    ),
    example="""\
policies:
  - name: left-behind
    rule: waste
    match: {kinds: [disk, address, snapshot, vm]}
    when: {kinds: [disk, address, snapshot, vm], unattached_for: 7d, stopped_for: 14d}
    respond:
      - {do: notify, to: [owner]}
""",
)
