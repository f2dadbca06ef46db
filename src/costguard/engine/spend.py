"""Spend: estimate and bill side by side, by any dimension, and which of the two counts.

A day's bill counts once it has been over for 72 hours, until then the larger of the two (the rule of
:mod:`costguard.rules.spending`). Every row is converted once, at its own day, so all dimensions have the same sum.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from costguard.domain.budget import Basis, Spend
from costguard.domain.codec import encode
from costguard.domain.money import Money, total
from costguard.engine.billing import Bill
from costguard.engine.sharing import Sharing
from costguard.rules.currency import Rates
from costguard.rules.spending import closed, counting

UNALLOCATED = "unallocated"
DIMENSIONS = ("account", "owner", "team", "project", "service", "day", "resource")
# A bill line of these says nothing of who used what; the estimate does.
_PEOPLE = ("owner", "team", "project", "resource")
# Only these tell to whom the parts of a shared cost went.
_SHARED = ("owner", "team", "project")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Line:
    """One key's money in the reporting currency. ``amount`` is what counts, ``estimated`` price × hours (``assumed`` of
    it unseen), ``billed`` what was payable; None where no bill speaks of it.

    ``difference`` is what was billed for the same days minus the estimate of those days, prepaid months spread over
    their days; None where there is no bill or nothing was estimated on its days. ``discount`` is how much less was
    payable than the list price, and explains that much of it. ``shared`` is the part of ``amount`` that came from
    shared costs.
    """

    key: str
    amount: Money
    estimated: Money
    assumed: Money
    billed: Money | None
    difference: Money | None
    compared: Money
    discount: Money | None
    shared: Money

    def json(self) -> dict[str, object]:
        share = None
        if self.difference is not None and self.compared:
            with_sign = Decimal(self.difference.nanos) * 100 / abs(self.compared.nanos)
            share = float(round(with_sign, 2))
        return {
            "key": self.key,
            "amount": encode(self.amount),
            "estimated": encode(self.estimated),
            "assumed": encode(self.assumed),
            "billed": encode(self.billed),
            "difference": encode(self.difference),
            "difference_percent": share,
            "discount": encode(self.discount),
            "shared": encode(self.shared),
            "known": "estimate" if self.billed is None else "bill" if not self.estimated else "bill and estimate",
        }


@dataclass(frozen=True, slots=True)
class _Sides:
    """What is known of the same days: rows that count, estimates, and the bill in three views."""

    counted: list[tuple[date, Spend]]
    estimates: list[tuple[date, Spend]]
    billed: list[tuple[date, Spend]]
    effective: list[tuple[date, Spend]]
    listed: list[tuple[date, Spend]]

    def divided(self, sharing: Sharing) -> "_Sides":
        """Each with shared costs divided by the same weights: what each one itself cost in a month."""
        weights = sharing.weights(self.counted)
        sides = (self.counted, self.estimates, self.billed, self.effective, self.listed)
        return _Sides(*(list(sharing.spread(side, weights)) for side in sides))


class SpendBook:
    """All that is known of the money of a stretch of time. ``estimates`` and the bill's rows may reach further back
    than what is asked for. ``apart`` sums what no rate converts; ``rates`` are those that were used."""

    def __init__(
        self,
        estimates: Iterable[Spend],
        bill: Bill,
        rates: Rates,
        zone: ZoneInfo,
        now: datetime,
        sharing: Sharing | None = None,
    ) -> None:
        self.currency, self.zone, self.now = rates.currency, zone, now
        self._rates = rates
        self._days: dict[datetime, date] = {}
        # What a converted row was in its own currency; the rows live as long as the book.
        self._own: dict[int, Money] = {}
        self._apart: dict[str, Money] = {}
        self.rates: dict[str, list[tuple[Decimal, datetime]]] = {}
        self._estimates = self._converted(estimates, self._apart)
        self._billed = self._converted((r for r in bill.rows if r.basis is Basis.PAYABLE), self._apart)
        self._effective = self._converted(bill.effective)
        self._listed = self._converted(r for r in bill.rows if r.basis is Basis.LIST)
        self._covered = {(day, row.account) for day, row in self._billed}
        self._counted = {people: self._chosen(people=people) for people in (False, True)}
        whole = _Sides(self._counted[True], self._estimates, self._billed, self._effective, self._listed)
        self._divided = whole.divided(sharing) if sharing else whole

    @property
    def apart(self) -> tuple[Money, ...]:
        """Per currency, what has no exchange rate and is in no total: the bill's where there is one."""
        return tuple(money for _, money in sorted(self._apart.items()))

    def total(self, start: datetime, end: datetime) -> Line:
        """Everything in [start, end), local midnights of the zone."""
        lines = self._lines(lambda day, row: "total", start, end, people=False)
        zero = Money.zero(self.currency)
        return lines[0] if lines else Line("total", zero, zero, zero, None, None, zero, None, zero)

    def by_currency(self, start: datetime, end: datetime) -> list[tuple[Money, Money]]:
        """(in its own currency, of that in the reporting one) for each currency of what counts in [start, end)."""
        low, high = self._bounds(start, end)
        sums: dict[str, tuple[Money, Money]] = {}
        for day, row in self._counted[False]:
            if low <= day <= high:
                own = self._own.get(id(row), row.money)
                before = sums.get(own.currency, (Money.zero(own.currency), Money.zero(self.currency)))
                sums[own.currency] = (before[0] + own, before[1] + row.money)
        return [pair for _, pair in sorted(sums.items())]

    def by(self, dimension: str, start: datetime, end: datetime) -> list[Line]:
        """One line per key of :data:`DIMENSIONS`, the dearest first; days in their order."""
        lines = self._lines(
            _KEYS[dimension], start, end, people=dimension in _PEOPLE, shared=dimension in _SHARED
        )  # fmt: skip
        if dimension == "day":
            return sorted(lines, key=lambda line: line.key)
        return sorted(lines, key=lambda line: (-line.amount.nanos, line.key))

    def _lines(
        self, key: Callable[[date, Spend], str], start: datetime, end: datetime, *, people: bool, shared: bool = False
    ) -> list[Line]:
        low, high = self._bounds(start, end)

        def sums(rows: Iterable[tuple[date, Spend]]) -> dict[str, int]:
            found: dict[str, int] = {}
            for day, row in rows:
                if low <= day <= high:
                    name = key(day, row)
                    found[name] = found.get(name, 0) + row.money.nanos
            return found

        whole = _Sides(self._counted[people], self._estimates, self._billed, self._effective, self._listed)
        of = self._divided if shared else whole
        counted, estimated = sums(of.counted), sums(of.estimates)
        assumed = sums(pair for pair in of.estimates if pair[1].assumed)
        billed, effective, listed = sums(of.billed), sums(of.effective), sums(of.listed)
        compared = sums(pair for pair in of.estimates if (pair[0], pair[1].account) in self._covered)
        comparable = any(compared.values())
        parts = sums(pair for pair in of.counted if pair[1].shared is not None)

        def money(nanos: int) -> Money:
            return Money(nanos, self.currency)

        return [
            Line(
                name,
                money(counted.get(name, 0)),
                money(estimated.get(name, 0)),
                money(assumed.get(name, 0)),
                money(billed[name]) if name in billed else None,
                money(effective[name] - compared.get(name, 0)) if comparable and name in effective else None,
                money(compared.get(name, 0)),
                money(listed[name] - billed.get(name, 0)) if name in listed else None,
                money(parts.get(name, 0)),
            )
            for name in {**counted, **estimated, **billed}
        ]

    def _bounds(self, start: datetime, end: datetime) -> tuple[date, date]:
        """The first and the last local day of [start, end)."""
        return start.astimezone(self.zone).date(), (end - timedelta(microseconds=1)).astimezone(self.zone).date()

    def _chosen(self, *, people: bool) -> list[tuple[date, Spend]]:
        """The rows that count of each account's day (see :func:`costguard.rules.spending.counting`)."""
        sides: dict[tuple[date, str], tuple[list[Spend], list[Spend]]] = {}
        for which, rows in enumerate((self._estimates, self._billed)):
            for day, row in rows:
                sides.setdefault((day, row.account), ([], []))[which].append(row)
        found: list[tuple[date, Spend]] = []
        for (day, _), (estimates, bill) in sides.items():
            chosen = counting(estimates, bill, closed=closed(day, self.now, self.zone), people=people)
            found += [(day, row) for row in chosen]
        return found

    def _converted(self, rows: Iterable[Spend], untold: dict[str, Money] | None = None) -> list[tuple[date, Spend]]:
        """The rows in the reporting currency with their local day; ``untold`` takes what no rate converts."""
        found: list[tuple[date, Spend]] = []
        apart: list[Money] = []
        for row in rows:
            money = self._rates.convert(row.money, row.start)
            if money is None:
                apart.append(row.money)
                continue
            if row.money.currency != self.currency:
                self._note(row.money.currency, row.start)
            day = self._days.get(row.start)
            if day is None:
                day = self._days[row.start] = row.start.astimezone(self.zone).date()
            if money is not row.money:
                own, row = row.money, replace(row, money=money)
                self._own[id(row)] = own
            found.append((day, row))
        if untold is not None:
            untold |= {money.currency: money for money in total(apart)}
        return found

    def _note(self, currency: str, at: datetime) -> None:
        used = self._rates.rate(currency, at)
        known = self.rates.setdefault(currency, [])
        if used is not None and used not in known:
            known.append(used)


