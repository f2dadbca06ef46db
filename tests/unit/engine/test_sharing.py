"""Shared costs: divided by rule, exact to the nano, and honest about what nobody stands for."""

from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.budget import Basis, Spend
from costguard.domain.money import Money
from costguard.engine.attribution import Attribution
from costguard.engine.billing import Bill
from costguard.engine.sharing import SharedCost, Sharing, largest_remainder
from costguard.engine.spend import SpendBook
from costguard.rules.currency import Rates
from costguard.testing.builders import NOW, cny, make_ref, make_resource, make_spend

ZONE = ZoneInfo("UTC")
MONTH, TODAY = NOW.replace(day=1, hour=0), NOW.replace(hour=0)
DAY = timedelta(days=1)
GATEWAY = make_resource(name="gw-1", ref=make_ref("gw"), tags={"shared": "yes"})


def row(amount: str, team: str | None = None, day: datetime = TODAY - DAY, **fields: Any) -> Spend:
    return make_spend(cny(amount), day=day, team=team, estimated=True, **fields)


def book(rules: list[SharedCost], *rows: Spend, history: dict[Any, Any] | None = None) -> SpendBook:
    attribution = Attribution([GATEWAY], (), {}, history or {}, {})
    return SpendBook(rows, Bill(), Rates("CNY", {}), ZONE, NOW, Sharing(rules, attribution))


def by(found: SpendBook, dimension: str = "team") -> dict[str, str]:
    return {line.key: line.amount.plain() for line in found.by(dimension, MONTH, NOW)}


def shared(**fields: Any) -> SharedCost:
    return SharedCost("gateway", **{"names": ("gw-*",), **fields})


COSTS = (row("30", "nlp"), row("10", "vision"), row("5"))


def test_by_cost_follows_what_each_one_itself_cost() -> None:
    found = book([shared(by_cost=True)], *COSTS, row("8", ref=GATEWAY.ref))
    assert by(found) == {"nlp": "36", "vision": "12", "unallocated": "5"}
    parts = {line.key: line.shared.plain() for line in found.by("team", MONTH, NOW)}
    assert parts == {"nlp": "6", "vision": "2", "unallocated": "0"}
    assert by(found, "account") == {"prod": "53"}
    assert by(found, "resource")[str(GATEWAY.ref)] == "8"


def test_even_is_the_same_for_each_and_parts_leave_a_rest() -> None:
    gateway = row("9", "infra", ref=GATEWAY.ref)
    assert by(book([shared()], *COSTS, gateway)) == {"nlp": "34.5", "vision": "14.5", "unallocated": "5"}
    fixed = shared(shares={"nlp": Fraction(1, 3), "audio": Fraction(1, 3)})
    assert by(book([fixed], *COSTS, gateway)) == {
        "nlp": "33", "vision": "10", "unallocated": "5", "audio": "3", "infra": "3",
    }  # fmt: skip


def test_among_limits_who_takes_part() -> None:
    gateway = row("4", ref=GATEWAY.ref)
    assert by(book([shared(among=("vision",))], *COSTS, gateway))["vision"] == "14"
    assert by(book([shared(by_cost=True, among=("none",))], *COSTS, gateway))["unallocated"] == "9"


def test_without_anybody_to_share_among_it_stays_unallocated() -> None:
    assert by(book([shared(by_cost=True)], row("8", ref=GATEWAY.ref))) == {"unallocated": "8"}


def test_within_a_team_its_owners_and_projects_bear_it_by_their_cost() -> None:
    rows = (
        row("3", "nlp", owner="wang", project="a"), row("1", "nlp", owner="li", project="a"), row("4", "vision"),
        row("8", ref=GATEWAY.ref),
    )  # fmt: skip
    found = book([shared()], *rows)
    assert by(found) == {"nlp": "8", "vision": "8"}
    assert by(found, "owner") == {"wang": "6", "li": "2", "unallocated": "8"}
    assert by(found, "project") == {"a": "8", "unallocated": "8"}
    assert by(book([shared(to="owner")], *rows), "owner") == {"wang": "7", "li": "5", "unallocated": "4"}


