from datetime import UTC, datetime
from decimal import Decimal

from costguard.domain.money import Money
from costguard.rules.currency import Rates

JAN, JUL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)
RATES = Rates("CNY", {"USD": [(JUL, "7.00"), (JAN, "7.20")]})


def test_the_rate_is_the_one_of_the_day() -> None:
    assert RATES.convert(Money.of("10", "USD"), JAN) == Money.of("72", "CNY")
    assert RATES.convert(Money.of("10", "USD"), JUL) == Money.of("70", "CNY")


def test_before_the_first_rate_there_is_none() -> None:
    assert RATES.convert(Money.of("10", "USD"), datetime(2025, 12, 31, tzinfo=UTC)) is None


def test_what_has_no_rate_stays_apart_and_is_shown() -> None:
    result = RATES.total([Money.of(1, "CNY"), Money.of(2, "USD"), Money.of(3, "EUR"), Money.of(1, "EUR")], JUL)
    assert result.money == Money.of(15, "CNY")
    assert result.apart == (Money.of(4, "EUR"),)
    assert result.rates == {"USD": (Decimal("7.00"), JUL)}


def test_nothing_is_zero_of_the_reporting_currency() -> None:
    assert RATES.total([], JUL).money == Money.zero("CNY")
