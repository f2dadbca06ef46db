"""idle: a running box whose GPUs, CPU and network all stayed below their thresholds for the whole time.

The maximum counts, never the mean; what is missing is unknown, and unknown never fires.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from costguard.domain.finding import EvidenceValue, Judgement, Outcome
from costguard.domain.money import Money
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.domain.usage import Metric, WindowSpec
from costguard.rules.fields import ByteRate, Cores, Duration, Percent, percent
from costguard.rules.kind import (
    ActivityTests,
    RuleKind,
    Words,
    cost_since,
    judged,
    not_running,
    running_since,
    waste_of,
)  # fmt: skip
from costguard.rules.policy import When
from costguard.rules.windows import Proof, Reading, cards_of, read_box, windows_of


def _cards(value: object) -> object:
    """``all``, ``any``, or the share of the cards as a fraction above 0 and up to 1 (``50%`` → 0.5)."""
    if value in ("all", "any") or type(value) is float:
        return value
    share = percent(value)
    if not 0 < share <= 100:
        raise ValueError(f"cards is all, any, or a share above 0% and up to 100%, not {value!r}")
    return share / 100


Cards = Annotated[
    Literal["all", "any"] | float,
    BeforeValidator(_cards),
    PlainSerializer(lambda v: f"{v * 100:g}%" if isinstance(v, float) else v, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^(all|any|\d+(\.\d+)?\s*%)$", "examples": ["all", "any", "50%"]}),
]


class IdleWhen(When):
    """``cpu_below`` and ``network_below`` are on unless ``off`` is written. The memory and power tests
    are vetoes: once set, a box without that metric is unknown."""

    gpu_util_below: Percent = Field(5.0, description="each card's utilisation stays below this")
    length: Duration = Field(timedelta(hours=2), alias="for", description="how long everything stays below")
    coverage: Percent = Field(90.0, le=100, description="share of the expected samples that must be there")
    cards: Cards = Field("all", description="how many of the cards must be idle: all, any, or a share like 50%")
    cpu_below: Cores = Field(1.0, description="busy CPU cores stay below this; off to not ask")
    network_below: ByteRate = Field(1e6, description="bytes in and out stay below this; off to not ask")
    gpu_memory_below: Percent | None = Field(None, description="veto: each card's memory in use stays below this")
    gpu_power_below: Percent | None = Field(None, description="veto: each card's power stays below this")
    boot_grace: Duration = Field(timedelta(minutes=20), description="the idle clock starts this long after the start")
    cpu_only: bool = Field(False, description="also judge boxes without GPUs, by CPU and network alone")

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.cpu_only and self.cpu_below is None:
            raise ValueError("cpu_only needs cpu_below: without it nothing tells an idle box from a busy one")
        if not self.length:
            raise ValueError("for is zero; write how long the box must be idle, like 2h")
        return self


@dataclass(frozen=True, slots=True)
class _Test:
    """One metric that must stay below a value. ``of_cards``: asked of each card."""

    metric: Metric
    key: str
    below: float
    of_cards: bool


def _tests(when: IdleWhen) -> tuple[_Test, ...]:
    """In the order in which an answer is most telling."""
    asked = (
        (Metric.GPU_UTIL, "gpu_util", when.gpu_util_below, True),
        (Metric.CPU_CORES, "cpu_cores", when.cpu_below, False),
        (Metric.NETWORK, "network", when.network_below, False),
        (Metric.GPU_MEMORY, "gpu_memory", when.gpu_memory_below, True),
        (Metric.GPU_POWER, "gpu_power", when.gpu_power_below, True),
    )
    return tuple(_Test(metric, key, below, cards) for metric, key, below, cards in asked if below is not None)


def needs(when: IdleWhen) -> frozenset[WindowSpec]:
    return frozenset(WindowSpec(test.metric, when.length) for test in _tests(when))


def judge(when: IdleWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    tests = tuple((test, WindowSpec(test.metric, when.length)) for test in _tests(when))
    for resource in resources:
        yield not_running(resource) or _one(when, tests, resource, snapshot)


def _one(
    when: IdleWhen, tests: tuple[tuple[_Test, WindowSpec], ...], resource: Resource, snapshot: Snapshot
) -> Judgement:
    ref = resource.ref
    if resource.gpus is None and not windows_of(snapshot, ref, WindowSpec(Metric.GPU_UTIL, when.length)):
        if not when.cpu_only:
            return judged(resource, Outcome.UNKNOWN, "no_gpu")
        tests = tuple(pair for pair in tests if not pair[0].of_cards)
    cards = resource.gpus.cards if resource.gpus else None
    readings: list[tuple[_Test, Reading]] = []
    for test, spec in tests:
        if test.of_cards:
            reading = cards_of(snapshot, ref, spec, cards, test.below, when.coverage)
        else:
            reading = read_box(windows_of(snapshot, ref, spec), test.below, when.length, when.coverage)
        readings.append((test, reading))
        if reading.proof is Proof.BUSY and (
            not test.of_cards or reading.cards - reading.busy < _enough(when, reading.cards)
        ):
            break  # work was seen: the other tests change nothing
    outcome, reason = _verdict(when, readings)
    starts = [w.start for _, reading in readings for w in reading.windows]
    begin = min(starts, default=snapshot.now - when.length)
    beat = snapshot.heartbeats.get(ref)
    started = running_since(resource, snapshot)
    if beat is not None and beat > begin:
        outcome, reason = Outcome.CLEAR, "heartbeat"
    elif outcome is Outcome.FIRES and started is None:
        outcome, reason = Outcome.UNKNOWN, "start_unknown"
    elif outcome is Outcome.FIRES and started is not None and begin < started + when.boot_grace:
        outcome, reason = Outcome.CLEAR, "just_started"
    evidence = _maxima(when, readings)
    if outcome is not Outcome.FIRES:
        return judged(resource, outcome, reason, evidence=evidence)
    evidence |= _proof(readings, begin, resource, snapshot)
    return judged(resource, outcome, reason, since=begin, evidence=evidence, waste=_waste(when, readings, resource))


def _verdict(when: IdleWhen, readings: list[tuple[_Test, Reading]]) -> tuple[Outcome, str]:
    """FIRES only if every test is proven quiet; work that was seen beats what is unknown."""
    unknown = ""
    total = max((r.cards for test, r in readings if test.of_cards), default=0)
    surely = possibly = total
    for test, reading in readings:
        if test.of_cards:
            # Which cards are quiet in two tests at once is at least this many, whatever their order.
            surely = max(0, surely - (total - reading.quiet))
            possibly = min(possibly, total - reading.busy)
            if possibly < _enough(when, total):
                return Outcome.CLEAR, f"{test.key}_busy"
        elif reading.proof is Proof.BUSY:
            return Outcome.CLEAR, f"{test.key}_busy"
        missing = reading.busy + reading.quiet < total if test.of_cards else reading.proof is Proof.UNKNOWN
        if missing:
            # A card that nobody sees may work, however many others must be idle.
            unknown = unknown or f"{test.key}_{_why(reading)}"
    if unknown:
        return Outcome.UNKNOWN, unknown
    if surely < _enough(when, total):
        return Outcome.UNKNOWN, "cards_undecided"
    return Outcome.FIRES, "idle"


def _why(reading: Reading) -> str:
    return "card_without_samples" if reading.proof is Proof.BUSY else reading.reason


def _enough(when: IdleWhen, total: int) -> int:
    """How many of the cards must be idle."""
    if when.cards == "all":
        return total
    return min(1, total) if when.cards == "any" else ceil(round(when.cards * total, 9))


def _waste(when: IdleWhen, readings: list[tuple[_Test, Reading]], resource: Resource) -> Money | None:
    """The price of the box; with ``cards`` any or a share, the part of it that its idle cards are."""
    waste = waste_of(resource)
    util = next((r for test, r in readings if test.key == "gpu_util"), None)
    if waste is None or when.cards == "all" or util is None or not util.cards:
        return waste
    return waste.times(Decimal(util.quiet) / util.cards)


def _maxima(when: IdleWhen, readings: list[tuple[_Test, Reading]]) -> dict[str, EvidenceValue]:
    """Per metric its maximum beside its threshold, and how new the newest sample is."""
    evidence: dict[str, EvidenceValue] = {"window": when.length, "last_at": readings[0][1].last_at}
    for test, reading in readings:
        evidence[f"{test.key}_max"] = reading.max
        evidence[f"{test.key}_below"] = test.below
    return evidence


def _proof(
    readings: list[tuple[_Test, Reading]], begin: datetime, resource: Resource, snapshot: Snapshot
) -> dict[str, EvidenceValue]:
    """What a sentence for people needs besides: how well it is known, each card, and what it costs."""
    test, main = readings[0]
    worst = min(main.windows, key=lambda w: w.coverage)
    evidence: dict[str, EvidenceValue] = {
        f"{test.key}_mean": main.mean,
        "source": main.source,
        "samples": worst.samples,
        "expected": worst.expected,
        "coverage": round(worst.coverage, 4),
        "window_start": begin,
        "window_end": max(w.end for w in main.windows),
        "started_at": resource.started_at,
        "price": resource.price,
        "idle_cost": cost_since(resource, begin, snapshot.now),
    }
    if test.of_cards:
        whole = (w for w in main.windows if w.series.gpu_index is not None and w.series.cards)
        per_card = ((w.series.gpu_index, w.max) for w in whole)
        evidence["cards"] = tuple(sorted(per_card))
        evidence["cards_expected"] = main.cards
        evidence["cards_idle"] = main.quiet
    return evidence


def _activity(when: IdleWhen) -> ActivityTests:
    """The busy guard asks the policy's own tests: a source written ``off`` is not asked there either."""
    return ActivityTests(
        gpu_util=when.gpu_util_below,
        cpu_cores=when.cpu_below,
        network=when.network_below,
        disk=None if when.cpu_below is None else ActivityTests().disk,
        coverage=when.coverage,
    )


IDLE = RuleKind(
    name="idle",
    when=IdleWhen,
    judge=judge,
    needs=needs,
    capabilities=lambda when: frozenset({"cpu_usage"} if when.cpu_only else {"gpu_usage"}),
    activity=_activity,
    title=Words("Idle", "空闲"),
    summary=Words(
        "A running box whose GPUs, CPU and network all stayed below their thresholds for the whole time. "
        "Missing data is unknown and never fires.",
        "运行中的机器，其 GPU、CPU 与网络在整个时间窗口内的最大值都低于阈值。缺少数据视为未知，绝不触发。",
    ),
    example="""\
policies:
  - name: idle-dev
    rule: idle
    match: {kinds: [vm], tags: {role: [dev]}, gpus: {min: 1}}
    when: {gpu_util_below: 5%, for: 45m, cards: all, cpu_below: 1 core, network_below: 1MB/s, boot_grace: 20m}
    respond:
      - {do: warn, to: [owner, ops]}
      - {after: 15m, do: warn, to: [owner]}
      - {after: 30m, do: stop}
    limits: {per_hour: 3, share: 20%}
""",
)
