"""Money: integer nanos of one ISO 4217 currency.

Bills give up to eight decimals, prices up to ten significant digits; one nano (10⁻⁹) keeps all of
them exactly in a BIGINT. Amounts of different currencies never meet in one sum: converting is
somebody else's, dated, visible step.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation, localcontext
from functools import lru_cache
from typing import Self

NANOS = 1_000_000_000
_HOUR_US = 3_600_000_000
_CURRENCY = re.compile(r"[A-Z]{3}")
_SYMBOLS = {"CNY": "¥", "USD": "$", "EUR": "€", "GBP": "£", "HKD": "HK$", "JPY": "JP¥"}


@lru_cache(maxsize=512)
def _is_currency(code: str) -> bool:
    return _CURRENCY.fullmatch(code) is not None


class CurrencyMismatch(ValueError):
    """Two currencies met in one sum; convert with a dated rate first."""


@dataclass(frozen=True, slots=True, order=False)
class Money:
    """An exact amount. ``nanos`` is 10⁻⁹ of a unit of ``currency`` (ISO 4217, upper case)."""

    nanos: int
    currency: str

    def __post_init__(self) -> None:
        if type(self.nanos) is not int:
            raise TypeError(f"nanos must be an int, got {type(self.nanos).__name__}")
        if not _is_currency(self.currency):
            raise ValueError(f"not an ISO 4217 currency: {self.currency!r}")

    @classmethod
    def of(cls, amount: Decimal | str | int, currency: str) -> Self:
        """From a decimal (string); rounded half-even to nanos. A float is refused.

        Raises ValueError for anything that is not a finite decimal number.
        """
        if isinstance(amount, (float, bool)):
            raise TypeError("money is never a float; pass a decimal string")
        try:
            with localcontext() as ctx:
                ctx.prec = 60
                exact = Decimal(amount) * NANOS
                if not exact.is_finite():
                    raise ValueError(f"not a finite amount: {amount!r}")
                return cls(int(exact.to_integral_value(ROUND_HALF_EVEN)), currency)
        except InvalidOperation:
            raise ValueError(f"not a decimal amount: {amount!r}") from None

    @classmethod
    def zero(cls, currency: str) -> Self:
        return cls(0, currency)

    @property
    def amount(self) -> Decimal:
        """The exact decimal value in units of the currency."""
        with localcontext() as ctx:
            ctx.prec = 60
            return Decimal(self.nanos) / NANOS

    def _same(self, other: "Money") -> None:
        if self.currency != other.currency:
            raise CurrencyMismatch(f"{self.currency} and {other.currency} do not add")

    def __add__(self, other: "Money") -> "Money":
        self._same(other)
        return Money(self.nanos + other.nanos, self.currency)

    def __sub__(self, other: "Money") -> "Money":
        self._same(other)
        return Money(self.nanos - other.nanos, self.currency)

    def __neg__(self) -> "Money":
        return Money(-self.nanos, self.currency)

    def __lt__(self, other: "Money") -> bool:
        self._same(other)
        return self.nanos < other.nanos

    def __le__(self, other: "Money") -> bool:
        self._same(other)
        return self.nanos <= other.nanos

    def __bool__(self) -> bool:
        return self.nanos != 0

    def times(self, factor: int | Decimal) -> "Money":
        """Scaled by an exact factor, rounded half-even to nanos."""
        if isinstance(factor, float):
            raise TypeError("money is never scaled by a float")
        with localcontext() as ctx:
            ctx.prec = 60
            scaled = (Decimal(self.nanos) * Decimal(factor)).to_integral_value(ROUND_HALF_EVEN)
            return Money(int(scaled), self.currency)

    def per_hour_for(self, span: timedelta) -> "Money":
        """What ``span`` costs when this amount is a price per hour (exact, half-even to nanos)."""
        micros = (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds
        quotient, rest = divmod(self.nanos * micros, _HOUR_US)
        if 2 * rest > _HOUR_US or (2 * rest == _HOUR_US and quotient % 2):
            quotient += 1
        return Money(quotient, self.currency)

    def plain(self) -> str:
        """The shortest exact decimal string, as in JSON: ``34.74``, ``0``, ``-1.5``."""
        text = format(self.amount, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text

    def __str__(self) -> str:
        """For people: symbol or code, thousands separators, two digits: ``¥1,234.50``."""
        with localcontext() as ctx:
            ctx.prec = 60
            rounded = self.amount.quantize(Decimal("0.01"), ROUND_HALF_EVEN)
        sign = "-" if rounded < 0 else ""
        symbol = _SYMBOLS.get(self.currency)
        digits = f"{abs(rounded):,.2f}"
        return f"{sign}{symbol}{digits}" if symbol else f"{sign}{digits} {self.currency}"


def total(amounts: Iterable[Money]) -> tuple[Money, ...]:
    """Per-currency sums, ordered by currency; an empty input gives an empty tuple."""
    sums: dict[str, int] = {}
    for money in amounts:
        sums[money.currency] = sums.get(money.currency, 0) + money.nanos
    return tuple(Money(nanos, currency) for currency, nanos in sorted(sums.items()))
