"""AWS Cost and Usage Reports: the columns of the first version (``lineItem/UnblendedCost``), of its Parquet and of CUR
2.0 (``line_item_unblended_cost``) are one set of names.

Billed is what AWS invoices: the unblended cost. Effective is what a day used: discounted usage at its amortised price,
an upfront fee nothing. The list cost is the public on-demand price, where AWS tells it. A row's key is LineItemId and
TimeInterval. AWS does not promise to keep the first from one version of a report to the next, so a later version is
imported with ``--replace``, and what an import leaves standing beside its own rows is told.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from costguard.app.bills import cells as read
from costguard.app.bills.layout import AccountOf, Columns, noted, resource_id, stage
from costguard.domain.charge import Charge, ChargeCategory
from costguard.domain.money import Money
from costguard.errors import BillError
from costguard.store.lines import Line

_REQUIRED = (
    "identity_line_item_id", "identity_time_interval", "bill_payer_account_id", "bill_billing_period_start_date",
    "bill_billing_period_end_date", "line_item_usage_account_id", "line_item_line_item_type",
    "line_item_usage_start_date", "line_item_usage_end_date", "line_item_product_code", "line_item_currency_code",
    "line_item_unblended_cost",
)  # fmt: skip
_USAGE = ("Usage", "DiscountedUsage", "SavingsPlanCoveredUsage")
_CATEGORIES = dict.fromkeys(_USAGE, ChargeCategory.USAGE) | {
    "Fee": ChargeCategory.PURCHASE,
    "RIFee": ChargeCategory.PURCHASE,
    "SavingsPlanRecurringFee": ChargeCategory.PURCHASE,
    "SavingsPlanUpfrontFee": ChargeCategory.PURCHASE,
    "Tax": ChargeCategory.TAX,
    "Credit": ChargeCategory.CREDIT,
}
_COMMITTED = ("DiscountedUsage", "SavingsPlanCoveredUsage")
_TAGS = "resource_tags_"
_TAG_KINDS = ("user:", "user_")
_AS_ADJUSTMENT = "rows of the line item type {}: counted as adjustments"
_KNOWN_ADJUSTMENTS = frozenset(
    {"Refund", "SavingsPlanNegation", "BundledDiscount", "EdpDiscount", "PrivateRateDiscount", "SppDiscount"}
)


def fold(name: str) -> str:
    """The name as AWS spells it in Parquet and Athena: ``lineItem/UnblendedCost`` → ``line_item_unblended_cost``."""
    if name.startswith("resourceTags/"):
        return f"resource_tags_{name.removeprefix('resourceTags/')}"
    spaced = re.sub(r"(?<=[^A-Z/_])(?=[A-Z])|(?<=[A-Z])(?=[A-Z])", "_", name)
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9]", "_", spaced)).strip("_").lower()


def fits(header: Sequence[str]) -> bool:
    """Whether this is a CUR file, complete or not."""
    return bool({"line_item_unblended_cost", "identity_line_item_id"} & {fold(name) for name in header})


class Cur:
    """The layout of one CUR file."""

    name = "AWS CUR"

    def __init__(self, header: Sequence[str], now: datetime) -> None:
        """Raises BillError for missing columns."""
        columns = Columns(header, fold)
        if missing := [name for name in _REQUIRED if name not in columns]:
            raise BillError(f"is no complete CUR: it has no column {', '.join(missing)}", row=1)
        self.notes: dict[str, int] = {}
        self._now = now
        self._columns = columns
        self._tag_columns = [
            (_tag_name(columns.names[folded]), index)
            for folded, index in columns.places.items()
            if folded.startswith(_TAGS)
        ]
        get = columns.getter
        self._id, self._interval = get("identity_line_item_id"), get("identity_time_interval")
        self._accounts = [get("line_item_usage_account_id"), get("bill_payer_account_id")]
        self._type, self._currency = get("line_item_line_item_type"), get("line_item_currency_code")
        self._unblended, self._on_demand = get("line_item_unblended_cost"), get("pricing_public_on_demand_cost")
        self._periods = [
            (get(name), columns.names[name])
            for name in (
                "bill_billing_period_start_date", "bill_billing_period_end_date", "line_item_usage_start_date",
                "line_item_usage_end_date",
            )
        ]  # fmt: skip
        self._code, self._product_name, self._product = (
            get("line_item_product_code"), get("product_product_name"), get("product"),
        )  # fmt: skip
        self._regions = [get("product_region_code"), get("product_region")]
        self._resource, self._sku, self._invoice = (
            get("line_item_resource_id"), get("product_sku"), get("bill_invoice_id"),
        )  # fmt: skip
        self._description, self._usage_type = get("line_item_line_item_description"), get("line_item_usage_type")
        self._quantity, self._unit = get("line_item_usage_amount"), get("pricing_unit")
        self._tags = get("resource_tags")
        self._reservation = get("reservation_reservation_a_r_n")

    def line(self, cells: Sequence[object], account_of: AccountOf) -> Line | None:
        owned = account_of([read.text(get(cells)) for get in self._accounts])
        if owned is None:
            return None
        kind = read.wanted(self._type(cells), self._spelled("line_item_line_item_type"))
        currency = read.currency(self._currency(cells), self._spelled("line_item_currency_code"))
        column = self._spelled("line_item_unblended_cost")
        told = read.cost(self._unblended(cells), currency, column)
        if told is None:
            raise BillError("is empty", column=column)
        exact, billed = told
        times = [read.instant(get(cells), name) for get, name in self._periods]
        billing = read.span(times[0], times[1], self._periods[1][1])
        period = read.span(times[2], times[3], self._periods[3][1])
        charge = Charge(
            account=owned.account,
            row_key=self._row_key(cells),
            billing_period_start=billing[0],
            billing_period_end=billing[1],
            charge_period_start=period[0],
            charge_period_end=period[1],
            charge_category=self._category(kind),
            billed_cost=billed,
            effective_cost=self._effective(kind, cells, billed),
            list_cost=self._listed(kind, cells, billed),
            stage=stage(read.text(self._invoice(cells)), billing[1], self._now),
            provider=owned.provider,
            service_name=self._service(cells),
            charge_description=read.text(self._description(cells)) or kind,
            charge_class="Correction" if kind == "Refund" else None,
            region_id=next((found for get in self._regions if (found := read.text(get(cells)))), None),
            resource_id=resource_id(read.text(self._resource(cells))),
            sku_id=read.text(self._sku(cells)),
            pricing_category=self._pricing(kind, cells),
            consumed_quantity=read.amount(self._quantity(cells), self._spelled("line_item_usage_amount")),
            consumed_unit=read.text(self._unit(cells)),
            tags=self._tags_of(cells),
        )
        return Line.of(charge, exact)

    def _spelled(self, folded: str) -> str:
        """The column as this file writes it."""
        return self._columns.names.get(folded, folded)

    def _row_key(self, cells: Sequence[object]) -> str:
        line_item = read.wanted(self._id(cells), self._spelled("identity_line_item_id"))
        return f"cur/{line_item}/{read.wanted(self._interval(cells), self._spelled('identity_time_interval'))}"

    def _category(self, kind: str) -> ChargeCategory:
        found = _CATEGORIES.get(kind)
        if found is None:
            if kind not in _KNOWN_ADJUSTMENTS:
                noted(self.notes, _AS_ADJUSTMENT.format(kind))
            return ChargeCategory.ADJUSTMENT
        return found

    def _effective(self, kind: str, cells: Sequence[object], billed: Money) -> Money:
        """The amortised cost, as AWS's own queries compute it."""
        zero = Money.zero(billed.currency)

        def cost(*names: str) -> Money:
            told = [exact for name in names if (exact := self._amount(name, cells)) is not None]
            if not told:
                noted(self.notes, f"rows of the line item type {kind} without an amortised cost: taken as billed")
                return billed
            return read.money(sum(told, Decimal()), billed.currency, self._spelled(names[0]))

        match kind:
            case "DiscountedUsage":
                return cost("reservation_effective_cost")
            case "SavingsPlanCoveredUsage":
                return cost("savings_plan_savings_plan_effective_cost")
            case "SavingsPlanRecurringFee":
                total = cost("savings_plan_total_commitment_to_date")
                used = self._amount("savings_plan_used_commitment", cells) or Decimal()
                return total - read.money(used, billed.currency, self._spelled("savings_plan_used_commitment"))
            case "RIFee":
                return cost(
                    "reservation_unused_amortized_upfront_fee_for_billing_period", "reservation_unused_recurring_fee"
                )
            case "SavingsPlanNegation" | "SavingsPlanUpfrontFee":
                return zero
            case "Fee" if self._reservation(cells) is not None:
                return zero
            case _:
                return billed

    def _listed(self, kind: str, cells: Sequence[object], billed: Money) -> Money:
        """The on-demand price of usage; nothing for commitments, whose usage bears it, and for what reduces a price."""
        if kind in _USAGE:
            exact = self._amount("pricing_public_on_demand_cost", cells)
            if exact is None:
                noted(self.notes, "rows without pricing/publicOnDemandCost: listed as billed")
                return billed
            return read.money(exact, billed.currency, self._spelled("pricing_public_on_demand_cost"))
        if kind in ("Tax", "Credit", "Refund") or (kind == "Fee" and self._reservation(cells) is None):
            return billed
        return Money.zero(billed.currency)

    def _amount(self, name: str, cells: Sequence[object]) -> Decimal | None:
        return read.amount(self._columns.getter(name)(cells), self._spelled(name))

    def _pricing(self, kind: str, cells: Sequence[object]) -> str | None:
        if kind in _COMMITTED:
            return "Committed"
        if kind != "Usage":
            return None
        return "Dynamic" if "SpotUsage" in (read.text(self._usage_type(cells)) or "") else "Standard"

    def _service(self, cells: Sequence[object]) -> str:
        product = self._product(cells)
        named = read.text(self._product_name(cells))
        if named is None and product is not None:
            named = read.tags(product, self._spelled("product")).get("product_name")
        return named or read.wanted(self._code(cells), self._spelled("line_item_product_code"))

    def _tags_of(self, cells: Sequence[object]) -> Mapping[str, str]:
        found = {name: value for name, index in self._tag_columns if (value := read.text(cells[index])) is not None}
        whole = self._tags(cells)
        if whole is not None:
            found |= {_tag_name(key): value for key, value in read.tags(whole, self._spelled("resource_tags")).items()}
        return found


def _tag_name(column: str) -> str:
    """``resourceTags/user:team`` and ``resource_tags_user_team`` → ``team``; ``aws:`` tags keep their prefix."""
    name = column.removeprefix("resourceTags/").removeprefix("resource_tags_")
    for kind in _TAG_KINDS:
        name = name.removeprefix(kind)
    return name
