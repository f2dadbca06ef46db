"""Rows of a bill into charges: pure. Means of payment (vouchers, bonus money, cash) never reduce a cost.

RealCost = (Cost − what reservations and savings plans cover) × Discount is the payable amount; vouchers (代金券), bonus
(赠送金) and cash tell how that is paid. Amounts are texts of yuan with eight decimals; times are Beijing's.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from costguard.domain.charge import Charge, ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.domain.time import local_midnight
from costguard_tencent.fields import read_amount, read_tags, read_time

_PAYMENTS = {
    "CashPayAmount": "cash",
    "TransferPayAmount": "cash",
    "VoucherPayAmount": "voucher",
    "IncentivePayAmount": "credit",
}
# Words within ActionTypeName, a documented list of names: what is given back, put right or made good.
_CORRECTIONS = ("退款", "冲正", "调账", "补偿", "优惠", "精度")
_PREPAID = ("包年包月", "预付", "线下", "保底")
_REGION = re.compile(r"[a-z]{2}-[a-z0-9-]+")
_DIFFERENCE = "bill summary less detail rows"


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

    def midnight(self, day: date) -> datetime:
        return local_midnight(day, self.zone)


def next_month(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1)


def is_final(first: date, now: datetime, zone: ZoneInfo) -> bool:
    """A month is final on the 1st of the next one at 19:00."""
    return now >= local_midnight(next_month(first), zone) + timedelta(hours=19)


def key_of(row: Mapping[str, Any]) -> str:
    """The same at each reading: amounts are restated. `Id` is the row's own; old months may lack it."""
    if _text(row, "Id"):
        return f"bill:{_text(row, 'Id')}"
    names = ("BillId", "OrderId", "ResourceId", "BusinessCode", "ProductCode", "ActionType", "FeeBeginTime", "PayTime")
    return ":".join(("bill", *(_text(row, name) for name in names)))


def read_row(row: Mapping[str, Any], key: str, month: Month, region: Callable[[str], str | None]) -> Charge:
    """One element of DescribeBillDetail, its components added up. Raises ValueError for an amount that is none."""
    parts = [_read_part(part, month.currency) for part in _components(row)]
    billed = _total((part.billed for part in parts), month.currency)
    category = category_of(row)
    begin, end = _period(row, category, month)
    payments: dict[str, Money] = {}
    for part in parts:
        for name, money in part.payments.items():
            payments[name] = payments[name] + money if name in payments else money
    names = (_text(row, "ActionTypeName"), _text(row, "ProductCodeName"))
    return Charge(
        account=month.account,
        row_key=key,
        billing_period_start=month.midnight(month.first),
        billing_period_end=month.midnight(month.following),
        charge_period_start=begin,
        charge_period_end=end,
        charge_category=category,
        billed_cost=billed,
        effective_cost=billed,
        list_cost=_total((part.listed for part in parts), month.currency),
        stage=month.stage,
        provider="tencent",
        service_name=service_of(row),
        charge_description=" ".join(filter(None, names)),
        region_id=_region_id(row, region),
        resource_id=_text(row, "ResourceId") or None,
        resource_name=_text(row, "ResourceName") or None,
        tags=read_tags(row.get("Tags")),
        payments={name: money for name, money in payments.items() if money},
    )


def category_of(row: Mapping[str, Any]) -> ChargeCategory:
    name = _text(row, "ActionTypeName")
    if any(word in name for word in _CORRECTIONS):
        return ChargeCategory.ADJUSTMENT
    if name.startswith(_PREPAID) or _text(row, "PayModeName") == "包年包月":
        return ChargeCategory.PURCHASE
    return ChargeCategory.USAGE


def service_of(row: Mapping[str, Any]) -> str:
    return _text(row, "BusinessCodeName") or _text(row, "BusinessCode") or "unnamed"


def difference(code: str, service: str, amount: Money, month: Month) -> Charge:
    """What the month's own summary says of a product beyond its detail rows, on the last day."""
    return Charge(
        account=month.account,
        row_key=f"bill:{month.cycle}:difference:{code}",
        billing_period_start=month.midnight(month.first),
        billing_period_end=month.midnight(month.following),
        charge_period_start=month.midnight(month.following - timedelta(days=1)),
        charge_period_end=month.midnight(month.following),
        charge_category=ChargeCategory.ADJUSTMENT,
        billed_cost=amount,
        effective_cost=amount,
        list_cost=Money.zero(amount.currency),
        stage=month.stage,
        provider="tencent",
        service_name=service,
        charge_description=_DIFFERENCE,
    )


def plain_name(name: str) -> str:
    """Display names of regions, whose brackets come full and half width."""
    return name.replace("（", "(").replace("）", ")").replace(" ", "").lower()


@dataclass(frozen=True, slots=True)
class _Part:
    billed: Money
    listed: Money
    payments: Mapping[str, Money]


def _read_part(part: Mapping[str, Any], currency: str) -> _Part:
    """One component. Under contract prices and for refunds the list price is `-`: then it is what is paid."""
    payments: dict[str, Money] = {}
    for field, name in _PAYMENTS.items():
        money = read_amount(part.get(field), currency)
        if money is not None:
            payments[name] = payments[name] + money if name in payments else money
    billed = read_amount(part.get("RealCost"), currency)
    if billed is None:
        if not payments:
            raise ValueError("a component without an amount")
        billed = _total(payments.values(), currency)
    listed = read_amount(part.get("Cost"), currency)
    return _Part(billed, billed if listed is None else listed, payments)


def _components(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = row.get("ComponentSet")
    if not isinstance(parts, list):
        raise ValueError("a row without its components")
    return parts


def _period(row: Mapping[str, Any], category: ChargeCategory, month: Month) -> tuple[datetime, datetime]:
    """Whole local days: of the use for what is used, else the day on which it is booked."""
    begin, end = read_time(row.get("FeeBeginTime")), read_time(row.get("FeeEndTime"))
    if category is ChargeCategory.USAGE and begin is not None and end is not None:
        first = begin.astimezone(month.zone).date()
        last = max(first, (end - timedelta(microseconds=1)).astimezone(month.zone).date())
    else:
        first = last = _booked(row, month)
    return month.midnight(first), month.midnight(last + timedelta(days=1))


def _booked(row: Mapping[str, Any], month: Month) -> date:
    try:
        return date.fromisoformat(_text(row, "BillDay"))
    except ValueError:
        paid = read_time(row.get("PayTime")) or datetime(1970, 1, 1, tzinfo=UTC)
    day = paid.astimezone(month.zone).date()
    return day if month.first <= day < month.following else month.first


def _region_id(row: Mapping[str, Any], region: Callable[[str], str | None]) -> str | None:
    """Bills number regions in a way of their own; the name is what other answers hold as well."""
    told = _text(row, "RegionId")
    if _REGION.fullmatch(told):
        return told
    name = _text(row, "RegionName")
    return region(name) if name else None


def _total(amounts: Any, currency: str) -> Money:
    return sum(amounts, Money.zero(currency))


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return str(value).strip() if value is not None else ""
