"""Column types that keep the domain's promises at the border of the database, the same on both engines.

SQLite hands times back naive and numbers as floats; here a time is aware UTC or refused, an exact number stays
exact, and a word outside its vocabulary raises where it is read.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any, Generic, TypeVar

from sqlalchemy import BigInteger, DateTime, Dialect, String, Text
from sqlalchemy.types import TypeDecorator

from costguard.domain.codec import decode, encode
from costguard.domain.resource import Ends, ResourceRef, StopEffect
from costguard.domain.time import utc

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
W = TypeVar("W", bound=StrEnum)


class UtcDateTime(TypeDecorator[datetime]):
    """An instant: ``timestamptz`` on Postgres, sortable UTC text on SQLite. A naive value raises ValueError."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any] | None:
        """On SQLite the text that its own type writes, at a quarter of the cost: a fleet is full of times."""
        return _text_of if dialect.name == "sqlite" else super().bind_processor(dialect)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else utc(value)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _text_of(at: datetime | None) -> str | None:
    return None if at is None else utc(at).replace(tzinfo=None).isoformat(" ", "microseconds")


def to_micros(at: datetime) -> int:
    """Microseconds since 1970-01-01 UTC, exact. Raises ValueError for a naive datetime."""
    return (utc(at) - _EPOCH) // _MICRO


def from_micros(micros: int) -> datetime:
    """The inverse of :func:`to_micros`, aware UTC."""
    return _EPOCH + timedelta(microseconds=micros)


class UtcMicros(TypeDecorator[datetime]):
    """An instant as microseconds since the epoch, for the tables with millions of rows.

    A third of the bytes of SQLite's text form, and the arithmetic of windows and hours is the same SQL everywhere.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else to_micros(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else from_micros(value)


class Span(TypeDecorator[timedelta]):
    """A duration in whole microseconds."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: timedelta | None, dialect: Dialect) -> int | None:
        return None if value is None else value // _MICRO

    def process_result_value(self, value: int | None, dialect: Dialect) -> timedelta | None:
        return None if value is None else timedelta(microseconds=value)


class Word(TypeDecorator[W], Generic[W]):
    """One word of a closed vocabulary (a StrEnum)."""

    impl = String
    cache_ok = True

    def __init__(self, vocabulary: type[W]) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self._known = {word.value: word for word in vocabulary}

    def process_bind_param(self, value: W | None, dialect: Dialect) -> str | None:
        return None if value is None else self.vocabulary(value).value

    def process_result_value(self, value: str | None, dialect: Dialect) -> W | None:
        return None if value is None else self._known.get(value) or self.vocabulary(value)


class Ref(TypeDecorator[ResourceRef]):
    """A resource's full ref, as text."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: ResourceRef | None, dialect: Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> ResourceRef | None:
        return None if value is None else ResourceRef.parse(value)


class Exact(TypeDecorator[Decimal]):
    """A decimal as text: SQLite's numbers are floats inside."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> str | None:
        return None if value is None else format(value, "f")

    def process_result_value(self, value: str | None, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(value)


class FreeText(TypeDecorator[str]):
    """Text from outside (names, output of hooks, errors).

    Postgres refuses U+0000 and both refuse lone surrogates; a hook that prints bytes must not keep its own action
    from being saved, so those become U+FFFD.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        return value.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return value


class Document(TypeDecorator[Mapping[str, Any]]):
    """A plain JSON object (tags, attributes, facts); None stays NULL. Keys keep their order."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, Any] | None, dialect: Dialect) -> str | None:
        return None if value is None else _dumps(dict(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Mapping[str, Any] | None:
        return None if value is None else json.loads(value)


class EvidenceJson(TypeDecorator[Mapping[str, Any]]):
    """Evidence: JSON that keeps Money, datetimes, timedeltas and tuples (see costguard.domain.codec)."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, Any] | None, dialect: Dialect) -> str | None:
        return None if value is None else _dumps({str(key): encode(item) for key, item in value.items()})

    def process_result_value(self, value: str | None, dialect: Dialect) -> Mapping[str, Any] | None:
        if value is None:
            return None
        return {key: decode(item) for key, item in json.loads(value).items()}


class Words(TypeDecorator[tuple[str, ...]]):
    """A short list of words, as a JSON array."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: tuple[str, ...] | None, dialect: Dialect) -> str | None:
        return None if value is None else _dumps(list(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[str, ...] | None:
        return None if value is None else tuple(json.loads(value))


class StopEffectJson(TypeDecorator[StopEffect]):
    """What a stop would do, as one JSON object: read whole, never searched."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: StopEffect | None, dialect: Dialect) -> str | None:
        return None if value is None else _dumps_effect(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> StopEffect | None:
        return None if value is None else _effect(value)


# A fleet has few effects in thousands of rows: each is written, read and kept once.
@lru_cache(maxsize=256)
def _dumps_effect(effect: StopEffect) -> str:
    return _dumps(
        {
            "compute_billing_ends": effect.compute_billing_ends.value,
            "still_billed": list(effect.still_billed),
            "lost": list(effect.lost),
            "restart_risk": effect.restart_risk,
            "note": effect.note,
            "stop_again": effect.stop_again,
        }
    )


@lru_cache(maxsize=256)
def _effect(text: str) -> StopEffect:
    data = json.loads(text)
    return StopEffect(
        compute_billing_ends=Ends(data["compute_billing_ends"]),
        still_billed=tuple(data["still_billed"]),
        lost=tuple(data["lost"]),
        restart_risk=data["restart_risk"],
        note=data["note"],
        stop_again=data.get("stop_again", False),  # rows of an earlier version do not tell
    )


def _dumps(value: object) -> str:
    # ASCII with escapes: a NUL or a lone surrogate inside a tag survives the trip on both engines.
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
