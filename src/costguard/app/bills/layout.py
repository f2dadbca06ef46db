"""Layouts: what the columns of an export mean. One per format, found by the header."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Protocol

from costguard.domain.charge import Stage
from costguard.store.lines import Line

# An EC2 resource is known by its id; some exports write the whole ARN.
_EC2 = re.compile(r"arn:aws[\w-]*:ec2:[^:]*:\d*:[\w-]+/([\w-]+)")

# No provider here invoices a month later than this.
_CLOSED = timedelta(days=15)


@dataclass(frozen=True, slots=True)
class Owned:
    """The configured account that a row belongs to."""

    account: str
    provider: str


# (account ids, the most specific first) → the account; None when the row is left out.
AccountOf = Callable[[Sequence[str | None]], Owned | None]


class Layout(Protocol):
    """Reads the rows of one file. ``notes`` counts what was taken otherwise than written, by sentence."""

    name: str
    notes: dict[str, int]

    def line(self, cells: Sequence[object], account_of: AccountOf) -> Line | None:
        """The row as a charge; None for one that is left out. Raises BillError with the column."""


class Columns:
    """Where the columns of a file are (``places``) and how it spells them (``names``), by folded name."""

    def __init__(self, header: Sequence[str], fold: Callable[[str], str]) -> None:
        self.names = {fold(name): name for name in header}
        self.places = {fold(name): index for index, name in enumerate(header)}

    def __contains__(self, name: str) -> bool:
        return name in self.places

    def getter(self, name: str) -> Callable[[Sequence[object]], object]:
        """Reads one column of a row; None where the file has none of that name."""
        index = self.places.get(name)
        return _nothing if index is None else itemgetter(index)


def _nothing(cells: Sequence[object]) -> None:
    return None


def resource_id(given: str | None) -> str | None:
    """The id under which an inventory lists it."""
    found = _EC2.fullmatch(given) if given is not None and given.startswith("arn:") else None
    return given if found is None else found[1]


def noted(notes: dict[str, int], sentence: str) -> None:
    """Counts a remark about the file."""
    notes[sentence] = notes.get(sentence, 0) + 1


def stage(invoice: str | None, period_end: datetime, now: datetime) -> Stage:
    """Final once the row bears an invoice, or when its period is over for so long that it would if it ever did."""
    return Stage.FINAL if invoice is not None or period_end + _CLOSED <= now else Stage.PROVISIONAL
