"""Prepaid terms: pure. A term is billed whole on the day it is paid; its effective cost lies on the months it runs in.

The bill knows nothing of the second part (only the consumption bill does, which an account must open first), so the
shares are computed here. They add up to what was paid, to the nano.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from costguard.domain.charge import Charge, ChargeCategory
from costguard.domain.money import Money
from costguard_tencent.bills import Month
from costguard_tencent.fields import read_time

# The longest term whose rows are looked for in earlier months.
MONTHS = 12
_SHORTEST = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Term:
    """What one purchase covers: [begin, end), aware UTC."""

    purchase: Charge
    begin: datetime
    end: datetime


def read_term(row: Mapping[str, Any], charge: Charge) -> Term | None:
    """The term that a row of DescribeBillDetail pays for; None for what is used as it is billed."""
    begin, end = read_time(row.get("FeeBeginTime")), read_time(row.get("FeeEndTime"))
    if charge.charge_category is not ChargeCategory.PURCHASE or begin is None or end is None:
        return None
    if (end.minute, end.second) == (59, 59):  # the last second is told, not the end
        end += timedelta(seconds=1)
    return Term(charge, begin, end) if end - begin > _SHORTEST else None


def booked(term: Term) -> Charge:
    """The purchase as it is billed: its effective cost comes with the months."""
    return replace(term.purchase, effective_cost=Money.zero(term.purchase.billed_cost.currency))


def share(term: Term, month: Month, now: datetime) -> Charge | None:
    """The month's share of a term, as far as it has run; None outside of it."""
    since, until = month.midnight(month.first), month.midnight(month.following)
    last = min(until, _end_of_day(now, month))
    paid = term.purchase.billed_cost
    amount = _run(term, last) - _run(term, since)
    if not amount:
        return None
    zero = Money.zero(paid.currency)
    return replace(
        term.purchase,
        row_key=f"{term.purchase.row_key}:share:{month.cycle}",
        billing_period_start=since,
        billing_period_end=until,
        charge_period_start=max(since, _start_of_day(term.begin, month)),
        charge_period_end=min(last, _end_of_day(term.end - timedelta(microseconds=1), month)),
        charge_category=ChargeCategory.USAGE,
        billed_cost=zero,
        effective_cost=amount,
        list_cost=zero,
        stage=month.stage,
        pricing_category="Committed",
        payments={},
    )


def _run(term: Term, at: datetime) -> Money:
    """What of the term's price has run by ``at``."""
    paid = term.purchase.billed_cost
    whole, gone = (term.end - term.begin), min(max(at, term.begin), term.end) - term.begin
    unit = timedelta(microseconds=1)
    return Money(paid.nanos * (gone // unit) // (whole // unit), paid.currency)


def _start_of_day(at: datetime, month: Month) -> datetime:
    return month.midnight(at.astimezone(month.zone).date())


def _end_of_day(at: datetime, month: Month) -> datetime:
    return month.midnight(at.astimezone(month.zone).date() + timedelta(days=1))
