"""anomaly: a day that costs far more than such days do, and a new thing that is dear from its first hour.

Robust against what it looks for: median and median deviation of the same weekday over four weeks, of all days where
there are too few. In the first ten days of an account only new things are told.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from costguard.domain.budget import Basis, Spend
from costguard.domain.finding import EvidenceValue, Judgement, Outcome, Subject, SubjectType
from costguard.domain.money import Money
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import local_midnight
from costguard.rules.burn import billed_per_hour
from costguard.rules.currency import Rates
from costguard.rules.fields import Rate, RateText, parse_rate
from costguard.rules.kind import RuleKind, Words
from costguard.rules.policy import When
from costguard.rules.spending import counted, drivers, spending

HISTORY, LEAST = 28, 10  # days
SAME_WEEKDAYS = 3
NEW = timedelta(hours=24)
# A deviation of a twentieth of the median is noise, however steady the days were.
QUIET = 0.05
_DAY = timedelta(days=1)
_NORMAL = 0.6745  # the median deviation of a normal distribution, in standard deviations
_SENSITIVITY: Mapping[str, float] = {"low": 6.0, "medium": 4.0, "high": 3.0}


def _whole(rate: Rate) -> Rate:
    if rate.per_gpu or rate.per_hour.nanos <= 0:
        raise ValueError('a rate of more than zero, not per GPU, like "200 CNY/day"')
    return rate


TotalRate = Annotated[RateText, AfterValidator(_whole)]


class AnomalyWhen(When):
    """Each account's services and each team are looked at by themselves, today and yesterday."""

    sensitivity: Literal["low", "medium", "high"] = Field(
        "medium", description="how many deviations above the usual: low 6, medium 4, high 3"
    )
    floor: TotalRate = Field(parse_rate("200 CNY/day"), description="less than this above the usual is never told")
    new_above: TotalRate | None = Field(None, description="also tell of what is new and costs more than this per hour")


@dataclass(frozen=True, slots=True)
class _Usual:
    """What days like one cost: median and median deviation in nanos, over ``days`` days."""

    median: float
    deviation: float
    days: int

    def score(self, nanos: int) -> float:
        """Robust z: how many deviations above the median."""
        return _NORMAL * (nanos - self.median) / max(self.deviation, QUIET * self.median, 1.0)


def usual(days: Mapping[date, Money], day: date) -> _Usual | None:
    """From the 28 days before ``day``; None with fewer than ten since the first spend. A day without spend is zero."""
    first = min((one for one in days if one < day), default=day)
    length = min((day - first).days, HISTORY)
    if (day - first).days < LEAST:
        return None
    past = [day - n * _DAY for n in range(1, length + 1)]
    same = [one for one in past if one.weekday() == day.weekday()]
    chosen = same if len(same) >= SAME_WEEKDAYS else past
    values = [days[one].nanos if one in days else 0 for one in chosen]
    middle = median(values)
    return _Usual(middle, median(abs(value - middle) for value in values), len(chosen))


