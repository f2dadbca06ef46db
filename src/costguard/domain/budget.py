"""Spend facts: how long what was in which state, and what that cost, as budgets and reports read it.

And the budgets that a provider itself keeps, which are told and never judged: ours are policies.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, ResourceRef, State

# Begins the threshold of a step that a forecast reaches, not the spend.
FORECAST = "forecast:"


class Basis(StrEnum):
    LIST = "list"
    PAYABLE = "payable"
    CASH = "cash"


@dataclass(frozen=True, slots=True)
class Spend:
    """Money of one resource (or of an account's rest, ``ref`` None) in [start, end).

    ``estimated`` tells a live estimate from a bill. One row is one local day at most, so calendar
    periods are exact sums of rows. ``basis`` is what a billed row counts (one row for each basis); None for an
    estimate, which stands for every basis. ``assumed``: nobody saw that it ran then (see :class:`Interval`).
    ``shared`` names the rule that divided a shared cost, of which this is a part.
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
    basis: Basis | None = None
    assumed: bool = False
    project: str | None = None
    shared: str | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch [started, ended) in which one resource stayed in one state at one price.

    ``ended`` None is still open. ``per_hour`` is what it is billed per hour in that state (None: the
    price is unknown, which is not 0). ``assumed``: part of it was not observed (polling had a gap).
    """

    ref: ResourceRef
    state: State
    charge_type: ChargeType
    started: datetime
    ended: datetime | None
    per_hour: Money | None
    assumed: bool = False
    owner: str | None = None
    team: str | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderBudget:
    """A budget of money that is kept at the provider.

    ``period``: after which its count begins anew: day, month, quarter, year, custom, or the provider's own word.
    ``actual`` and ``forecast`` are of the current period, as late as the provider's bill; None where it does not tell
    them, which is not 0. ``since`` and ``until`` (aware UTC) bound the whole budget, not one period.
    """

    account: str
    name: str
    period: str
    limit: Money | None
    actual: Money | None
    forecast: Money | None
    since: datetime | None = None
    until: datetime | None = None
