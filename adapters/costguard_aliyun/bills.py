"""Rows of a bill into charges: pure. Means of payment (vouchers, stored cards, cash) never reduce a cost.

Gross − InvoiceDiscount − DeductedByCoupons (优惠券) = PretaxAmount, the payable amount; vouchers (代金券), prepaid
cards, cash and what is owed tell how that is paid. A day is one of UTC+8.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from costguard.domain.charge import Charge, ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.domain.time import local_midnight
from costguard_aliyun.fields import read_amount, read_bill_tags

CATEGORIES = {
    "PayAsYouGoBill": ChargeCategory.USAGE,
    "SubscriptionOrder": ChargeCategory.PURCHASE,
    "Refund": ChargeCategory.ADJUSTMENT,
    "Adjustment": ChargeCategory.ADJUSTMENT,
}
_PAYMENTS = {
    "cash": "CashAmount",
    "voucher": "DeductedByCashCoupons",
    "stored_card": "DeductedByPrepaidCard",
    "owed": "OutstandingAmount",
}
_DIFFERENCE = "bill overview less instance rows: round-down, and what belongs to no instance"

Group = tuple[str, str, str, str]
"""(product code, subscription type, item, currency): what both views of a month tell apart."""


@dataclass(frozen=True, slots=True)
class Month:
    """One billing month of one account, in its billing time zone."""

    account: str
    first: date
    zone: ZoneInfo
    currency: str
    stage: Stage

    @property
    def cycle(self) -> str:
        return f"{self.first:%Y-%m}"

    @property
    def following(self) -> date:
        return next_month(self.first)


def next_month(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1)


def is_final(first: date, now: datetime, zone: ZoneInfo) -> bool:
    """A month is final after 12:00 on the 3rd of the next one."""
    return now >= local_midnight(next_month(first) + timedelta(days=2), zone) + timedelta(hours=12)


def group_of(row: Mapping[str, Any], currency: str) -> Group:
    names = (_text(row, key) for key in ("ProductCode", "SubscriptionType", "Item"))
    product, subscription, item = names
    return product, subscription, item, _text(row, "Currency") or currency


def service_of(row: Mapping[str, Any]) -> str:
    return _text(row, "ProductName") or _text(row, "ProductCode")


def key_of(row: Mapping[str, Any], day: date) -> str:
    """The same at each reading: amounts are restated, and names, regions and tags arrive a day after the rest."""
    names = ("ProductCode", "CommodityCode", "InstanceID", "SubscriptionType", "Item", "BillingItemCode")
    return ":".join(("bss", day.isoformat(), *(_text(row, name) for name in names)))


def read_row(row: Mapping[str, Any], key: str, day: date, month: Month, regions: Mapping[str, str]) -> Charge:
    """One element of DescribeInstanceBill. Raises ValueError for an amount that is none."""
    currency = _text(row, "Currency") or month.currency
    billed = read_amount(row.get("PretaxAmount"), currency)
    payments = {name: read_amount(row.get(field), currency) for name, field in _PAYMENTS.items()}
    item = _text(row, "Item")
    return Charge(
        account=month.account,
        row_key=key,
        billing_period_start=local_midnight(month.first, month.zone),
        billing_period_end=local_midnight(month.following, month.zone),
        charge_period_start=local_midnight(day, month.zone),
        charge_period_end=local_midnight(day + timedelta(days=1), month.zone),
        charge_category=CATEGORIES.get(item, ChargeCategory.ADJUSTMENT),
        billed_cost=billed,
        effective_cost=billed,
        list_cost=read_amount(row.get("PretaxGrossAmount"), currency),
        stage=month.stage,
        provider="aliyun",
        service_name=service_of(row),
        charge_description=" ".join(filter(None, (item, _text(row, "SubscriptionType"), _text(row, "BillingItem")))),
        region_id=region_id(_text(row, "Region"), regions),
        resource_id=_text(row, "InstanceID") or None,
        resource_name=_text(row, "NickName") or None,
        sku_id=_text(row, "InstanceSpec") or None,
        tags=read_bill_tags(_text(row, "Tag")),
        payments={name: money for name, money in payments.items() if money},
    )


def difference(group: Group, service: str, amount: Money, day: date, month: Month) -> Charge:
    """What the month's overview says of `service` beyond the rows of its instances, on `day`."""
    product, subscription, item, _ = group
    return Charge(
        account=month.account,
        row_key=":".join(("bss", month.cycle, "difference", product, subscription, item)),
        billing_period_start=local_midnight(month.first, month.zone),
        billing_period_end=local_midnight(month.following, month.zone),
        charge_period_start=local_midnight(day, month.zone),
        charge_period_end=local_midnight(day + timedelta(days=1), month.zone),
        charge_category=ChargeCategory.ADJUSTMENT,
        billed_cost=amount,
        effective_cost=amount,
        list_cost=Money.zero(amount.currency),
        stage=month.stage,
        provider="aliyun",
        service_name=service,
        charge_description=_DIFFERENCE,
    )


def region_id(name: str, regions: Mapping[str, str]) -> str | None:
    """Bills hold display names (华东1（杭州）), whose brackets come full and half width."""
    return regions.get(plain_name(name))


def plain_name(name: str) -> str:
    return name.replace("（", "(").replace("）", ")").replace(" ", "").lower()


def _text(row: Mapping[str, Any], key: str) -> str:
    return str(row.get(key) or "").strip()
