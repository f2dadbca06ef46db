"""Forecast: what a calendar period will have cost at its end, between which bounds, and how good the method is here.

The amount is that of :mod:`costguard.rules.trend`, the same one that budgets compare. The bounds are the method's own
errors over the past ten weeks at as many days ahead as are left (a growing team errs more the further it looks), as
shares of what was expected or of four usual weeks, whichever is more: a quiet day before a burst is no measure. Its
skill is measured against the run rate, which anybody can compute by hand.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from costguard.domain.budget import Spend
from costguard.domain.money import Money
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.rules.spending import Period, PeriodName, spending
from costguard.rules.trend import fit, outlook

METHOD = "what runs on, to its planned stop + level of 7 or 28 days x weekday for the rest"
GROWING = "what runs on, to its planned stop + trend of 28 days x weekday for the rest"
SHORTEST, LONGEST, BACK, LEAST_ERRORS, USUAL_DAYS = 7, 28, 63, 10, 28  # days
# Past errors overlap and so look smaller than they are: nine of ten of them hold about four of five to come.
LOW, HIGH = Fraction(1, 20), Fraction(19, 20)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Forecast:
    """``low`` and ``high`` are meant to hold four months of five; None while fewer than ten past errors are known.

    ``amount`` lies between them, at one where all past errors had one sign. ``spent`` is what was spent
    so far, ``run_rate`` what the period would cost at its own daily mean so far.
    ``skill`` is 1 − (error of the method ÷ error of the run rate): 0 is no better, below 0 worse; None if unknown.
    """

    amount: Money
    low: Money | None
    high: Money | None
    spent: Money
    run_rate: Money | None
    skill: float | None
    method: str = METHOD


def forecast(
    rows: Sequence[Spend],
    resources: Sequence[Resource],
    snapshot: Snapshot,
    *,
    period: PeriodName = "month",
    zone: ZoneInfo | None = None,
    currency: str | None = None,
) -> Forecast | None:
    """The period that ``snapshot.now`` lies in, in the reporting currency unless another is given.

    ``rows`` should reach back ten weeks for bounds and skill. None when nothing is known to go on.
    """
    zone, currency = zone or ZoneInfo(snapshot.timezone), currency or snapshot.currency
    span = Period.of(period, snapshot.now, zone)
    sums = spending(rows, snapshot, zone, currency)
    seen = outlook(sums, rows, resources, snapshot, zone, span)
    if seen is None:
        return None
    today = snapshot.now.astimezone(zone).date()
    days = {day: money.nanos for day, money in sums.days.items()}
    left_days = (span.after - today).days
    tests = tuple(_tests(days, today, min(max(left_days, SHORTEST), LONGEST)))
    bounds = _bounds([Fraction(test.actual - test.ours, test.scale) for test in tests if test.scale])
    left = seen.committed + seen.rest
    scale = max(left.nanos, _usual(days, today, left_days))
    return Forecast(
        amount=seen.total,
        low=None if bounds is None else seen.spent + _off(left, bounds[0], scale),
        high=None if bounds is None else seen.spent + _off(left, bounds[1], scale),
        spent=seen.spent,
        run_rate=_run_rate(seen.spent, span, snapshot),
        skill=_skill(tests),
        method=GROWING if seen.growing else METHOD,
    )


def _run_rate(spent: Money, span: Period, snapshot: Snapshot) -> Money | None:
    gone, whole = snapshot.now - span.start, span.end - span.start
    if gone < _DAY:
        return None
    return spent.times(Decimal(whole // timedelta(seconds=1)) / (gone // timedelta(seconds=1)))


def _off(money: Money, error: Fraction, scale: int) -> Money:
    return Money(max(0, money.nanos + round(error * scale)), money.currency)


def _usual(days: Mapping[date, int], today: date, ahead: int) -> int:
    """What ``ahead`` days cost at the mean of the four weeks before ``today``; of fewer where there are no more."""
    past = {day: nanos for day, nanos in days.items() if today - USUAL_DAYS * _DAY <= day < today}
    return sum(past.values()) * ahead // (today - min(past)).days if past else 0


@dataclass(frozen=True, slots=True)
class _Test:
    """Nanos of some past days: what the method and the run rate had said, what came, and what errors are a share of."""

    ours: int
    rate: int
    actual: int
    scale: int


def _tests(days: Mapping[date, int], today: date, ahead: int) -> Iterator[_Test]:
    """The method tried on ``ahead`` days from each past day that had three whole days before it."""
    if not days:
        return
    first = min(days)
    for back in range(ahead, BACK + 1):
        origin = today - back * _DAY
        trend = fit({day: nanos for day, nanos in days.items() if day < origin}, origin)
        if trend is None:
            continue
        coming = [origin + n * _DAY for n in range(ahead)]
        begin = max(first, (origin - _DAY).replace(day=1))
        past = [days.get(begin + n * _DAY, 0) for n in range((origin - begin).days)]
        mean = Fraction(sum(past), len(past))
        ours = round(sum((trend.on(day) for day in coming), Fraction()))
        actual = sum(days.get(day, 0) for day in coming)
        yield _Test(ours, round(mean * ahead), actual, max(ours, _usual(days, origin, ahead)))


def _bounds(errors: Sequence[Fraction]) -> tuple[Fraction, Fraction] | None:
    """The fifth and ninety-fifth hundredth of the errors (nearest rank), on either side of none.

    A method that has always said too little, as of a growing team, may be right this time: its own word is possible.
    """
    if len(errors) < LEAST_ERRORS:
        return None
    ranked = sorted(errors)
    low, high = (ranked[min(len(ranked) - 1, int(q * len(ranked)))] for q in (LOW, HIGH))
    return min(low, Fraction()), max(high, Fraction())


def _skill(tests: Sequence[_Test]) -> float | None:
    ours = sum(abs(test.actual - test.ours) for test in tests)
    theirs = sum(abs(test.actual - test.rate) for test in tests)
    return round(1 - ours / theirs, 3) if len(tests) >= LEAST_ERRORS and theirs else None
