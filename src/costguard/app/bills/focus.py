"""FOCUS 1.0 to 1.2 (and later ones that keep these columns): https://focus.finops.org.

A row's key is a hash of all that is not money, quantity or invoice, because the same row of a later export differs in
just these. Columns are found whatever their case, order and number; unknown ones only take part in the key.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from operator import itemgetter

from costguard.app.bills import cells as read
from costguard.app.bills.layout import AccountOf, Columns, Line, noted, resource_id, stage
from costguard.domain.charge import Charge, ChargeCategory
from costguard.domain.money import Money
from costguard.errors import BillError

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
        self._key = [
            (f"{folded}=", index)
            for folded, index in sorted(columns.places.items())
            if not folded.endswith(_NOT_IN_KEY) and folded not in _LATER
        ]
        # One look takes all that a row is made of; what the file does not have is the None behind its last cell.
        self._pick = itemgetter(*(columns.places.get(fold(name), len(header)) for name in _READ))

    def line(self, cells: Sequence[object], account_of: AccountOf) -> Line | None:
        (
            billed_cost, effective_cost, list_cost, billing_currency, category_cell, charge_class, sub_account,
            billing_account, service, description, region, resource, resource_name, sku, pricing, quantity, unit, tags,
            invoice, commitment, *times,
        ) = self._pick((*cells, None))  # fmt: skip
        owned = account_of((read.text(sub_account), read.text(billing_account)))
        if owned is None:
            return None
        currency = read.currency(billing_currency, "BillingCurrency")
        told = read.cost(billed_cost, currency, "BilledCost")
        if told is None:
            raise BillError("is empty", column="BilledCost")
        exact, billed = told
        category = _category(category_cell)
        at = [read.instant(cell, column) for cell, column in zip(times, _TIMES, strict=True)]
        billing = read.span(at[0], at[1], "BillingPeriodEnd")
        period = read.span(at[2], at[3], "ChargePeriodEnd")
        if category is ChargeCategory.PURCHASE and commitment is not None:
            # The usage that it covers has the list price; both together would count it twice.
            listed = Money.zero(currency)
        else:
            listed = self._cost(list_cost, "ListCost", billed)
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
        return Line(charge, exact)

    def _cost(self, cell: object, column: str, billed: Money) -> Money:
        told = read.cost(cell, billed.currency, column)
        if told is None:
            noted(self.notes, _AS_BILLED.format(column))
            return billed
        return told[1]

    def _row_key(self, cells: Sequence[object]) -> str:
        parts = [f"{name}{cell}" for name, i in self._key if (cell := cells[i]) is not None]
        return "focus/" + blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()


def _category(cell: object) -> ChargeCategory:
    word = read.wanted(cell, "ChargeCategory")
    found = _CATEGORIES.get(word.casefold())
    if found is None:
        known = ", ".join(category.value for category in ChargeCategory)
        raise BillError(f"{word!r} is none of {known}", column="ChargeCategory")
    return found
