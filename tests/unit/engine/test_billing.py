"""Bills as spend: what counts in which basis, how it was paid, and how far it reaches."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise, permutations
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.budget import Basis
from costguard.domain.charge import Charge, ChargeCategory, Stage
from costguard.domain.money import Money, total
from costguard.domain.time import local_midnight
from costguard.engine.attribution import Attribution
from costguard.engine.audit import month_bounds
from costguard.engine.billing import CREDIT, UNTOLD, Bill, read_bill
from costguard.testing.builders import NOW, cny, make_charge, make_resource, usd

UTC_ZONE = ZoneInfo("UTC")
BOX = make_resource("i-1", tags={"owner": "li"})
START, END = month_bounds("2026-03", UTC_ZONE)
DAY = timedelta(days=1)


def bill(*charges: Charge) -> Bill:
    return read_bill(charges, START, END, UTC_ZONE, Attribution([BOX], (), {}, {}, {}))


def of(found: Bill, basis: Basis) -> Money:
    return sum((r.money for r in found.rows if r.basis is basis), cny("0"))


def sums(dated: Iterable[tuple[datetime, Money]]) -> tuple[Money, ...]:
    return total(money for _, money in dated)


def test_vouchers_and_credits_pay_and_never_lower_the_cost() -> None:
    """I02 I12: the three shapes of a discount have the same total: by category and sign, not by the row's place."""
    used = make_charge("a", cny("90"), list_cost=cny("100"), payments={"cash": cny("60"), "voucher": cny("30")})
    refund = make_charge("b", cny("-12"), charge_category=ChargeCategory.CREDIT, payments={"cash": cny("-12")})
    found = bill(used, refund)
    assert of(found, Basis.LIST) == cny("100")
    assert of(found, Basis.PAYABLE) == cny("90")
    assert of(found, Basis.CASH) == cny("48")
    assert {means: sums(paid) for means, paid in found.payments.items()} == {
        "cash": (cny("48"),), CREDIT: (cny("12"),), "voucher": (cny("30"),),
    }  # fmt: skip
    assert sums(found.invoiced) == (cny("78"),)
    for order in permutations([used, refund]):
        assert bill(*order).payments == found.payments


amounts = st.integers(-(10**14), 10**14).map(lambda nanos: Money(nanos, "CNY"))
rows = st.builds(
    lambda cost, voucher, credit, told: make_charge(
        f"row-{cost.nanos}-{voucher.nanos}",
        cost,
        charge_category=ChargeCategory.CREDIT if credit else ChargeCategory.USAGE,
        payments={"cash": cost - voucher, "voucher": voucher} if told and not credit else {},
    ),
    amounts,
    amounts,
    st.booleans(),
    st.booleans(),
)


@given(st.lists(rows, max_size=12), st.randoms())
def test_means_of_payment_add_up_to_what_was_payable(charges: list[Charge], random: object) -> None:
    """I06: and neither order nor grouping changes a nano."""
    found = bill(*charges)
    paid = sum((m.nanos for amounts in found.payments.values() for _, m in amounts), 0)
    assert paid == of(found, Basis.PAYABLE).nanos
    random.shuffle(charges)  # type: ignore[attr-defined]
    again = bill(*charges)
    assert sorted(again.rows, key=str) == sorted(found.rows, key=str)
    assert again.payments == found.payments


def test_usage_counts_by_its_day_and_the_invoice_is_told_beside_it() -> None:
    """I07: 28 February 23:30, invoiced in March: February's money, March's invoice."""
    late = make_charge(
        "late", cny("7"), charge_period_start=START - timedelta(minutes=30), charge_period_end=START
    )  # fmt: skip
    found = bill(late)
    assert found.invoiced == ((local_midnight(date(2026, 2, 28), UTC_ZONE), cny("7")),)
    assert found.payments == {}, "payments of a month are those of its own usage"
    assert [r.start for r in found.rows] == [START - timedelta(minutes=30)] * 3


@pytest.mark.parametrize(
    ("told_in", "zone"),
    [
        ("UTC", "America/Los_Angeles"),
        ("UTC", "Asia/Shanghai"),
        ("Asia/Shanghai", "UTC"),
        ("Asia/Shanghai", "Europe/Paris"),
    ],
)
def test_a_month_of_daily_rows_is_the_invoices_month_in_another_zone(told_in: str, zone: str) -> None:
    """I07 I22: a day of the provider's counts in the local day that has most of it: a month in Los Angeles is AWS's
    invoice to the cent, and a day's bill stands beside the estimate of the same day."""
    theirs, ours = ZoneInfo(told_in), ZoneInfo(zone)
    month, _ = month_bounds("2026-03", theirs)
    marks = [local_midnight(date(2026, 2, 26) + n * DAY, theirs) for n in range(38)]
    charges = [
        make_charge(
            f"{low:%m-%d}", Money(10**9 + n, "CNY"), charge_period_start=low, charge_period_end=high,
            billing_period_start=month_bounds(f"{low.astimezone(theirs):%Y-%m}", theirs)[0],
            billing_period_end=month_bounds(f"{low.astimezone(theirs):%Y-%m}", theirs)[1],
        )
        for n, (low, high) in enumerate(pairwise(marks))
    ]  # fmt: skip
    start, end = month_bounds("2026-03", ours)
    found = read_bill(charges, start, end, ours, Attribution([], (), {}, {}, {}))
    payable = [row for row in found.rows if row.basis is Basis.PAYABLE and start <= row.start < end]
    invoice = sum(c.billed_cost.nanos for c in charges if c.billing_period_start == month)
    assert sum(row.money.nanos for row in payable) == invoice
    assert sum(m.nanos for paid in found.payments.values() for _, m in paid) == invoice
    assert sum(m.nanos for _, m in found.invoiced) == invoice
    days = {row.money.nanos - 10**9: row.start.astimezone(ours).date() for row in payable}
    assert days == {n: date(2026, 2, 26) + n * DAY for n in days}
    assert all(row.end <= local_midnight(row.start.astimezone(ours).date() + DAY, ours) for row in found.rows)


def test_a_bill_says_how_far_it_reaches_and_how_settled_it_is() -> None:
    first = make_charge("a", stage=Stage.FINAL)
    second = make_charge("b", charge_period_start=NOW, charge_period_end=NOW + 40 * DAY)
    reach = bill(first, second).reach["prod"]
    assert (reach.through, reach.stage) == (NOW + DAY, Stage.PROVISIONAL)
    assert bill(first).reach["prod"].stage is Stage.FINAL


def test_the_bills_service_and_owner_go_with_the_resource() -> None:
    found = bill(make_charge("a", resource_id="i-1", service_name="ECS"), make_charge("b", resource_id="i-other"))
    assert found.services == {BOX.ref: "ECS"}
    assert {(r.ref, r.owner) for r in found.rows} == {(BOX.ref, "li"), (None, None)}


def test_currencies_stay_apart() -> None:
    found = bill(make_charge("a", cny("1")), make_charge("b", usd("2"), payments={}))
    assert sums(found.payments[UNTOLD]) == (cny("1"), usd("2"))


def test_a_prepaid_month_is_spread_for_comparing() -> None:
    """I22: the purchase is paid at once and used day by day."""
    bought = make_charge("a", cny("3000"), charge_category=ChargeCategory.PURCHASE, effective_cost=cny("0"))
    used = make_charge("b", billed_cost=cny("0"), effective_cost=cny("100"), consumed_quantity=Decimal(24))
    found = bill(bought, used)
    assert of(found, Basis.PAYABLE) == cny("3000")
    assert sum(r.money.nanos for r in found.effective) == cny("100").nanos
