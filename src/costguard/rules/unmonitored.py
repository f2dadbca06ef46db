"""unmonitored: running GPU boxes whose use nobody can see, so that no rule about idleness ever speaks of them."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from pydantic import Field

from costguard.domain.finding import EvidenceValue, Judgement, Outcome
from costguard.domain.money import Money
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot, SourceState
from costguard.domain.usage import Metric, UsageWindow, WindowSpec
from costguard.rules.currency import Rates
from costguard.rules.fields import Duration
from costguard.rules.kind import RuleKind, Words, judged, not_running, running_since
from costguard.rules.policy import When
from costguard.rules.windows import windows_of


class UnmonitoredWhen(When):
    """A source that cannot be read at all is told once, as a source; here it makes the boxes unknown that it could
    have told of: those of its region, or of the accounts that a metrics source covers."""

    length: Duration = Field(
        timedelta(hours=2), alias="for", gt=timedelta(), description="how long nothing must have been seen"
    )


def needs(when: UnmonitoredWhen) -> frozenset[WindowSpec]:
    return frozenset({WindowSpec(Metric.GPU_UTIL, when.length)})


def judge(when: UnmonitoredWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    rates = Rates(snapshot.currency, snapshot.exchange_rates)
    prices = [r.price for r in resources if r.is_running and r.gpus is not None and r.price is not None]
    spend = rates.total(prices, snapshot.now).money
    for resource in resources:
        yield not_running(resource) or _one(when, resource, snapshot, rates, spend)


def _one(when: UnmonitoredWhen, resource: Resource, snapshot: Snapshot, rates: Rates, spend: Money) -> Judgement:
    if resource.gpus is None:
        return judged(resource, Outcome.CLEAR, "no_gpu")
    cards = resource.gpus.cards
    if cards is None:
        return judged(resource, Outcome.UNKNOWN, "gpu_count_unknown")
    windows = windows_of(snapshot, resource.ref, WindowSpec(Metric.GPU_UTIL, when.length))
    seen = _cards_seen(windows, cards)
    evidence: dict[str, EvidenceValue] = {"window": when.length, "cards_seen": seen, "cards_expected": cards}
    if seen >= cards:
        return judged(resource, Outcome.CLEAR, "seen", evidence=evidence)
    usage = snapshot.source(resource.ref.account, resource.ref.region, "usage")
    if usage is not None and (usage.state is not SourceState.OK or not usage.fresh(snapshot.now)):
        return judged(resource, Outcome.UNKNOWN, f"usage_{usage.state.value}", evidence=evidence)
    tellers = snapshot.told_by.get(resource.ref.account, ())
    for source in snapshot.monitors():
        if source.account in tellers and not source.fresh(snapshot.now):
            return judged(resource, Outcome.UNKNOWN, f"{source.source}_{source.state.value}", evidence=evidence)
    started = running_since(resource, snapshot)
    begin = snapshot.now - when.length
    if started is None:
        return judged(resource, Outcome.UNKNOWN, "start_unknown", evidence=evidence)
    if started > begin:
        return judged(resource, Outcome.CLEAR, "just_started", evidence=evidence)
    mine = rates.convert(resource.price, snapshot.now) if resource.price is not None else None
    evidence |= {
        "provider": resource.ref.provider,
        "price": resource.price,
        "share": mine.nanos / spend.nanos if mine is not None and spend else None,
    }
    reason = "some_cards_unseen" if seen else "unseen"
    return judged(resource, Outcome.FIRES, reason, since=begin, evidence=evidence)


def _cards_seen(windows: Sequence[UsageWindow], cards: int) -> int:
    """Of how many cards at least one sample arrived, in the source that tells of most; sources are never mixed."""
    best = 0
    for source in {w.series.source for w in windows}:
        group = [w for w in windows if w.series.source == source and w.samples and w.series.cards]
        each = len({w.series.gpu_index for w in group if w.series.gpu_index is not None})
        whole = max((w.series.cards for w in group if w.series.gpu_index is None), default=0)
        best = max(best, each, whole)
    return min(best, cards)


UNMONITORED = RuleKind(
    name="unmonitored",
    when=UnmonitoredWhen,
    judge=judge,
    needs=needs,
    may_stop=False,
    repeat_after=timedelta(hours=24),
    title=Words("Use can't be seen", "看不到用量"),
    summary=Words(
        "Running GPU boxes of which no use arrives, or not of every card, with their share of what all matched GPU "
        "boxes cost and what to install. Nothing is ever stopped without data, so these leak unseen.",
        "运行中的 GPU 机器没有（或不是每张卡都有）用量数据，并列出其花费占比与安装方法。"
        "没有数据绝不关机，所以它们会一直花钱。",
    ),
    example="""\
policies:
  - name: blind-spots
    rule: unmonitored
    match: {gpus: {min: 1}}
    when: {for: 2h}
    respond:
      - {do: notify, to: [ops]}
""",
)
