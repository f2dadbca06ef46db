"""budget: what a calendar period may cost, told once for each step that spend or forecast reaches.

Missing data never brings a budget back under a step: below one it says unknown, not clear. A day that looks like a
mistake in the bill raises the alarm and stops nothing.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Self
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, model_validator

from costguard.domain.budget import FORECAST, Basis
from costguard.domain.finding import EvidenceValue, Judgement, Outcome, Subject, SubjectType
from costguard.domain.money import Money
from costguard.domain.resource import Kind, Resource
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import local_midnight
from costguard.rules.burn import behind, billed_per_hour
from costguard.rules.currency import Rates
from costguard.rules.fields import MoneyText, Percent
from costguard.rules.kind import RuleKind, Words, judged, not_running, waste_of
from costguard.rules.policy import StopWhen, Texts
from costguard.rules.spending import Period, PeriodName, Spending, counted, drivers, outliers, spending
from costguard.rules.trend import outlook

_BOXES = frozenset({Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT})
_FEEDS = ("inventory", "charges")


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


Steps = Annotated[tuple[Percent, ...], BeforeValidator(_listed)]


class BudgetWhen(StopWhen):
    """Periods are calendar periods of the configuration's zone."""

    amount: MoneyText = Field(description="what a period may cost")
    period: PeriodName = Field("month", description="the calendar period; a week begins on Monday")
    basis: Basis = Field(
        Basis.PAYABLE, description="payable: after discounts and coupons, before vouchers and credits; or list, cash"
    )
    at: Steps = Field((50.0, 80.0, 100.0), min_length=1, description="steps that spend reaches")
    forecast_at: Steps = Field((100.0,), description="steps that the forecast of the period's end reaches; [] for none")
    services: Texts | None = Field(None, description="only these services; globs on the bill's names")

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.amount.nanos <= 0:
            raise ValueError("amount is what a period may cost: more than zero")
        for steps in (self.at, self.forecast_at):
            if sorted(set(steps)) != list(steps) or 0 in steps:
                raise ValueError("steps ascend, each once, and are more than 0%")
        return self


@dataclass(frozen=True, slots=True)
class _Book:
    """One budget in one period: what is known of its money. ``trusted`` leaves out days that look like a mistake."""

    period: Period
    sums: Spending
    spent: Money
    trusted: Money
    forecast: Money | None
    unknown: str
    evidence: dict[str, EvidenceValue]


