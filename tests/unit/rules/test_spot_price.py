"""spot_price: markets by zone, time above the limit, shares of the list price, and what is unknown."""

from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from pydantic import ValidationError

from costguard.domain.finding import Judgement, Outcome
from costguard.domain.money import Money
from costguard.domain.price import Price
from costguard.domain.resource import ChargeType, Ends, Resource, State, StopEffect
from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.rules.spot_price import SpotPriceWhen, judge
from costguard.testing.builders import HOUR, MINUTE, NOW, cny, make_price, make_resource, make_snapshot, usd


def spot(**fields: Any) -> Resource:
    return make_resource(**{"charge_type": ChargeType.SPOT, "attributes": {"zone": "a"}, **fields})


def market(amount: str | Money, hours: float = 10, zone: str | None = "a", **fields: Any) -> Price:
    money = cny(amount) if isinstance(amount, str) else amount
    key = {"charge_type": ChargeType.SPOT, "zone": zone, "since": NOW - hours * HOUR, "source": "spot"}
    return make_price(money, **{**key, **fields})


def look(when: dict[str, Any], *prices: Price, box: Resource | None = None, **fields: Any) -> Judgement:
    resource = box or spot()
    snapshot = make_snapshot(resource, spot_prices=prices, **fields)
    (answer,) = judge(SpotPriceWhen.model_validate(when), [resource], snapshot)
    return answer


def said(*args: Any, **fields: Any) -> str:
    answer = look(*args, **fields)
    return f"{answer.outcome.value}: {answer.reason}"


ABOVE = {"above": "12 CNY/h", "for": "2h"}
FREE = replace(market("1"), per_hour=cny("0"))


def test_above_the_limit_for_long_enough() -> None:
    """H09: three times the cap for two hours."""
    answer = look(ABOVE, market("5", 10), market("36", 2))
    assert (answer.outcome, answer.reason, answer.since) == (Outcome.FIRES, "limit_passed", NOW - 2 * HOUR)
    assert answer.evidence["above_for"] == 2 * HOUR
    assert answer.waste_per_hour == cny("36"), "a stop saves the market price"


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        ([market("36", 1.9)], "clear: below_limit"),
        ([market("12", 10)], "clear: below_limit"),
        ([market("36", 10), market("5", 3), market("36", 1)], "clear: below_limit"),
        ([market("36", 10), market("40", 1)], "fires: limit_passed"),
        ([market("36", 10), market("5", 1)], "clear: below_limit"),
        ([market("5", 10), market("36", -1)], "clear: below_limit"),
        ([], "unknown: market_price_unknown"),
        ([FREE], "unknown: market_price_unknown"),
    ],
    ids=["too short", "not above", "a dip between", "two prices above", "over", "to come", "no price", "zero"],
)
def test_the_time_above_has_no_break(prices: list[Price], expected: str) -> None:
    """H01: zero or missing is unknown and never fires."""
    assert {said(ABOVE, *shuffled) for shuffled in permutations(prices)} == {expected}


def test_the_market_is_that_of_the_boxs_own_zone_type_and_region() -> None:
    """H07."""
    assert said(ABOVE, market("36", zone="b")) == "unknown: market_price_unknown"
    assert said(ABOVE, market("36", zone="b"), market("5", zone="a")) == "clear: below_limit"
    assert said(ABOVE, market("36", zone=None)) == "fires: limit_passed", "a market without zones"
    assert said(ABOVE, market("36", sku="other")) == "unknown: market_price_unknown"
    assert said(ABOVE, market("36", region="elsewhere")) == "unknown: market_price_unknown"
    nowhere = spot(attributes={})
    assert said(ABOVE, market("36", zone="b"), box=nowhere) == "fires: limit_passed", "there is only one"
    assert said(ABOVE, market("36", zone="b"), market("36", zone="c"), box=nowhere) == "unknown: market_price_unknown"


def test_a_price_that_was_not_read_lately_is_unknown() -> None:
    """H01: the feed fails while the price is high; nobody knows what it is by now."""
    for state, age, expected in (
        (SourceState.OK, 15, "fires: limit_passed"),
        (SourceState.OK, 25, "unknown: market_price_stale"),
        (SourceState.DENIED, 5, "unknown: market_price_stale"),
    ):
        fed = SourceStatus("prod", "-", "spot_prices", state, NOW - age * MINUTE, 10 * MINUTE)
        assert said(ABOVE, market("36"), sources=(fed,)) == expected
    other = SourceStatus("other", "-", "spot_prices", SourceState.DENIED, None, 10 * MINUTE)
    assert said(ABOVE, market("36"), sources=(other,)) == "fires: limit_passed"


def test_the_cheaper_zone_is_named() -> None:
    evidence = look(ABOVE, market("36"), market("9", zone="b"), market("8", zone="c")).evidence
    assert (evidence["cheaper_zone"], evidence["cheaper_price"]) == ("c", cny("8"))
    assert "cheaper_zone" not in look(ABOVE, market("36"), market("36", zone="b")).evidence


def test_a_share_of_the_list_price() -> None:
    """H02: a list price of zero is none."""
    when = {"above_on_demand": "80%"}
    listed = make_price(cny("20"))
    assert said(when, market("16.01"), on_demand_prices=(listed,)) == "fires: on_demand_limit_passed"
    assert said(when, market("16"), on_demand_prices=(listed,)) == "clear: below_limit"
    assert said(when, market("16.01")) == "unknown: on_demand_price_unknown"
    assert (
        said(when, market("16.01"), on_demand_prices=(replace(listed, per_hour=cny("0")),))
        == "unknown: on_demand_price_unknown"
    )


def test_a_limit_for_each_gpu() -> None:
    when = {"above": "1.5 CNY/gpu/h"}
    assert said(when, market("12.01")) == "fires: limit_passed"
    assert said(when, market("12")) == "clear: below_limit"
    assert said(when, market("12.01"), box=spot(gpus=None)) == "unknown: gpus_unknown"


def test_currencies_meet_by_a_rate_only() -> None:
    always = ((NOW - timedelta(days=900), "7"),)
    assert said(ABOVE, market(usd("2"))) == "unknown: no_rate"
    assert said(ABOVE, market(usd("2")), exchange_rates={"USD": always}) == "fires: limit_passed"
    assert said(ABOVE, market(usd("1")), exchange_rates={"USD": always}) == "clear: below_limit"


def test_a_cap_that_nobody_tells_is_unknown() -> None:
    when = {"require_cap": True}
    assert said(when) == "unknown: cap_unknown"
    assert said(when, box=spot(spot_cap=cny("9"))) == "clear: below_limit"
    assert said(when, box=spot(attributes={"zone": "a", "spot_cap": "none"})) == "fires: no_cap"
    assert said({**ABOVE, **when}, market("36")) == "fires: limit_passed"
    assert said({**ABOVE, **when}, market("5")) == "unknown: cap_unknown"


def test_other_boxes() -> None:
    assert said(ABOVE, market("36"), box=make_resource()) == "clear: not_spot"
    assert said(ABOVE, market("36"), box=spot(charge_type=ChargeType.UNKNOWN)) == "unknown: charge_type_unknown"
    assert said(ABOVE, market("36"), box=spot(state=State.STOPPED)) == "clear: not_running"
    assert look(ABOVE, market("36"), box=spot(stop_effect=StopEffect(Ends.NO))).waste_per_hour is None


@pytest.mark.parametrize(
    "when", [{}, {"require_cap": False}, {"above": "0 CNY/h"}, {"above": "12"}, {"above_on_demand": "0%"}]
)
def test_mistakes_are_refused(when: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SpotPriceWhen.model_validate(when)
