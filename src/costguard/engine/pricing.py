"""Pricing: which price per hour holds for a resource at a moment.

The user's price book beats the provider's list (negotiated discounts, own machines); both are dated.
What nobody knows is None, never 0: a price of 0 from a provider is no price.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from costguard.domain.price import Price
from costguard.domain.resource import ChargeType, Resource

ANY_REGION = "*"


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
