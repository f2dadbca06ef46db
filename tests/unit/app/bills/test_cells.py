"""Cells: what a column of a real export may hold."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext

import pytest

from costguard.app.bills import cells
from costguard.domain.money import Money
from costguard.errors import BillError


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("1.5", "1.5"), ("-0.25", "-0.25"), ("+3", "3"), (".5", "0.5"), ("2.", "2"), ("1.2E-7", "0.00000012"),
        (Decimal("7.0"), "7"), (3, "3"), (0.1, "0.1"), (None, None),
    ],
)  # fmt: skip
def test_amounts(cell: object, number: str | None) -> None:
    """Null is unknown, never 0; a float of a Parquet file is the number that it prints."""
    assert cells.amount(cell, "BilledCost") == (None if number is None else Decimal(number))


@pytest.mark.parametrize(
    "cell", ["1,234.50", "$5", "NaN", "Infinity", "1_000", "１２", "12 USD", "0x10", float("nan"), True, b"1"]
)
def test_what_is_no_amount_names_its_column(cell: object) -> None:
    with pytest.raises(BillError, match=r"BilledCost: .*is not a number"):
        cells.amount(cell, "BilledCost")


def test_rows_round_half_even_to_nanos() -> None:
    with localcontext() as exact:
        exact.prec = 60
        for text, nanos in (("0.0000000005", 0), ("0.0000000015", 2), ("-0.0000000025", -2), ("0.00000000051", 1)):
            assert cells.money(Decimal(text), "USD", "BilledCost") == Money(nanos, "USD")
        assert cells.money(Decimal("9223372036.854775807"), "USD", "c").nanos == 2**63 - 1


def test_an_amount_that_the_database_cannot_hold_is_an_error() -> None:
    """I13: a trillion in one row is a mistake of the file, not a crash of the database."""
    with pytest.raises(BillError, match=r"BilledCost: 1000000000000 is more than an amount can be"):
        cells.money(Decimal("1e12").quantize(Decimal(1)), "USD", "BilledCost")


@pytest.mark.parametrize(
    "cell",
    [
        "2026-11-01T00:00:00Z", "2026-11-01 00:00:00", "2026-11-01T08:00:00+08:00", "2026-11-01",
        "2026-11-01T00:00:00.000Z", datetime(2026, 11, 1), date(2026, 11, 1),  # noqa: DTZ001
        datetime(2026, 11, 1, 8, tzinfo=timezone(timedelta(hours=8))),
    ],
)  # fmt: skip
def test_times_are_utc(cell: object) -> None:
    """FOCUS and CUR are in UTC; exports leave the zone out."""
    found = cells.instant(cell, "ChargePeriodStart")
    assert found == datetime(2026, 11, 1, tzinfo=UTC)
    assert found.utcoffset() == timedelta()


@pytest.mark.parametrize(("cell", "message"), [("1.11.2026", "is not a time"), (None, "is empty"), (5, "not a time")])
def test_what_is_no_time(cell: object, message: str) -> None:
    with pytest.raises(BillError, match=f"ChargePeriodStart: .*{message}"):
        cells.instant(cell, "ChargePeriodStart")


def test_an_inverted_range_is_an_error() -> None:
    """I23."""
    low, high = datetime(2026, 11, 2, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
    assert cells.span(high, low, "ChargePeriodEnd") == (high, low)
    assert cells.span(low, low, "ChargePeriodEnd") == (low, low)
    with pytest.raises(BillError, match=r"ChargePeriodEnd: ends before it begins \(2026-11-02 00:00\)"):
        cells.span(low, high, "ChargePeriodEnd")


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        ('{"team": "nlp", "n": 5, "flag": true, "none": null}', {"team": "nlp", "n": "5", "flag": "true"}),
        ([("team", "视觉")], {"team": "视觉"}), ({"team": "nlp"}, {"team": "nlp"}), (None, {}), ("{}", {}),
    ],
)  # fmt: skip
def test_tags(cell: object, tags: dict[str, str]) -> None:
    assert cells.tags(cell, "Tags") == tags


@pytest.mark.parametrize("cell", ["[1]", "team=nlp", 5, [1, 2]])
def test_what_is_no_map_of_tags(cell: object) -> None:
    with pytest.raises(BillError, match="Tags: "):
        cells.tags(cell, "Tags")


@pytest.mark.parametrize("code", ["usd", "US", "US$", "DOLLAR"])
def test_currencies_are_iso_codes(code: str) -> None:
    with pytest.raises(BillError, match=r"BillingCurrency: .* is not a currency"):
        cells.currency(code, "BillingCurrency")
