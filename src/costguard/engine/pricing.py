"""Pricing: which price per hour holds for a resource at a moment.

The user's price book beats the provider's list (negotiated discounts, own machines); both are dated.
What nobody knows is None, never 0: a price of 0 from a provider is no price.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from costguard.domain.budget import Interval
from costguard.domain.money import Money
from costguard.domain.price import Price
from costguard.domain.resource import ChargeType, Resource, ResourceRef

ANY_REGION = "*"
# A price of the book counts from the first look after it begins.
_LATE = timedelta(hours=1)


class PriceTable:
    """Effective-dated prices of one origin, looked up by provider, region, sku and charge type.

    A price whose charge type is UNKNOWN holds for every charge type; one whose region is ``*`` for every
    region. The most specific entry wins, then the newest that has begun.
    """

    def __init__(self, prices: Iterable[Price]) -> None:
        table: dict[tuple[str, str, str, ChargeType], list[Price]] = {}
        for price in prices:
            if price.per_hour.nanos > 0:
                key = price.key
                table.setdefault((key.provider, key.region, key.sku, key.charge_type), []).append(price)
        self._table = {key: sorted(rows, key=lambda p: p.since) for key, rows in table.items()}

    def at(self, resource: Resource, at: datetime) -> Price | None:
        """The price that holds for the resource at ``at`` (aware); None when none is known."""
        if resource.sku is None:
            return None
        ref = resource.ref
        for region in (ref.region, ANY_REGION):
            for charge_type in (resource.charge_type, ChargeType.UNKNOWN):
                rows = self._table.get((ref.provider, region, resource.sku, charge_type))
                if rows and (index := bisect_right(rows, at, key=lambda p: p.since)):
                    return rows[index - 1]
        return None


def priced(resource: Resource, tables: Sequence[PriceTable], at: datetime) -> Resource:
    """The resource with the price of the first table that knows one, else with its own."""
    for table in tables:
        if price := table.at(resource, at):
            return replace(resource, price=price.per_hour, price_source=price.source)
    if resource.price is not None and resource.price.nanos <= 0:
        return replace(resource, price=None, price_source=None)
    return resource


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What some time of a resource was counted as, and what it is by the price book as that is written now."""

    ref: ResourceRef
    counted: Money
    booked: Money


def otherwise(
    intervals: Iterable[Interval],
    known: Mapping[ResourceRef, Resource],
    book: PriceTable,
    start: datetime,
    until: datetime,
    billed: Mapping[str, datetime],
) -> Iterator[Otherwise]:
    """The time within [start, until) that was counted before a line of the book for it was written.

    An interval keeps the price that was known when it was seen. ``billed``: up to when a bill replaces the estimates of
    an account.
    """
    for interval in intervals:
        resource = known.get(interval.ref)
        if resource is None or not interval.per_hour:
            continue
        high = min(interval.ended or until, until)
        price = book.at(replace(resource, charge_type=interval.charge_type), high)
        if price is None or price.per_hour == interval.per_hour:
            continue
        low = max(start, interval.started, price.since, billed.get(interval.ref.account, start))
        if high - low > _LATE:
            counted, booked = interval.per_hour, price.per_hour
            yield Otherwise(interval.ref, counted.per_hour_for(high - low), booked.per_hour_for(high - low))
