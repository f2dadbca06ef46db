"""Prices: effective-dated, unknown is None and never 0."""

from dataclasses import dataclass
from datetime import datetime

from costguard.domain.money import Money
from costguard.domain.resource import ChargeType


@dataclass(frozen=True, slots=True)
class PriceKey:
    """What a price is for: a type of machine in a region, as it is paid for; ``zone`` where prices differ by it."""

    provider: str
    region: str
    sku: str
    charge_type: ChargeType
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """The price per hour of one key from ``since`` (aware UTC) on; ``source``: list, book, spot."""

    key: PriceKey
    per_hour: Money
    since: datetime
    source: str
