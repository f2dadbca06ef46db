"""Times, amounts, tags."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from costguard.domain.money import Money
from costguard_tencent.fields import (
    gib_to_mib,
    known,
    read_amount,
    read_fen,
    read_price,
    read_tags,
    read_time,
    write_time,
)

AT = datetime(2026, 3, 5, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["2026-03-05T12:00:00Z", "2026-03-05T12:00:00+00:00", "2026-03-05T20:00:00+08:00", "2026-03-05 20:00:00"]
)
def test_all_forms_are_one_instant(text: str) -> None:
    """CVM writes UTC in two spellings; CBS and bills write Beijing's time without a zone."""
    at = read_time(text)
    assert at == AT
    assert at is not None
    assert at.tzinfo is UTC


@pytest.mark.parametrize("text", [None, "", "0000-00-00 00:00:00", "soon", 5])
def test_what_is_no_time_is_unknown(text: object) -> None:
    assert read_time(text) is None


def test_times_are_written_in_utc() -> None:
    assert write_time(AT) == "2026-03-05T12:00:00Z"


@pytest.mark.parametrize(
    ("value", "nanos"),
    [
        ("12.34567891", 12_345_678_910),
        ("-0.00000001", -10),
        ("1,234.50", 1_234_500_000_000),
        ("0", 0),
        (3, 3_000_000_000),
        (Decimal("0.1"), 100_000_000),
    ],
)
def test_amounts_are_exact(value: object, nanos: int) -> None:
    assert read_amount(value, "CNY") == Money(nanos, "CNY")


@pytest.mark.parametrize("value", [None, "", "-", " - "])
def test_an_amount_that_is_not_told_is_none_and_not_zero(value: object) -> None:
    assert read_amount(value, "CNY") is None


@pytest.mark.parametrize("value", ["abc", "1e", True, 1.5, [], "NaN"])
def test_nonsense_is_no_amount(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        read_amount(value, "CNY")


def test_fen_are_hundredths() -> None:
    assert read_fen(Decimal("5000.5"), "CNY") == Money.of("50.005", "CNY")
    assert read_fen(-1, "CNY") == Money.of("-0.01", "CNY")
    assert read_fen(None, "CNY") is None


@pytest.mark.parametrize("value", [None, 0, Decimal("0.0"), "-", "x", -1])
def test_a_price_of_zero_is_unknown(value: object) -> None:
    """H01."""
    assert read_price(value, "CNY") is None


def test_tags_have_two_shapes() -> None:
    assert read_tags([{"Key": "a", "Value": "1"}, {"TagKey": "b", "TagValue": None}, {"Key": ""}]) == {
        "a": "1",
        "b": "",
    }
    assert read_tags(None) == {}


def test_small_things() -> None:
    assert (gib_to_mib(16), gib_to_mib(Decimal("0.5")), gib_to_mib(0), gib_to_mib(None)) == (16_384, 512, None, None)
    assert known({"a": 1, "b": "", "c": None, "d": 0, "e": "x"}) == {"a": "1", "e": "x"}
