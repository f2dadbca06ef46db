"""The audit: a month's money, what was wasted, and what costguard did or would have done.

Pure: recorded facts in, one ``costguard.audit/1`` document out. Nothing is added up across currencies
without a rate, and every number says whether it is an estimate (price × hours) or a bill.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.domain.action import Action, ActionState
from costguard.domain.budget import Interval, Spend
from costguard.domain.codec import encode, instant, subject_json
from costguard.domain.decision import Response
from costguard.domain.finding import Finding, Subject
from costguard.domain.money import Money
from costguard.domain.resource import Resource, ResourceRef, State
from costguard.domain.saving import Saving
from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.domain.time import local_midnight
from costguard.engine.meter import spend, unpriced
from costguard.rules.burn import billed_per_hour
from costguard.rules.currency import Rates

UNALLOCATED = "unallocated"


@dataclass(frozen=True, slots=True)
class AuditFacts:
    """Everything an audit reads. ``start``/``end`` bound the month in ``zone`` (end exclusive, UTC);
    ``now`` is the moment of the report. ``intervals`` are what was observed or assumed."""

    month: str
    start: datetime
    end: datetime
    now: datetime
    zone: ZoneInfo
    rates: Rates
    resources: Sequence[Resource]
    intervals: Sequence[Interval]
    previous: Sequence[Interval] = ()
    findings: Sequence[Finding] = ()
    actions: Sequence[Action] = ()
    savings: Sequence[Saving] = ()
    sources: Sequence[SourceStatus] = ()
    warnings: Sequence[str] = ()
    billed: Mapping[str, Money] = field(default_factory=dict)


def month_bounds(month: str, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """[start, end) of ``YYYY-MM`` in ``zone``, as UTC. Raises ValueError for another form."""
    try:
        first = date.fromisoformat(f"{month}-01")
    except ValueError:
        raise ValueError(f"not a month: {month!r}; write it like 2026-11") from None
    following = (first + timedelta(days=32)).replace(day=1)
    return local_midnight(first, zone), local_midnight(following, zone)


def default_month(now: datetime, zone: ZoneInfo) -> str:
    """This month; until the 3rd the previous one, whose bill has just become final."""
    day = now.astimezone(zone).date()
    if day.day <= 3:
        day = day.replace(day=1) - timedelta(days=1)
    return day.strftime("%Y-%m")


def assumed_intervals(resources: Iterable[Resource], since: datetime) -> list[Interval]:
    """For a first look without history: each box is taken to have been as it is now since it last
    started (or was created), at the earliest since ``since``. Marked as assumed."""
    intervals = []
    for resource in resources:
        began = resource.started_at or resource.created_at or resource.observed_at
        if resource.state is State.STOPPED:
            began = resource.stopped_at or resource.observed_at
        intervals.append(
            Interval(
                ref=resource.ref,
                state=resource.state,
                charge_type=resource.charge_type,
                started=max(began, since),
                ended=None,
                per_hour=billed_per_hour(resource),
                assumed=began < resource.observed_at,
                owner=resource.owner,
                team=resource.team,
            )
        )
    return intervals


def audit(facts: AuditFacts) -> dict[str, object]:
    """The ``costguard.audit/1`` document."""
    until = min(facts.now, facts.end)
    rows = list(spend(facts.intervals, facts.start, until, facts.zone))
    estimated = facts.rates.total((r.money for r in rows), until)
    warnings = [*facts.warnings, *_warnings(facts, until)]
    warnings += [f"no exchange rate for {m.currency}: {m} is not in the totals" for m in estimated.apart]
    previous_end = facts.start
    previous_start, _ = month_bounds(_previous_month(facts), facts.zone)
    earlier = facts.rates.total(
        (r.money for r in spend(facts.previous, previous_start, previous_end, facts.zone)), facts.start
    )
    return {
        "schema": "costguard.audit/1",
        "month": facts.month,
        "generated_at": instant(facts.now),
        "timezone": facts.zone.key,
        "stage": "final" if facts.now >= facts.end + timedelta(days=3, hours=12) and facts.billed else "draft",
        "currency": facts.rates.currency,
        "rates": {
            code: {"rate": str(rate), "from": since.astimezone(facts.zone).date().isoformat()}
            for code, (rate, since) in sorted(estimated.rates.items())
        },
        "spend": {
            "billed": encode(facts.rates.total(facts.billed.values(), until).money) if facts.billed else None,
            "estimated": encode(estimated.money),
            "previous": encode(earlier.money) if facts.previous else None,
            "by_account": _by(rows, facts.rates, until, lambda r: r.account),
            "by_service": _by(rows, facts.rates, until, lambda r: r.service),
            "by_owner": _by(rows, facts.rates, until, lambda r: r.owner or UNALLOCATED),
            "by_team": _by(rows, facts.rates, until, lambda r: r.team or UNALLOCATED),
            "by_day": _by(
                rows, facts.rates, until, lambda r: r.start.astimezone(facts.zone).date().isoformat(), by_key=True
            ),
        },
        "payments": {},
        "drivers": _drivers(rows, facts.rates, until),
        "budgets": [],
        "forecast": _forecast(facts, estimated.money, until),
        "resources": _resources(facts, rows, until),
        "findings": [
            {
                "policy": f.policy,
                "rule": f.rule,
                "subject": subject_json(f.subject),
                "since": instant(f.since),
                "evidence": encode(f.evidence),
                "waste_per_hour": encode(f.waste_per_hour),
            }
            for f in facts.findings
        ],
        "would_have": _would_have(facts, until),
        "savings": {
            "booked": encode(facts.rates.total((s.amount(facts.start, until) for s in facts.savings), until).money)
        },
        "false_stops": sum(1 for a in facts.actions if a.disputed_by and a.state is ActionState.DONE),
        "decisions_needed": _decisions_needed(facts),
        "sources": [source_json(s, facts.now) for s in facts.sources],
        "warnings": warnings,
    }


def source_json(status: SourceStatus, now: datetime) -> dict[str, object]:
    """One line of ``sources`` in the shape of the cycle document; a source past two polls is stale."""
    age = status.age(now)
    state = status.state
    if state is SourceState.OK and not status.fresh(now):
        state = SourceState.STALE
    return {
        "account": status.account,
        "region": status.region,
        "source": status.source,
        "state": state.value,
        "count": status.count,
        "age_s": None if age is None else int(age.total_seconds()),
        "error": status.error,
    }


def _previous_month(facts: AuditFacts) -> str:
    first = date.fromisoformat(f"{facts.month}-01")
    return (first - timedelta(days=1)).strftime("%Y-%m")


def _by(
    rows: Sequence[Spend], rates: Rates, at: datetime, key: Callable[[Spend], str], *, by_key: bool = False
) -> list[dict[str, object]]:
    """{key, amount} lines in the reporting currency, the dearest first (or by key)."""
    groups: dict[str, list[Money]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row.money)
    sums = [(name, rates.total(amounts, at).money) for name, amounts in groups.items()]
    sums.sort(key=lambda pair: pair[0] if by_key else (-pair[1].nanos, pair[0]))
    return [{"key": name, "amount": encode(money)} for name, money in sums]


def _drivers(rows: Sequence[Spend], rates: Rates, at: datetime) -> list[dict[str, object]]:
    """The ten resources that cost most this month."""
    lines = _by([r for r in rows if r.ref], rates, at, lambda r: str(r.ref))
    return lines[:10]


def _forecast(facts: AuditFacts, so_far: Money, until: datetime) -> dict[str, object]:
    """Month end at what runs now: what was spent, plus today's burn for the hours that are left."""
    burn = facts.rates.total((b for r in facts.resources if (b := billed_per_hour(r)) is not None), until).money
    left = max(timedelta(0), facts.end - until)
    amount = so_far + burn.per_hour_for(left)
    return {"amount": encode(amount), "low": None, "high": None, "method": "spent so far + what runs now x hours left"}


