"""What a replay found: who would have been warned and stopped when, what that saves, and which stops hit work.

``costguard.replay/1`` is made here. Pure.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from costguard.domain.codec import encode, instant, subject_json
from costguard.domain.finding import Evidence, Subject
from costguard.domain.money import Money, total
from costguard.domain.time import midnight_after
from costguard.engine.history import Run
from costguard.engine.replay_money import Note
from costguard.rules.currency import Rates
from costguard.rules.kind import Words

HOUR, DAY = timedelta(hours=1), timedelta(hours=24)
WHY_NOT: Mapping[str, Words] = {
    "waste": Words("what was unattached or stopped since when is not recorded", "何时起未挂载、已停止没有历史记录"),
    "quota": Words("providers tell a quota as it is now, and its past is not recorded", "配额只有当前值，没有历史记录"),
    "no_balance": Words(
        "no balance of any account was recorded in this time; the daemon records them from now on",
        "这段时间没有任何账号的余额记录；守护进程运行后才会记录",
    ),
    "budget_stops": Words(
        "its notes are replayed, its stops are not: they would change the very spend that it counts",
        "只回放提醒，不回放关机：关机会改变预算所统计的费用本身",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Warned:
    """A ladder whose warning went out. ``outcome`` ∈ stopped, other (another policy stopped it), cleared (it was used
    again), ended (it stopped by itself), or the guard's code that holds it at the end of the replay."""

    policy: str
    subject: Subject
    at: datetime
    outcome: str
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop that would have been called. All times aware UTC.

    ``work_at``: when the box was next at work in that same run, None if it never was. ``until``: up to when it saves,
    and ``ended_by`` why: ``work`` (somebody would have started it again), ``ended`` (it really ended then), ``open``
    (the history ends). In between the box is out of the replay. ``run`` is the real run that it cuts.
    """

    policy: str
    rule: str
    subject: Subject
    warned_at: datetime | None
    at: datetime
    until: datetime
    ended_by: str
    run: Run
    work_at: datetime | None = None
    evidence: Evidence = field(default_factory=dict)

    def hits(self, within: timedelta) -> bool:
        """Whether work came within ``within`` of the stop."""
        return self.work_at is not None and self.work_at - self.at <= within

    def saved(self, rates: Rates) -> tuple[Money, tuple[Money, ...]]:
        """(in the reporting currency, each hour at its own rate; what has no rate)."""
        parts = [rates.total(self.run.cost(low, high), low) for low, high in rates.spans(self.at, self.until)]
        whole = sum((part.money for part in parts), Money.zero(rates.currency))
        return whole, total(money for part in parts for money in part.apart)

    @property
    def priced(self) -> bool:
        return self.run.rate(self.at) is not None


@dataclass(frozen=True, slots=True)
class Replayed:
    """One set of policies over one history. ``rules`` by policy name; ``matched`` boxes by policy; ``told`` counts the
    notes to people that are no warnings, ``notes`` are those of money, balances and subscriptions. ``skipped`` are
    policies that a replay cannot judge and ``partly`` those that it judges in part, each with a key of ``WHY_NOT``.
    ``looks`` counts evaluations of a box."""

    since: datetime
    until: datetime
    rules: Mapping[str, str]
    matched: Mapping[str, int]
    warnings: Sequence[Warned]
    stops: Sequence[Stop]
    told: Mapping[str, int]
    skipped: Mapping[str, str]
    boxes: int
    boxes_with_use: int
    first_sample_at: datetime | None
    samples: int
    looks: int
    notes: Sequence[Note] = ()
    partly: Mapping[str, str] = field(default_factory=dict)

    def hits(self, within: timedelta) -> int:
        return sum(stop.hits(within) for stop in self.stops)


def saved(stops: Iterable[Stop], rates: Rates) -> tuple[Money, tuple[Money, ...]]:
    """The sum in the reporting currency, and what has no rate."""
    return _sum([(stop, stop.saved(rates)) for stop in stops], rates)


_Worth = tuple[Stop, tuple[Money, tuple[Money, ...]]]
"""A stop with what it saves."""


def _sum(stops: Iterable[_Worth], rates: Rates) -> tuple[Money, tuple[Money, ...]]:
    whole = Money.zero(rates.currency)
    apart: list[Money] = []
    for _, (money, rest) in stops:
        whole += money
        apart += rest
    sums: Counter[str] = Counter()
    for money in apart:
        sums[money.currency] += money.nanos
    return whole, tuple(Money(nanos, currency) for currency, nanos in sorted(sums.items()))


def by_day(stops: Iterable[Stop], since: datetime, until: datetime, zone: ZoneInfo, rates: Rates) -> dict[date, Money]:
    """What would have been saved on each local date of [since, until), every date once."""
    marks = [since]
    while marks[-1] < until:
        marks.append(min(until, midnight_after(marks[-1], zone)))
    days = {low.astimezone(zone).date(): Money.zero(rates.currency) for low in marks[:-1]}
    for stop in stops:
        begun = max(0, bisect_right(marks, stop.at) - 1)
        for low, high in pairwise(marks[begun : bisect_left(marks, stop.until) + 1]):
            first, last = max(low, stop.at), min(high, stop.until)
            days[low.astimezone(zone).date()] += rates.total(stop.run.cost(first, last), first).money
    return days


def document(result: Replayed, name: str, rates: Rates, zone: ZoneInfo) -> dict[str, object]:
    """One entry of ``versions``: the totals, each policy, each day, each stop (the dearest first)."""
    worth = [(stop, stop.saved(rates)) for stop in result.stops]
    whole, apart = _sum(worth, rates)
    days = by_day(result.stops, result.since, result.until, zone, rates)
    dearest = sorted(worth, key=lambda pair: (-pair[1][0].nanos, pair[0].at, pair[0].subject.key))
    return {
        "name": name,
        "told": sum(result.told.values()),
        **_counts(result.warnings, worth, rates),
        "apart": [_money(money) for money in apart],
        "unpriced_stops": sum(not stop.priced for stop in result.stops),
        "policies": [
            {
                "policy": policy,
                "rule": rule,
                "matched": result.matched.get(policy, 0),
                "told": result.told.get(policy, 0),
                **_counts(
                    [w for w in result.warnings if w.policy == policy],
                    [pair for pair in worth if pair[0].policy == policy],
                    rates,
                ),
            }
            for policy, rule in result.rules.items()
        ],
        "skipped": [_why_not(policy, why) for policy, why in result.skipped.items()],
        "partly": [_why_not(policy, why) for policy, why in result.partly.items()],
        "by_day": [{"key": day.isoformat(), "amount": _money(money)} for day, money in days.items()],
        "stops": [_stop(stop, worth) for stop, (worth, _) in dearest],
        "warnings": [
            {
                "policy": w.policy,
                "subject": subject_json(w.subject),
                "at": instant(w.at),
                "outcome": w.outcome,
                "ended_at": None if w.ended_at is None else instant(w.ended_at),
            }
            for w in sorted(result.warnings, key=lambda w: (w.at, w.subject.key, w.policy))
        ],
        "looks": result.looks,
        "saved": _money(whole),
    }


def _why_not(policy: str, why: str) -> dict[str, object]:
    return {"policy": policy, "reason": WHY_NOT[why].en, "reason_zh": WHY_NOT[why].zh}


def _counts(warnings: Sequence[Warned], stops: Sequence[_Worth], rates: Rates) -> dict[str, object]:
    return {
        "warned": len(warnings),
        "outcomes": dict(sorted(Counter(w.outcome for w in warnings).items())),
        "stopped": len(stops),
        "hit_within_hour": sum(stop.hits(HOUR) for stop, _ in stops),
        "hit_within_day": sum(stop.hits(DAY) for stop, _ in stops),
        "saved": _money(_sum(stops, rates)[0]),
    }


def _stop(stop: Stop, worth: Money) -> dict[str, object]:
    return {
        "policy": stop.policy,
        "rule": stop.rule,
        "subject": subject_json(stop.subject),
        "warned_at": None if stop.warned_at is None else instant(stop.warned_at),
        "at": instant(stop.at),
        "until": instant(stop.until),
        "ended_by": stop.ended_by,
        "work_at": None if stop.work_at is None else instant(stop.work_at),
        "hit_within_hour": stop.hits(HOUR),
        "hit_within_day": stop.hits(DAY),
        "saved": _money(worth) if stop.priced else None,
        "evidence": encode(stop.evidence),
    }


def _money(money: Money) -> dict[str, str]:
    return {"amount": money.plain(), "currency": money.currency}
