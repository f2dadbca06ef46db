"""Prepaid terms over the months they run in."""

from datetime import UTC, date, datetime, timedelta

import pytest

from costguard.domain.charge import ChargeCategory, Stage
from costguard.domain.money import Money
from costguard_tencent.bills import Month, next_month
from costguard_tencent.fields import BEIJING
from costguard_tencent.terms import Term, booked, read_term, share
from tests.unit.tencent.test_bills import read, row

LATE = datetime(2030, 1, 1, tzinfo=UTC)


def month(year: int, number: int) -> Month:
    return Month("prod", date(year, number, 1), BEIJING, "CNY", Stage.FINAL)


def bought(begin: str, end: str, action: str = "包年包月续费") -> Term | None:
    given = row(FeeBeginTime=begin, FeeEndTime=end, ActionTypeName=action, PayModeName="包年包月", BillDay=begin[:10])
    return read_term(given, read(given))


def test_the_shares_of_a_year_are_what_was_paid() -> None:
    """To the nano, whatever the lengths of the months."""
    term = bought("2026-03-10 09:00:00", "2027-03-10 09:00:00")
    assert term is not None
    paid, first = term.purchase.billed_cost, date(2026, 2, 1)
    shares = []
    for _ in range(15):
        shares.append(share(term, month(first.year, first.month), LATE))
        first = next_month(first)
    assert (shares[0], shares[-1]) == (None, None)
    running = [one for one in shares if one is not None]
    assert len(running) == 13
    assert sum((one.effective_cost for one in running), Money.zero("CNY")) == paid
    assert len({one.row_key for one in running}) == 13
    for one in running:
        assert (one.billed_cost, one.list_cost, one.payments) == (Money.zero("CNY"), Money.zero("CNY"), {})
        assert one.charge_category is ChargeCategory.USAGE
        assert one.billing_period_start <= one.charge_period_start < one.charge_period_end <= one.billing_period_end


def test_the_purchase_is_billed_whole_and_costs_by_and_by() -> None:
    term = bought("2026-03-10 09:00:00", "2026-04-10 09:00:00")
    assert term is not None
    line = booked(term)
    assert (line.billed_cost, line.effective_cost) == (term.purchase.billed_cost, Money.zero("CNY"))


def test_what_has_not_run_yet_has_not_cost_yet() -> None:
    term = bought("2026-03-01 00:00:00", "2026-03-31 00:00:00")
    assert term is not None
    noon = datetime(2026, 3, 15, 4, tzinfo=UTC)
    half = share(term, month(2026, 3), noon)
    assert half is not None
    assert half.effective_cost == Money(term.purchase.billed_cost.nanos // 2, "CNY")
    assert half.charge_period_end - noon <= timedelta(days=1)


@pytest.mark.parametrize(
    ("begin", "end", "action"),
    [
        ("2026-03-05 13:00:00", "2026-03-05 13:59:59", "包年包月续费"),
        ("", "2026-04-05 13:00:00", "包年包月续费"),
        ("2026-03-05 13:00:00", "2026-04-05 13:00:00", "包年包月退款"),
    ],
)
def test_what_is_no_term(begin: str, end: str, action: str) -> None:
    given = row(FeeBeginTime=begin, FeeEndTime=end, ActionTypeName=action, PayModeName="包年包月")
    assert read_term(given, read(given)) is None
