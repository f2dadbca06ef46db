"""Months of the bill, and the balance."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from costguard.domain.charge import Charge, Stage
from costguard.domain.money import Money
from costguard.errors import BadResponse, PermissionDenied, Unavailable
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from costguard_tencent.connection import TencentConnection
from tests.fakes.server import Answer, Request
from tests.fakes.tencent.ledger import REFUND, RENEWAL, Line, of_day
from tests.fakes.tencent.server import TencentServer
from tests.fakes.tencent.wire import BEIJING
from tests.unit.tencent.helpers import connect

FIRST = datetime(2026, 3, 1, tzinfo=BEIJING)
APRIL = datetime(2026, 4, 2, tzinfo=UTC)


def march(tencent: TencentConnection) -> list[Charge]:
    return list(tencent.charges(FIRST, FIRST + timedelta(days=31)))


def billed(charges: Sequence[Charge]) -> Decimal:
    return sum((charge.billed_cost.amount for charge in charges), Decimal(0))


def day(number: int) -> date:
    return date(2026, 3, number)


def sold(server: TencentServer, count: int) -> None:
    for n in range(count):
        server.bills.add(of_day(day(1 + n % 4), "p_cvm", Decimal("1.00000001"), f"ins-{n}"))


def test_the_month_so_far_to_the_last_digit(server: TencentServer, tencent: TencentConnection) -> None:
    """I02, I12: refunds are negative rows, vouchers pay, components add up."""
    server.bills.add(of_day(day(1), "p_cvm", Decimal("34.74000001"), "ins-1", parts=3))
    server.bills.add(of_day(day(2), "p_cbs", Decimal("0.00000001"), "disk-1", vouchers=Decimal("0.00000001")))
    server.bills.add(of_day(day(3), "p_cvm", Decimal("-12.3"), "ins-2", listed=None, action=REFUND, mode="prePay"))
    charges = march(tencent)
    assert billed(charges) == server.bills.total("2026-03") == Decimal("22.44000002")
    assert {charge.stage for charge in charges} == {Stage.PROVISIONAL}
    assert [charge.region_id for charge in charges] == ["ap-beijing"] * 3
    assert "DescribeBillSummaryByProduct" not in server.actions()


def test_pages_are_read_until_one_is_short(server: TencentServer, tencent: TencentConnection) -> None:
    """The total is a day old: rows that came since are beyond it. Each page hands its context to the next."""
    sold(server, 299)
    assert len(march(tencent)) == 299
    sold(server, 302)
    assert len(march(tencent)) == 601
    assert server.bills.contexts == 2
    full = [call.params for call in server.calls if call.params.get("Month") == "2026-03"]
    assert [params["Offset"] for params in full] == [0, 0, 300, 600]
    assert all(params["NeedRecordNum"] == 0 for params in full)


def test_a_row_on_two_pages_is_one_charge(server: TencentServer, tencent: TencentConnection) -> None:
    """A row that arrives while pages are read shifts the others."""
    late = of_day(day(1), "p_cvm", Decimal(5), "ins-late", visible=server.clock.now() + timedelta(seconds=1))
    server.bills.add(late)
    sold(server, 400)
    found = tencent.charges(FIRST, FIRST + timedelta(days=31))
    charges = [next(found)]
    server.clock.advance(timedelta(seconds=2))
    charges += found
    assert len({charge.row_key for charge in charges}) == len(charges) == 400


def test_the_same_page_for_ever_is_an_error(server: TencentServer, tencent: TencentConnection) -> None:
    """E09."""
    rows = ",".join(
        f'{{"Id": "{n}", "BusinessCode": "p_cvm", "ComponentSet": [{{"RealCost": "1"}}]}}' for n in range(300)
    )
    for _ in range(2):
        server.answer_next(Answer(200, f'{{"Response": {{"DetailSet": [{rows}], "RequestId": "r"}}}}'.encode()))
    with pytest.raises(BadResponse, match="came twice"):
        march(tencent)


def test_rows_without_an_id_that_are_alike_are_two(server: TencentServer, tencent: TencentConnection) -> None:
    """I06: old months have no ids."""
    row = '{"BillId": "b", "BusinessCode": "p_cvm", "ComponentSet": [{"RealCost": "1.5"}]}'
    server.answer_next(Answer(200, f'{{"Response": {{"DetailSet": [{row}, {row}], "RequestId": "r"}}}}'.encode()))
    charges = march(tencent)
    assert billed(charges) == 3
    assert len({charge.row_key for charge in charges}) == 2


def test_a_restated_row_keeps_its_key(server: TencentServer, tencent: TencentConnection) -> None:
    """I06."""
    number = server.bills.add(of_day(day(1), "p_cvm", Decimal(10), "ins-1"))
    before = march(tencent)
    server.bills.restate(number, real=Decimal("9.5"))
    after = march(tencent)
    assert [charge.row_key for charge in before] == [charge.row_key for charge in after]
    assert billed(after) == Decimal("9.5")


def test_a_closed_month_is_its_own_summary_to_the_cent() -> None:
    """The precision row is one of the bill's; the summary is not ready at first use, and the month provisional."""
    with TencentServer(FakeClock(APRIL)) as server:
        tencent = connect(server)
        for n, amount in enumerate(("34.74000001", "0.00500000", "12.34567891")):
            server.bills.add(of_day(day(n + 1), "p_cvm", Decimal(amount), f"ins-{n}"))
        server.bills.add(of_day(day(9), "p_cvm", Decimal("-1.00000001"), "ins-0", listed=None, action=REFUND))
        first = march(tencent)
        assert {charge.stage for charge in first} == {Stage.PROVISIONAL}
        server.clock.advance(timedelta(minutes=11))
        charges = march(tencent)
        assert {charge.stage for charge in charges} == {Stage.FINAL}
        assert billed(charges) == server.bills.total("2026-03") == Decimal("46.09")
        assert [charge.row_key for charge in charges] == [charge.row_key for charge in first]
        tencent.close()


