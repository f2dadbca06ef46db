"""JSON for the values of the domain: one shape for the database, the API and `--json`.

Money is ``{"amount": "34.74", "currency": "CNY"}``, an instant ``2026-11-30T12:00:00.000000Z``, a span
``{"seconds": 900}``. Decoding goes by shape, so this codec is for evidence and payments; tags and other free
documents of people never pass through ``decode``, or a tag that looks like money would become money.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from costguard.domain.finding import Subject, SubjectType
from costguard.domain.money import Money
from costguard.domain.time import utc

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def encode(value: object) -> Any:
    """``value`` as plain JSON data (dict, list, str, int, float, bool, None).

    A float that is not a number becomes null: unknown, never a token that JSON does not have. Raises ValueError
    for a naive datetime, TypeError for a type that has no shape here.
    """
    match value:
        case StrEnum():
            return value.value
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Money():
            return {"amount": value.plain(), "currency": value.currency}
        case datetime():
            return instant(value)
        case timedelta():
            seconds = value.total_seconds()
            return {"seconds": int(seconds) if seconds.is_integer() else seconds}
        case Decimal():
            return format(value, "f")
        case Subject():
            return subject_json(value)
        case Mapping():
            return {str(key): encode(item) for key, item in value.items()}
        case list() | tuple():
            return [encode(item) for item in value]
    raise TypeError(f"no JSON shape for {type(value).__name__}")


def decode(value: Any) -> Any:
    """The inverse of :func:`encode` by shape: Money, aware UTC datetimes, timedeltas, tuples, dicts."""
    match value:
        case str():
            return datetime.fromisoformat(value).astimezone(UTC) if _INSTANT.fullmatch(value) else value
        case list():
            return tuple(decode(item) for item in value)
        case {"amount": str(amount), "currency": str(currency)} if len(value) == 2:
            return Money.of(amount, currency)
        case {"seconds": int() | float() as seconds} if len(value) == 1:
            return timedelta(seconds=seconds)
        case dict():
            return {key: decode(item) for key, item in value.items()}
    return value


def instant(at: datetime) -> str:
    """An aware instant as ISO 8601 in UTC, always with microseconds and ``Z``. Raises ValueError if naive."""
    return utc(at).isoformat(timespec="microseconds").replace("+00:00", "Z")


def subject_json(subject: Subject) -> dict[str, str]:
    """A subject as the public JSON shows it: resources with all their coordinates, others with type, account, id."""
    if subject.type is SubjectType.RESOURCE:
        return {
            "type": subject.type.value,
            "account": subject.account,
            "provider": subject.provider,
            "region": subject.region,
            "kind": subject.kind,
            "id": subject.id,
            "name": subject.name,
        }
    return {"type": subject.type.value, "account": subject.account, "id": subject.id, "name": subject.name}
