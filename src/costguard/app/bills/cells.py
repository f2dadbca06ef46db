"""Cells: one value of a bill's row as text, amount, time or tags; a mistake names its column. None says nothing.

Real exports leave the zone off times (FOCUS and CUR are in UTC) and write numbers with more digits than money has.
Bills repeat their times, tags and amounts in thousands of rows: what was read lately is kept.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache

from costguard.domain.money import NANOS, Money
from costguard.errors import BillError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_CURRENCY = re.compile(r"[A-Z]{3}")
_NANOS = Decimal(NANOS)
_MOST = 2**63 - 1
_KEPT = 4096


def text(cell: object) -> str | None:
    """The cell's words."""
    return cell if cell is None or isinstance(cell, str) else str(cell)


def wanted(cell: object, column: str) -> str:
    """Text that has to be there."""
    if cell is None:
        raise BillError("is empty", column=column)
    return cell if isinstance(cell, str) else str(cell)


def amount(cell: object, column: str) -> Decimal | None:
    """An exact number. A float (as Parquet has them) counts as it is printed."""
    if cell is None:
        return None
    try:
        return _number(cell) if isinstance(cell, str) else _value(cell)
    except ValueError as error:
        raise BillError(str(error), column=column) from None


def _read(cell: str) -> Decimal:
    if not _NUMBER.fullmatch(cell):
        raise ValueError(f"{_short(cell)} is not a number")
    return Decimal(cell)


_number = lru_cache(_KEPT)(_read)


def _value(cell: object) -> Decimal:
    if isinstance(cell, bool) or not isinstance(cell, Decimal | int | float):
        raise ValueError(f"{cell!r} is not a number")
    found = Decimal(repr(cell)) if isinstance(cell, float) else Decimal(cell)
    if not found.is_finite():
        raise ValueError(f"{cell!r} is not a number")
    return found


def cost(cell: object, currency: str, column: str) -> tuple[Decimal, Money] | None:
    """An exact amount, and the same rounded half-even to nanos. Needs a decimal context of 60 digits."""
    if cell is None:
        return None
    try:
        return _cost(cell, currency) if isinstance(cell, str) else _money(_value(cell), currency)
    except ValueError as error:
        raise BillError(str(error), column=column) from None


def money(exact: Decimal, currency: str, column: str) -> Money:
    """The same of a number that was computed."""
    try:
        return _money(exact, currency)[1]
    except ValueError as error:
        raise BillError(str(error), column=column) from None


@lru_cache(_KEPT)
def _cost(cell: str, currency: str) -> tuple[Decimal, Money]:
    return _money(_read(cell), currency)


def _money(exact: Decimal, currency: str) -> tuple[Decimal, Money]:
    nanos = round(exact * _NANOS)  # half-even, as Decimal rounds to a whole number
    if abs(nanos) > _MOST:
        raise ValueError(f"{exact} is more than an amount can be (9.2 billion)")
    return exact, Money(nanos, currency)


def currency(cell: object, column: str) -> str:
    """An ISO 4217 code."""
    code = wanted(cell, column)
    if not _CURRENCY.fullmatch(code):
        raise BillError(f"{_short(code)} is not a currency like CNY or USD", column=column)
    return code


def instant(cell: object, column: str) -> datetime:
    """An aware UTC time; one without a zone is in UTC already."""
    if cell is None:
        raise BillError("is empty", column=column)
    if isinstance(cell, str):
        try:
            return _instant(cell)
        except ValueError:
            raise BillError(f"{_short(cell)} is not a time like 2026-11-01T00:00:00Z", column=column) from None
    if isinstance(cell, datetime):
        return _utc(cell)
    if isinstance(cell, date):
        return datetime(cell.year, cell.month, cell.day, tzinfo=UTC)
    raise BillError(f"{cell!r} is not a time", column=column)


@lru_cache(_KEPT)
def _instant(cell: str) -> datetime:
    return _utc(datetime.fromisoformat(cell))


def _utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def span(start: datetime, end: datetime, column: str) -> tuple[datetime, datetime]:
    """A range that does not end before it begins; ``end`` is exclusive."""
    if end < start:
        raise BillError(f"ends before it begins ({start:%Y-%m-%d %H:%M})", column=column)
    return start, end


def tags(cell: object, column: str) -> Mapping[str, str]:
    """A flat JSON object or a Parquet map. A tag without a value is ``true``, as FOCUS says."""
    if isinstance(cell, str):
        return _tags(cell, column)
    if cell is None:
        return {}
    try:
        pairs = dict(cell)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise BillError("is not a map of tags", column=column) from None
    return _texts(pairs)


@lru_cache(_KEPT)
def _tags(cell: str, column: str) -> Mapping[str, str]:
    try:
        found = json.loads(cell)
    except ValueError:
        raise BillError(f"{_short(cell)} is not a JSON object", column=column) from None
    if not isinstance(found, dict):
        raise BillError(f"{_short(cell)} is not a JSON object", column=column)
    return _texts(found)


def _texts(pairs: Mapping[object, object]) -> Mapping[str, str]:
    return {
        str(key): value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in pairs.items()
        if value is not None
    }


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")