def test_what_the_summary_says_beyond_the_rows_is_a_line() -> None:
    with TencentServer(FakeClock(APRIL)) as server:
        tencent = connect(server)
        server.bills.add(of_day(day(1), "p_cvm", Decimal(10), "ins-1"))
        march(tencent)
        server.clock.advance(timedelta(minutes=11))
        server.bills.add(of_day(day(2), "p_gpu", Decimal(3)))

        def lose_the_second_row(request: Request) -> bool:
            if request.headers["x-tc-action"] == "DescribeBillDetail":
                del server.bills.lines[1:]
            return False

        server.fail(Fault.RESET, on=lose_the_second_row)
        charges = march(tencent)
        rest = [charge for charge in charges if ":difference:" in charge.row_key]
        assert [(charge.service_name, charge.billed_cost.plain()) for charge in rest] == [("p_gpu", "3")]
        assert billed(charges) == 13
        tencent.close()


def test_without_the_right_to_the_summary_the_month_stays_provisional() -> None:
    with TencentServer(FakeClock(APRIL)) as server:
        server.denied_actions.add("DescribeBillSummaryByProduct")
        server.bills.add(of_day(day(1), "p_cvm", Decimal(10), "ins-1"))
        assert {charge.stage for charge in march(connect(server))} == {Stage.PROVISIONAL}


