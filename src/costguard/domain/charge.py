"""Charges: lines of a bill, FOCUS column names in snake_case.

Ours besides FOCUS: ``stage``, ``row_key``. Rows are rounded half-even to nanos on import.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from costguard.domain.money import Money


class ChargeCategory(StrEnum):
    USAGE = "Usage"
    PURCHASE = "Purchase"
    TAX = "Tax"
    CREDIT = "Credit"
    ADJUSTMENT = "Adjustment"


class Stage(StrEnum):
    ESTIMATED = "estimated"
    PROVISIONAL = "provisional"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Charge:
    """One row. ``charge_period_end`` and ``billing_period_end`` are exclusive, aware UTC.

    ``payments`` tells how the payable amount was paid (cash, voucher, credit, stored_card, owed):
    means of payment never reduce the cost.
    """

    account: str
    row_key: str
    billing_period_start: datetime
    billing_period_end: datetime
    charge_period_start: datetime
    charge_period_end: datetime
    charge_category: ChargeCategory
    billed_cost: Money
    effective_cost: Money
    list_cost: Money
    stage: Stage
    provider: str
    service_name: str
    charge_description: str = ""
    charge_class: str | None = None
    region_id: str | None = None
    resource_id: str | None = None
    resource_name: str | None = None
    sku_id: str | None = None
    pricing_category: str | None = None
    consumed_quantity: Decimal | None = None
    consumed_unit: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    payments: Mapping[str, Money] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Balance:
    """Prepaid balance of an account: available, frozen and credit limit, as the provider tells."""

    account: str
    available: Money
    frozen: Money | None
    observed_at: datetime
