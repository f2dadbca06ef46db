"""Currencies: amounts meet in the reporting currency only through a dated rate that is shown."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from itertools import pairwise

from costguard.domain.money import Money, total


@dataclass(frozen=True, slots=True)
class Total:
    """A sum in the reporting currency, and what could not join it for want of a rate.

    ``rates`` holds the rates that were used: currency → (units of the reporting currency, since).
    """

    money: Money
    apart: tuple[Money, ...]
    rates: Mapping[str, tuple[Decimal, datetime]]


class Rates:
    """Dated exchange rates into one reporting currency.

    ``table`` maps a currency to (from, units of the reporting currency per unit) pairs.
    """

    def __init__(self, currency: str, table: Mapping[str, Iterable[tuple[datetime, str]]]) -> None:
        self.currency = currency
        self._table = {
            code: sorted((since, Decimal(rate)) for since, rate in entries) for code, entries in table.items()
        }

    def rate(self, currency: str, at: datetime) -> tuple[Decimal, datetime] | None:
        """The rate that holds at ``at`` and since when; None without one."""
        if currency == self.currency:
            return Decimal(1), datetime.min.replace(tzinfo=UTC)
        entries = self._table.get(currency, [])
        index = bisect_right(entries, at, key=lambda entry: entry[0])
        return (entries[index - 1][1], entries[index - 1][0]) if index else None

    def convert(self, money: Money, at: datetime) -> Money | None:
        """In the reporting currency (half-even to nanos); None without a rate."""
        if money.currency == self.currency:
            return money
        found = self.rate(money.currency, at)
        return None if found is None else Money(money.times(found[0]).nanos, self.currency)

    def into(self, money: Money, currency: str, at: datetime) -> Money | None:
        """In any currency, by way of the reporting one; None without both rates."""
        if money.currency == currency:
            return money
        source, target = self.rate(money.currency, at), self.rate(currency, at)
        if source is None or target is None:
            return None
        with localcontext() as context:
            context.prec = 60
            factor = source[0] / target[0]
        return Money(money.times(factor).nanos, currency)

    def dated(self, amounts: Iterable[tuple[datetime, Money]]) -> Money:
        """The sum of amounts that each have a moment, at the rates of these; what has no rate is left out."""
        found = (self.convert(money, at) for at, money in amounts)
        return Money(sum(money.nanos for money in found if money is not None), self.currency)

    def spans(self, low: datetime, high: datetime) -> Iterator[tuple[datetime, datetime]]:
        """[low, high) cut where a rate changes; nothing of an empty one."""
        if low < high:
            changes = {since for entries in self._table.values() for since, _ in entries if low < since < high}
            yield from pairwise(sorted({low, high, *changes}))

    def over(self, per_hour: Money, low: datetime, high: datetime) -> Money | None:
        """What [low, high) costs at a price per hour, each part at its own rate; None where one is missing."""
        parts = [self.convert(per_hour.per_hour_for(end - begin), begin) for begin, end in self.spans(low, high)]
        known = [money for money in parts if money is not None]
        return sum(known, Money.zero(self.currency)) if len(known) == len(parts) else None

    def total(self, amounts: Iterable[Money], at: datetime) -> Total:
        """The sum of everything that has a rate at ``at``; the rest stays apart, per currency."""
        sums: list[Money] = []
        apart: list[Money] = []
        used: dict[str, tuple[Decimal, datetime]] = {}
        for subtotal in total(amounts):
            converted = self.convert(subtotal, at)
            if converted is None:
                apart.append(subtotal)
                continue
            sums.append(converted)
            if subtotal.currency != self.currency and (found := self.rate(subtotal.currency, at)):
                used[subtotal.currency] = found
        money = next(iter(total(sums)), Money.zero(self.currency))
        return Total(money, tuple(apart), used)
