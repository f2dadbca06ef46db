"""The Billing and Balances roles: the instance bill day by day, made equal to the month's own overview.

Rows are a day late and restated until noon of the 3rd, so whole months are read again and again. What the overview says
beyond the rows (the round-down 抹零 above all) is a line of its own: the sum is Alibaba Cloud's to the cent.
"""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from costguard.domain.charge import Balance, Charge, Stage
from costguard.domain.money import Money
from costguard.errors import PermissionDenied
from costguard_aliyun import bills
from costguard_aliyun.bills import Group, Month
from costguard_aliyun.client import Api, bad
from costguard_aliyun.errors import Call
from costguard_aliyun.fields import read_amount
from costguard_aliyun.inventory import InventoryRole

HISTORY_MONTHS = 18
_ROWS = 300
_ZONE = ZoneInfo("Asia/Shanghai")


class BillingRole:
    """Charges and balance of one account. BSS has one endpoint per site, not per region."""

    def __init__(self, api: Api, inventory: InventoryRole) -> None:
        self._api, self._inventory = api, inventory
        self._zone = api.spec.billing_timezone or _ZONE
        self._regions: Mapping[str, str] | None = None

    def charges(self, start: datetime, end: datetime) -> Iterator[Charge]:
        """Charges of the months that [start, end) touches, up to today, of the last 18 months."""
        if start >= end:
            raise ValueError(f"an empty period: {start.isoformat()} to {end.isoformat()}")
        now = self._api.clock.now()
        today = now.astimezone(self._zone).date()
        first = start.astimezone(self._zone).date().replace(day=1)
        first = max(first, _months_before(today.replace(day=1), HISTORY_MONTHS - 1))
        last = min((end - timedelta(microseconds=1)).astimezone(self._zone).date(), today)
        while first <= last:
            stage = Stage.FINAL if bills.is_final(first, now, self._zone) else Stage.PROVISIONAL
            yield from self._month(Month(self._api.account, first, self._zone, self._api.currency, stage), today)
            first = bills.next_month(first)

    def balance(self) -> Balance:
        """What is available, the credit line included; negative when the account owes."""
        api = self._api
        call = self._call("QueryAccountBalance")
        answer = api.read("bss", "QueryAccountBalance", api.home_region)
        currency = str(api.required(answer, "Data.Currency", call))
        available = _amount(api.required(answer, "Data.AvailableAmount", call), currency, call)
        return Balance(api.account, available, None, api.clock.now())

    def _month(self, month: Month, today: date) -> Iterator[Charge]:
        sums: dict[Group, Money] = {}
        days = min((month.following - month.first).days, (today - month.first).days + 1)
        for number in range(days):
            day = month.first + timedelta(days=number)
            for group, charge in self._day(month, day):
                sums[group] = sums.get(group, Money.zero(charge.billed_cost.currency)) + charge.billed_cost
                yield charge
        for group, (service, amount) in self._overview(month).items():
            rest = amount - sums.get(group, Money.zero(amount.currency))
            if rest:
                yield bills.difference(group, service, rest, day, month)

    def _day(self, month: Month, day: date) -> Iterator[tuple[Group, Charge]]:
        call = self._call("DescribeInstanceBill")
        counts: dict[str, int] = {}
        for page in self._api.pages(
            "bss", "DescribeInstanceBill", self._api.home_region, "Data.Items",
            BillingCycle=month.cycle, Granularity="DAILY", BillingDate=day.isoformat(), MaxResults=_ROWS,
        ):  # fmt: skip
            for row in page:
                key = bills.key_of(row, day)
                counts[key] = counts.get(key, 0) + 1
                key = f"{key}:{counts[key]}" if counts[key] > 1 else key
                try:
                    charge = bills.read_row(row, key, day, month, self._region_ids())
                except (ValueError, TypeError, AttributeError):
                    raise bad(call, "Data.Items", "a row of an unknown shape") from None
                yield bills.group_of(row, month.currency), charge

    def _overview(self, month: Month) -> Mapping[Group, tuple[str, Money]]:
        """Service name and payable amount as the month's overview tells them."""
        call = self._call("QueryBillOverview")
        answer = self._api.read("bss", "QueryBillOverview", self._api.home_region, BillingCycle=month.cycle)
        found: dict[Group, tuple[str, Money]] = {}
        for row in self._api.items(answer, "Data.Items.Item", call):
            group = bills.group_of(row, month.currency)
            amount = _amount(row.get("PretaxAmount"), group[-1], call)
            before = found[group][1] if group in found else Money.zero(amount.currency)
            found[group] = bills.service_of(row), before + amount
        return found

    def _region_ids(self) -> Mapping[str, str]:
        """Region ids by their display names in both languages; none without the permission, for a name is no cost."""
        if self._regions is None:
            found: dict[str, str] = {}
            try:
                for language in ("zh-CN", "en-US"):
                    names = self._inventory.local_names(language)
                    found.update((bills.plain_name(name), id) for name, id in names.items())
            except PermissionDenied:
                found = {}
            self._regions = found
        return self._regions

    def _call(self, action: str) -> Call:
        return self._api.call_of("bss", self._api.home_region, action)


def _amount(value: Any, currency: str, call: Call) -> Money:
    try:
        return read_amount(value, currency)
    except ValueError:
        raise bad(call, "Data", "an amount that is no number") from None


def _months_before(first: date, count: int) -> date:
    months = first.year * 12 + first.month - 1 - count
    return date(months // 12, months % 12 + 1, 1)