_KEYS: Mapping[str, Callable[[date, Spend], str]] = {
    "account": lambda day, row: row.account,
    "owner": lambda day, row: row.owner or UNALLOCATED,
    "team": lambda day, row: row.team or UNALLOCATED,
    "project": lambda day, row: row.project or UNALLOCATED,
    "service": lambda day, row: row.service,
    "day": lambda day, row: day.isoformat(),
    "resource": lambda day, row: str(row.ref) if row.ref is not None else f"{row.account}: {row.service}",
}


def drivers(
    book: SpendBook, now: tuple[datetime, datetime], before: tuple[datetime, datetime], most: int = 10
) -> list[dict[str, object]]:
    """What changed against an earlier stretch of the same length, the largest change first.

    ``why`` ∈ new, ended, more, less. A line stands for a resource, or for a service of an account that no resource
    stands for.
    """
    lines = {line.key: line.amount for line in book.by("resource", *now)}
    earlier = {line.key: line.amount for line in book.by("resource", *before)}
    none = Money.zero(book.currency)
    found = []
    for key in {**lines, **earlier}:
        this, last = lines.get(key, none), earlier.get(key, none)
        if this != last:
            why = "new" if not last else "ended" if not this else "more" if last < this else "less"
            found.append((-abs((this - last).nanos), key, this, last, why))
    found.sort(key=lambda entry: entry[:2])
    return [
        {"key": key, "amount": encode(this), "previous": encode(last), "change": encode(this - last), "why": why}
        for _, key, this, last, why in found[:most]
    ]


def reach_json(bill: Bill, zone: ZoneInfo) -> list[dict[str, object]]:
    """How far each account's bill reaches: the last whole local day, and how settled it is."""
    return [
        {
            "account": reach.account,
            "through": (reach.through - timedelta(microseconds=1)).astimezone(zone).date().isoformat(),
            "stage": reach.stage.value,
        }
        for reach in sorted(bill.reach.values(), key=lambda one: one.account)
    ]


def rates_json(used: Mapping[str, Sequence[tuple[Decimal, datetime]]], zone: ZoneInfo) -> dict[str, object]:
    """Each currency's newest rate that was used and since when it holds; ``earlier`` ones where it changed."""
    found: dict[str, object] = {}
    for code, rates in sorted(used.items()):
        lines = [
            {"rate": str(rate), "from": since.astimezone(zone).date().isoformat() if since.year > 1970 else None}
            for rate, since in sorted(rates, key=lambda one: one[1], reverse=True)
        ]
        found[code] = lines[0] | ({"earlier": lines[1:]} if lines[1:] else {})
    return found
