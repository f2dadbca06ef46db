"""Bills and balance on the Alibaba Cloud server."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from costguard.testing.cloud import Fault
from tests.fakes.aliyun.bss import Line
from tests.fakes.aliyun.fleet import fill
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.fakes.aliyun_client import Client

MARCH, FIRST = "2026-03", date(2026, 3, 1)


@pytest.fixture
def aliyun() -> Iterator[AliyunServer]:
    with AliyunServer() as server:
        yield server


@pytest.fixture
def client(aliyun: AliyunServer) -> Client:
    return Client(aliyun)


def line(gross: str = "10", day: date = FIRST, product: str = "ecs", **fields: Any) -> Line:
    amounts = {name: Decimal(value) for name, value in fields.items() if name in ("discount", "coupons", "vouchers")}
    return Line(day, product, Decimal(gross), **{**fields, **amounts})


def bill(client: Client, **params: Any) -> list[dict[str, Any]]:
    """All pages of DescribeInstanceBill."""
    rows, token = [], ""
    while True:
        told = client.call("Bss", "DescribeInstanceBill", BillingCycle=MARCH, NextToken=token, **params)
        assert (told["Code"], told["Success"]) == ("Success", True)
        rows += told["Data"]["Items"]
        token = told["Data"]["NextToken"] or ""
        if not token:
            return rows


def exact(rows: list[dict[str, Any]], name: str = "PretaxAmount") -> Decimal:
    return sum((Decimal(repr(row[name])) for row in rows), Decimal(0))


class TestInstanceBill:
    def test_a_row(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.bills.add(
            line("10", discount="1", coupons="2", vouchers="3", instance="i-1", tag="key:a value:b; key:c value:d")
        )
        (row,) = bill(client, Granularity="DAILY", BillingDate="2026-03-01")
        money = {
            "PretaxGrossAmount": 10.0, "InvoiceDiscount": 1.0, "DeductedByCoupons": 2.0, "PretaxAmount": 7.0,
            "DeductedByCashCoupons": 3.0, "PaymentAmount": 4.0, "OutstandingAmount": 0.0,
        }  # fmt: skip
        assert {name: row[name] for name in money} == money
        assert (row["Region"], row["Currency"], row["InstanceID"]) == ("华北2（北京）", "CNY", "i-1")
        assert (row["BillingDate"], row["ServicePeriodUnit"]) == ("2026-03-01", "秒")
        assert row["Tag"] == "key:a value:b; key:c value:d"
        assert row["ProductDetail"].endswith("\t")

    def test_days_and_months(self, aliyun: AliyunServer, client: Client) -> None:
        for day in (1, 1, 2):
            aliyun.bills.add(line("0.1", date(2026, 3, day), instance="i-1"))
        assert len(bill(client)) == 1
        assert "BillingDate" not in bill(client)[0]
        assert exact(bill(client)) == Decimal("0.3")
        assert exact(bill(client, Granularity="DAILY", BillingDate="2026-03-01")) == Decimal("0.2")
        assert bill(client, Granularity="DAILY", BillingDate="2026-03-03") == []

    def test_items_and_zero_rows(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.bills.add(line("5", instance="i-1", billing_item="cpu"))
        aliyun.bills.add(line("0", instance="i-1", billing_item="disk"))
        assert len(bill(client)) == 1
        assert [row["BillingItem"] for row in bill(client, IsBillingItem=True)] == ["cpu", "disk"]
        assert len(bill(client, IsBillingItem=True, IsHideZeroCharge=True)) == 1

    @pytest.mark.parametrize("size", [1, 7, 20, 300])
    def test_pages(self, aliyun: AliyunServer, client: Client, size: int) -> None:
        for n in range(20):
            aliyun.bills.add(line(f"{n}.01", instance=f"i-{n}"))
        rows = bill(client, MaxResults=size)
        assert ([row["InstanceID"] for row in rows], exact(rows)) == ([f"i-{n}" for n in range(20)], Decimal("190.20"))

    def test_faults_of_paging(self, aliyun: AliyunServer, client: Client) -> None:
        for n in range(20):
            aliyun.bills.add(line(instance=f"i-{n}"))
        aliyun.fail(Fault.DUPLICATED_ITEM)
        assert len(bill(client, MaxResults=10)) == 21

    @pytest.mark.parametrize(
        ("params", "code"),
        [
            ({"BillingCycle": "2026-3"}, "InvalidParameter"),
            ({"BillingCycle": "2026-04"}, "NotApplicable"),
            ({"BillingCycle": "2024-09"}, "NotApplicable"),
            ({"BillingCycle": MARCH, "Granularity": "DAILY"}, "InvalidParameter"),
            ({"BillingCycle": MARCH, "Granularity": "DAILY", "BillingDate": "2026-02-28"}, "InvalidParameter"),
            ({"BillingCycle": MARCH, "MaxResults": 301}, "InvalidParameter"),
        ],
    )
    def test_errors_come_with_http_200(self, client: Client, params: dict[str, Any], code: str) -> None:
        assert client.error("Bss", "DescribeInstanceBill", **params) == (code, 200)

    def test_the_oldest_month(self, client: Client) -> None:
        assert client.call("Bss", "DescribeInstanceBill", BillingCycle="2024-10")["Data"]["Items"] == []


class TestTime:
    def test_rows_arrive_late(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.bills.add(line(visible=aliyun.clock.now() + timedelta(hours=3)))
        assert bill(client) == []
        aliyun.clock.advance(timedelta(hours=3))
        assert len(bill(client)) == 1

    def test_restated_until_noon_of_the_third_in_beijing(self, aliyun: AliyunServer, client: Client) -> None:
        number = aliyun.bills.add(line("10", instance="i-1"))
        aliyun.clock.advance(datetime(2026, 4, 3, 3, 59, tzinfo=UTC) - aliyun.clock.now())
        aliyun.bills.restate(number, gross=Decimal("11.11"))
        assert exact(bill(client)) == aliyun.bills.total(MARCH) == Decimal("11.11")
        assert not aliyun.bills.is_final(MARCH)
        aliyun.clock.advance(timedelta(minutes=1))
        with pytest.raises(ValueError, match="2026-03 is final"):
            aliyun.bills.restate(number, gross=Decimal("12"))

    def test_the_month_is_beijings(self, aliyun: AliyunServer, client: Client) -> None:
        """At 16:00 UTC of the last day the next cycle can be asked for."""
        aliyun.clock.advance(datetime(2026, 3, 31, 15, 59, tzinfo=UTC) - aliyun.clock.now())
        assert client.error("Bss", "DescribeInstanceBill", BillingCycle="2026-04")[0] == "NotApplicable"
        aliyun.clock.advance(timedelta(minutes=1))
        assert client.raw("Bss", "DescribeInstanceBill", BillingCycle="2026-04")[1]["Success"] is True


class TestSums:
    def test_overview_account_and_instances_agree_but_for_the_round_down(
        self, aliyun: AliyunServer, client: Client
    ) -> None:
        """I12: a refund is negative; the round-down is in the overview alone."""
        filled = fill(aliyun, minutes=1)
        rows = bill(client, MaxResults=300)
        account = client.call("Bss", "QueryAccountBill", BillingCycle=MARCH, IsGroupByProduct=True)["Data"]["Items"]
        overview = client.call("Bss", "QueryBillOverview", BillingCycle=MARCH)["Data"]["Items"]["Item"]
        total, cut = aliyun.bills.total(MARCH), aliyun.bills.round_down[MARCH]
        cent = Decimal("0.000001")
        assert total > 0
        assert abs(exact(rows) - total - cut) < cent
        assert abs(exact(account["Item"]) - total - cut) < cent
        assert abs(exact(overview) - total) < cent
        assert [Decimal(row["RoundDownDiscount"]) for row in overview if row["Item"] == "PayAsYouGoBill"] == [cut]
        (refund,) = [row for row in rows if row["Item"] == "Refund"]
        assert (refund["InstanceID"], refund["PretaxAmount"]) == (filled.idle[0], -12.34)
        daily = [
            row
            for day in range(1, 5)
            for row in bill(client, Granularity="DAILY", BillingDate=f"2026-03-{day:02}", MaxResults=300)
        ]
        assert len(daily) == 250 * 4 + 1
        assert abs(exact(daily) - exact(rows)) < cent

    def test_account_bill_by_day_and_page(self, aliyun: AliyunServer, client: Client) -> None:
        for n, product in enumerate(("ecs", "oss", "slb")):
            aliyun.bills.add(line("1", product=product, day=date(2026, 3, 1 + n % 2)))
        params = {"BillingCycle": MARCH, "IsGroupByProduct": True, "PageSize": 2}
        told = [client.call("Bss", "QueryAccountBill", PageNum=n, **params)["Data"]["Items"]["Item"] for n in (1, 2)]
        assert [[row["ProductCode"] for row in page] for page in told] == [["ecs", "oss"], ["slb"]]
        daily = client.call(
            "Bss", "QueryAccountBill", Granularity="DAILY", BillingDate="2026-03-02", BillingCycle=MARCH
        )["Data"]["Items"]["Item"]
        assert [(row["BillingDate"], row["PretaxAmount"]) for row in daily] == [("2026-03-02", 1.0)]


class TestBalance:
    def test_texts_with_commas(self, aliyun: AliyunServer, client: Client) -> None:
        told = client.call("Bss", "QueryAccountBalance")
        assert (told["Code"], told["Data"]["AvailableAmount"], told["Data"]["Currency"]) == ("200", "12,345.67", "CNY")
        aliyun.bills.balance["AvailableAmount"] = "-1,000.50"
        assert client.call("Bss", "QueryAccountBalance")["Data"]["AvailableAmount"] == "-1,000.50"

    def test_savings_plans(self, aliyun: AliyunServer, client: Client) -> None:
        aliyun.bills.savings_plans.append({"InstanceId": "spn-1", "Status": "NORMAL", "PoolValue": "100"})
        for status, count in (("NORMAL", 1), ("EXPIRED", 0)):
            told = client.call("Bss", "QuerySavingsPlansInstance", Status=status)
            assert len(told["Data"]["Items"]) == count