def test_a_month_is_shared_by_its_own_costs() -> None:
    """A fee of the first day is borne by those who came later in the month, not by those of the month before."""
    rows = (
        row("5", "old", day=MONTH - DAY), row("10", "nlp"), row("30", "vision"),
        row("8", day=MONTH, service="Support"), row("1", day=MONTH - DAY, service="Support"),
    )  # fmt: skip
    found = book([SharedCost("support", services=("support",), by_cost=True)], *rows)
    assert by(found) == {"nlp": "12", "vision": "36"}
    before = {line.key: line.amount.plain() for line in found.by("team", MONTH - 5 * DAY, MONTH)}
    assert before == {"old": "6"}


def test_a_tag_that_appears_in_mid_month_is_not_retroactive() -> None:
    """I24: yesterday the gateway was not marked as shared."""
    rows = (*COSTS, row("4", ref=GATEWAY.ref, day=TODAY - 2 * DAY), row("4", ref=GATEWAY.ref))
    rule = SharedCost("gateway", tags={"Shared": ("YES",)})
    found = book([rule], *rows, history={GATEWAY.ref: [(TODAY - DAY, {})]})
    assert by(found) == {"nlp": "32", "vision": "12", "unallocated": "9"}


def test_every_test_of_a_rule_must_hold_and_the_first_rule_wins() -> None:
    gateway = row("4", ref=GATEWAY.ref)
    for miss in ({"accounts": ("lab",)}, {"services": ("disk",)}, {"teams": ("infra",)}, {"tags": {"x": ("1",)}}):
        assert by(book([shared(**miss)], *COSTS, gateway))["unallocated"] == "9"
    both = [shared(among=("nlp",)), SharedCost("rest", unallocated=True, among=("vision",))]
    assert by(book(both, *COSTS, gateway)) == {"nlp": "34", "vision": "15"}


def test_the_bill_is_divided_as_what_counts_is() -> None:
    rows = tuple(make_spend(r.money, team=r.team, ref=r.ref) for r in (*COSTS, row("8", ref=GATEWAY.ref)))
    bill = Bill(
        rows=tuple(replace(r, basis=basis) for r in rows for basis in (Basis.PAYABLE, Basis.LIST)), effective=rows
    )
    attribution = Attribution([GATEWAY], (), {}, {}, {})
    found = SpendBook((), bill, Rates("CNY", {}), ZONE, NOW, Sharing([shared(by_cost=True)], attribution))
    lines = {line.key: line for line in found.by("team", MONTH, NOW)}
    assert lines["nlp"].billed == lines["nlp"].amount == cny("36")
    assert lines["nlp"].discount == cny("0")


AMOUNTS = st.integers(-(10**15), 10**15)


@given(AMOUNTS, st.lists(st.fractions(0, 1000, max_denominator=1000), min_size=1, max_size=9).filter(any))
def test_parts_add_up_to_the_nano(nanos: int, weights: list[Fraction]) -> None:
    parts = largest_remainder(nanos, weights)
    assert sum(parts) == nanos
    total = sum(weights)
    assert all(abs(part - nanos * weight / total) < 1 for part, weight in zip(parts, weights, strict=True))
    assert all(part == 0 for part, weight in zip(parts, weights, strict=True) if not weight)


ROWS = st.lists(
    st.tuples(
        AMOUNTS, st.sampled_from([None, "a", "b", "c"]), st.sampled_from([None, "x", "y"]), st.booleans(),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=20,
)  # fmt: skip
RULES = st.sampled_from(
    [
        shared(), shared(by_cost=True), shared(to="owner"), shared(to="project", by_cost=True),
        shared(shares={"a": Fraction(1, 3), "z": Fraction(1, 7)}), shared(among=("a", "q")),
        SharedCost("u", unallocated=True, by_cost=True),
    ]
)  # fmt: skip


@given(ROWS, RULES)
def test_sharing_moves_money_and_neither_makes_nor_loses_any(
    drawn: list[tuple[int, str | None, str | None, bool, int]], rule: SharedCost
) -> None:
    rows = [
        make_spend(Money(nanos, "CNY"), day=TODAY - n * DAY, team=team, owner=owner, estimated=True,
                   ref=GATEWAY.ref if common else None)
        for nanos, team, owner, common, n in drawn
    ]  # fmt: skip
    plain, divided = book([], *rows), book([rule], *rows)
    for dimension in ("owner", "team", "project"):
        lines = divided.by(dimension, TODAY - 9 * DAY, NOW)
        assert sum(line.amount.nanos for line in lines) == sum(r.money.nanos for r in rows)
    for dimension in ("account", "service", "day", "resource"):
        assert by(plain, dimension) == by(divided, dimension)
