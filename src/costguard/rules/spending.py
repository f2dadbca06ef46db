"""Spending: spend rows as exact sums per local day and calendar period, in one currency.

Bills lag and are restated, so until a day has been over for 72 hours the larger of bill and live estimate counts;
from then on the bill does. Amounts without an exchange rate stay apart and are never added.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from statistics import median_low
from typing import Literal
from zoneinfo import ZoneInfo

from costguard.domain.budget import Basis, Spend
from costguard.domain.money import Money, total
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import local_midnight
from costguard.rules.currency import Rates
from costguard.rules.globs import glob

SETTLED = timedelta(hours=72)
OUTLIER, OUTLIER_DAYS, OUTLIER_KNOWN = 10, 7, 3
_DAY = timedelta(days=1)

PeriodName = Literal["month", "week", "day"]


@dataclass(frozen=True, slots=True)
class Period:
    """A calendar period of a zone: the local dates [first, after), [start, end) in UTC.

    ``key``: ``2026-06``, ``2026-W24``, ``2026-06-11``.
    """

    key: str
    first: date
    after: date
    start: datetime
    end: datetime

    @classmethod
    def of(cls, name: PeriodName, now: datetime, zone: ZoneInfo) -> "Period":
        """The period that ``now`` lies in. Weeks are ISO weeks: they begin on Monday."""
        today = now.astimezone(zone).date()
        match name:
            case "month":
                first = today.replace(day=1)
                after = (first + 31 * _DAY).replace(day=1)
                key = f"{first:%Y-%m}"
            case "week":
                first = today - today.weekday() * _DAY
                after = first + 7 * _DAY
                year, week, _ = first.isocalendar()
                key = f"{year:04}-W{week:02}"
            case "day":
                first, after, key = today, today + _DAY, today.isoformat()
        return cls(key, first, after, local_midnight(first, zone), local_midnight(after, zone))


@dataclass(frozen=True, slots=True)
class Spending:
    """Money per local day, in the order of the days and in one currency.

    ``apart`` has no rate, per currency; ``estimated``: some of it is a live estimate.
    """

    currency: str
    days: Mapping[date, Money]
    apart: tuple[Money, ...] = ()
    estimated: bool = False

    def of(self, period: Period) -> Money:
        """The sum of a period's days."""
        return sum((money for _, money in self._in(period)), Money.zero(self.currency))

    def reached(self, period: Period, limit: Money) -> date:
        """The day with which the period's sum comes to ``limit``; its last day with spend if it never does."""
        so_far, last = Money.zero(self.currency), period.first
        for last, money in self._in(period):
            so_far += money
            if limit <= so_far:
                return last
        return last

    def _in(self, period: Period) -> Iterator[tuple[date, Money]]:
        return ((day, money) for day, money in self.days.items() if period.first <= day < period.after)


def counted(rows: Iterable[Spend], basis: Basis, services: Sequence[str] | None) -> tuple[Spend, ...]:
    """The rows of one basis (estimates stand for every one) and of services that the globs name."""
    fits = glob(services, fold=True).match if services is not None else None
    return tuple(r for r in rows if r.basis in (None, basis) and (fits is None or fits(r.service) is not None))


def spending(rows: Iterable[Spend], snapshot: Snapshot, zone: ZoneInfo, currency: str) -> Spending:
    """Rows summed per local day of ``zone`` in ``currency``; a row belongs to the day in which it begins."""
    rates = Rates(snapshot.currency, snapshot.exchange_rates)
    days_of: dict[datetime, date] = {}
    sums: dict[tuple[date, str, bool, str], int] = defaultdict(int)
    for row in rows:
        day = days_of.get(row.start)
        if day is None:
            day = days_of[row.start] = row.start.astimezone(zone).date()
        sums[day, row.account, row.estimated, row.money.currency] += row.money.nanos
    both: dict[tuple[date, str], dict[bool, Money]] = defaultdict(dict)
    apart: list[Money] = []
    for (day, account, estimated, code), nanos in sums.items():
        money = rates.into(Money(nanos, code), currency, local_midnight(day, zone))
        if money is None:
            apart.append(Money(nanos, code))
            continue
        sides = both[day, account]
        sides[estimated] = sides.get(estimated, Money.zero(currency)) + money
    days: dict[date, Money] = defaultdict(lambda: Money.zero(currency))
    guessed = False
    for (day, _), sides in both.items():
        money, estimated = _settled(sides, closed(day, snapshot.known_at, zone))
        days[day] += money
        guessed |= estimated
    return Spending(currency, dict(sorted(days.items())), total(apart), guessed)


