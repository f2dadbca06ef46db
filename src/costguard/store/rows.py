"""Rows and domain values: the one place that knows how a dataclass lies in columns.

Columns bear the names of the fields. Only two nouns spread over several columns: Money (``x_nanos``, ``x_currency``)
and Subject (``subject_key`` and its parts). Everything else is the column type's business.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Generic, Protocol, TypeVar

from costguard.domain.finding import Subject, SubjectType
from costguard.domain.money import Money

T = TypeVar("T")

_SUBJECT = (
    "subject_type", "subject_id", "subject_account", "subject_provider", "subject_region", "subject_kind",
    "subject_name",
)  # fmt: skip


class RowLike(Protocol):
    """What a query gives back: a row that can be read by column name."""

    @property
    def _mapping(self) -> Mapping[Any, Any]: ...


class Rows(Generic[T]):
    """Translates one frozen dataclass to and from rows.

    ``without`` names fields that have no column of their own name; ``load`` takes them as keywords.
    """

    def __init__(self, cls: type[T], *, without: tuple[str, ...] = ()) -> None:
        hints = {field.name: field.type for field in fields(cls) if field.name not in without}  # type: ignore[arg-type]
        self._cls = cls
        self._money = [name for name, hint in hints.items() if hint in (Money, Money | None)]
        self._subject = [name for name, hint in hints.items() if hint in (Subject, Subject | None)]
        self._plain = [name for name in hints if name not in self._money and name not in self._subject]

    def row(self, value: T) -> dict[str, Any]:
        """The columns of one value."""
        row = {name: getattr(value, name) for name in self._plain}
        for name in self._money:
            row.update(money_row(name, getattr(value, name)))
        for name in self._subject:
            row.update(subject_row(getattr(value, name)))
        return row

    def load(self, row: RowLike, **rest: Any) -> T:
        """The value of one row."""
        read = row._mapping
        data = {name: read[name] for name in self._plain}
        for name in self._money:
            data[name] = money_of(read, name)
        for name in self._subject:
            data[name] = subject_of(read)
        return self._cls(**data, **rest)


def money_row(name: str, money: Money | None) -> dict[str, Any]:
    """The two columns of an amount."""
    return {
        f"{name}_nanos": None if money is None else money.nanos,
        f"{name}_currency": None if money is None else money.currency,
    }


def money_of(row: Mapping[Any, Any], name: str) -> Money | None:
    """The amount of two columns; None when it is unknown."""
    nanos = row[f"{name}_nanos"]
    return None if nanos is None else Money(int(nanos), row[f"{name}_currency"])


def subject_row(subject: Subject | None) -> dict[str, Any]:
    """The columns of a subject, all NULL when there is none."""
    if subject is None:
        return dict.fromkeys(("subject_key", *_SUBJECT))
    return {
        "subject_key": subject.key,
        "subject_type": subject.type,
        "subject_id": subject.id,
        "subject_account": subject.account,
        "subject_provider": subject.provider,
        "subject_region": subject.region,
        "subject_kind": subject.kind,
        "subject_name": subject.name,
    }


def subject_of(row: Mapping[Any, Any]) -> Subject | None:
    """The subject of a row; None where the row has none."""
    if row["subject_type"] is None:
        return None
    return Subject(
        SubjectType(row["subject_type"]), row["subject_id"], row["subject_account"], row["subject_provider"],
        row["subject_region"], row["subject_kind"], row["subject_name"],
    )  # fmt: skip
