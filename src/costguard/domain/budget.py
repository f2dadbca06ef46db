"""Spend facts: what has been spent in a period, as budgets and reports read it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from costguard.domain.money import Money
from costguard.domain.resource import ResourceRef


class Basis(StrEnum):
    LIST = "list"
    PAYABLE = "payable"
    CASH = "cash"


@dataclass(frozen=True, slots=True)
class Spend:
    """Money of one resource (or of an account's rest, ``ref`` None) in [start, end).

    ``estimated`` tells a live estimate from a bill. One row is one local day at most, so calendar
    periods are exact sums of rows.
    """

    account: str
    ref: ResourceRef | None
    service: str
    start: datetime
    end: datetime
    money: Money
    estimated: bool
    owner: str | None = None
    team: str | None = None
