"""underused: a box that works, and not much: cards that nobody touches, cards that wait for data, a box too large.

Advice only. The mean counts here, because the question is how much, not whether.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal

from pydantic import Field

from costguard.domain.finding import EvidenceValue, Judgement, Outcome
from costguard.domain.money import Money
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.domain.usage import Metric, UsageWindow, WindowSpec
from costguard.rules.fields import Duration, Percent
from costguard.rules.kind import RuleKind, Words, judged, not_running, running_since, waste_of
from costguard.rules.policy import When
from costguard.rules.windows import Proof, gap_of, read_cards, windows_of

COVERAGE = 90.0
UNUSED = 5.0  # percent; a card that never came to it did nothing
STARVED_CPU = 0.7  # of all cores, on average: what feeds the cards has no more to give
STARVED_DISK = 100e6  # bytes per second, on average


class UnderusedWhen(When):
    """A box of which no card does anything is ``idle``'s, not this rule's."""

    gpu_util_below: Percent = Field(30.0, le=100, description="mean over the time and over the cards that are used")
    cards_unused: int = Field(1, ge=1, description="so many cards that nobody uses are worth telling")
    length: Duration = Field(timedelta(hours=24), alias="for", gt=timedelta(), description="over how long")


def needs(when: UnderusedWhen) -> frozenset[WindowSpec]:
    return frozenset(WindowSpec(metric, when.length) for metric in (Metric.GPU_UTIL, Metric.CPU_CORES, Metric.DISK))


def judge(when: UnderusedWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    for resource in resources:
        yield not_running(resource) or _one(when, resource, snapshot)


def _one(when: UnderusedWhen, resource: Resource, snapshot: Snapshot) -> Judgement:
    if resource.gpus is None:
        return judged(resource, Outcome.CLEAR, "no_gpu")
    cards = resource.gpus.cards
    if cards is None:
        return judged(resource, Outcome.UNKNOWN, "gpu_count_unknown")
    begin = snapshot.now - when.length
    util = windows_of(snapshot, resource.ref, WindowSpec(Metric.GPU_UTIL, when.length))
    reading = read_cards(util, cards, UNUSED, when.length, COVERAGE)
    whole = [w for w in reading.windows if w.series.cards and not gap_of(w, when.length, COVERAGE)]
    if not whole or reading.busy + reading.quiet < cards:
        mean_only = [w for w in whole if w.series.gpu_index is None and w.series.cards >= cards]
        if not mean_only:
            why = "card_without_samples" if reading.proof is Proof.BUSY else reading.reason
            return judged(resource, Outcome.UNKNOWN, f"gpu_util_{why}")
        whole = mean_only
    started = running_since(resource, snapshot)
    if started is None:
        return judged(resource, Outcome.UNKNOWN, "start_unknown")
    if started > begin:
        return judged(resource, Outcome.CLEAR, "just_started", evidence={"window": when.length})
    unused = reading.quiet
    evidence: dict[str, EvidenceValue] = {
        "window": when.length, "cards_expected": cards, "cards_unused": unused, "gpu_util_below": when.gpu_util_below,
        "source": whole[0].series.source, "last_at": max(w.last_at for w in whole),
    }  # fmt: skip
    if reading.proof is Proof.QUIET:
        return judged(resource, Outcome.CLEAR, "idle", evidence=evidence)
    used = [w for w in whole if w.max >= UNUSED] or whole
    mean = sum(w.mean for w in used) / len(used)
    evidence |= {"gpu_util_mean": round(mean, 2), "price": resource.price, **_feeding(when, resource, snapshot)}
    if unused >= when.cards_unused:
        evidence["advice"] = "fewer_cards"
        waste = _share(waste_of(resource), unused, cards)
        return judged(resource, Outcome.FIRES, "cards_unused", since=begin, evidence=evidence, waste=waste)
    if mean < when.gpu_util_below:
        evidence["advice"] = "starved" if _starved(evidence, resource) else "smaller"
        return judged(resource, Outcome.FIRES, "low_mean", since=begin, evidence=evidence)
    return judged(resource, Outcome.CLEAR, "well_used", evidence=evidence)


def _feeding(when: UnderusedWhen, resource: Resource, snapshot: Snapshot) -> dict[str, EvidenceValue]:
    """The mean of what feeds the cards; absent where nothing tells."""
    found: dict[str, EvidenceValue] = {"vcpus": resource.vcpus}
    for key, metric in (("cpu_cores_mean", Metric.CPU_CORES), ("disk_mean", Metric.DISK)):
        windows = windows_of(snapshot, resource.ref, WindowSpec(metric, when.length))
        whole = [w for w in windows if not gap_of(w, when.length, COVERAGE)]
        if whole:
            found[key] = round(_highest(whole), 3)
    return found


def _highest(windows: Sequence[UsageWindow]) -> float:
    """Sources are not mixed: the one that saw most."""
    return max(w.mean for w in windows)


def _starved(evidence: dict[str, EvidenceValue], resource: Resource) -> bool:
    cpu, disk = evidence.get("cpu_cores_mean"), evidence.get("disk_mean")
    by_cpu = isinstance(cpu, float) and bool(resource.vcpus) and cpu >= STARVED_CPU * (resource.vcpus or 0)
    return by_cpu or (isinstance(disk, float) and disk >= STARVED_DISK)


def _share(money: Money | None, part: int, whole: int) -> Money | None:
    return money.times(Decimal(part) / whole) if money is not None else None


UNDERUSED = RuleKind(
    name="underused",
    when=UnderusedWhen,
    judge=judge,
    needs=needs,
    may_stop=False,
    repeat_after=timedelta(hours=24),
    capabilities=lambda when: frozenset({"gpu_usage"}),
    title=Words("Underused", "用得不满"),
    summary=Words(
        "Advice for boxes that work: cards that nobody uses, cards that wait for data (low use beside busy CPUs or "
        "disks), or a box that is larger than its work. Never stops anything.",
        "给正在使用的机器的建议：有卡没人用、显卡在等数据（利用率低而 CPU 或磁盘很忙）、规格偏大。只提建议，不操作。",
    ),
    example="""\
policies:
  - name: too-large
    rule: underused
    match: {gpus: {min: 2}}
    when: {gpu_util_below: 30%, cards_unused: 1, for: 24h}
    respond:
      - {do: notify, to: [owner]}
""",
)
