"""Reading a facts document back into values, key by key.

Keys decide the type, never the shape of a value: a box may be called like a date.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from costguard.domain.codec import decode
from costguard.domain.money import Money


class Doc:
    """A facts document, or a part of one. A missing or malformed value reads as None."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts = facts

    def get(self, key: str) -> Any:
        return self.facts.get(key)

    def text(self, key: str) -> str:
        value = self.facts.get(key)
        return "" if value is None else str(value)

    def flag(self, key: str) -> bool:
        return self.facts.get(key) is True

    def number(self, key: str) -> int:
        value = self.facts.get(key)
        return value if isinstance(value, int) else 0

    def part(self, key: str) -> "Doc":
        value = self.facts.get(key)
        return Doc(value if isinstance(value, Mapping) else {})

    def parts(self, key: str) -> tuple["Doc", ...]:
        value = self.facts.get(key)
        items = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
        return tuple(Doc(item) for item in items if isinstance(item, Mapping))

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.facts.get(key)
        return tuple(str(item) for item in value) if isinstance(value, list | tuple) else ()

    def money(self, key: str) -> Money | None:
        return as_money(self.facts.get(key))

    def moneys(self, key: str) -> tuple[Money, ...]:
        value = self.facts.get(key)
        found = (as_money(item) for item in value) if isinstance(value, list | tuple) else ()
        return tuple(money for money in found if money is not None)

    def at(self, key: str) -> datetime | None:
        value = decode(self.facts.get(key))
        return value if isinstance(value, datetime) else None

    def span(self, key: str) -> timedelta | None:
        value = decode(self.facts.get(key))
        return value if isinstance(value, timedelta) else None

    def evidence(self) -> Mapping[str, Any]:
        """The evidence with its Money, instants and spans restored."""
        value = self.facts.get("evidence")
        return {key: decode(item) for key, item in value.items()} if isinstance(value, Mapping) else {}

    @property
    def name(self) -> str:
        """What people call the subject: its name, else its id."""
        subject = self.part("subject")
        return subject.text("name") or subject.text("id")

    @property
    def id(self) -> str:
        return self.part("subject").text("id")

    @property
    def provider(self) -> str:
        return self.part("subject").text("provider")

    def due(self, now: datetime) -> datetime | None:
        """When it will happen: a first warning's grace counts from its delivery, which is now."""
        grace = self.span("due_in")
        return now + grace if grace is not None else self.at("due_at")


def as_money(value: object) -> Money | None:
    try:
        found = decode(value)
    except ValueError:
        return None
    return found if isinstance(found, Money) else None
