"""Prices, bills and balances."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from sqlalchemy import BigInteger, Column, Index, Named, String, Table, TypedColumns, UniqueConstraint

from costguard.domain.charge import ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.domain.resource import ChargeType
from costguard.store.tables.base import AutoId, metadata
from costguard.store.types import Document, EvidenceJson, Exact, FreeText, UtcDateTime, Word


class PriceColumns(TypedColumns):
    """A price per hour from ``since`` on. ``zone`` is empty where the price has none."""

    id: Named[int] = Column(AutoId, primary_key=True)
    provider: Named[str]
    region: Named[str]
    sku: Named[str]
    charge_type: Named[ChargeType] = Column(Word(ChargeType))
    zone: Named[str]
    source: Named[str]
    since: Named[datetime] = Column(UtcDateTime)
    per_hour_nanos: Named[int] = Column(BigInteger)
    per_hour_currency: Named[str] = Column(String(3))


price = Table(
    "price",
    metadata,
    PriceColumns,
    UniqueConstraint("provider", "region", "sku", "charge_type", "zone", "source", "since"),
)


class ChargeColumns(TypedColumns):
    """A row of a bill, FOCUS names in snake_case. ``import_id``: which import brought it; NULL: the provider's API."""

    account: Named[str] = Column(primary_key=True)
    row_key: Named[str] = Column(primary_key=True)
    billing_period_start: Named[datetime] = Column(UtcDateTime)
    billing_period_end: Named[datetime] = Column(UtcDateTime)
    charge_period_start: Named[datetime] = Column(UtcDateTime)
    charge_period_end: Named[datetime] = Column(UtcDateTime)
    charge_category: Named[ChargeCategory] = Column(Word(ChargeCategory))
    billed_cost_nanos: Named[int] = Column(BigInteger)
    billed_cost_currency: Named[str] = Column(String(3))
    effective_cost_nanos: Named[int] = Column(BigInteger)
    effective_cost_currency: Named[str] = Column(String(3))
    list_cost_nanos: Named[int] = Column(BigInteger)
    list_cost_currency: Named[str] = Column(String(3))
    stage: Named[Stage] = Column(Word(Stage))
    provider: Named[str]
    service_name: Named[str] = Column(FreeText)
    charge_description: Named[str] = Column(FreeText)
    charge_class: Named[str | None]
    region_id: Named[str | None]
    resource_id: Named[str | None]
    resource_name: Named[str | None] = Column(FreeText)
    sku_id: Named[str | None]
    pricing_category: Named[str | None]
    consumed_quantity: Named[Decimal | None] = Column(Exact)
    consumed_unit: Named[str | None]
    tags: Named[Mapping[str, str]] = Column(Document)
    payments: Named[Mapping[str, Money]] = Column(EvidenceJson)
    import_id: Named[int | None]


charge = Table("charge", metadata, ChargeColumns)
Index(None, charge.c.charge_period_start)
Index(None, charge.c.account, charge.c.billing_period_start)


class ChargeImportColumns(TypedColumns):
    """One import of bills: ``exact`` is the decimal sum before rows were rounded, ``rounded`` the sum of the rows."""

    id: Named[int] = Column(AutoId, primary_key=True)
    account: Named[str]
    source: Named[str]
    at: Named[datetime] = Column(UtcDateTime)
    row_count: Named[int]
    currency: Named[str] = Column(String(3))
    exact: Named[Decimal] = Column(Exact)
    rounded_nanos: Named[int] = Column(BigInteger)


charge_import = Table("charge_import", metadata, ChargeImportColumns)
Index(None, charge_import.c.account, charge_import.c.at)


class BalanceColumns(TypedColumns):
    """Prepaid balance of an account at a time."""

    account: Named[str] = Column(primary_key=True)
    observed_at: Named[datetime] = Column(UtcDateTime, primary_key=True)
    available_nanos: Named[int] = Column(BigInteger)
    available_currency: Named[str] = Column(String(3))
    frozen_nanos: Named[int | None] = Column(BigInteger)
    frozen_currency: Named[str | None] = Column(String(3))


balance = Table("balance", metadata, BalanceColumns)
