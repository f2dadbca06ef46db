from datetime import UTC, datetime, timedelta
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


def test_what_lasts_has_the_rate_of_each_of_its_parts() -> None:
    """An hour before a new rate is worth the old one, also when it is looked at afterwards."""
    day = timedelta(days=1)
    assert RATES.over(Money.of(1, "USD"), JUL - day, JUL + day) == Money.of("340.8", "CNY"), "172.8 and 168"
    assert RATES.over(Money.of(1, "USD"), JUL - day, JUL) == Money.of("172.8", "CNY"), "the end is not in it"
    assert RATES.over(Money.of(1, "USD"), JAN - day, JUL) is None
    assert RATES.over(Money.of(1, "USD"), JUL, JUL) == Money.zero("CNY")
    assert RATES.dated([(JAN, Money.of(1, "USD")), (JUL, Money.of(1, "USD")), (JUL, Money.of(1, "EUR"))]) == Money.of(
        "14.2", "CNY"
    )
