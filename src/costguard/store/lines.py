"""Lines of a bill on their way into the database, past the column types: a bill has millions of them.

Most lines of a bill repeat another in all but their time, money and quantity. What they share is put into columns once.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple, Self

from costguard.domain.charge import Charge
from costguard.domain.money import Money


class Like:
    """What lines have in common with ``charge``: all but what a Line tells itself."""

    __slots__ = ("_billing", "_category", "_end", "_words", "charge")

    def __init__(self, charge: Charge) -> None:
        self.charge = charge
        self._billing = (_time(charge.billing_period_start), _time(charge.billing_period_end))
        self._category = charge.charge_category.value
        self._words = (
            charge.stage.value, charge.provider, _free(charge.service_name), _free(charge.charge_description),
            charge.charge_class, charge.region_id, charge.resource_id,
            charge.resource_name and _free(charge.resource_name),
            charge.sku_id, charge.pricing_category,
        )  # fmt: skip
        self._end = (charge.consumed_unit, _tags(tuple(charge.tags.items())), "{}")

    def row(self, line: "Line") -> tuple[Any, ...]:
        """The line's columns as the driver takes them, in the order of the table."""
        _, _, key, start, end, billed, effective, listed, quantity = line
        return (
            self.charge.account, key, *self._billing, _time(start), _time(end), self._category,
            billed.nanos, billed.currency, effective.nanos, effective.currency, listed.nanos, listed.currency,
            *self._words, None if quantity is None else format(quantity, "f"), *self._end,
        )  # fmt: skip


class Line(NamedTuple):
    """A row as a charge; ``exact`` is its billed cost as written, before it was rounded to nanos.

    Its ``row_key`` is that of the first such row of the file: equal keys are told apart by their order.
    ``start`` and ``end`` (exclusive) are those of the charge period, aware UTC.
    """

    like: Like
    exact: Decimal
    row_key: str
    start: datetime
    end: datetime
    billed: Money
    effective: Money
    listed: Money
    quantity: Decimal | None

    @classmethod
    def of(cls, charge: Charge, exact: Decimal) -> Self:
        """A line that is like no other."""
        return cls(
            Like(charge), exact, charge.row_key, charge.charge_period_start, charge.charge_period_end,
            charge.billed_cost, charge.effective_cost, charge.list_cost, charge.consumed_quantity,
        )  # fmt: skip

    @property
    def charge(self) -> Charge:
        """The line in the domain's words."""
        return replace(
            self.like.charge,
            row_key=self.row_key, charge_period_start=self.start, charge_period_end=self.end, billed_cost=self.billed,
            effective_cost=self.effective, list_cost=self.listed, consumed_quantity=self.quantity,
        )  # fmt: skip


@lru_cache(4096)
def _time(at: datetime) -> str:
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


@lru_cache(4096)
def _tags(pairs: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(dict(pairs), separators=(",", ":"))


def _free(text: str) -> str:
    return text.replace("\x00", "\ufffd")
