"""Estimate beside bill: which counts, what the difference is, and what changed."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.budget import Basis, Spend
from costguard.domain.money import Money
from costguard.engine.attribution import Attribution
from costguard.engine.billing import Bill
from costguard.engine.sharing import SharedCost, Sharing
from costguard.engine.spend import DIMENSIONS, Line, SpendBook, drivers, rates_json
from costguard.rules.currency import Rates
from costguard.testing.builders import NOW, cny, make_ref, make_spend, usd

ZONE = ZoneInfo("UTC")
DAY = timedelta(days=1)
TODAY = NOW.replace(hour=0)
SINCE = TODAY - 10 * DAY


def estimate(money: Money, days_ago: int = 5, **fields: object) -> Spend:
    return make_spend(money, day=TODAY - days_ago * DAY, estimated=True, ref=make_ref(), **fields)


def bill(*rows: Spend) -> Bill:
    """Payable rows, whose list and effective cost are the same."""
    return Bill(
        rows=tuple(replace(r, basis=basis) for r in rows for basis in (Basis.PAYABLE, Basis.LIST)), effective=rows
    )


def book(estimates: Sequence[Spend], found: Bill | None = None, rates: Rates | None = None) -> SpendBook:
    return SpendBook(estimates, found or Bill(), rates or Rates("CNY", {"USD": [(SINCE, "7")]}), ZONE, NOW)


def total(found: SpendBook) -> Line:
    return found.total(SINCE, NOW)


@pytest.mark.parametrize(
    ("days_ago", "billed", "counts"), [(5, "90", "90"), (5, "110", "110"), (1, "90", "100"), (1, "110", "110")]
)
def test_the_bill_counts_once_it_is_settled_and_until_then_the_larger(days_ago: int, billed: str, counts: str) -> None:
    """I19 I21: a bill that lags or is short never makes money disappear."""
    row = make_spend(cny(billed), day=TODAY - days_ago * DAY, ref=make_ref())
    line = total(book([estimate(cny("100"), days_ago)], bill(row)))
    assert line.amount == cny(counts)
    assert (line.estimated, line.billed) == (cny("100"), cny(billed))
    assert line.difference == cny(billed) - cny("100")
    assert line.json()["known"] == "bill and estimate"


def test_only_days_that_a_bill_covers_are_compared() -> None:
    """I22: the estimate of a day without a bill is no error of the estimate."""
    row = make_spend(cny("99"), day=TODAY - 5 * DAY, ref=make_ref())
    line = total(book([estimate(cny("100"), 5), estimate(cny("100"), 0)], bill(row)))
    assert line.difference == cny("-1")
    assert line.json()["difference_percent"] == -1.0
    assert line.amount == cny("199")
    alone = total(book([estimate(cny("100"))]))
    assert (alone.billed, alone.difference, alone.json()["known"]) == (None, None, "estimate")


def test_a_discount_is_told_apart_from_an_error() -> None:
    row = make_spend(cny("90"), day=TODAY - 5 * DAY, ref=make_ref())
    found = replace(
        bill(row), rows=(replace(row, basis=Basis.PAYABLE), replace(row, basis=Basis.LIST, money=cny("100")))
    )
    line = total(book([estimate(cny("100"))], found))
    assert (line.difference, line.discount) == (cny("-10"), cny("10"))


def test_a_bill_without_resources_leaves_the_split_to_the_estimate() -> None:
    """I24: what the bill is more than the estimate is nobody's, and says so."""
    mine, theirs = estimate(cny("60"), owner="li"), replace(estimate(cny("30"), owner="wu"), ref=make_ref("i-2"))
    found = book([mine, theirs], bill(make_spend(cny("100"), day=TODAY - 5 * DAY, service="EC2")))
    assert {line.key: line.amount for line in found.by("owner", SINCE, NOW)} == {
        "li": cny("60"), "wu": cny("30"), "unallocated": cny("10"),
    }  # fmt: skip
    assert next((line.key, line.amount) for line in found.by("service", SINCE, NOW)) == ("EC2", cny("100"))


def test_a_bill_that_names_people_is_taken_at_its_word() -> None:
    """I24: tags of the bill say whose it was although it names no resource; the estimate does not speak over it."""
    rows = [
        make_spend(cny(amount), day=TODAY - 5 * DAY, service="EC2", owner=owner)
        for amount, owner in (("60", "li"), ("40", "wu"))
    ]
    found = book([estimate(cny("80"), owner="li")], bill(*rows))
    assert {line.key: line.amount for line in found.by("owner", SINCE, NOW)} == {"li": cny("60"), "wu": cny("40")}


