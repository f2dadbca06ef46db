"""Bills and balance as billing tells them: yuan in texts of eight digits, fen in numbers, totals from yesterday."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.tencent.ledger import Ledger, Line
from tests.fakes.tencent.wire import BEIJING, Context, Refused, page, to_beijing

_ZERO = Decimal(0)
_CONTEXT_FROM = "2023-05"
_CACHED = timedelta(hours=24)
_PREPARING = timedelta(minutes=10)
_MODES = {"prePay": "包年包月", "postPay": "按量计费"}
_NAMES = {"p_cvm": "云服务器 CVM", "p_cbs": "云硬盘 CBS", "p_eip": "弹性公网IP"}
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


class Billing(Ledger):
    """Version 2018-07-09.

    ``balance``: the figures of DescribeAccountBalance in fen; ``period_type``: the account's own;
    ``summary_ready``: whether the resources' summary is there; ``cost_detail_open``: the consumption bill was opened;
    ``ready_at``: when the summaries by product will be (None: nobody has asked yet); ``contexts``: calls with one.
    """

    def __init__(self, clock: FakeClock, owner: str) -> None:
        super().__init__(clock)
        self._owner = owner
        self.balance: dict[str, float] = {
            "CashAccountBalance": 1234567.0, "IncomeIntoAccountBalance": 0.0, "PresentAccountBalance": 5000.5,
            "FreezeAmount": 120.25, "OweAmount": 0.0, "CreditAmount": 200000.0,
        }  # fmt: skip
        self.period_type = "byUsedTime"
        self.summary_ready = True
        self.cost_detail_open = False
        self.ready_at: datetime | None = None
        self.contexts = 0
        self._totals: dict[tuple[object, ...], tuple[datetime, int]] = {}

    def DescribeAccountBalance(self, call: Context, *, TempCredit: bool = False) -> Mapping[str, Any]:
        told = self.balance
        held = sum(told[name] for name in ("CashAccountBalance", "IncomeIntoAccountBalance", "PresentAccountBalance"))
        real = held - told["FreezeAmount"] - told["OweAmount"]
        credit = held + told["CreditAmount"] - told["OweAmount"]
        return {
            "Uin": int(self._owner), "Balance": int(real), "RealBalance": real, **told, "CreditBalance": credit,
            "RealCreditBalance": credit - told["FreezeAmount"], "IsAllowArrears": True, "IsCreditLimited": True,
            "TempCredit": 0.0, "TempAmountInfoList": None,
        }  # fmt: skip

    def DescribeBillDetail(
        self,
        call: Context,
        *,
        Offset: int,
        Limit: int,
        PeriodType: str = "",
        Month: str = "",
        BeginTime: str = "",
        EndTime: str = "",
        NeedRecordNum: int = 0,
        PayMode: str = "",
        ResourceId: str = "",
        ActionType: str = "",
        ProjectId: int | None = None,
        BusinessCode: str = "",
        Context: str = "",
        PayerUin: str = "",
    ) -> Mapping[str, Any]:
        """The whole month, also when days were asked for."""
        month = self._months(Month, BeginTime, EndTime)
        self._check_period(PeriodType)
        if NeedRecordNum not in (0, 1):
            raise _bad("NeedRecordNum")
        if Context:
            self.contexts += 1
            if not re.fullmatch(rf"ctx-{month}-{Offset}", Context):
                raise Refused("InvalidParameter.ParamCheckFailed", "The Context is not that of the page before.")
        rows = _kept(self.month(month), PayMode, ResourceId, ActionType, BusinessCode, ProjectId)
        told = [self._detail(id, line) for id, line in page(rows, Offset, Limit, 300)]
        key = ("detail", month, PayMode, ResourceId, ActionType, BusinessCode, ProjectId)
        return {
            "DetailSet": told,
            "Total": self._total(key, len(rows)) if NeedRecordNum else None,
            "Context": f"ctx-{month}-{Offset + Limit}" if month >= _CONTEXT_FROM else None,
        }

    def DescribeBillResourceSummary(
        self,
        call: Context,
        *,
        Offset: int,
        Limit: int,
        Month: str,
        PeriodType: str = "",
        NeedRecordNum: int = 0,
        ActionType: str = "",
        ResourceId: str = "",
        PayMode: str = "",
        BusinessCode: str = "",
        PayerUin: str = "",
    ) -> Mapping[str, Any]:
        """One row per resource and action. RegionId is a number here."""
        month = self._months(Month, "", "")
        self._check_period(PeriodType)
        if not self.summary_ready:
            raise Refused("FailedOperation.SummaryDataNotReady", "The summary is not ready, try again later.")
        kept = _kept(self.month(month), PayMode, ResourceId, ActionType, BusinessCode, None)
        groups = _grouped((line for _, line in kept), lambda n: (n.business, n.resource, n.action, n.mode))
        told = [self._summary_row(lines) for lines in page(groups, Offset, Limit, 1_000)]
        total = self._total(("summary", month, PayMode, ResourceId, ActionType, BusinessCode), len(groups))
        return {"ResourceSummarySet": told, "Total": total if NeedRecordNum else None}

    def DescribeBillSummaryByProduct(
        self, call: Context, *, BeginTime: str, EndTime: str, PayerUin: str = "", PayType: str = ""
    ) -> Mapping[str, Any]:
        """Ready=0 and nulls at first use, for ten minutes."""
        if BeginTime != EndTime:
            raise _bad("EndTime")
        month = self._months(BeginTime, "", "")
        if PayType not in ("", "consume", "refund", "adjustment"):
            raise _bad("PayType")
        if not self._is_ready():
            return {"Ready": 0, "SummaryTotal": None, "SummaryOverview": None}
        lines = [line for _, line in self.month(month) if PayType in ("", _pay_type(line))]
        total = sum((line.real for line in lines), _ZERO)
        rows = []
        for group in _grouped(lines, lambda line: (line.business,)):
            money = _sums(group, 8)
            share = Decimal(money["RealTotalCost"]) * 100 / total if total else _ZERO
            name = {"BusinessCode": group[0].business, "BusinessCodeName": _named(group[0].business)}
            rows.append({**name, "RealTotalCostRatio": f"{share:.2f}", "BillMonth": month, **money})
        return {"Ready": 1, "SummaryTotal": _sums(lines, 8), "SummaryOverview": rows}

    def DescribeBillSummary(
        self, call: Context, *, Month: str, GroupType: str, TagKey: Sequence[str] = (), PayerUin: str = ""
    ) -> Mapping[str, Any]:
        """Two digits."""
        month = self._months(Month, "", "")
        keys: dict[str, Callable[[Line], tuple[object, ...]]] = {
            "business": lambda line: (line.business,), "project": lambda line: (line.project,),
            "region": lambda line: (line.region,), "payMode": lambda line: (line.mode,),
            "tag": lambda line: tuple(line.tags.get(key, "") for key in TagKey),
        }  # fmt: skip
        if GroupType not in keys or (GroupType == "tag" and not TagKey):
            raise _bad("GroupType")
        if not self._is_ready():
            return {"Ready": 0, "SummaryDetail": None}
        key = keys[GroupType]
        told = []
        for group in _grouped((line for _, line in self.month(month)), key):
            value = str(key(group[0])[0])
            told.append({"GroupKey": value, "GroupValue": value, **_sums(group, 2), "Business": []})
        return {"Ready": 1, "SummaryDetail": told}

    def DescribeCostDetail(
        self,
        call: Context,
        *,
        Limit: int,
        Offset: int,
        Month: str = "",
        BeginTime: str = "",
        EndTime: str = "",
        NeedRecordNum: int = 0,
        PayMode: str = "",
        ResourceId: str = "",
        BusinessCode: str = "",
        ProjectId: str = "",
    ) -> Mapping[str, Any]:
        """The consumption bill: terms paid ahead are spread over their days."""
        month = self._months(Month, BeginTime, EndTime)
        if not self.cost_detail_open:
            raise Refused("UnsupportedOperation", "The consumption bill of this account has not been opened.")
        rows = [
            (day, line)
            for day, line in self.days(month)
            if PayMode in ("", line.mode) and ResourceId in ("", line.resource) and BusinessCode in ("", line.business)
        ]
        told = []
        for day, line in page(rows, Offset, Limit, 100):
            times = {"FeeBeginTime": f"{day} 00:00:00", "FeeEndTime": f"{day} 23:59:59"}
            told.append({**self._who(line), **times, "ComponentSet": _components(line, "云服务器配置")})
        return {"DetailSet": told, "Total": len(rows) if NeedRecordNum else None}

    # Checks.

    def _months(self, month: str, begin: str, end: str) -> str:
        """The month that is asked for. Times win over it; both lie in the same one."""
        if begin or end:
            try:
                first, last = (
                    datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=BEIJING) for text in (begin, end)
                )
            except ValueError:
                raise _bad("BeginTime") from None
            if last < first or f"{first:%Y-%m}" != f"{last:%Y-%m}":
                raise _bad("EndTime")
            month = f"{first:%Y-%m}"
        if not month:
            raise Refused("MissingParameter", "The request is missing a required parameter `Month`.")
        if not _MONTH.fullmatch(month):
            raise _bad("Month")
        today = self._clock.now().astimezone(BEIJING).date()
        asked = date.fromisoformat(f"{month}-01")
        if (today.year - asked.year) * 12 + today.month - asked.month >= 18:
            raise _bad("Month")
        return month

    def _check_period(self, given: str) -> None:
        if given not in ("", self.period_type):
            raise _bad("PeriodType")

    def _is_ready(self) -> bool:
        if self.ready_at is None:
            self.ready_at = self._clock.now() + _PREPARING
        return self._clock.now() >= self.ready_at

    def _total(self, key: tuple[object, ...], count: int) -> int:
        """As it was when somebody last asked, for a day."""
        now = self._clock.now()
        at, known = self._totals.get(key, (now - _CACHED, count))
        if now - at >= _CACHED:
            self._totals[key] = (now, count)
            return count
        return known

    # Rows.

    def _who(self, line: Line) -> dict[str, Any]:
        return {
            "PayerUin": self._owner, "OwnerUin": self._owner, "OperateUin": self._owner,
            "BusinessCode": line.business, "BusinessCodeName": _named(line.business),
            "ProductCode": f"s{line.business}", "ProductCodeName": _named(line.business),
            "PayModeName": _MODES[line.mode], "ProjectName": "默认项目", "RegionName": "华北地区(北京)",
            "ZoneName": "北京三区", "ResourceId": line.resource, "ResourceName": line.name,
            "ActionTypeName": line.action, "OrderId": "", "BillId": "", "PayTime": to_beijing(line.paid or line.end),
            "FeeBeginTime": to_beijing(line.begin), "FeeEndTime": to_beijing(line.end - timedelta(seconds=1)),
            "Tags": [{"TagKey": key, "TagValue": value} for key, value in line.tags.items()],
        }  # fmt: skip

    def _detail(self, id: str, line: Line) -> dict[str, Any]:
        return {
            **self._who(line), "Id": id, "BillId": f"b{id}", "ActionType": f"action_{len(line.action)}",
            "ProjectId": line.project, "RegionId": str(line.region), "BillDay": f"{line.booked:%Y-%m-%d}",
            "BillMonth": line.month, "PriceInfo": [], "AssociatedOrder": None, "Formula": "", "FormulaUrl": "",
            "RegionType": "", "RegionTypeName": "国内", "ReserveDetail": "", "DiscountObject": "", "DiscountType": "",
            "DiscountContent": "", "ComponentSet": _components(line, "云服务器配置"), **line.fields,
        }  # fmt: skip

    def _summary_row(self, lines: Sequence[Line]) -> dict[str, Any]:
        first = lines[0]
        return {
            **self._who(first), "RegionId": first.region, "ConfigDesc": "", "ReduceType": "折扣", "InstanceType": "-",
            "Discount": "1", "BillMonth": first.month, "OriginalCostWithRI": "0.00000000", "SPDeduction": "0.00000000",
            "OriginalCostWithSP": "0.00000000", **{f"ExtendField{n}": "" for n in range(1, 6)}, **_sums(lines, 8),
            "FeeBeginTime": to_beijing(min(line.begin for line in lines)),
            "FeeEndTime": to_beijing(max(line.end for line in lines) - timedelta(seconds=1)),
        }  # fmt: skip


def _kept(
    rows: Iterable[tuple[str, Line]], mode: str, resource: str, action: str, business: str, project: int | None
) -> list[tuple[str, Line]]:
    """The action is filtered by its name, in Chinese."""
    return [
        (id, line)
        for id, line in rows
        if mode in ("", line.mode)
        and resource in ("", line.resource)
        and action in ("", line.action)
        and business in ("", line.business)
        and project in (None, line.project)
    ]


def _grouped(lines: Iterable[Line], key: Callable[[Line], tuple[object, ...]]) -> list[list[Line]]:
    groups: dict[tuple[object, ...], list[Line]] = defaultdict(list)
    for line in lines:
        groups[key(line)].append(line)
    return list(groups.values())


def _sums(lines: Sequence[Line], digits: int) -> dict[str, str]:
    listed = [line.listed for line in lines]
    known = [price for price in listed if price is not None]
    return {
        "TotalCost": "-" if len(known) < len(listed) else _text(sum(known, _ZERO), digits),
        "RealTotalCost": _text(sum((line.real for line in lines), _ZERO), digits),
        "CashPayAmount": _text(sum((line.cash for line in lines), _ZERO), digits),
        "VoucherPayAmount": _text(sum((line.vouchers for line in lines), _ZERO), digits),
        "IncentivePayAmount": _text(sum((line.incentive for line in lines), _ZERO), digits),
        "TransferPayAmount": _text(sum((line.transfer for line in lines), _ZERO), digits),
    }


def _components(line: Line, name: str) -> list[dict[str, Any]]:
    """Equal parts to the eighth digit; the last one takes the rest."""

    def cut(amount: Decimal, number: int) -> str:
        share = round(amount / line.parts, 8)
        return _text(share if number < line.parts - 1 else amount - share * (line.parts - 1), 8)

    return [
        {
            "ComponentCode": f"v_{line.business}_{n}", "ComponentCodeName": name, "ItemCode": f"sv_{line.business}_{n}",
            "ItemCodeName": name, "SinglePrice": "-" if line.listed is None else cut(line.listed, n),
            "SpecifiedPrice": "-", "PriceUnit": "元/小时", "UsedAmount": "1.00000000", "UsedAmountUnit": "个",
            "RealTotalMeasure": "-", "DeductedMeasure": "-", "TimeSpan": "1.00000000", "TimeUnitName": "小时",
            "Cost": "-" if line.listed is None else cut(line.listed, n),
            "Discount": "-" if line.listed is None else _discount(line), "ReduceType": "折扣",
            "RealCost": cut(line.real, n), "VoucherPayAmount": cut(line.vouchers, n),
            "CashPayAmount": cut(line.cash, n), "IncentivePayAmount": cut(line.incentive, n),
            "TransferPayAmount": cut(line.transfer, n), "ContractPrice": "-", "InstanceType": "-", "RiTimeSpan": "0",
            "OriginalCostWithRI": "0.00000000", "SPDeductionRate": "0", "SPDeduction": "0.00000000",
            "OriginalCostWithSP": "0.00000000", "BlendedDiscount": "-", "ComponentConfig": [],
        }
        for n in range(line.parts)
    ]  # fmt: skip


def _discount(line: Line) -> str:
    return f"{line.real / line.listed:.4f}" if line.listed else "1.0000"


def _text(amount: Decimal, digits: int) -> str:
    return f"{amount:.{digits}f}"


def _named(business: str) -> str:
    return _NAMES.get(business, business)


def _pay_type(line: Line) -> str:
    if line.real >= 0:
        return "consume"
    return "refund" if "退款" in line.action else "adjustment"


def _bad(name: str) -> Refused:
    return Refused("InvalidParameter", f"The value of parameter `{name}` is not valid.")
