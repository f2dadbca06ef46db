"""The bill against the strict account: to the cent, in its own days, whatever happens to it later."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.charge import Charge, ChargeCategory, Stage
from costguard.domain.money import Money, total
from costguard.errors import BadResponse, PermissionDenied
from costguard.testing.clock import NOON
from costguard_aliyun import charges
from costguard_aliyun.connection import AliyunConnection
from tests.fakes.aliyun.bss import Line
from tests.fakes.aliyun.fleet import fill
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.aliyun.helpers import connect

BEIJING = ZoneInfo("Asia/Shanghai")
MARCH = datetime(2026, 3, 1, tzinfo=BEIJING)
APRIL = datetime(2026, 4, 1, tzinfo=BEIJING)
SECOND = date(2026, 3, 2)


def yuan(text: str) -> Money:
    return Money.of(text, "CNY")


def march(aliyun: AliyunConnection) -> list[Charge]:
    return list(aliyun.charges(MARCH, APRIL))


def test_a_row_in_all_its_fields(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.bills.add(
        Line(
            SECOND, "ecs", Decimal("100"), "i-1", discount=Decimal("10"), coupons=Decimal("5"),
            vouchers=Decimal("20"), card=Decimal("2.5"), owed=Decimal("1.5"), spec="ecs.g7.xlarge", nickname="box",
            region="华北2(北京)", tag="key:owner value:张伟; key:team value:cv",
            fields={"ProductName": "云服务器 ECS\t"},
        )
    )  # fmt: skip
    charge = next(c for c in march(aliyun) if c.resource_id)
    assert (charge.account, charge.provider, charge.service_name) == ("prod", "aliyun", "云服务器 ECS")
    assert (charge.list_cost, charge.billed_cost, charge.effective_cost) == (yuan("100"), yuan("85"), yuan("85"))
    assert charge.payments == {
        "cash": yuan("61"), "voucher": yuan("20"), "stored_card": yuan("2.5"), "owed": yuan("1.5"),
    }  # fmt: skip
    assert (charge.resource_id, charge.resource_name, charge.sku_id) == ("i-1", "box", "ecs.g7.xlarge")
    assert charge.region_id == "cn-beijing"
    assert charge.tags == {"owner": "张伟", "team": "cv"}
    assert charge.charge_category is ChargeCategory.USAGE
    assert (charge.charge_period_start, charge.charge_period_end) == (
        datetime(2026, 3, 1, 16, tzinfo=UTC),
        datetime(2026, 3, 2, 16, tzinfo=UTC),
    )
    assert (charge.billing_period_start, charge.billing_period_end) == (MARCH, APRIL)


def test_means_of_payment_lower_no_cost_and_coupons_do(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """I02."""
    server.bills.add(Line(SECOND, "ecs", Decimal("10"), "i-1", vouchers=Decimal("10")))
    server.bills.add(Line(SECOND, "ecs", Decimal("10"), "i-2", coupons=Decimal("10")))
    assert {c.resource_id: c.billed_cost for c in march(aliyun)} == {"i-1": yuan("10"), "i-2": yuan("0")}


@pytest.mark.parametrize(
    ("item", "category"),
    [
        ("PayAsYouGoBill", ChargeCategory.USAGE),
        ("SubscriptionOrder", ChargeCategory.PURCHASE),
        ("Refund", ChargeCategory.ADJUSTMENT),
        ("Adjustment", ChargeCategory.ADJUSTMENT),
        ("SomethingNew", ChargeCategory.ADJUSTMENT),
    ],
)
def test_items_are_kept_apart(
    aliyun: AliyunConnection, server: AliyunServer, item: str, category: ChargeCategory
) -> None:
    server.bills.add(Line(SECOND, "ecs", Decimal("-12.34"), "i-1", item=item))
    (charge,) = march(aliyun)
    assert (charge.charge_category, charge.billed_cost) == (category, yuan("-12.34"))


def test_the_round_down_is_a_line_of_its_own(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """I06: the sum is Alibaba Cloud's own."""
    server.bills.add(Line(SECOND, "ecs", Decimal("10.128"), "i-1"))
    server.bills.round_down["2026-03"] = Decimal("0.008")
    row, cut = march(aliyun)
    assert (row.billed_cost, cut.billed_cost) == (yuan("10.128"), yuan("-0.008"))
    assert (cut.charge_category, cut.resource_id, cut.service_name) == (ChargeCategory.ADJUSTMENT, None, "ecs")
    assert MARCH <= cut.charge_period_start < cut.charge_period_end <= APRIL


def test_the_month_of_250_boxes_is_the_servers_own_sum_before_and_after(server: AliyunServer) -> None:
    """I06: to the nano, with a refund, vouchers and a round-down; and again when a row is corrected."""
    fill(server, minutes=0)
    aliyun = connect(server, deadline=timedelta(seconds=30))
    first = march(aliyun)
    assert total(c.billed_cost for c in first) == (yuan(str(server.bills.total("2026-03"))),)
    server.bills.restate(7, gross=Decimal("1.23456789"))
    again = march(aliyun)
    assert total(c.billed_cost for c in again) == (yuan(str(server.bills.total("2026-03"))),)
    assert total(c.billed_cost for c in again) != total(c.billed_cost for c in first)
    keys = [c.row_key for c in first]
    assert len(set(keys)) == len(keys) == len(server.bills.lines) + 1
    assert keys == [c.row_key for c in again]
    aliyun.close()