def judge(when: BudgetWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    zone = ZoneInfo(snapshot.timezone)
    book = _book(when, resources, snapshot, zone)
    boxes = [resource for resource in resources if resource.ref.kind in _BOXES]
    for step in when.at:
        limit, name = _limit(when, step), f"{step:g}%"
        yield _step(book, name, limit, zone)
        for box in boxes:
            yield _box(book, box, name, limit, zone)
    for step in when.forecast_at:
        yield _forecast(book, f"{FORECAST}{step:g}%", _limit(when, step), snapshot.now)


def _limit(when: BudgetWhen, step: float) -> Money:
    return when.amount.times(Decimal(repr(step)) / 100)


def _book(when: BudgetWhen, resources: Sequence[Resource], snapshot: Snapshot, zone: ZoneInfo) -> _Book:
    now = snapshot.now
    period = Period.of(when.period, now, zone)
    rows = counted(snapshot.spend, when.basis, when.services)
    sums = spending(rows, snapshot, zone, when.amount.currency)
    spent = sums.of(period)
    strange = outliers(sums.days, period.first)
    if when.services is not None:
        # Only the bill says which service a resource belongs to.
        theirs = {row.ref for row in rows if row.start >= period.start}
        resources = [resource for resource in resources if resource.ref in theirs]
    usual = Spending(sums.currency, {**sums.days, **strange})
    seen = outlook(usual, rows, resources, snapshot, zone, period)
    forecast = seen.total if seen is not None else None
    evidence: dict[str, EvidenceValue] = {
        "spent": spent, "amount": when.amount, "used": _percent(spent, when.amount), "period": when.period,
        "period_start": period.start, "period_end": period.end, "basis": when.basis.value, "forecast": forecast,
        "gone_at": _gone_at(when.amount - spent, resources, snapshot, period.end), "estimated": sums.estimated,
        "drivers": drivers(rows, snapshot, zone, period.start), "apart": sums.apart,
        "unpriced": sum(1 for r in resources if r.is_running and r.price is None),
    }  # fmt: skip
    if strange:
        day = max(strange, key=lambda one: sums.days[one].nanos)
        evidence |= {"odd_day": local_midnight(day, zone), "odd_amount": sums.days[day], "usual_day": strange[day]}
    accounts = {row.account for row in rows} | {resource.ref.account for resource in resources}
    unknown = _why_unknown(sums, period, snapshot, accounts)
    return _Book(period, sums, spent, usual.of(period), forecast, unknown, evidence)


def _why_unknown(sums: Spending, period: Period, snapshot: Snapshot, accounts: Collection[str]) -> str:
    """Why what is not there may only be missing; empty when the sums are whole."""
    if sums.apart:
        return "no_rate"
    if not any(period.first <= day < period.after for day in sums.days):
        return "no_spend"
    return "spend_stale" if behind(snapshot, accounts, _FEEDS) else ""


def _gone_at(left: Money, resources: Sequence[Resource], snapshot: Snapshot, end: datetime) -> datetime | None:
    """When what is left is used up by what runs now; None if not in this period."""
    rates = Rates(snapshot.currency, snapshot.exchange_rates)
    burns = [rates.into(burn, left.currency, snapshot.now) for r in resources if (burn := billed_per_hour(r))]
    per_hour = sum(money.nanos for money in burns if money is not None)
    if left.nanos <= 0 or per_hour <= 0:
        return None
    seconds = left.nanos * 3600 // per_hour
    return snapshot.now + timedelta(seconds=seconds) if seconds < (end - snapshot.now).total_seconds() else None


def _percent(part: Money, whole: Money) -> float:
    """In tenths, rounded down: what is 100 % has come to its step."""
    return part.nanos * 1000 // whole.nanos / 10


def _subject(book: _Book) -> Subject:
    # The period is part of the name, so a late bill never opens a closed period's ladder again.
    return Subject(SubjectType.BUDGET, book.period.key, name=book.period.key)


def _since(book: _Book, limit: Money, zone: ZoneInfo) -> datetime:
    day: date = book.sums.reached(book.period, limit)
    return max(book.period.start, local_midnight(day, zone))


def _step(book: _Book, name: str, limit: Money, zone: ZoneInfo) -> Judgement:
    """The budget itself: spend that is there counts, whatever may be missing."""
    evidence = {**book.evidence, "threshold": name}
    subject, start = _subject(book), book.period.start
    if limit <= book.spent:
        reason = "step_reached" if limit <= book.trusted else "day_quarantined"
        since = _since(book, limit, zone)
        return Judgement(subject, Outcome.FIRES, reason, since, evidence, None, start, name)
    if book.unknown:
        return Judgement(subject, Outcome.UNKNOWN, book.unknown, None, evidence, None, start, name)
    return Judgement(subject, Outcome.CLEAR, "below_step", None, evidence, None, start, name)


def _box(book: _Book, box: Resource, name: str, limit: Money, zone: ZoneInfo) -> Judgement:
    """A box that the budget's acting rungs are for; it keeps the identity of its own run."""
    answer = not_running(box)
    if answer is None:
        evidence = {**book.evidence, "threshold": name, "price": box.price}
        if limit <= book.trusted:
            since = _since(book, limit, zone)
            answer = judged(
                box, Outcome.FIRES, "step_reached", since=since, evidence=evidence, waste=waste_of(box)
            )  # fmt: skip
        elif limit <= book.spent:
            answer = judged(box, Outcome.UNKNOWN, "day_quarantined", evidence=evidence)
        else:
            outcome = Outcome.UNKNOWN if book.unknown else Outcome.CLEAR
            answer = judged(box, outcome, book.unknown or "below_step", evidence=evidence)
    return Judgement(
        answer.subject, answer.outcome, answer.reason, answer.since, answer.evidence, answer.waste_per_hour,
        answer.started_at, name,
    )  # fmt: skip


def _forecast(book: _Book, name: str, limit: Money, now: datetime) -> Judgement:
    subject, start = _subject(book), book.period.start
    evidence = {**book.evidence, "threshold": name}
    if book.forecast is None:
        return Judgement(subject, Outcome.UNKNOWN, "no_history", None, evidence, None, start, name)
    if limit <= book.forecast:
        return Judgement(subject, Outcome.FIRES, "forecast_reached", now, evidence, None, start, name)
    if book.unknown:
        return Judgement(subject, Outcome.UNKNOWN, book.unknown, None, evidence, None, start, name)
    return Judgement(subject, Outcome.CLEAR, "below_step", None, evidence, None, start, name)


BUDGET = RuleKind(
    name="budget",
    when=BudgetWhen,
    judge=judge,
    subject=SubjectType.BUDGET,
    repeat_after=None,
    title=Words("Budget", "预算"),
    summary=Words(
        "What matched resources may cost in a calendar period. Each step is told once a period, and of several that "
        "are reached at once the highest; an edit that leaves amount, period, basis, services and match alone tells "
        "none anew. A rung with `at` answers its own step, and one that stops acts on the matched boxes. Amounts of "
        "other currencies join only by an exchange rate, missing data never clears a step, and a day over ten times "
        "the usual stops nothing.",
        "匹配的资源在一个日历周期内最多花多少。每一档每个周期只提醒一次，同时达到几档时只提醒最高的一档；"
        "修改策略时只要没有动金额、周期、口径、服务和匹配范围，就不会重新提醒。带 at 的一级只对应那一档，"
        "其中的关机作用于匹配的机器。没有汇率的币种不会相加，缺数据不算恢复，某天超过平时十倍时只告警、不关机。",
    ),
    example="""\
policies:
  - name: team-month
    rule: budget
    match: {teams: [nlp]}
    when: {amount: "90000 CNY", period: month, basis: payable, at: [50%, 80%, 100%], forecast_at: [100%]}
    respond:
      - {do: notify, to: [ops]}
      - {at: 100%, do: warn, to: [owner]}
      - {at: 100%, after: 2h, do: stop}
""",
)