def _settled(sides: Mapping[bool, Money], over: bool) -> tuple[Money, bool]:
    """What counts of a day's bill and estimate, and whether that is the estimate."""
    bill, estimate = sides.get(False), sides.get(True)
    if bill is None or (estimate is not None and not over and bill < estimate):
        assert estimate is not None, "a day has a bill or an estimate"
        return estimate, True
    return bill, False


def closed(day: date, now: datetime, zone: ZoneInfo) -> bool:
    """Whether a day has been over for so long that its bill counts, whatever the estimate was."""
    return local_midnight(day + _DAY, zone) + SETTLED <= now


def counting(estimates: Sequence[Spend], bill: Sequence[Spend], *, closed: bool, people: bool) -> Sequence[Spend]:
    """The rows that count of one account's day, in one currency: either the bill's or the estimate's.

    ``people``: where the bill names nobody, the estimate says who used it. It stands in the bill's dearest service;
    what the bill is more or less than that, and all its other services, stay nobody's.
    """
    estimate, billed = (sum(row.money.nanos for row in rows) for rows in (estimates, bill))
    if not bill or (estimates and not closed and billed < estimate):
        return estimates
    if people and estimates and _names_nobody(bill):
        dearest = max(bill, key=lambda row: row.money.nanos)
        return [*estimates, *bill, replace(dearest, money=Money(-estimate, dearest.money.currency))]
    return bill


def _names_nobody(bill: Sequence[Spend]) -> bool:
    """Whether a bill's rows of one day tell neither resources nor people: the same holds for all of them."""
    return all(row.ref is None for row in bill) and len({(row.owner, row.team, row.project) for row in bill}) == 1


def outliers(days: Mapping[date, Money], first: date) -> dict[date, Money]:
    """Days from ``first`` on of more than ten times the median of the seven days before: day → that median.

    At least three of the seven must be known, and the median is of these.
    """
    found: dict[date, Money] = {}
    for day, money in days.items():
        before = [day - n * _DAY for n in range(1, OUTLIER_DAYS + 1)]
        known = [days[one] for one in before if one in days]
        if day < first or len(known) < OUTLIER_KNOWN:
            continue
        usual = median_low([m.nanos for m in known])
        if usual > 0 and money.nanos > OUTLIER * usual:
            found[day] = Money(usual, money.currency)
    return found


def drivers(
    rows: Iterable[Spend], snapshot: Snapshot, zone: ZoneInfo, start: datetime, most: int = 3
) -> tuple[tuple[str, Money], ...]:
    """What cost most since ``start``: names of resources or services with their money in the reporting currency.

    Of each day what counts, so all of them together are what was spent.
    """
    rates = Rates(snapshot.currency, snapshot.exchange_rates)
    sides: dict[tuple[date, str], tuple[list[Spend], list[Spend]]] = defaultdict(lambda: ([], []))
    for row in rows:
        if row.start >= start and (money := rates.convert(row.money, row.start)) is not None:
            place = sides[row.start.astimezone(zone).date(), row.account]
            place[0 if row.estimated else 1].append(row if money is row.money else replace(row, money=money))
    sums: dict[str, int] = defaultdict(int)
    for (day, _), (estimates, bill) in sides.items():
        for row in counting(estimates, bill, closed=closed(day, snapshot.known_at, zone), people=True):
            sums[_name(row, snapshot)] += row.money.nanos
    dearest = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple((name, Money(nanos, snapshot.currency)) for name, nanos in dearest[:most])


def _name(row: Spend, snapshot: Snapshot) -> str:
    if row.ref is None:
        return row.service
    resource = snapshot.resources.get(row.ref)
    return (resource.name if resource is not None else "") or row.ref.id