def test_keys_hold_when_names_arrive_late(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """Spec, nickname, region and tags come a day after the amounts."""
    number = server.bills.add(Line(SECOND, "ecs", Decimal("1"), "i-1", region=""))
    (before,) = march(aliyun)
    server.bills.restate(number, region="华北2（北京）", tag="key:a value:b", spec="ecs.g7.xlarge", nickname="box")
    (after,) = march(aliyun)
    assert before.row_key == after.row_key
    assert (before.region_id, after.region_id) == (None, "cn-beijing")


def test_two_rows_with_one_key_are_two(aliyun: AliyunConnection, server: AliyunServer) -> None:
    for tag in ("key:a value:1", "key:a value:2"):
        server.bills.add(Line(SECOND, "ecs", Decimal("1"), "i-1", tag=tag))
    assert len({c.row_key for c in march(aliyun)}) == 2


def test_every_page_of_a_day_is_read(aliyun: AliyunConnection, server: AliyunServer) -> None:
    for n in range(301):
        server.bills.add(Line(SECOND, "ecs", Decimal("0.01"), f"i-{n}"))
    assert total(c.billed_cost for c in march(aliyun)) == (yuan("3.01"),)


def test_a_month_is_final_at_noon_of_the_third(server: AliyunServer) -> None:
    server.bills.add(Line(date(2026, 2, 28), "ecs", Decimal("1"), "i-1"))
    february = datetime(2026, 2, 1, tzinfo=BEIJING)
    for jump, stage in (
        (timedelta(days=-2, hours=-8, seconds=-1), Stage.PROVISIONAL),
        (timedelta(seconds=1), Stage.FINAL),
    ):
        server.clock.jump(jump)
        aliyun = connect(server)
        assert [c.stage for c in aliyun.charges(february, MARCH)] == [stage]
        aliyun.close()


def test_whole_months_up_to_today_in_beijing(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """I07: at 20:00 UTC it is tomorrow there."""
    server.clock.jump(timedelta(hours=8))
    list(aliyun.charges(NOON - timedelta(hours=1), NOON))
    days = [c.params["BillingDate"] for c in server.calls if c.action == "DescribeInstanceBill"]
    assert days == [f"2026-03-0{n}" for n in range(1, 7)]


def test_no_more_is_asked_for_than_is_told(
    aliyun: AliyunConnection, server: AliyunServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert charges.HISTORY_MONTHS == 18
    monkeypatch.setattr(charges, "HISTORY_MONTHS", 3)
    list(aliyun.charges(datetime(2020, 1, 1, tzinfo=UTC), NOON))
    cycles = [c.params["BillingCycle"] for c in server.calls if c.action == "QueryBillOverview"]
    assert cycles == ["2026-01", "2026-02", "2026-03"]


def test_a_bill_of_eighteen_months_ago_is_still_told(aliyun: AliyunConnection) -> None:
    """BSS refuses a month that is older, so the last one that is asked for must be one that it tells."""
    october = datetime(2024, 10, 1, tzinfo=BEIJING)
    assert list(aliyun.charges(october, october + timedelta(days=1))) == []


def test_what_has_not_begun_costs_no_call(aliyun: AliyunConnection, server: AliyunServer) -> None:
    assert list(aliyun.charges(APRIL, APRIL + timedelta(days=3))) == []
    assert server.calls == []


def test_an_inverted_period_is_a_mistake(aliyun: AliyunConnection) -> None:
    """I23."""
    with pytest.raises(ValueError, match="empty period"):
        list(aliyun.charges(APRIL, MARCH))


def test_a_denied_bill_names_the_permission(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.denied_actions.add("DescribeInstanceBill")
    with pytest.raises(PermissionDenied) as caught:
        march(aliyun)
    assert caught.value.missing == "bssapi:DescribeInstanceBill"


def test_without_region_names_the_costs_are_the_same(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.denied_actions.add("DescribeRegions")
    server.bills.add(Line(SECOND, "ecs", Decimal("1"), "i-1"))
    (charge,) = march(aliyun)
    assert (charge.region_id, charge.billed_cost) == (None, yuan("1"))


def test_an_amount_that_is_no_number_is_a_bad_response(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.bills.add(Line(SECOND, "ecs", Decimal("1"), "i-1", fields={"PretaxAmount": "a lot"}))
    with pytest.raises(BadResponse):
        march(aliyun)


def test_amounts_may_be_texts_with_commas(aliyun: AliyunConnection, server: AliyunServer) -> None:
    texts = {"PretaxAmount": "1,234.56", "PretaxGrossAmount": "-0.00000001"}
    server.bills.add(Line(SECOND, "ecs", Decimal("1234.56"), "i-1", fields=texts))
    (charge,) = march(aliyun)
    assert (charge.billed_cost, charge.list_cost) == (yuan("1234.56"), yuan("-0.00000001"))


@pytest.mark.parametrize(("text", "exact"), [("12,345.67", "12345.67"), ("-1,000.01", "-1000.01"), ("0.00", "0")])
def test_the_balance_is_exact(aliyun: AliyunConnection, server: AliyunServer, text: str, exact: str) -> None:
    server.bills.balance["AvailableAmount"] = text
    balance = aliyun.balance()
    assert (balance.account, balance.available, balance.frozen) == ("prod", yuan(exact), None)
    assert balance.observed_at == NOON


def test_a_balance_that_is_no_number_is_a_bad_response(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.bills.balance["AvailableAmount"] = "plenty"
    with pytest.raises(BadResponse):
        aliyun.balance()


def test_the_currency_is_the_bills(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.bills.currency = "USD"
    server.bills.add(Line(SECOND, "ecs", Decimal("1"), "i-1"))
    assert {c.billed_cost for c in march(aliyun)} == {Money.of("1", "USD")}
    assert aliyun.balance().available.currency == "USD"
