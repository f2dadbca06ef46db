"""FOCUS 1.0 to 1.2 (and later ones that keep these columns): https://focus.finops.org.

A row's key is a hash of all that is not money, quantity or invoice, because the same row of a later export differs in
just these. Columns are found whatever their case, order and number; unknown ones only take part in the key.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b

from costguard.app.bills import cells as read
from costguard.app.bills.layout import AccountOf, Columns, Line, noted, resource_id, stage
from costguard.domain.charge import Charge, ChargeCategory
from costguard.domain.money import Money
from costguard.errors import BillError

_REQUIRED = (
    "BilledCost", "BillingAccountId", "BillingCurrency", "BillingPeriodStart", "BillingPeriodEnd", "ChargeCategory",
    "ChargePeriodStart", "ChargePeriodEnd", "ServiceName",
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
        get = columns.getter
        self._billed, self._effective, self._list = get("billedcost"), get("effectivecost"), get("listcost")
        self._currency, self._category, self._class = get("billingcurrency"), get("chargecategory"), get("chargeclass")
        self._periods = [
            (get(fold(name)), name)
            for name in ("BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd")
        ]
        self._accounts = [get("subaccountid"), get("billingaccountid")]
        self._service, self._description = get("servicename"), get("chargedescription")
        self._region, self._sku, self._pricing = get("regionid"), get("skuid"), get("pricingcategory")
        self._resource, self._resource_name = get("resourceid"), get("resourcename")
        self._quantity, self._unit = get("consumedquantity"), get("consumedunit")
        self._tags, self._invoice, self._commitment = get("tags"), get("invoiceid"), get("commitmentdiscountid")

    def line(self, cells: Sequence[object], account_of: AccountOf) -> Line | None:
        owned = account_of([read.text(get(cells)) for get in self._accounts])
        if owned is None:
            return None
        currency = read.currency(self._currency(cells), "BillingCurrency")
        told = read.cost(self._billed(cells), currency, "BilledCost")
        if told is None:
            raise BillError("is empty", column="BilledCost")
        exact, billed = told
        category = self._category_of(cells)
        times = [read.instant(get(cells), column) for get, column in self._periods]
        billing = read.span(times[0], times[1], "BillingPeriodEnd")
        period = read.span(times[2], times[3], "ChargePeriodEnd")
        commitment = self._commitment(cells) is not None
        if category is ChargeCategory.PURCHASE and commitment:
            # The usage that it covers has the list price; both together would count it twice.
            listed = Money.zero(currency)
        else:
            listed = self._cost(self._list(cells), "ListCost", billed)
        charge = Charge(
            account=owned.account,
            row_key=self._row_key(cells),
            billing_period_start=billing[0],
            billing_period_end=billing[1],
            charge_period_start=period[0],
            charge_period_end=period[1],
            charge_category=category,
            billed_cost=billed,
            effective_cost=self._cost(self._effective(cells), "EffectiveCost", billed),
            list_cost=listed,
            stage=stage(read.text(self._invoice(cells)), billing[1], self._now),
            provider=owned.provider,
            service_name=read.wanted(self._service(cells), "ServiceName"),
            charge_description=read.text(self._description(cells)) or "",
            charge_class=read.text(self._class(cells)),
            region_id=read.text(self._region(cells)),
            resource_id=resource_id(read.text(self._resource(cells))),
            resource_name=read.text(self._resource_name(cells)),
            sku_id=read.text(self._sku(cells)),
            pricing_category=read.text(self._pricing(cells)),
            consumed_quantity=read.amount(self._quantity(cells), "ConsumedQuantity"),
            consumed_unit=read.text(self._unit(cells)),
            tags=read.tags(self._tags(cells), "Tags"),
        )
        return Line(charge, exact)

    def _category_of(self, cells: Sequence[object]) -> ChargeCategory:
        word = read.wanted(self._category(cells), "ChargeCategory")
        found = _CATEGORIES.get(word.casefold())
        if found is None:
            known = ", ".join(category.value for category in ChargeCategory)
            raise BillError(f"{word!r} is none of {known}", column="ChargeCategory")
        return found

    def _cost(self, cell: object, column: str, billed: Money) -> Money:
        told = read.cost(cell, billed.currency, column)
        if told is None:
            noted(self.notes, _AS_BILLED.format(column))
            return billed
        return told[1]

    def _row_key(self, cells: Sequence[object]) -> str:
        parts = [f"{name}{cell}" for name, i in self._key if (cell := cells[i]) is not None]
        return "focus/" + blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()
