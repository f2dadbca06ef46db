"""What an account was charged: lines of UTC+8, exact, some late, some corrected, and the month's precision row."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.tencent.wire import BEIJING

_ZERO = Decimal(0)
POSTPAID, RENEWAL, REFUND = "按量计费扣费", "包年包月续费", "包年包月退款"
ADJUSTMENT, PRECISION = "调账扣费", "精度差异"


@dataclass(frozen=True)
class Line:
    """One row: ``real`` was to be paid, ``listed`` is the price before discounts (None: told as ``-``).

    ``real = cash + vouchers + incentive + transfer``. ``begin`` and ``end`` are aware, ``end`` exclusive; prepaid lines
    cover their whole term and are booked at ``paid``. ``visible``: when the row arrives (None: at once). ``parts``: how
    many components the row has.
    """

    begin: datetime
    end: datetime
    business: str
    real: Decimal
    resource: str = ""
    listed: Decimal | None = None
    vouchers: Decimal = _ZERO
    incentive: Decimal = _ZERO
    transfer: Decimal = _ZERO
    mode: str = "postPay"
    action: str = POSTPAID
    name: str = ""
    region: int = 8
    project: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)
    paid: datetime | None = None
    visible: datetime | None = None
    parts: int = 1
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def booked(self) -> datetime:
        return (self.paid or self.begin).astimezone(BEIJING)

    @property
    def month(self) -> str:
        return f"{self.booked:%Y-%m}"

    @property
    def cash(self) -> Decimal:
        return self.real - self.vouchers - self.incentive - self.transfer


def of_day(day: date, business: str, real: Decimal, resource: str = "", **fields: Any) -> Line:
    """A line of one whole day of Beijing's."""
    begin = datetime.combine(day, time(), BEIJING)
    return Line(begin, begin + timedelta(days=1), business, real, resource, **{"listed": real, **fields})


class Ledger:
    """``lines`` is the truth, in the order of their Ids."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.lines: list[Line] = []

    def add(self, line: Line) -> int:
        """Returns the line's number, for :meth:`restate`."""
        self.lines.append(line)
        return len(self.lines) - 1

    def restate(self, number: int, **fields: Any) -> None:
        """The provider corrects a row, its Id kept. Raises ValueError once the month is final."""
        if self.is_final(self.lines[number].month):
            raise ValueError(f"{self.lines[number].month} is final")
        self.lines[number] = replace(self.lines[number], **fields)

    def is_final(self, month: str) -> bool:
        """From 19:00 on the 1st of the next month, Beijing time."""
        following = (date.fromisoformat(f"{month}-01") + timedelta(days=32)).replace(day=1)
        return self._clock.now() >= datetime.combine(following, time(19), BEIJING)

    def month(self, month: str) -> list[tuple[str, Line]]:
        """Ids and lines as they can be seen now; a final month ends with what rounding it to cents leaves over."""
        now = self._clock.now()
        seen = [
            (f"{month.replace('-', '')}{number:010}", line)
            for number, line in enumerate(self.lines)
            if line.month == month and (line.visible is None or line.visible <= now)
        ]
        exact = sum((line.real for _, line in seen), _ZERO)
        left = round(exact, 2) - exact
        if self.is_final(month) and left:
            last = (date.fromisoformat(f"{month}-01") + timedelta(days=32)).replace(day=1) - timedelta(days=1)
            row = of_day(last, "p_precision", left, listed=None, action=PRECISION)
            seen.append((f"{month.replace('-', '')}precision", row))
        return seen

    def total(self, month: str) -> Decimal:
        """The month to the last digit: the server's own sum."""
        return sum((line.real for _, line in self.month(month)), _ZERO)

    def days(self, month: str) -> list[tuple[date, Line]]:
        """The month as it was consumed: terms paid ahead lie spread over their days, to the eighth digit."""
        found = []
        for line in self.lines:
            if line.mode != "prePay" or line.end - line.begin <= timedelta(days=1):
                found.append((line.begin.astimezone(BEIJING).date(), line))
                continue
            days = (line.end - line.begin).days
            for n in range(days):
                day = (line.begin + timedelta(days=n)).astimezone(BEIJING).date()
                found.append((day, _share(line, n, days)))
        today = self._clock.now().astimezone(BEIJING).date()
        return [(day, line) for day, line in found if f"{day:%Y-%m}" == month and day <= today]


def _share(line: Line, number: int, days: int) -> Line:
    """One day's part of all amounts; the last day takes what rounding left over."""

    def cut(amount: Decimal) -> Decimal:
        share = round(amount / days, 8)
        return share if number < days - 1 else amount - share * (days - 1)

    return replace(
        line,
        real=cut(line.real),
        listed=None if line.listed is None else cut(line.listed),
        vouchers=cut(line.vouchers),
        incentive=cut(line.incentive),
        transfer=cut(line.transfer),
    )
