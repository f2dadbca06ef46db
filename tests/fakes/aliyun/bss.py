"""Bills and balance: days of UTC+8, restated until noon of the 3rd, names instead of ids, money as floats and texts.

Amounts are kept exactly; the wire says them as the product does.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.aliyun.rpc import Context, Refused, by_token

OWNER = "1234567890123456"
BEIJING = timezone(timedelta(hours=8))
_ZERO = Decimal(0)
_MONEY = ("gross", "discount", "coupons", "cash", "vouchers", "card", "owed", "adjusted")


@dataclass(frozen=True)
class Line:
    """One row of one day. ``gross − discount − coupons = payable``; ``payable = cash + vouchers + card + owed``.

    ``visible``: when the row arrives (None: at once). ``region`` is a display name, ``tag`` one text.
    """

    day: date
    product: str
    gross: Decimal
    instance: str = ""
    discount: Decimal = _ZERO
    coupons: Decimal = _ZERO
    vouchers: Decimal = _ZERO
    card: Decimal = _ZERO
    owed: Decimal = _ZERO
    adjusted: Decimal = _ZERO
    item: str = "PayAsYouGoBill"
    subscription: str = "PayAsYouGo"
    billing_item: str = "云服务器配置"
    spec: str = ""
    nickname: str = ""
    region: str = "华北2（北京）"
    tag: str = ""
    visible: datetime | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cycle(self) -> str:
        return f"{self.day:%Y-%m}"

    @property
    def payable(self) -> Decimal:
        return self.gross - self.discount - self.coupons

    @property
    def cash(self) -> Decimal:
        return self.payable - self.vouchers - self.card - self.owed


class Bills:
    """Version 2017-12-14. ``lines`` is the truth; ``round_down`` what each month's invoice leaves out (抹零).

    ``balance``: the texts of QueryAccountBalance; ``opened``: the first month with any bill.
    """

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.currency = "CNY"
        self.lines: list[Line] = []
        self.round_down: dict[str, Decimal] = {}
        self.balance = {
            "AvailableAmount": "12,345.67", "AvailableCashAmount": "10,345.67", "CreditAmount": "2,000.00",
            "MybankCreditAmount": "0.00", "QuotaLimit": "0.00",
        }  # fmt: skip
        self.savings_plans: list[dict[str, Any]] = []

    def add(self, line: Line) -> int:
        """Returns the line's number, for :meth:`restate`."""
        self.lines.append(line)
        return len(self.lines) - 1

    def restate(self, number: int, **fields: Any) -> None:
        """The provider corrects a row. Raises ValueError once the month is final."""
        line = self.lines[number]
        if self.is_final(line.cycle):
            raise ValueError(f"{line.cycle} is final")
        self.lines[number] = replace(line, **fields)

    def is_final(self, cycle: str) -> bool:
        """After 12:00 on the 3rd of the next month, Beijing time."""
        after = (date.fromisoformat(f"{cycle}-01") + timedelta(days=32)).replace(day=3)
        return self._clock.now() >= datetime(after.year, after.month, after.day, 12, tzinfo=BEIJING)

    def total(self, cycle: str) -> Decimal:
        """The month's payable amount to the last digit, round-down off: the server's own sum."""
        return sum((line.payable for line in self._visible(cycle)), _ZERO) - self.round_down.get(cycle, _ZERO)

    def DescribeInstanceBill(
        self,
        call: Context,
        *,
        BillingCycle: str,
        Granularity: str = "MONTHLY",
        BillingDate: str = "",
        InstanceID: str = "",
        ProductCode: str = "",
        ProductType: str = "",
        PipCode: str = "",
        SubscriptionType: str = "",
        IsBillingItem: bool = False,
        IsHideZeroCharge: bool = False,
        BillOwnerId: int = 0,
        NextToken: str = "",
        MaxResults: int = 20,
    ) -> Mapping[str, Any]:
        """Items directly, Code ``Success``; a text with tabs here and there, as the documentation's sample has."""
        lines = self._asked(BillingCycle, Granularity, BillingDate)
        if not 1 <= MaxResults <= 300:
            raise _soft("InvalidParameter", "MaxResults is out of range")
        lines = [
            line
            for line in lines
            if InstanceID in ("", line.instance)
            and ProductCode in ("", line.product)
            and PipCode in ("", line.product)
            and SubscriptionType in ("", line.subscription)
            and not (IsHideZeroCharge and line.payable == 0)
        ]
        daily = Granularity == "DAILY"
        rows = list(_merged(lines, lambda line: _bill_key(line, daily, IsBillingItem)))
        page, token = by_token(rows, NextToken, MaxResults, call.paging)
        return _good(
            "Success",
            {
                "BillingCycle": BillingCycle,
                "AccountID": OWNER,
                "AccountName": "example",
                "TotalCount": len(rows),
                "MaxResults": MaxResults,
                "NextToken": token or None,
                "Items": [self._bill_row(line, daily, IsBillingItem) for line in page],
            },
        )

    def QueryAccountBill(
        self,
        call: Context,
        *,
        BillingCycle: str,
        Granularity: str = "MONTHLY",
        BillingDate: str = "",
        ProductCode: str = "",
        IsGroupByProduct: bool = False,
        OwnerID: int = 0,
        BillOwnerId: int = 0,
        PageNum: int = 1,
        PageSize: int = 20,
    ) -> Mapping[str, Any]:
        lines = [n for n in self._asked(BillingCycle, Granularity, BillingDate) if ProductCode in ("", n.product)]
        if not 1 <= PageSize <= 300:
            raise _soft("InvalidParameter", "PageSize is out of range")
        daily = Granularity == "DAILY"
        merged = list(
            _merged(lines, lambda n: (n.day if daily else None, n.product if IsGroupByProduct else "", n.subscription))
        )
        rows = []
        for line in merged[(PageNum - 1) * PageSize : PageNum * PageSize]:
            row = {
                "SubscriptionType": line.subscription,
                "OwnerID": OWNER,
                "BizType": "trusteeship",
                "CostUnit": "未分配",
            }
            row |= (
                {"ProductCode": line.product, "PipCode": line.product, "ProductName": line.product}
                if IsGroupByProduct
                else {}
            )
            row |= {"BillingDate": line.day.isoformat()} if daily else {}
            rows.append({**row, **self._money(line)})
        return _good(
            "Success",
            {
                "BillingCycle": BillingCycle, "AccountID": OWNER, "AccountName": "example", "PageNum": PageNum,
                "PageSize": PageSize, "TotalCount": len(merged), "Items": {"Item": rows},
            },
        )  # fmt: skip

    def QueryBillOverview(
        self,
        call: Context,
        *,
        BillingCycle: str,
        ProductCode: str = "",
        ProductType: str = "",
        SubscriptionType: str = "",
        BillOwnerId: int = 0,
    ) -> Mapping[str, Any]:
        """The month by product; the round-down lies on its first pay-as-you-go row."""
        lines = self._asked(BillingCycle, "MONTHLY", "")
        left = self.round_down.get(BillingCycle, _ZERO)
        rows = []
        for line in _merged(lines, lambda n: (n.product, n.subscription, n.item)):
            cut, left = (left, _ZERO) if line.subscription == "PayAsYouGo" else (_ZERO, left)
            money = self._money(replace(line, discount=line.discount + cut))
            money |= {"InvoiceDiscount": float(line.discount), "RoundDownDiscount": str(cut)}
            names = {"ProductCode": line.product, "PipCode": line.product, "ProductName": line.product}
            if ProductCode in ("", line.product) and SubscriptionType in ("", line.subscription):
                rows.append({**names, "Item": line.item, "SubscriptionType": line.subscription, **money})
        return _good(
            "Success",
            {"BillingCycle": BillingCycle, "AccountID": OWNER, "AccountName": "example", "Items": {"Item": rows}},
        )

    def QueryAccountBalance(self, call: Context) -> Mapping[str, Any]:
        return _good("200", {**self.balance, "Currency": self.currency})

    def QuerySavingsPlansInstance(
        self, call: Context, *, PageNum: int = 1, PageSize: int = 20, Status: str = "", InstanceId: str = ""
    ) -> Mapping[str, Any]:
        found = [plan for plan in self.savings_plans if Status in ("", plan["Status"])]
        page = found[(PageNum - 1) * PageSize : PageNum * PageSize]
        return _good("Success", {"TotalCount": len(found), "PageNum": PageNum, "PageSize": PageSize, "Items": page})

    def _asked(self, cycle: str, granularity: str, day: str) -> list[Line]:
        today = self._clock.now().astimezone(BEIJING).date()
        if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", cycle) or granularity not in ("MONTHLY", "DAILY"):
            raise _soft("InvalidParameter", "The BillingCycle or the Granularity is not valid")
        year, month = map(int, cycle.split("-"))
        age = (today.year - year) * 12 + today.month - month
        if not 0 <= age < 18:
            raise _soft("NotApplicable", "The BillingCycle is out of range")
        if granularity == "DAILY" and not re.fullmatch(re.escape(cycle) + r"-\d\d", day):
            raise _soft("InvalidParameter", "The BillingDate is not in the BillingCycle")
        return [line for line in self._visible(cycle) if granularity != "DAILY" or line.day.isoformat() == day]

    def _visible(self, cycle: str) -> list[Line]:
        now = self._clock.now()
        return [line for line in self.lines if line.cycle == cycle and (line.visible is None or line.visible <= now)]

    def _money(self, line: Line) -> dict[str, Any]:
        return {
            "PretaxGrossAmount": float(line.gross), "InvoiceDiscount": float(line.discount),
            "DeductedByCoupons": float(line.coupons), "PretaxAmount": float(line.payable),
            "DeductedByCashCoupons": float(line.vouchers), "DeductedByPrepaidCard": float(line.card),
            "PaymentAmount": float(line.cash), "CashAmount": float(line.cash), "OutstandingAmount": float(line.owed),
            "AdjustAmount": float(line.adjusted), "Currency": self.currency,
        }  # fmt: skip

    def _bill_row(self, line: Line, daily: bool, items: bool) -> dict[str, Any]:
        row = {
            "OwnerID": OWNER, "BillAccountID": OWNER, "BillAccountName": "example", "BizType": "",
            "ProductCode": line.product, "ProductName": line.product, "ProductDetail": f"{line.product}\t",
            "ProductType": line.product, "PipCode": line.product, "CommodityCode": line.product,
            "SubscriptionType": line.subscription, "BillingType": "其它", "Item": line.item, "ItemName": "",
            "InstanceID": line.instance, "InstanceSpec": line.spec, "InstanceConfig": "", "NickName": line.nickname,
            "InternetIP": "", "IntranetIP": "", "Region": line.region, "Zone": "", "ResourceGroup": "默认资源组",
            "Tag": line.tag, "CostUnit": "未分配", "ServicePeriod": "86400", "ServicePeriodUnit": "秒",
            "Usage": "24" if items else "", "UsageUnit": "小时" if items else "",
            "ListPrice": "", "ListPriceUnit": "", "DeductedByResourcePackage": "0",
            "AfterDiscountAmount": float(line.payable), **self._money(line),
        }  # fmt: skip
        row |= {"BillingItem": line.billing_item, "BillingItemCode": line.billing_item} if items else {}
        row |= {"BillingDate": line.day.isoformat()} if daily else {}
        return {**row, **line.fields}


def _bill_key(line: Line, daily: bool, items: bool) -> tuple[object, ...]:
    return (
        line.day if daily else None, line.product, line.instance, line.subscription, line.item,
        line.billing_item if items else "", line.region, line.tag,
    )  # fmt: skip


def _merged(lines: Iterable[Line], key: Callable[[Line], tuple[object, ...]]) -> Iterable[Line]:
    """One line per key, amounts added exactly."""
    groups: dict[tuple[object, ...], list[Line]] = defaultdict(list)
    for line in lines:
        groups[key(line)].append(line)
    for group in groups.values():
        sums: dict[str, Any] = {
            name: sum((getattr(line, name) for line in group), _ZERO) for name in _MONEY if name != "cash"
        }
        yield replace(group[0], **sums)


def _good(code: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"Code": code, "Message": "Successful!", "Success": True, "Data": data}


def _soft(code: str, message: str) -> Refused:
    """HTTP 200 and ``"Success": false``."""
    return Refused(code, message=message, soft=True)
