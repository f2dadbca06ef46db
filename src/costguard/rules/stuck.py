"""stuck: cards that say they are busy and draw no power, like a job that waits for a peer that died.

Use on paper is not work, and no proof of idleness either: people are told, nothing is stopped.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from pydantic import Field

from costguard.domain.finding import EvidenceValue, Judgement, Outcome
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.domain.usage import Metric, UsageWindow, WindowSpec
from costguard.rules.fields import Duration, Percent
from costguard.rules.kind import RuleKind, Words, cost_since, judged, not_running, running_since, waste_of
from costguard.rules.policy import When
from costguard.rules.windows import Proof, gap_of, read_cards, windows_of

COVERAGE = 90.0


class StuckWhen(When):
    """Needs GPU power as well as use: without power nobody can tell."""

    gpu_util_above: Percent = Field(95.0, le=100, description="mean use of a card that counts as busy on paper")
    gpu_power_below: Percent = Field(40.0, description="no card draws as much of its power limit, not for a moment")
    length: Duration = Field(timedelta(hours=1), alias="for", gt=timedelta(), description="for how long")


def needs(when: StuckWhen) -> frozenset[WindowSpec]:
    return frozenset(WindowSpec(metric, when.length) for metric in (Metric.GPU_UTIL, Metric.GPU_POWER))


def judge(when: StuckWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    for resource in resources:
        yield not_running(resource) or _one(when, resource, snapshot)


def _one(when: StuckWhen, resource: Resource, snapshot: Snapshot) -> Judgement:
    if resource.gpus is None:
        return judged(resource, Outcome.CLEAR, "no_gpu")
    cards = resource.gpus.cards
    if cards is None:
        return judged(resource, Outcome.UNKNOWN, "gpu_count_unknown")
    util = windows_of(snapshot, resource.ref, WindowSpec(Metric.GPU_UTIL, when.length))
    power = windows_of(snapshot, resource.ref, WindowSpec(Metric.GPU_POWER, when.length))
    drawn = read_cards(power, cards, when.gpu_power_below, when.length, COVERAGE)
    evidence: dict[str, EvidenceValue] = {
        "window": when.length, "gpu_power_max": drawn.max, "gpu_power_below": when.gpu_power_below,
        "gpu_util_above": when.gpu_util_above, "last_at": max((w.last_at for w in util), default=None),
        "heartbeat": snapshot.heartbeats.get(resource.ref),
    }  # fmt: skip
    if drawn.proof is Proof.BUSY:
        return judged(resource, Outcome.CLEAR, "gpu_power_drawn", evidence=evidence)
    busy, gap = _busy_cards(util, cards, when)
    if gap:
        return judged(resource, Outcome.UNKNOWN, f"gpu_util_{gap}", evidence=evidence)
    if not busy:
        return judged(resource, Outcome.CLEAR, "gpu_not_busy", evidence=evidence)
    begin = min(w.start for w in busy)
    beat, started = snapshot.heartbeats.get(resource.ref), running_since(resource, snapshot)
    if beat is not None and beat > begin:
        return judged(resource, Outcome.CLEAR, "heartbeat", evidence=evidence)
    if drawn.proof is Proof.UNKNOWN:
        return judged(resource, Outcome.UNKNOWN, f"gpu_power_{drawn.reason}", evidence=evidence)
    if started is None or started > begin:
        reason = "start_unknown" if started is None else "just_started"
        return judged(resource, Outcome.UNKNOWN, reason, evidence=evidence)
    return _stuck(busy, cards, begin, resource, snapshot, evidence)


def _stuck(
    busy: Sequence[UsageWindow],
    cards: int,
    begin: datetime,
    resource: Resource,
    snapshot: Snapshot,
    evidence: dict[str, EvidenceValue],
) -> Judgement:
    whole = any(w.series.gpu_index is None for w in busy)
    evidence |= {
        "gpu_util_mean": min(w.mean for w in busy),
        "cards_stuck": cards if whole else len(busy),
        "cards_expected": cards,
        "source": busy[0].series.source,
        "price": resource.price,
        "cost": cost_since(resource, begin, snapshot.now),
    }
    return judged(resource, Outcome.FIRES, "stuck", since=begin, evidence=evidence, waste=waste_of(resource))


def _busy_cards(windows: Sequence[UsageWindow], cards: int, when: StuckWhen) -> tuple[list[UsageWindow], str]:
    """The series of cards that are busy on paper, in the first source that tells of every card; else why none does."""
    why = "no_samples"
    for source in sorted({w.series.source for w in windows}):
        group = [w for w in windows if w.series.source == source and w.series.cards]
        whole = [w for w in group if w.series.gpu_index is None and w.series.cards >= cards]
        each = {w.series.gpu_index: w for w in group if w.series.gpu_index is not None}
        told = list(each.values()) if len(each) >= cards else whole
        gaps = [gap for w in told if (gap := gap_of(w, when.length, COVERAGE))]
        if told and not gaps:
            return [w for w in told if w.mean >= when.gpu_util_above], ""
        why = gaps[0] if gaps else "card_without_samples"
    return [], why


STUCK = RuleKind(
    name="stuck",
    when=StuckWhen,
    judge=judge,
    needs=needs,
    may_stop=False,
    capabilities=lambda when: frozenset({"gpu_usage"}),
    title=Words("Probably hung", "疑似卡死"),
    summary=Words(
        "Cards that are busy on paper but draw little power for the whole time, and no job that says it is alive: "
        "often a job that waits for a peer for ever. Tells people, never stops. Without power it cannot tell.",
        "显卡利用率接近满载，功耗却一直很低，也没有任务心跳：常见于任务在等一个已经退出的同伴。只提醒，绝不关机；没有功耗数据时无法判断。",
    ),
    example="""\
policies:
  - name: hung-jobs
    rule: stuck
    match: {gpus: {min: 1}}
    when: {gpu_util_above: 95%, gpu_power_below: 40%, for: 1h}
    respond:
      - {do: notify, to: [owner]}
""",
)
