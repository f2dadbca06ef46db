"""Trend: what a period will have cost at its end, from what is known to run on and what is usual for the rest.

Method: boxes that run on are counted exactly, to their planned stop; for the rest the level of the last seven days,
or of 28 while these do not differ by more than chance, times the weekday's share of the last 28. Only where those 28
grow or shrink by more than chance, a line through them goes on instead, ever flatter. On public traces of GPU clusters
the level beat such a line on steady fleets before the middle of a month, and the line the level on growing ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

from costguard.domain.budget import Spend
from costguard.domain.money import Money
from costguard.domain.resource import Kind, Resource, ResourceRef
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import local_midnight
from costguard.rules.burn import billed_per_hour
from costguard.rules.currency import Rates
from costguard.rules.spending import Period, Spending, spending

LEVEL_DAYS, WEEKDAY_DAYS, LEAST_DAYS, LINE_DAYS = 7, 28, 3, 21
# A slope counts from three standard errors on, and each day ahead adds 19/20 of what the day before added.
SURE, FLATTER = 3, Fraction(19, 20)
# Who has been up for a day runs on; who came this morning may leave this evening, like those before.
STEADY = timedelta(hours=24)
_DAY, _MICRO = timedelta(days=1), timedelta(microseconds=1)
_WORKS = frozenset({Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT})


@dataclass(frozen=True, slots=True)
class Trend:
    """A level in nanos per day, and what each weekday (Monday first) has of it.

    ``slope`` is what a day adds to the level at first, from ``last`` on, the last day that it was learnt from.
    """

    level: Fraction
    weekday: tuple[Fraction, ...]
    slope: Fraction = Fraction()
    last: date = date.min

    def on(self, day: date) -> Fraction:
        """Nanos of one whole day."""
        level = self.level
        if self.slope:
            grown = FLATTER * (1 - FLATTER ** (day - self.last).days) / (1 - FLATTER)
            level = max(Fraction(), level + self.slope * grown)
        return level * self.weekday[day.weekday()]


def fit(days: Mapping[date, int], today: date) -> Trend | None:
    """The trend of the whole days before ``today`` (nanos per day; a missing day is zero from the first one on).

    None with fewer than three days. Weekdays differ only from two weeks on.
    """
    past = [day for day in days if today - WEEKDAY_DAYS * _DAY <= day < today]
    if not past or (today - min(past)).days < LEAST_DAYS:
        return None
    series = [(day, days.get(day, 0)) for day in (today - n * _DAY for n in range((today - min(past)).days, 0, -1))]
    factors = _factors(series)
    before, recent = (
        [Fraction(nanos) / factors[day.weekday()] for day, nanos in part if factors[day.weekday()]]
        for part in (series[:-LEVEL_DAYS], series[-LEVEL_DAYS:])
    )
    line = _line([round(one) for one in (*before, *recent)]) if any(recent) else None
    if line is not None:
        return Trend(line[0], factors, line[1], today - _DAY)
    return Trend(_level(before, recent), factors)


def _line(values: Sequence[int]) -> tuple[Fraction, Fraction] | None:
    """(value at the end, slope per day) of the least squares line, where the slope is no chance; else None.

    Days resemble the day before them, so there are fewer of them than there seem: the variance of the slope is raised
    by (1 + r) ÷ (1 − r), r being the correlation of a day's residual with the next one's. And a level that changed
    once, because a box came to stay, is no slope: where that explains the days twice as well, there is no line.
    """
    n = len(values)
    if n < LINE_DAYS:
        return None
    xs = [2 * index - (n - 1) for index in range(n)]  # half days from the middle
    squares, total = sum(x * x for x in xs), sum(values)
    slope = Fraction(sum(x * y for x, y in zip(xs, values, strict=True)), squares)
    mean = Fraction(total, n)
    residuals = [round(y - mean - slope * x) for x, y in zip(xs, values, strict=True)]
    error = sum(one * one for one in residuals)
    if not error:
        return (mean + slope * xs[-1], 2 * slope) if slope else None
    alike = max(Fraction(), Fraction(sum(a * b for a, b in pairwise(residuals)), error))
    if slope**2 * squares * (n - 2) * (1 - alike) <= SURE**2 * error * (1 + alike):
        return None
    if 2 * _step_error(values) < error:
        return None
    return mean + slope * xs[-1], 2 * slope


def _step_error(values: Sequence[int]) -> Fraction:
    """The least sum of squares that two levels leave, each of at least four days."""
    total, squares, n = sum(values), sum(y * y for y in values), len(values)
    left, best = 0, Fraction(squares)
    for k, y in enumerate(values, 1):
        left += y
        if 4 <= k <= n - 4:
            best = min(best, squares - Fraction(left * left, k) - Fraction((total - left) ** 2, n - k))
    return best


def _level(before: Sequence[Fraction], recent: Sequence[Fraction]) -> Fraction:
    """The mean of the last seven days where they differ from those before by more than chance (two standard errors);
    else of all, which errs less on a team that is always about as busy."""
    if not any(recent):
        return Fraction()  # nothing for a week is nothing, whatever was before
    level = sum(recent, Fraction()) / len(recent)
    if len(before) < LEVEL_DAYS:
        return level
    usual = sum(before, Fraction()) / len(before)
    spread = sum(((one - usual) ** 2 for one in before), Fraction()) / (len(before) - 1)
    by_chance = 4 * spread * (Fraction(1, len(recent)) + Fraction(1, len(before)))
    if (level - usual) ** 2 > by_chance:
        return level
    return sum([*before, *recent], Fraction()) / (len(before) + len(recent))


def _factors(series: Sequence[tuple[date, int]]) -> tuple[Fraction, ...]:
    mean = Fraction(sum(nanos for _, nanos in series), len(series))
    if len(series) < 2 * 7 or mean <= 0:
        return (Fraction(1),) * 7
    groups: list[list[int]] = [[] for _ in range(7)]
    for day, nanos in series:
        groups[day.weekday()].append(nanos)
    return tuple(max(Fraction(), Fraction(sum(group), len(group)) / mean) for group in groups)


def until(trend: Trend, now: datetime, end: datetime, zone: ZoneInfo) -> int:
    """Nanos from ``now`` to ``end``; days that are only partly left count by their hours."""
    nanos, at = Fraction(), now
    while at < end:
        day = at.astimezone(zone).date()
        low, high = local_midnight(day, zone), local_midnight(day + _DAY, zone)
        nanos += trend.on(day) * Fraction((min(high, end) - at) // _MICRO, (high - low) // _MICRO)
        at = high
    return round(nanos)


@dataclass(frozen=True, slots=True)
class Outlook:
    """A period's end as it looks now: what was spent, what runs on, and what the rest usually costs.

    ``growing``: the rest follows a line and not a level (down, if it shrinks).
    """

    spent: Money
    committed: Money
    rest: Money
    growing: bool = False

    @property
    def total(self) -> Money:
        return self.spent + self.committed + self.rest


def outlook(
    known: Spending,
    rows: Iterable[Spend],
    resources: Sequence[Resource],
    snapshot: Snapshot,
    zone: ZoneInfo,
    period: Period,
) -> Outlook | None:
    """What a period will have cost, in the currency of ``known`` (the sums of ``rows``).

    None when nothing runs on and there are fewer than three whole days to learn from. Burn without a rate or a price
    is left out.
    """
    now, currency = snapshot.now, known.currency
    rates = Rates(snapshot.currency, snapshot.exchange_rates)
    committed, steady = Money.zero(currency), set[ResourceRef]()
    for resource in resources:
        burn = billed_per_hour(resource)
        if not burn or not _runs_on(resource, now):
            continue
        if (money := rates.into(burn, currency, now)) is not None:
            steady.add(resource.ref)
            committed += money.per_hour_for(max(timedelta(), planned_stop(resource, period.end) - now))
    theirs = spending((row for row in rows if row.ref in steady), snapshot, zone, currency)
    none = Money.zero(currency)
    rest = {day: max(0, (money - theirs.days.get(day, none)).nanos) for day, money in known.days.items()}
    trend = fit(rest, now.astimezone(zone).date())
    if trend is None and not steady:
        return None
    more = until(trend, now, period.end, zone) if trend is not None else 0
    growing = trend is not None and bool(trend.slope)
    return Outlook(known.of(period), committed, Money(more, currency), growing)


def _runs_on(resource: Resource, now: datetime) -> bool:
    if resource.ref.kind not in _WORKS or not resource.is_running or resource.auto_release_at or resource.expires_at:
        return True
    return resource.started_at is not None and resource.started_at <= now - STEADY


def planned_stop(resource: Resource, end: datetime) -> datetime:
    """When it is planned to end, at the latest ``end``."""
    return min([end, *(at for at in (resource.auto_release_at, resource.expires_at) if at is not None)])
