"""Price books: YAML lists of prices that beat list prices (negotiated discounts, own machines)."""

from collections.abc import Collection
from datetime import UTC, date, datetime
from datetime import time as clock_time
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from costguard.config import hints, problems, yaml
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType
from costguard.errors import ConfigError
from costguard.rules.fields import Rate, RateText, Strict

_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


class BookPrice(Strict):
    """One line of a price book."""

    provider: str
    """The adapter's name, as in ``accounts``."""

    region: str = "*"
    """The provider's region; ``*`` for all."""

    sku: str
    """The machine type, in the provider's word."""

    price: RateText
    """Per hour of the whole machine, like "8.00 CNY/h"."""

    since: date | None = Field(None, alias="from")
    """The first day on which it holds; always when left out."""

    charge: Literal["on_demand", "spot", "prepaid", "reserved", "owned"] | None = None
    """For which charge type; for every one when left out."""

    @field_validator("price")
    @classmethod
    def _whole(cls, value: Rate) -> Rate:
        if value.per_gpu:
            raise ValueError('write the price of the whole machine, like "8.00 CNY/h"')
        if value.per_hour.nanos <= 0:
            raise ValueError("a price is more than 0; leave the line out when it is not known")
        return value


def price_book(
    path: Path, label: str, zone: ZoneInfo, providers: Collection[str], errors: list[ConfigError]
) -> tuple[Price, ...]:
    """The prices of one file; days begin in ``zone``. Mistakes are appended to ``errors``."""
    document = yaml.read(path, {}, errors, label=label)
    if document is None:
        return ()
    if not isinstance(document.data, list):
        errors.append(document.error((), "a price book is a list of {provider, region, sku, price, from}"))
        return ()
    prices: list[Price] = []
    for index in range(len(document.data)):
        line = problems.validate(BookPrice, document, (index,), errors)
        if line is None:
            continue
        if line.provider not in providers:
            hint = hints.value_hint("provider", line.provider, providers)
            errors.append(document.error((index, "provider"), f"unknown provider {line.provider!r}", hint=hint))
            continue
        since = datetime.combine(line.since, clock_time(), zone).astimezone(UTC) if line.since else _ALWAYS
        charge = ChargeType(line.charge) if line.charge else ChargeType.UNKNOWN
        key = PriceKey(line.provider, line.region, line.sku, charge)
        prices.append(Price(key, line.price.per_hour, since, "book"))
    return tuple(prices)