def _resources(facts: AuditFacts, rows: Sequence[Spend], at: datetime) -> list[dict[str, object]]:
    """One line per resource that exists or cost something this month, the dearest first."""
    costs: dict[ResourceRef, list[Money]] = {}
    for row in rows:
        if row.ref is not None:
            costs.setdefault(row.ref, []).append(row.money)
    lines = []
    for resource in facts.resources:
        amounts = costs.get(resource.ref, [])
        if resource.state is State.GONE and not amounts:
            continue
        cost = facts.rates.total(amounts, at)
        line = {
            "subject": subject_json(Subject.of(resource)),
            "state": resource.state.value,
            "sku": resource.sku,
            "charge_type": resource.charge_type.value,
            "owner": resource.owner,
            "team": resource.team,
            "price_per_hour": encode(resource.price),
            "price_source": resource.price_source,
            "estimated": None if cost.apart or resource.price is None else encode(cost.money),
        }
        lines.append((-cost.money.nanos, str(resource.ref), line))
    return [line for _, _, line in sorted(lines, key=lambda entry: entry[:2])]


def _would_have(facts: AuditFacts, until: datetime) -> list[dict[str, object]]:
    """Per policy: dry-run ladders that came due, and what the month would have cost less."""
    groups: dict[str, list[Money]] = {}
    counts: dict[str, int] = {}
    for action in facts.actions:
        if action.dry_run and action.response is Response.STOP and action.due_at and action.due_at <= until:
            counts[action.policy] = counts.get(action.policy, 0) + 1
            if action.waste_per_hour is not None:
                ended = min(action.ended_at or until, until)
                saved = action.waste_per_hour.per_hour_for(max(timedelta(0), ended - action.due_at))
                groups.setdefault(action.policy, []).append(saved)
    return [
        {"policy": name, "actions": count, "saved": encode(facts.rates.total(groups.get(name, []), until).money)}
        for name, count in sorted(counts.items())
    ]


def _decisions_needed(facts: AuditFacts) -> list[str]:
    """What a person has to decide, in sentences."""
    lines = [
        f"{a.subject.name or a.subject.id}: {a.policy} failed and holds: {a.error or a.reason}"
        for a in facts.actions
        if a.state is ActionState.FAILED
    ]
    unowned = sum(1 for r in facts.resources if r.is_running and not r.owner)
    if unowned:
        lines.append(f"{unowned} running resources have no owner: tag or claim them")
    return lines


def _warnings(facts: AuditFacts, until: datetime) -> list[str]:
    lines = []
    if missing := unpriced(facts.intervals, facts.start, until):
        lines.append(f"{missing} running resources have no known price and are not in the totals")
    if assumed := sum(1 for i in facts.intervals if i.assumed):
        lines.append(f"{assumed} intervals were not observed and are assumed from the last start")
    lines += [
        f"{s.account}/{s.region} {s.source}: {s.state.value}: {s.error}"
        for s in facts.sources
        if s.state in (SourceState.DENIED, SourceState.FAILED)
    ]
    return lines