def test_a_term_is_billed_once_and_costs_over_its_months() -> None:
    """Prepaid in January, whole; its effective cost of March comes from there."""
    with TencentServer(FakeClock(APRIL)) as server:
        tencent = connect(server)
        january = datetime(2026, 1, 15, tzinfo=BEIJING)
        term = Line(
            january, datetime(2026, 7, 14, tzinfo=BEIJING), "p_cvm", Decimal(1_800), "ins-1", listed=Decimal(3_600),
            mode="prePay", action=RENEWAL, paid=january,
        )  # fmt: skip
        server.bills.add(term)
        (share,) = march(tencent)
        assert (share.billed_cost.plain(), share.effective_cost.plain()) == ("0", "310")
        assert (share.resource_id, share.pricing_category) == ("ins-1", "Committed")
        before = server.request_count()
        march(tencent)
        assert server.request_count() - before == 2, "final months are asked for their terms once"
        charges = list(tencent.charges(january, january + timedelta(days=1)))
        assert [(c.billed_cost.plain(), c.effective_cost.plain()) for c in charges] == [("1800", "0"), ("0", "170")]
        tencent.close()


def test_several_months_and_no_more_than_eighteen(server: TencentServer, tencent: TencentConnection) -> None:
    server.bills.add(of_day(date(2026, 2, 10), "p_cvm", Decimal(2), "ins-1"))
    server.bills.add(of_day(date(2024, 10, 10), "p_cvm", Decimal(3), "ins-1"))
    charges = list(tencent.charges(datetime(2020, 1, 1, tzinfo=UTC), server.clock.now()))
    assert billed(charges) == 5
    months = {call.params["Month"] for call in server.calls if call.action == "DescribeBillDetail"}
    assert (min(months), max(months), len(months)) == ("2024-10", "2026-03", 18)


def test_a_period_that_ends_before_it_begins(tencent: TencentConnection) -> None:
    """I23."""
    with pytest.raises(ValueError, match="empty period"):
        list(tencent.charges(FIRST, FIRST))


def test_a_name_is_no_cost(server: TencentServer, tencent: TencentConnection) -> None:
    server.denied_actions.add("DescribeRegions")
    sold(server, 2)
    assert [charge.region_id for charge in march(tencent)] == [None, None]


def test_a_bill_that_cannot_be_read_is_an_error(server: TencentServer, tencent: TencentConnection) -> None:
    server.bills.add(of_day(day(1), "p_cvm", Decimal(1), "ins-1", fields={"ComponentSet": [{"RealCost": "abc"}]}))
    with pytest.raises(BadResponse):
        march(tencent)
    server.fail(Fault.FORBIDDEN)
    with pytest.raises(PermissionDenied) as caught:
        march(tencent)
    assert caught.value.missing == "finance:DescribeBillDetail"


@pytest.mark.parametrize("code", ["FailedOperation.QueryDBFailed", "InternalError.GatewayError"])
def test_billing_that_is_not_ready_is_unavailable(server: TencentServer, tencent: TencentConnection, code: str) -> None:
    server.refusals["DescribeBillDetail"] = code
    with pytest.raises(Unavailable):
        march(tencent)


def test_the_balance_is_in_fen(server: TencentServer, tencent: TencentConnection) -> None:
    """Frozen money apart, the credit line included; both together are what really can be spent."""
    balance = tencent.balance()
    assert balance.frozen == Money.of("1.2025", "CNY")
    assert balance.available == Money.of("14395.675", "CNY")
    server.bills.balance |= {
        "CashAccountBalance": 0.0,
        "PresentAccountBalance": 0.0,
        "CreditAmount": 0.0,
        "OweAmount": 7.5,
    }
    assert tencent.balance().available == Money.of("-0.075", "CNY")


@pytest.mark.parametrize("body", [b"{}", b'{"RealBalance": null}', b'{"RealBalance": "x"}', b'{"RealBalance": "-"}'])
def test_a_balance_that_is_not_told_is_an_error(server: TencentServer, tencent: TencentConnection, body: bytes) -> None:
    server.answer_next(Answer(200, b'{"Response": ' + body + b"}"))
    with pytest.raises(BadResponse):
        tencent.balance()


def test_an_older_balance_without_a_credit_line(server: TencentServer, tencent: TencentConnection) -> None:
    server.answer_next(Answer(200, b'{"Response": {"RealBalance": 900, "FreezeAmount": 100}}'))
    assert tencent.balance().available == Money.of("10", "CNY")
