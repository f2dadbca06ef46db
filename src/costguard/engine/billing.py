"""Billing: a bill's rows as spend, with how they were paid and how far the bill reaches.

A row counts in the day on which it was used (``charge_period``), whenever it was invoiced; what was invoiced in a month
is told beside it. A day of the provider's zone counts whole in the local day that has most of it. Vouchers and credits
are means of payment and never lower the cost.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.domain.budget import Basis, Spend
from costguard.domain.charge import Charge, ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.domain.resource import ResourceRef
from costguard.domain.time import day_mostly, local_midnight
from costguard.engine.attribution import Attribution

CASH, CREDIT, UNTOLD = "cash", "credit", "not_told"
_DAY = timedelta(days=1)
_STAGES = (Stage.ESTIMATED, Stage.PROVISIONAL, Stage.FINAL)


Dated = tuple[datetime, Money]


@dataclass(frozen=True, slots=True)
class Reach:
    """How far an account's bill reaches: its last whole day ends at ``through``; ``stage`` is its least settled row."""

    account: str
    through: datetime
    stage: Stage


@dataclass(frozen=True, slots=True)
class Bill:
    """Rows of several bases, each a copy of the same charges: ``rows`` carry list, payable or cash; ``effective`` is
    what a day really used (a prepaid month spread over its days), for comparing with an estimate.

    ``payments`` and ``reach`` are those of the reported month alone; ``invoiced`` is what that month's invoices say:
    both as sums per currency and local day of use, each with the beginning of that day.
    ``services`` is what the bill calls the service of a resource.
    """

    rows: tuple[Spend, ...] = ()
    effective: tuple[Spend, ...] = ()
    payments: Mapping[str, tuple[Dated, ...]] = field(default_factory=dict)
    invoiced: tuple[Dated, ...] = ()
    reach: Mapping[str, Reach] = field(default_factory=dict)
    services: Mapping[ResourceRef, str] = field(default_factory=dict)


_Group = tuple[str, ResourceRef | None, str, datetime, datetime, str | None, str | None, str | None]


def read_bill(
    charges: Iterable[Charge], start: datetime, end: datetime, zone: ZoneInfo, attribution: Attribution
) -> Bill:
    """The bill of all ``charges``, taken one by one; [start, end) is the month (UTC bounds of local midnights)."""
    sums: dict[_Group, dict[tuple[str, str], int]] = {}
    payments: dict[str, _Days] = {}
    invoiced: _Days = {}
    days: dict[tuple[datetime, datetime], _Span] = {}
    reach: dict[str, Reach] = {}
    services: dict[ResourceRef, str] = {}
    middle = start + (end - start) / 2
    for charge in charges:
        ref = attribution.ref(charge.account, charge.resource_id)
        if ref is not None and charge.service_name:
            services[ref] = charge.service_name
        owner, team = attribution.of_charge(charge)
        project = attribution.project_of(charge)
        told = charge.charge_period_start, min(charge.charge_period_end, charge.charge_period_start + _DAY)
        if told not in days:
            days[told] = _local(*told, zone)
        low, high, midnight = days[told]
        group = sums.setdefault((charge.account, ref, charge.service_name, low, high, owner, team, project), {})
        for basis, money in _amounts(charge):
            group[basis, money.currency] = group.get((basis, money.currency), 0) + money.nanos
        if charge.billing_period_start <= middle < charge.billing_period_end:
            _add(invoiced, midnight, charge.billed_cost)
        if start <= low < end:
            for means, money in _payments(charge):
                _add(payments.setdefault(means, {}), midnight, money)
            known = reach.get(charge.account)
            reach[charge.account] = Reach(
                charge.account,
                max(high, known.through) if known else high,
                min(charge.stage, known.stage, key=_STAGES.index) if known else charge.stage,
            )
    rows, effective = [], []
    for (account, ref, service, low, high, owner, team, project), amounts in sums.items():
        for (basis, currency), nanos in amounts.items():
            row = Spend(account, ref, service, low, high, Money(nanos, currency), False, owner, team, project=project)
            if basis == _EFFECTIVE:
                effective.append(row)
            else:
                rows.append(replace(row, basis=Basis(basis)))
    return Bill(
        tuple(rows), tuple(effective), {means: _dated(found) for means, found in sorted(payments.items())},
        _dated(invoiced), reach, services,
    )  # fmt: skip


_EFFECTIVE = "effective"
_Days = dict[tuple[datetime, str], int]
_Span = tuple[datetime, datetime, datetime]


def _local(low: datetime, high: datetime, zone: ZoneInfo) -> _Span:
    day = day_mostly(low, high, zone)
    midnight = local_midnight(day, zone)
    return max(low, midnight), min(high, local_midnight(day + _DAY, zone)), midnight


def _add(days: _Days, day: datetime, money: Money) -> None:
    key = (day, money.currency)
    days[key] = days.get(key, 0) + money.nanos


def _dated(days: _Days) -> tuple[Dated, ...]:
    return tuple((day, Money(nanos, currency)) for (day, currency), nanos in sorted(days.items()))


def _amounts(charge: Charge) -> Iterable[tuple[str, Money]]:
    """What a row adds to each basis. A credit is a means of payment: only cash knows it."""
    paid = charge.payments.get(CASH) if charge.payments else charge.billed_cost
    yield Basis.CASH.value, paid or Money.zero(charge.billed_cost.currency)
    if charge.charge_category is not ChargeCategory.CREDIT:
        yield Basis.PAYABLE.value, charge.billed_cost
        yield Basis.LIST.value, charge.list_cost
        yield _EFFECTIVE, charge.effective_cost


def _payments(charge: Charge) -> Iterable[tuple[str, Money]]:
    """How a row was paid: the means add up to what was payable."""
    if charge.charge_category is ChargeCategory.CREDIT:
        yield CREDIT, -charge.billed_cost
        yield CASH if charge.payments else UNTOLD, charge.billed_cost
    elif charge.payments:
        yield from charge.payments.items()
    else:
        yield UNTOLD, charge.billed_cost
