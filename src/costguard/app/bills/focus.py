"""FOCUS 1.0 to 1.2 (and later ones that keep these columns): https://focus.finops.org.

A row's key is a hash of all that is not money, quantity or invoice, because the same row of a later export differs in
just these. Columns are found whatever their case, order and number; unknown ones only take part in the key.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from types import NoneType
from typing import Any

from costguard.app.bills import cells as read
from costguard.app.bills.layout import AccountOf, Columns, noted, resource_id, stage
from costguard.domain.charge import Charge, ChargeCategory
from costguard.domain.money import Money
from costguard.errors import BillError
from costguard.store.lines import Like, Line

_REQUIRED = (
    "BilledCost", "BillingAccountId", "BillingCurrency", "BillingPeriodStart", "BillingPeriodEnd", "ChargeCategory",
    "ChargePeriodStart", "ChargePeriodEnd", "ServiceName",
)  # fmt: skip
_TIMES = ("BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd")
_READ = (
    "BilledCost", "EffectiveCost", "ListCost", "BillingCurrency", "ChargeCategory", "ChargeClass", "SubAccountId",
    "BillingAccountId", "ServiceName", "ChargeDescription", "RegionId", "ResourceId", "ResourceName", "SkuId",
    "PricingCategory", "ConsumedQuantity", "ConsumedUnit", "Tags", "InvoiceId", "CommitmentDiscountId", *_TIMES,
)  # fmt: skip
# A line's own. In all the rest, its words, it mostly repeats an earlier line; these are not read again.
_PERIOD = ("ChargePeriodStart", "ChargePeriodEnd")
_OWN = ("BilledCost", "EffectiveCost", "ListCost", "ConsumedQuantity", *_PERIOD)
_KEPT = 1024
_TEXT = frozenset({str, NoneType})
_NOT_IN_KEY = ("cost", "price", "quantity")
# Filled in when the month is closed.
_LATER = frozenset({"invoiceid", "invoicedetailid"})
_CATEGORIES = {category.value.casefold(): category for category in ChargeCategory}
_AS_BILLED = "rows without {}: taken as billed"


def fold(name: str) -> str:
    """``BilledCost``, ``billedcost`` and ``billed_cost`` are one column; ``x_`` columns stay apart."""
    low = name.casefold()
    return low if low.startswith("x_") else low.replace("_", "")


def fits(header: Sequence[str]) -> bool:
    """Whether this is a FOCUS file, complete or not."""
    return {"billedcost", "chargecategory"} <= {fold(name) for name in header}


class Focus:
    """The layout of one FOCUS file."""

    name = "FOCUS"

    def __init__(self, header: Sequence[str], now: datetime) -> None:
        """Raises BillError for missing columns."""
        columns = Columns(header, fold)
        missing = [name for name in _REQUIRED if fold(name) not in columns]
        if missing:
            raise BillError(f"is no FOCUS bill: it has no column {', '.join(missing)}", row=1)
        self.notes: dict[str, int] = {}
        self._now = now
        places = columns.places
        keyed = sorted(name for name in places if not name.endswith(_NOT_IN_KEY) and name not in _LATER)
        period = {fold(name) for name in _PERIOD}
        self._key_names = [(name, name in period) for name in keyed]
        self._key_period = itemgetter(*(places[name] for name in keyed if name in period))
        self._key_words = itemgetter(*(places[name] for name in keyed if name not in period))
        self._key = lru_cache(_KEPT)(self._key_of)

        def cells(*names: str) -> Callable[[Sequence[object]], tuple[Any, ...]]:
            """One look takes them all; what the file does not have is the None behind its last cell."""
            return itemgetter(*(places.get(fold(name), len(header)) for name in names))

        self._all, self._own = cells(*_READ), cells(*_OWN, "CommitmentDiscountId")
        self._words = cells(*(name for name in _READ if name not in _OWN))
        self._known: dict[tuple[object, ...], Like] = {}

    def line(self, cells: Sequence[object], account_of: AccountOf) -> Line | None:
        cells = (*cells, None)
        words = _as_text(self._words(cells))
        like = self._known.get(words)
        if like is not None:
            return self._again(cells, like)
        line = self._first(cells, account_of)
        if line is not None:
            if len(self._known) == _KEPT:
                self._known.clear()
            self._known[words] = line.like
        return line

    def _again(self, cells: Sequence[object], like: Like) -> Line:
        """A row whose words were right in an earlier one; mistakes of the rest are found in the same order."""
        billed_cost, effective_cost, list_cost, quantity, start, end, commitment = self._own(cells)
        charge = like.charge
        exact, billed = _billed(billed_cost, charge.billed_cost.currency)
        low, high = read.span(
            read.instant(start, "ChargePeriodStart"), read.instant(end, "ChargePeriodEnd"), "ChargePeriodEnd"
        )
        listed = self._listed(charge.charge_category, commitment, list_cost, billed)
        return Line(
            like, exact, self._row_key(cells), low, high, billed, self._cost(effective_cost, "EffectiveCost", billed),
            listed, read.amount(quantity, "ConsumedQuantity"),
        )  # fmt: skip

    def _first(self, cells: Sequence[object], account_of: AccountOf) -> Line | None:
        """A row with new words."""
        (
            billed_cost, effective_cost, list_cost, billing_currency, category_cell, charge_class, sub_account,
            billing_account, service, description, region, resource, resource_name, sku, pricing, quantity, unit, tags,
            invoice, commitment, *times,
        ) = self._all(cells)  # fmt: skip
        owned = account_of((read.text(sub_account), read.text(billing_account)))
        if owned is None:
            return None
        currency = read.currency(billing_currency, "BillingCurrency")
        exact, billed = _billed(billed_cost, currency)
        category = _category(category_cell)
        at = [read.instant(cell, column) for cell, column in zip(times, _TIMES, strict=True)]
        billing = read.span(at[0], at[1], "BillingPeriodEnd")
        period = read.span(at[2], at[3], "ChargePeriodEnd")
        listed = self._listed(category, commitment, list_cost, billed)
        charge = Charge(
            account=owned.account,
            row_key=self._row_key(cells),
            billing_period_start=billing[0],
            billing_period_end=billing[1],
            charge_period_start=period[0],
            charge_period_end=period[1],
            charge_category=category,
            billed_cost=billed,
            effective_cost=self._cost(effective_cost, "EffectiveCost", billed),
            list_cost=listed,
            stage=stage(read.text(invoice), billing[1], self._now),
            provider=owned.provider,
            service_name=read.wanted(service, "ServiceName"),
            charge_description=read.text(description) or "",
            charge_class=read.text(charge_class),
            region_id=read.text(region),
            resource_id=resource_id(read.text(resource)),
            resource_name=read.text(resource_name),
            sku_id=read.text(sku),
            pricing_category=read.text(pricing),
            consumed_quantity=read.amount(quantity, "ConsumedQuantity"),
            consumed_unit=read.text(unit),
            tags=read.tags(tags, "Tags"),
        )
        return Line.of(charge, exact)

    def _listed(self, category: ChargeCategory, commitment: object, cell: object, billed: Money) -> Money:
        if category is ChargeCategory.PURCHASE and commitment is not None:
            # The usage that it covers has the list price; both together would count it twice.
            return Money.zero(billed.currency)
        return self._cost(cell, "ListCost", billed)

    def _cost(self, cell: object, column: str, billed: Money) -> Money:
        told = read.cost(cell, billed.currency, column)
        if told is None:
            noted(self.notes, _AS_BILLED.format(column))
            return billed
        return told[1]

    def _row_key(self, cells: Sequence[object]) -> str:
        key = self._key(_as_text(self._key_words(cells))) % self._key_period(cells)
        return "focus/" + blake2b(key.encode(), digest_size=16).hexdigest()

    def _key_of(self, words: tuple[object, ...]) -> str:
        """What is hashed of rows with these words, with a ``%s`` for each end of the charge period."""
        told = iter(words)
        parts = [
            f"{name}=%s" if is_period else f"{name}={cell}".replace("%", "%%")
            for name, is_period in self._key_names
            if is_period or (cell := next(told)) is not None
        ]
        return "\x1f".join(parts)


def _as_text(cells: tuple[object, ...]) -> tuple[object, ...]:
    """Cells that can be looked up: of a Parquet file as they print, as 0.0 equals -0.0 and a map equals nothing."""
    if _TEXT.issuperset(map(type, cells)):
        return cells
    return tuple([None if cell is None else str(cell) for cell in cells])


def _billed(cell: object, currency: str) -> tuple[Decimal, Money]:
    told = read.cost(cell, currency, "BilledCost")
    if told is None:
        raise BillError("is empty", column="BilledCost")
    return told


def _category(cell: object) -> ChargeCategory:
    word = read.wanted(cell, "ChargeCategory")
    found = _CATEGORIES.get(word.casefold())
    if found is None:
        known = ", ".join(category.value for category in ChargeCategory)
        raise BillError(f"{word!r} is none of {known}", column="ChargeCategory")
    return found
