"""Rows of a bill as charges."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from costguard.domain.charge import Charge, ChargeCategory, Stage
from costguard.domain.money import Money
from costguard_tencent.bills import Month, category_of, difference, is_final, key_of, next_month, read_row
from costguard_tencent.fields import BEIJING

MARCH = Month("prod", date(2026, 3, 1), BEIJING, "CNY", Stage.PROVISIONAL)
BEGIN, END = datetime(2026, 2, 28, 16, tzinfo=UTC), datetime(2026, 3, 31, 16, tzinfo=UTC)


def part(**fields: Any) -> dict[str, Any]:
    return {
        "RealCost": "9.00000001", "Cost": "10.00000000", "CashPayAmount": "8.00000001",
        "VoucherPayAmount": "0.50000000", "IncentivePayAmount": "0.25000000", "TransferPayAmount": "0.25000000",
        **fields,
    }  # fmt: skip


def row(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "Id": "7", "BusinessCode": "p_cvm", "BusinessCodeName": "云服务器 CVM", "ActionTypeName": "按量计费扣费",
        "PayModeName": "按量计费", "RegionId": "8", "RegionName": "华北地区（北京）",
        "ResourceId": "ins-1", "ResourceName": "train",
        "FeeBeginTime": "2026-03-05 13:00:00", "FeeEndTime": "2026-03-05 13:59:59", "PayTime": "2026-03-05 14:20:00",
        "BillDay": "2026-03-05", "Tags": [{"TagKey": "owner", "TagValue": "zw"}],
        "ComponentSet": list(parts) or [part()], **fields,
    }  # fmt: skip


def read(given: dict[str, Any], month: Month = MARCH) -> Charge:
    return read_row(given, "k", month, {"华北地区（北京）": "ap-beijing"}.get)


def test_means_of_payment_reduce_no_cost() -> None:
    charge = read(row())
    assert (charge.billed_cost, charge.list_cost) == (Money.of("9.00000001", "CNY"), Money.of("10", "CNY"))
    assert {name: money.plain() for name, money in charge.payments.items()} == {
        "cash": "8.25000001", "voucher": "0.5", "credit": "0.25",
    }  # fmt: skip
    assert (charge.service_name, charge.resource_id, charge.region_id) == ("云服务器 CVM", "ins-1", "ap-beijing")
    assert (charge.tags, charge.provider, charge.stage) == ({"owner": "zw"}, "tencent", Stage.PROVISIONAL)
    assert (charge.billing_period_start, charge.billing_period_end) == (BEGIN, END)


def test_components_add_up_exactly() -> None:
    charge = read(row(part(RealCost="0.33333333"), part(RealCost="0.33333333"), part(RealCost="0.33333334")))
    assert charge.billed_cost == Money.of("1", "CNY")


@pytest.mark.parametrize("nothing", ["-", "", None])
def test_a_price_that_is_not_shown_is_what_is_paid(nothing: str | None) -> None:
    """Contract prices and refunds: `-` is not 0."""
    charge = read(row(part(RealCost="-12.34000001", Cost=nothing), ActionTypeName="包年包月退款"))
    assert charge.billed_cost == charge.list_cost == Money.of("-12.34000001", "CNY")
    assert charge.charge_category is ChargeCategory.ADJUSTMENT


def test_a_cost_that_is_not_shown_is_how_it_was_paid() -> None:
    assert read(row(part(RealCost="-"))).billed_cost == Money.of("9.00000001", "CNY")


@pytest.mark.parametrize(
    "given",
    [
        row(part(RealCost="abc")),
        row({"RealCost": None, "CashPayAmount": None, "VoucherPayAmount": "-", "IncentivePayAmount": ""}),
        row(ComponentSet=None),
    ],
)  # fmt: skip
def test_an_amount_that_is_none_is_an_error_and_not_zero(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        read(given)


@pytest.mark.parametrize(
    ("begin", "end", "first", "last"),
    [
        ("2026-03-05 13:00:00", "2026-03-05 13:59:59", 5, 5),
        ("2026-03-05 23:00:00", "2026-03-06 00:00:00", 5, 5),
        ("2026-03-05 00:00:00", "2026-03-07 23:59:59", 5, 7),
    ],
)
def test_use_lies_on_the_days_of_beijing(begin: str, end: str, first: int, last: int) -> None:
    """D16: the last hour of a day is settled on the next one."""
    charge = read(row(FeeBeginTime=begin, FeeEndTime=end, BillDay="2026-03-06"))
    assert charge.charge_period_start == datetime(2026, 3, first - 1, 16, tzinfo=UTC)
    assert charge.charge_period_end == datetime(2026, 3, last, 16, tzinfo=UTC)


def test_the_last_hour_of_a_month_may_be_billed_in_the_next() -> None:
    """I07: used in February, billed in March."""
    charge = read(row(FeeBeginTime="2026-02-28 23:00:00", FeeEndTime="2026-02-28 23:59:59", BillDay="2026-03-01"))
    assert charge.charge_period_start == datetime(2026, 2, 27, 16, tzinfo=UTC)
    assert charge.billing_period_start == BEGIN


@pytest.mark.parametrize(
    ("fields", "day"),
    [
        ({"BillDay": "2026-03-02"}, 2),
        ({"BillDay": "", "PayTime": "2026-03-03 00:30:00"}, 3),
        ({"BillDay": None, "PayTime": None}, 1),
        ({"BillDay": "-", "PayTime": "2026-04-01 00:30:00"}, 1),
    ],
)
def test_what_is_prepaid_lies_on_the_day_it_is_booked(fields: dict[str, Any], day: int) -> None:
    term = {"FeeBeginTime": "2026-03-02 09:00:00", "FeeEndTime": "2027-03-02 09:00:00"}
    charge = read(row(ActionTypeName="包年包月续费", PayModeName="包年包月", **term, **fields))
    assert charge.charge_category is ChargeCategory.PURCHASE
    assert charge.charge_period_start.astimezone(BEIJING).date() == date(2026, 3, day)
    assert (charge.charge_period_end - charge.charge_period_start).days == 1


@pytest.mark.parametrize(
    ("action", "mode", "category"),
    [
        ("按量计费小时结", "按量计费", ChargeCategory.USAGE),
        ("竞价实例小时结", "按量计费", ChargeCategory.USAGE),
        ("节省计划小时费用", "按量计费", ChargeCategory.USAGE),
        ("包年包月新购", "包年包月", ChargeCategory.PURCHASE),
        ("包年包月配置变更", "包年包月", ChargeCategory.PURCHASE),
        ("线下项目扣费", "", ChargeCategory.PURCHASE),
        ("包年包月退款", "包年包月", ChargeCategory.ADJUSTMENT),
        ("按量计费冲正", "按量计费", ChargeCategory.ADJUSTMENT),
        ("调账补偿", "", ChargeCategory.ADJUSTMENT),
        ("精度差异", "", ChargeCategory.ADJUSTMENT),
        ("", "", ChargeCategory.USAGE),
    ],
)
def test_categories(action: str, mode: str, category: ChargeCategory) -> None:
    """I02."""
    assert category_of({"ActionTypeName": action, "PayModeName": mode}) is category


def test_a_key_outlives_a_restatement() -> None:
    """I06."""
    assert key_of(row()) == key_of(row(part(RealCost="35.00"), ResourceName="another")) == "bill:7"
    old = row(Id=None, BillId="b1")
    assert key_of(old) != key_of(row(Id="", BillId="b1", FeeBeginTime="2026-03-05 14:00:00"))


@pytest.mark.parametrize(
    ("id", "name", "region"), [("ap-tokyo", "x", "ap-tokyo"), ("8", "??", None), ("1", None, None)]
)
def test_regions(id: str, name: str | None, region: str | None) -> None:
    assert read(row(RegionId=id, RegionName=name)).region_id == region


@pytest.mark.parametrize(
    ("now", "final"), [("2026-04-01 18:59:59", False), ("2026-04-01 19:00:00", True), ("2026-03-31 23:00:00", False)]
)
def test_a_month_is_final_on_the_evening_of_the_first(now: str, final: bool) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=BEIJING)
    assert is_final(date(2026, 3, 1), at, BEIJING) is final


def test_months() -> None:
    """D04."""
    assert next_month(date(2026, 12, 1)) == date(2027, 1, 1)
    assert (MARCH.cycle, MARCH.following) == ("2026-03", date(2026, 4, 1))


def test_a_difference_is_a_line_of_its_own() -> None:
    line = difference("p_cvm", "CVM", Money.of("0.01", "CNY"), MARCH)
    assert (line.row_key, line.charge_category) == ("bill:2026-03:difference:p_cvm", ChargeCategory.ADJUSTMENT)
    assert line.charge_period_end == END
