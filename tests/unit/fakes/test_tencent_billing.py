"""Bills and balance on the Tencent Cloud server."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.fakes.tencent.ledger import ADJUSTMENT, PRECISION, REFUND, RENEWAL, Line, of_day
from tests.fakes.tencent.server import TencentServer
from tests.fakes.tencent.wire import BEIJING
from tests.unit.fakes.tencent_client import Client

DAY = date(2026, 3, 2)


@pytest.fixture
def tencent() -> Iterator[TencentServer]:
    with TencentServer() as server:
        yield server


@pytest.fixture
def client(tencent: TencentServer) -> Client:
    return Client(tencent, region="")


def detail(client: Client, **params: Any) -> Any:
    return client.call("billing", "DescribeBillDetail", **{"Offset": 0, "Limit": 300, "Month": "2026-03", **params})


def costs(rows: list[dict[str, Any]]) -> list[Decimal]:
    return [sum((Decimal(part["RealCost"]) for part in row["ComponentSet"]), Decimal(0)) for row in rows]


class TestDetail:
    def test_a_row(self, tencent: TencentServer, client: Client) -> None:
        tencent.bills.add(
            of_day(
                DAY, "p_cvm", Decimal("12.34567891"), "ins-00000001", listed=Decimal("24.69135782"), name="box",
                vouchers=Decimal("2"), tags={"team": "a"}, parts=2,
            )
        )  # fmt: skip
        (row,) = detail(client)["DetailSet"]
        expected = {
            "ResourceId": "ins-00000001", "ResourceName": "box", "BusinessCode": "p_cvm", "RegionId": "8",
            "PayModeName": "按量计费", "ActionTypeName": "按量计费扣费", "BillDay": "2026-03-02",
            "BillMonth": "2026-03",
            "FeeBeginTime": "2026-03-02 00:00:00", "FeeEndTime": "2026-03-02 23:59:59",
            "PayTime": "2026-03-03 00:00:00",
            "Tags": [{"TagKey": "team", "TagValue": "a"}], "Id": "2026030000000000", "PayerUin": "100000000001",
        }  # fmt: skip
        assert {name: row[name] for name in expected} == expected
        assert costs([row]) == [Decimal("12.34567891")]
        assert [part["RealCost"] for part in row["ComponentSet"]] == ["6.17283946", "6.17283945"]
        part = row["ComponentSet"][0]
        assert (part["Discount"], part["VoucherPayAmount"], part["CashPayAmount"]) == (
            "0.5000", "1.00000000", "5.17283946",
        )  # fmt: skip

    def test_refunds_are_negative_and_dashed(self, tencent: TencentServer, client: Client) -> None:
        tencent.bills.add(of_day(DAY, "p_cvm", Decimal("-3.5"), "ins-1", listed=None, action=REFUND, mode="prePay"))
        (row,) = detail(client)["DetailSet"]
        part = row["ComponentSet"][0]
        assert (part["RealCost"], part["Cost"], part["Discount"]) == ("-3.50000000", "-", "-")

    def test_pages_totals_of_yesterday_and_contexts(self, tencent: TencentServer, client: Client) -> None:
        """The total is too low for a day: who trusts it loses rows."""
        for n in range(5):
            tencent.bills.add(of_day(DAY, "p_cvm", Decimal(n), f"ins-{n}"))
        first = detail(client, Limit=3, NeedRecordNum=1)
        assert (len(first["DetailSet"]), first["Total"]) == (3, 5)
        tencent.bills.add(of_day(DAY, "p_cvm", Decimal(5), "ins-5"))
        assert detail(client, Limit=3, NeedRecordNum=1)["Total"] == 5
        second = detail(client, Offset=3, Limit=3, Context=first["Context"])
        assert (len(second["DetailSet"]), second["Total"], tencent.bills.contexts) == (3, None, 1)
        assert detail(client, Offset=6, Limit=3)["DetailSet"] == []
        wrong = {"Offset": 6, "Limit": 3, "Month": "2026-03", "Context": first["Context"]}
        assert client.error("billing", "DescribeBillDetail", **wrong) == "InvalidParameter.ParamCheckFailed"
        tencent.clock.advance(timedelta(hours=24))
        assert detail(client, NeedRecordNum=1)["Total"] == 6

    def test_days_give_the_whole_month(self, tencent: TencentServer, client: Client) -> None:
        for day in (1, 2, 3):
            tencent.bills.add(of_day(date(2026, 3, day), "p_cvm", Decimal(day)))
        day = {"Month": "", "BeginTime": "2026-03-02 00:00:00", "EndTime": "2026-03-02 23:59:59"}
        told = detail(client, **day)["DetailSet"]
        assert [row["BillDay"] for row in told] == ["2026-03-01", "2026-03-02", "2026-03-03"]

    def test_a_month_begins_in_beijing(self, tencent: TencentServer, client: Client) -> None:
        begin = datetime(2026, 2, 28, 16, tzinfo=tencent.clock.now().tzinfo)
        for hours in (-1, 0):
            at = begin + timedelta(hours=hours)
            tencent.bills.add(Line(at, at + timedelta(hours=1), "p_cvm", Decimal(hours + 2)))
        (march,) = detail(client)["DetailSet"]
        assert (march["FeeBeginTime"], march["FeeEndTime"]) == ("2026-03-01 00:00:00", "2026-03-01 00:59:59")
        assert costs(detail(client, Month="2026-02")["DetailSet"])[0] == 1

    def test_filters(self, tencent: TencentServer, client: Client) -> None:
        tencent.bills.add(of_day(DAY, "p_cvm", Decimal(1), "ins-1", project=7))
        tencent.bills.add(of_day(DAY, "p_cbs", Decimal(2), "disk-1", action=RENEWAL, mode="prePay"))
        for params in (
            {"PayMode": "prePay"}, {"ResourceId": "disk-1"}, {"ActionType": "包年包月续费"}, {"BusinessCode": "p_cbs"},
            {"ProjectId": 0},
        ):  # fmt: skip
            assert [row["ResourceId"] for row in detail(client, **params)["DetailSet"]] == ["disk-1"]

    @pytest.mark.parametrize(
        ("params", "code"),
        [
            ({"Limit": 301}, "InvalidParameterValue.LimitExceeded"),
            ({"Month": "2026-3"}, "InvalidParameter"),
            ({"Month": "2024-09"}, "InvalidParameter"),
            ({"Month": ""}, "MissingParameter"),
            ({"BeginTime": "2026-03-01 00:00:00"}, "InvalidParameter"),
            ({"BeginTime": "2026-03-01 00:00:00", "EndTime": "2026-04-01 00:00:00"}, "InvalidParameter"),
            ({"BeginTime": "2026-03-01", "EndTime": "2026-03-02"}, "InvalidParameter"),
            ({"PeriodType": "byPayTime"}, "InvalidParameter"),
            ({"NeedRecordNum": 2}, "InvalidParameter"),
            ({"Offset": "0"}, "InvalidParameter"),
            ({"Month": "2026-03", "Days": 1}, "UnknownParameter"),
        ],
    )
    def test_parameters(self, client: Client, params: dict[str, Any], code: str) -> None:
        given = {"Offset": 0, "Limit": 300, "Month": "2026-03", **params}
        assert client.error("billing", "DescribeBillDetail", **given) == code

    def test_eighteen_months(self, client: Client) -> None:
        assert detail(client, Month="2024-10")["DetailSet"] == []


class TestTime:
    def test_rows_come_late_and_are_corrected_under_their_id(self, tencent: TencentServer, client: Client) -> None:
        now = tencent.clock.now()
        number = tencent.bills.add(of_day(DAY, "p_cvm", Decimal(10)))
        tencent.bills.add(of_day(DAY, "p_cbs", Decimal(1), visible=now + timedelta(hours=6)))
        (before,) = detail(client)["DetailSet"]
        tencent.bills.restate(number, real=Decimal("9.5"))
        tencent.clock.advance(timedelta(hours=6))
        after = detail(client)["DetailSet"]
        assert costs(after) == [Decimal("9.5"), Decimal(1)]
        assert after[0]["Id"] == before["Id"]

    def test_a_final_month_ends_with_its_precision_row(self, tencent: TencentServer, client: Client) -> None:
        """I07: eight digits of the rows, two of the bill."""
        number = tencent.bills.add(of_day(DAY, "p_cvm", Decimal("10.00312345")))
        tencent.clock.jump(datetime(2026, 4, 1, 18, 59, tzinfo=BEIJING) - tencent.clock.now())
        assert len(detail(client)["DetailSet"]) == 1
        tencent.clock.advance(timedelta(minutes=1))
        rows = detail(client)["DetailSet"]
        assert rows[-1]["ActionTypeName"] == PRECISION
        assert sum(costs(rows)) == tencent.bills.total("2026-03") == Decimal("10.00")
        with pytest.raises(ValueError, match="final"):
            tencent.bills.restate(number, real=Decimal(1))


class TestSummaries:
    def test_by_resource(self, tencent: TencentServer, client: Client) -> None:
        for day in (1, 2):
            tencent.bills.add(of_day(date(2026, 3, day), "p_cvm", Decimal("1.5"), "ins-1"))
        tencent.bills.add(of_day(DAY, "p_cvm", Decimal("-1"), "ins-1", listed=None, action=REFUND))
        params = {"Offset": 0, "Limit": 1_000, "Month": "2026-03", "NeedRecordNum": 1}
        told = client.call("billing", "DescribeBillResourceSummary", **params)
        charge, refund = told["ResourceSummarySet"]
        assert (charge["RealTotalCost"], charge["TotalCost"], charge["RegionId"]) == ("3.00000000", "3.00000000", 8)
        assert (charge["FeeBeginTime"], charge["FeeEndTime"]) == ("2026-03-01 00:00:00", "2026-03-02 23:59:59")
        assert (refund["RealTotalCost"], refund["TotalCost"], told["Total"]) == ("-1.00000000", "-", 2)
        tencent.bills.summary_ready = False
        assert client.error("billing", "DescribeBillResourceSummary", **params) == (
            "FailedOperation.SummaryDataNotReady"
        )

    def test_by_product_is_not_ready_at_first(self, tencent: TencentServer, client: Client) -> None:
        tencent.bills.add(of_day(DAY, "p_cvm", Decimal("7.5")))
        tencent.bills.add(of_day(DAY, "p_cbs", Decimal("2.5"), listed=None))
        tencent.bills.add(of_day(DAY, "p_cvm", Decimal("-1"), action=ADJUSTMENT))
        month = {"BeginTime": "2026-03", "EndTime": "2026-03"}
        told = client.call("billing", "DescribeBillSummaryByProduct", **month)
        assert (told["Ready"], told["SummaryTotal"], told["SummaryOverview"]) == (0, None, None)
        tencent.clock.advance(timedelta(minutes=10))
        told = client.call("billing", "DescribeBillSummaryByProduct", **month)
        assert (told["Ready"], told["SummaryTotal"]["RealTotalCost"]) == (1, "9.00000000")
        assert told["SummaryTotal"]["TotalCost"] == "-"
        assert [(r["BusinessCode"], r["RealTotalCost"]) for r in told["SummaryOverview"]] == [
            ("p_cvm", "6.50000000"), ("p_cbs", "2.50000000"),
        ]  # fmt: skip
        consumed = client.call("billing", "DescribeBillSummaryByProduct", **month, PayType="consume")
        assert consumed["SummaryTotal"]["RealTotalCost"] == "10.00000000"
        other = {"BeginTime": "2026-02", "EndTime": "2026-03"}
        assert client.error("billing", "DescribeBillSummaryByProduct", **other) == "InvalidParameter"

    def test_two_digits(self, tencent: TencentServer, client: Client) -> None:
        tencent.bills.add(of_day(DAY, "p_cvm", Decimal("7.005"), tags={"team": "a"}))
        tencent.bills.ready_at = tencent.clock.now()
        for group, key in ({"GroupType": "business"}, "p_cvm"), ({"GroupType": "tag", "TagKey": ["team"]}, "a"):
            (row,) = client.call("billing", "DescribeBillSummary", Month="2026-03", **group)["SummaryDetail"]
            assert (row["GroupKey"], row["RealTotalCost"]) == (key, "7.00")

    def test_terms_are_booked_whole_and_consumed_by_the_day(self, tencent: TencentServer, client: Client) -> None:
        begin = datetime(2026, 3, 1, tzinfo=BEIJING)
        tencent.bills.add(
            Line(begin, begin + timedelta(days=30), "p_cvm", Decimal(100), "ins-1", mode="prePay", action=RENEWAL)
        )
        assert costs(detail(client)["DetailSet"]) == [Decimal(100)]
        params = {"Offset": 0, "Limit": 100, "Month": "2026-03"}
        assert client.error("billing", "DescribeCostDetail", **params) == "UnsupportedOperation"
        tencent.bills.cost_detail_open = True
        rows = client.call("billing", "DescribeCostDetail", **params)["DetailSet"]
        assert costs(rows) == [Decimal("3.33333333")] * 5
        assert rows[0]["FeeEndTime"] == "2026-03-01 23:59:59"
        tencent.clock.jump(timedelta(days=40))
        rows = client.call("billing", "DescribeCostDetail", **params)["DetailSet"]
        assert (len(rows), sum(costs(rows))) == (30, Decimal(100))


class TestBalance:
    def test_in_fen(self, tencent: TencentServer, client: Client) -> None:
        told = client.call("billing", "DescribeAccountBalance")
        assert (told["Balance"], told["RealBalance"]) == (1_239_447, 1_239_447.25)
        assert (told["FreezeAmount"], told["CreditBalance"], told["RealCreditBalance"]) == (
            120.25, 1_439_567.5, 1_439_447.25,
        )  # fmt: skip
        assert told["Uin"] == 100000000001