def judge(when: AnomalyWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    zone = ZoneInfo(snapshot.timezone)
    today = snapshot.now.astimezone(zone).date()
    groups: dict[Subject, list[Spend]] = defaultdict(list)
    for row in counted(snapshot.spend, Basis.PAYABLE, None):
        groups[_service(row, snapshot)].append(row)
        if row.team is not None:
            groups[Subject(SubjectType.SERVICE, f"team {row.team}", name=row.team)].append(row)
    for group in sorted(groups):
        sums = spending(groups[group], snapshot, zone, when.floor.per_hour.currency)
        for day in (today - _DAY, today):
            yield _day(when, group, groups[group], sums.days, sums.apart, day, snapshot, zone)
    if when.new_above is not None:
        yield from _new(when.new_above, resources, snapshot)


def _service(row: Spend, snapshot: Snapshot) -> Subject:
    facts = snapshot.accounts.get(row.account)
    return Subject(
        SubjectType.SERVICE, row.service, row.account, facts.provider if facts else "", name=row.service
    )  # fmt: skip


def _day(
    when: AnomalyWhen,
    group: Subject,
    rows: Sequence[Spend],
    days: Mapping[date, Money],
    apart: tuple[Money, ...],
    day: date,
    snapshot: Snapshot,
    zone: ZoneInfo,
) -> Judgement:
    """One day of one group. The day is part of the subject: tomorrow's is another story, and no recovery of this one.

    Today counts as far as it has come: what is already too much by noon is told at noon.
    """
    subject = Subject(group.type, f"{group.id} {day}", group.account, group.provider, name=group.name)
    start = local_midnight(day, zone)
    currency = when.floor.per_hour.currency
    spent = days.get(day, Money.zero(currency))
    known = usual(days, day)
    evidence: dict[str, EvidenceValue] = {"day": start, "service": group.name, "spent": spent, "apart": apart}
    if known is None:
        return Judgement(subject, Outcome.UNKNOWN, "short_history", None, evidence, None, start)
    middle = Money(round(known.median), currency)
    score = known.score(spent.nanos)
    evidence |= {"median": middle, "score": round(score, 1), "days": known.days, "over": spent - middle}
    high = score >= _SENSITIVITY[when.sensitivity] and spent - middle >= when.floor.per_hour.per_hour_for(_DAY)
    if high:
        mine = [row for row in rows if start <= row.start < local_midnight(day + _DAY, zone)]
        evidence["drivers"] = drivers(mine, snapshot, zone, start)
        return Judgement(subject, Outcome.FIRES, "far_above_usual", start, evidence, None, start)
    if apart:
        return Judgement(subject, Outcome.UNKNOWN, "no_rate", None, evidence, None, start)
    return Judgement(subject, Outcome.CLEAR, "usual", None, evidence, None, start)


def _new(above: Rate, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    """Things made in the last 24 hours; they need no history."""
    rates = Rates(snapshot.currency, snapshot.exchange_rates)
    for resource in resources:
        born = resource.created_at
        if born is None or snapshot.now - born > NEW:
            continue
        burn = billed_per_hour(resource)
        money = rates.into(burn, above.per_hour.currency, snapshot.now) if burn is not None else None
        ref = resource.ref
        subject = Subject(
            SubjectType.SERVICE, f"new {ref.id}", ref.account, ref.provider, ref.region, name=resource.name or ref.id
        )  # fmt: skip
        evidence: dict[str, EvidenceValue] = {
            "created_at": born, "price": burn, "limit": above.per_hour, "creator": resource.creator,
        }  # fmt: skip
        if money is None:
            yield Judgement(subject, Outcome.UNKNOWN, "price_unknown" if burn is None else "no_rate", None, evidence)
        elif above.per_hour < money:
            yield Judgement(subject, Outcome.FIRES, "new_and_dear", min(born, snapshot.now), evidence, burn, born)
        else:
            yield Judgement(subject, Outcome.CLEAR, "cheap_enough", None, evidence, None, born)


ANOMALY = RuleKind(
    name="anomaly",
    when=AnomalyWhen,
    judge=judge,
    subject=SubjectType.SERVICE,
    may_stop=False,
    repeat_after=None,
    title=Words("Sudden spending", "费用突增"),
    summary=Words(
        "A service or a team whose day costs far more than such weekdays do, by deviations and by money; and, where "
        "new_above is set, a new resource that is dear from its first hour. The first ten days only tell of the new.",
        "某个服务或团队当天的费用远高于以往同一星期几（既看偏离程度，也看金额）；"
        "设置 new_above 后，新建的高价资源也会立即提醒。前十天只看新建的资源。",
    ),
    example="""\
policies:
  - name: sudden-spending
    rule: anomaly
    when: {sensitivity: medium, floor: "200 CNY/day", new_above: "50 CNY/h"}
    respond:
      - {do: notify, to: [ops]}
""",
)