def test_a_support_fee_is_shared_where_the_bill_names_services_only() -> None:
    """As Cost Explorer tells it: the estimate stands for the machines, and the fee is still a fee."""
    rows = [
        make_spend(cny(amount), day=TODAY - 5 * DAY, service=service)
        for amount, service in (("30", "AWS Support"), ("500", "EC2"))
    ]
    support = SharedCost("support", services=("*support*",), shares={"nlp": Fraction(1, 2), "vision": Fraction(1, 2)})
    used = [replace(estimate(cny("480")), team="nlp")]
    found = SpendBook(
        used, bill(*rows), Rates("CNY", {}), ZONE, NOW, Sharing([support], Attribution([], (), {}, {}, {}))
    )
    assert {line.key: line.amount for line in found.by("team", SINCE, NOW)} == {
        "nlp": cny("495"), "vision": cny("15"), "unallocated": cny("20"),
    }  # fmt: skip
    assert {line.key: line.amount for line in found.by("resource", SINCE, NOW)} == {
        str(make_ref()): cny("480"), "prod: EC2": cny("20"), "prod: AWS Support": cny("30"),
    }  # fmt: skip


def test_what_has_no_rate_stays_apart() -> None:
    found = book([estimate(cny("1")), estimate(Money.of(5, "EUR"))])
    assert total(found).amount == cny("1")
    assert found.apart == (Money.of(5, "EUR"),)


def test_each_day_has_its_own_rate_and_all_are_shown() -> None:
    rates = Rates("CNY", {"USD": [(SINCE, "7"), (TODAY - DAY, "8")]})
    found = book([estimate(usd("1"), 5), estimate(usd("1"), 0)], rates=rates)
    assert total(found).amount == cny("15")
    assert rates_json(found.rates, ZONE) == {
        "USD": {"rate": "8", "from": "2026-03-04", "earlier": [{"rate": "7", "from": "2026-02-23"}]}
    }


def test_drivers_say_what_changed() -> None:
    def box(name: str, amount: str, days_ago: int) -> Spend:
        return replace(estimate(cny(amount), days_ago), ref=make_ref(name))

    found = book(
        [box("a", "5", 2), box("b", "9", 2), box("b", "4", 8), box("c", "7", 8), box("d", "1", 2), box("d", "1", 8)]
    )
    lines = drivers(found, (TODAY - 3 * DAY, NOW), (TODAY - 9 * DAY, TODAY - 6 * DAY))
    assert [(str(line["key"])[-1], line["why"], line["change"]["amount"]) for line in lines] == [  # type: ignore[index]
        ("c", "ended", "-7"), ("a", "new", "5"), ("b", "more", "5"),
    ]  # fmt: skip
    assert len(drivers(found, (TODAY - 3 * DAY, NOW), (TODAY - 9 * DAY, TODAY - 6 * DAY), most=1)) == 1


spends = st.builds(
    lambda nanos, days, who, service, account, foreign, named: make_spend(
        Money(nanos, "USD" if foreign else "CNY"), day=TODAY - days * DAY, owner=who, team=who, service=service,
        account=account, ref=make_ref(who or "x", account=account) if named else None,
    ),
    st.integers(0, 10**13), st.integers(0, 9), st.sampled_from([None, "li", "wu"]), st.sampled_from(["ecs", "oss"]),
    st.sampled_from(["a", "b"]), st.booleans(), st.booleans(),
)  # fmt: skip


@given(st.lists(spends, max_size=12), st.lists(spends, max_size=12))
def test_every_dimension_has_the_same_sum(estimates: list[Spend], billed: list[Spend]) -> None:
    """I07: to the nano, in every currency, whatever the bill covers."""
    found = book([replace(r, estimated=True) for r in estimates], bill(*billed))
    whole = total(found)
    for dimension in DIMENSIONS:
        lines = found.by(dimension, SINCE, NOW)
        for side in ("amount", "estimated"):
            assert sum(getattr(line, side).nanos for line in lines) == getattr(whole, side).nanos, (dimension, side)
        assert sum(line.billed.nanos for line in lines if line.billed) == (whole.billed.nanos if whole.billed else 0)


def test_each_currency_has_its_own_subtotal() -> None:
    """They add up to the total in the reporting currency, and each is exact in its own."""
    found = book([estimate(cny("10")), estimate(usd("2"), 4), estimate(usd("1"), 0)])
    assert found.by_currency(SINCE, NOW) == [(cny("10"), cny("10")), (usd("3"), cny("21"))]
    assert total(found).amount == cny("31")
    assert found.by_currency(TODAY, NOW) == [(usd("1"), cny("7"))]
