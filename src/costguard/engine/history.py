"""History: what was recorded of a fleet over a stretch of time, in the shape that a replay reads it.

Samples come in chunks of time, so that a month of a large fleet needs the memory of a day. Knows no rule.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, compress, pairwise
from typing import Any

from costguard.domain.budget import Interval, Spend
from costguard.domain.charge import Balance
from costguard.domain.money import Money
from costguard.domain.price import Price
from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.snapshot import AccountFacts
from costguard.domain.time import Calendars
from costguard.domain.usage import Series, Statistic, UsageWindow

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_FOREVER = 1 << 62


def micros(at: datetime) -> int:
    """Microseconds since 1970, exact."""
    return (at - EPOCH) // _MICRO


def moment(at: int) -> datetime:
    """The inverse of :func:`micros` (aware UTC)."""
    return EPOCH + _MICRO * at


@dataclass(slots=True)
class Track:
    """Samples of one series in time order: ``at`` the ends of their periods (µs), ``values`` beside them.

    ``periods`` are the change points (from which ``at`` on, µs) of the samples' period. The only mutable thing here: it
    grows and is cut as time goes on.
    """

    series: Series
    periods: list[tuple[int, int]] = field(default_factory=list)
    at: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))

    @classmethod
    def of(cls, series: Series, rows: Iterable[tuple[int, float, int]]) -> "Track":
        """From (at, value, period) rows in time order, all in µs."""
        flat: list[Any] = list(chain.from_iterable(rows))  # by far the fastest way to take rows apart
        if not flat:
            return cls(series)
        at, values, periods = flat[::3], flat[1::3], flat[2::3]
        changes = [(at[0], periods[0])]
        if periods.count(periods[0]) != len(periods):
            changes += [(at[i + 1], b) for i, (a, b) in enumerate(pairwise(periods)) if a != b]
        return cls(series, changes, array("q", at), array("d", values))

    def extend(self, later: "Track") -> None:
        """Adds samples that all come after those that are there."""
        self.at.extend(later.at)
        self.values.extend(later.values)
        self.periods += [p for p in later.periods if not self.periods or p[1] != self.periods[-1][1]]

    def trim(self, before: int) -> None:
        """Forgets the samples before ``before`` (µs)."""
        if (keep := bisect_left(self.at, before)) > 0:
            del self.at[:keep], self.values[:keep]

    def period(self, at: int) -> int:
        """The period of the sample at ``at`` (µs)."""
        if len(self.periods) == 1:
            return self.periods[0][1]
        return self.periods[max(0, bisect_right(self.periods, (at, _FOREVER)) - 1)][1]

    def _finest(self, first: int, last: int) -> int:
        """The finest period of the samples from ``first`` to ``last`` (µs, both with a sample)."""
        if len(self.periods) == 1:
            return self.periods[0][1]
        return min((self.period(first), *(period for at, period in self.periods if first < at <= last)))

    def at_work(self, level: float, since: int, until: int) -> list[int]:
        """When (µs), in (since, until], a value reached ``level``: of a mean over n cards the n-th part, as below it
        alone all are at rest."""
        return list(self._at_work(level, since, until))

    def first_work(self, level: float, since: int, until: int) -> int | None:
        """The first of :meth:`at_work`; None without any."""
        return next(self._at_work(level, since, until), None)

    def _at_work(self, level: float, since: int, until: int) -> Iterator[int]:
        low, high = bisect_right(self.at, since), bisect_right(self.at, until)
        if self.series.statistic is Statistic.MEAN and self.series.cards > 1:
            level /= self.series.cards
        return compress(self.at[low:high], map(level.__le__, self.values[low:high]))

    def holes(self, since: int) -> list[tuple[int, int]]:
        """Where samples are missing: the last before and the first after, for holes that end after ``since`` (µs)."""
        first = max(0, bisect_right(self.at, since) - 1)
        count = len(self.at) - first
        if count < 2:
            return []
        period = max(self.period(self.at[first]), self.period(self.at[-1]))
        if self.at[-1] - self.at[first] <= (count - 1) * period and period == self.period(self.at[first]):
            return []
        most = period + period // 2
        return [(a, b) for a, b in pairwise(self.at[first:]) if b - a > most]

    def gaps(self, least: timedelta) -> list[tuple[int, int]]:
        """Neighbouring samples further apart than ``least`` and three periods (µs)."""
        if not self.at:
            return []
        most = max(least // _MICRO, 3 * max(period for _, period in self.periods))
        return [(a, b) for a, b in pairwise(self.at) if b - a > most]

    def window(self, span: "Span", begun: int) -> UsageWindow | None:
        """The window of a span, without samples at or before ``begun`` (µs); None without any.

        The same numbers as the store's own windows, of samples that came no sooner than their source has to tell.
        """
        at = self.at
        low, high = bisect_right(at, max(span.low, begun)), bisect_right(at, span.high)
        if low >= high:
            return None
        values = self.values[low:high]
        count, first, last = high - low, at[low], at[high - 1]
        return UsageWindow(
            self.series, span.start, span.end, timedelta(microseconds=self.period(last)), count,
            max(1, (span.high - span.low) // self._finest(first, last)), max(values), sum(values) / count,
            values[-1], moment(first), moment(last),
        )  # fmt: skip


class Span:
    """(start, end] as datetimes and as µs, made once for the windows of every series."""

    __slots__ = ("end", "high", "low", "start")

    def __init__(self, end: int, length: timedelta) -> None:
        self.low, self.high = end - length // _MICRO, end
        self.start, self.end = moment(self.low), moment(end)


@dataclass(frozen=True, slots=True)
class Run:
    """[started, ended) in which a box ran (aware UTC); ``ended`` None: still, at the end of the history.

    ``rates`` are the change points of what an hour of it cost, the one at ``started`` included; None is unknown.
    """

    started: datetime
    ended: datetime | None = None
    rates: tuple[tuple[datetime, Money | None], ...] = ()

    def rate(self, at: datetime) -> Money | None:
        """What an hour cost at ``at``."""
        index = bisect_right(self.rates, at, key=lambda point: point[0])
        return self.rates[max(0, index - 1)][1] if self.rates else None

    def cost(self, since: datetime, until: datetime) -> tuple[Money, ...]:
        """What [since, until) of it cost, one amount for each price; empty when no price is known."""
        marks = [since, *(at for at, _ in self.rates if since < at < until), until]
        return tuple(
            rate.per_hour_for(high - low)
            for low, high in pairwise(marks)
            if high > low and (rate := self.rate(low)) is not None
        )


@dataclass(frozen=True, slots=True)
class Books:
    """What was recorded of money, from 35 days before the history on.

    ``intervals`` are what ran or lay there at what price; ``bills`` the rows of bills with the moment from which each
    was known; ``services`` what these call the service of a resource; ``balances`` in the order of time; ``others`` the
    resources that are no boxes, as they are today.
    """

    intervals: tuple[Interval, ...] = ()
    bills: tuple[tuple[datetime, Spend], ...] = ()
    services: Mapping[ResourceRef, str] = field(default_factory=dict)
    balances: tuple[Balance, ...] = ()
    others: tuple[Resource, ...] = ()


Piece = tuple[datetime, Iterable[Track]]
"""Samples up to a moment, from where the piece before it ended: one track for each series that has some."""
Samples = Callable[[datetime], Iterable[Piece]]


@dataclass(frozen=True, slots=True)
class History:
    """[since, until) of a fleet, aware UTC.

    ``resources`` as they are known today, owners resolved; ``runs`` of each in time order. ``samples(a)`` gives
    those with a < at ≤ until in pieces, one after the other; the last of them ends with the history. ``step`` is the
    time between two looks, as between two polls of the use.
    """

    since: datetime
    until: datetime
    accounts: Mapping[str, AccountFacts]
    resources: Mapping[ResourceRef, Resource]
    runs: Mapping[ResourceRef, tuple[Run, ...]]
    samples: Samples
    step: timedelta = timedelta(minutes=5)
    spot_prices: tuple[Price, ...] = ()
    on_demand_prices: tuple[Price, ...] = ()
    exchange_rates: Mapping[str, tuple[tuple[datetime, str], ...]] = field(default_factory=dict)
    calendars: Calendars = field(default_factory=Calendars)
    timezone: str = "Asia/Shanghai"
    currency: str = "CNY"
    self_ids: frozenset[str] = frozenset()
    books: Books = Books()
