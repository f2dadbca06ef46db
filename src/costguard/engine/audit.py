"""The audit: a month's money, what was wasted, and what costguard did or would have done.

Pure: recorded facts in, one ``costguard.audit/1`` document out. Nothing is added up across currencies
without a rate, and every number says whether it is an estimate (price × hours) or a bill.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from costguard.domain.action import Action, ActionState
from costguard.domain.budget import Interval
from costguard.domain.charge import Stage
from costguard.domain.codec import encode, instant, subject_json
from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import Finding, Subject
from costguard.domain.money import Money
from costguard.domain.resource import Resource, ResourceRef, State
from costguard.domain.saving import Saving
from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.domain.time import local_midnight
from costguard.engine.billing import Bill
from costguard.engine.forecast import Forecast
from costguard.engine.meter import spend, unpriced
from costguard.engine.names import source_name, state_name
from costguard.engine.remarks import Language, remark
from costguard.engine.savings import savings_json
from costguard.engine.sharing import Sharing
from costguard.engine.spend import DIMENSIONS, Line, SpendBook, drivers, rates_json, reach_json
from costguard.rules.burn import billed_per_hour
from costguard.rules.currency import Rates

# Noon of the 3rd: no provider settles a month earlier.
_FINAL_AFTER = timedelta(days=2, hours=12)
# The verdicts on a stop that everything but the dry run allowed.
_ONLY_DRY = frozenset({GuardCode.DRY_RUN, GuardCode.NOT_ARMED})


def _as_it_is(sentence: str, language: str) -> str:
    return sentence


@dataclass(frozen=True, slots=True)
class AuditFacts:
    """Everything an audit reads. ``start``/``end`` bound the month in ``zone`` (end exclusive, UTC), or the seven days
    of a week; ``month`` is its name. ``now`` is the moment of the report. ``intervals`` are what was observed or
    assumed, ``previous`` those that reach into the time before; ``bill`` holds both. ``metered`` names the API calls
    that cost money. ``translated`` says in a language what the ledger has in English."""

    month: str
    start: datetime
    end: datetime
    now: datetime
    zone: ZoneInfo
    rates: Rates
    resources: Sequence[Resource]
    intervals: Sequence[Interval]
    previous: Sequence[Interval] = ()
    bill: Bill = field(default_factory=Bill)
    sharing: Sharing | None = None
    findings: Sequence[Finding] = ()
    actions: Sequence[Action] = ()
    savings: Sequence[Saving] = ()
    budgets: Sequence[Mapping[str, object]] = ()
    provider_budgets: Sequence[Mapping[str, object]] = ()
    forecast: Forecast | None = None
    sources: Sequence[SourceStatus] = ()
    metered: Sequence[str] = ()
    language: Language = "en"
    period: Literal["month", "week"] = "month"
    translated: Callable[[str, str], str] = _as_it_is

    @property
    def until(self) -> datetime:
        """Up to where the month is known."""
        return min(self.now, self.end)

    @property
    def before(self) -> tuple[datetime, datetime]:
        """What it is compared with: the month before, or the seven days before."""
        if self.period == "month":
            return month_bounds(month_before(self.month), self.zone)
        first = self.start.astimezone(self.zone).date() - timedelta(days=7)
        return local_midnight(first, self.zone), self.start


def month_bounds(month: str, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """[start, end) of ``YYYY-MM`` in ``zone``, as UTC. Raises ValueError for another form."""
    try:
        first = date.fromisoformat(f"{month}-01")
    except ValueError:
        raise ValueError(f"not a month: {month!r}; write it like 2026-11") from None
    following = (first + timedelta(days=32)).replace(day=1)
    return local_midnight(first, zone), local_midnight(following, zone)


def month_before(month: str) -> str:
    """The month before ``YYYY-MM``."""
    return (date.fromisoformat(f"{month}-01") - timedelta(days=1)).strftime("%Y-%m")


def default_month(now: datetime, zone: ZoneInfo) -> str:
    """This month; until the 3rd the previous one, whose bill has just become final."""
    day = now.astimezone(zone).date()
    if day.day <= 3:
        day = day.replace(day=1) - timedelta(days=1)
    return day.strftime("%Y-%m")


def audit(facts: AuditFacts) -> dict[str, object]:
    """The ``costguard.audit/1`` document."""
    start, until = facts.start, facts.until
    before = facts.before
    estimates = [
        *spend(facts.previous, *before, facts.zone, facts.bill.services),
        *spend(facts.intervals, start, until, facts.zone, facts.bill.services),
    ]
    book = SpendBook(estimates, facts.bill, facts.rates, facts.zone, facts.now, facts.sharing)
    total, previous = book.total(start, until), book.total(*before)
    whole = _whole_days(facts)
    same_days = (before[0], min(before[0] + (whole - start), before[1]))
    names = {r.ref: r.name for r in facts.resources}
    known_before = bool(facts.previous) or previous.billed is not None
    return {
        "schema": "costguard.audit/1",
        "month": facts.month,
        "period": facts.period,
        "generated_at": instant(facts.now),
        "timezone": facts.zone.key,
        "language": facts.language,
        "stage": _stage(facts),
        "currency": facts.rates.currency,
        "rates": rates_json(book.rates, facts.zone),
        "spend": {
            "amount": encode(total.amount),
            "billed": encode(total.billed),
            "estimated": encode(total.estimated),
            "assumed": encode(total.assumed),
            "difference": encode(total.difference),
            "previous": encode(previous.amount) if known_before else None,
            "bills": reach_json(facts.bill, facts.zone),
        }
        | {f"by_{name}": _lines(book.by(name, start, until)) for name in DIMENSIONS if name != "resource"},
        "payments": _payments(facts),
        "drivers": _named(drivers(book, (start, whole), same_days), names) if known_before else [],
        "budgets": list(facts.budgets),
        "provider_budgets": list(facts.provider_budgets),
        "forecast": _forecast(facts, total),
        "resources": _resources(facts, book),
        "findings": [finding_json(f) for f in facts.findings],
        "would_have": _would_have(facts),
        "savings": savings_json(facts.savings, facts.rates, start, until, names),
        "false_stops": sum(1 for a in facts.actions if a.disputed_by and a.state is ActionState.DONE),
        "decisions_needed": _decisions_needed(facts),
        "metered_calls": list(facts.metered),
        "sources": [source_json(s, facts.now) for s in facts.sources],
        "warnings": _warnings(facts, book, total),
    }


def finding_json(finding: Finding) -> dict[str, object]:
    return {
        "policy": finding.policy,
        "rule": finding.rule,
        "subject": subject_json(finding.subject),
        "since": instant(finding.since),
        "evidence": encode(finding.evidence),
        "waste_per_hour": encode(finding.waste_per_hour),
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


def _whole_days(facts: AuditFacts) -> datetime:
    """Up to the last midnight, so that a day that is not over is not compared with a whole one."""
    midnight = local_midnight(facts.until.astimezone(facts.zone).date(), facts.zone)
    return midnight if facts.start < midnight else facts.until


def _stage(facts: AuditFacts) -> str:
    """Final once the month is over, its bills have had time to settle, and every account's is final."""
    reach = facts.bill.reach
    over = facts.end + _FINAL_AFTER <= facts.now
    accounts = {i.ref.account for i in facts.intervals if i.per_hour} | set(reach)
    final = all(name in reach and reach[name].stage is Stage.FINAL for name in accounts)
    return "final" if over and accounts and final else "draft"


def _lines(lines: Iterable[Line]) -> list[dict[str, object]]:
    return [line.json() for line in lines]


def _payments(facts: AuditFacts) -> dict[str, object]:
    """How what was billed was paid, and what the month's invoices say (late and early usage is in the other)."""
    paid = {means: encode(facts.rates.dated(amounts)) for means, amounts in facts.bill.payments.items()}
    if facts.bill.invoiced and facts.period == "month":
        paid["invoiced"] = encode(facts.rates.dated(facts.bill.invoiced))
    return paid


def _named(lines: Iterable[dict[str, object]], names: Mapping[ResourceRef, str]) -> list[dict[str, object]]:
    by_key = {str(ref): name for ref, name in names.items()}
    return [{**line, "name": by_key.get(str(line["key"]), line["key"])} for line in lines]


def _forecast(facts: AuditFacts, total: Line) -> dict[str, object]:
    """The month's end: what is known of a month that is over, else what the forecast says, else what runs now."""
    if facts.end <= facts.now:
        return {"amount": encode(total.amount), "low": None, "high": None, "method": f"the {facts.period} is over"}
    if facts.forecast is not None:
        return forecast_json(facts.forecast)
    burn = facts.rates.total((b for r in facts.resources if (b := billed_per_hour(r)) is not None), facts.until).money
    amount = total.amount + burn.per_hour_for(facts.end - facts.until)
    return {"amount": encode(amount), "low": None, "high": None, "method": "spent so far + what runs now x hours left"}


def forecast_json(found: Forecast) -> dict[str, object]:
    """``skill`` is 1 − error ÷ error of the run rate; ``low`` and ``high`` hold four months of five."""
    return {
        "amount": encode(found.amount),
        "low": encode(found.low),
        "high": encode(found.high),
        "method": found.method,
        "spent": encode(found.spent),
        "run_rate": encode(found.run_rate),
        "skill": found.skill,
    }


def _resources(facts: AuditFacts, book: SpendBook) -> list[dict[str, object]]:
    """One line per resource that exists or cost something this month, the dearest first."""
    costs = {line.key: line for line in book.by("resource", facts.start, facts.until)}
    attached = attached_per_hour(facts.resources)
    apart = {money.currency for money in book.apart}
    lines = []
    for resource in facts.resources:
        cost = costs.get(str(resource.ref))
        if resource.state is State.GONE and cost is None:
            continue
        unknown = resource.price is None or resource.price.currency in apart
        amount = Money.zero(book.currency) if cost is None else cost.amount
        estimated = Money.zero(book.currency) if cost is None else cost.estimated
        stopped = resource.state is State.STOPPED
        line = {
            "subject": subject_json(Subject.of(resource)),
            "state": resource.state.value,
            "sku": resource.sku,
            "charge_type": resource.charge_type.value,
            "owner": resource.owner,
            "team": resource.team,
            "price_per_hour": encode(resource.price),
            "price_source": resource.price_source,
            "estimated": None if unknown and not estimated else encode(estimated),
            "billed": None if cost is None else encode(cost.billed),
            "amount": None if unknown and not amount else encode(amount),
            "attached_per_hour": encode(attached.get(resource.ref)),
            "still_costs_per_hour": encode(still_costs(resource, attached)) if stopped else None,
        }
        lines.append((-amount.nanos, str(resource.ref), line))
    return [line for _, _, line in sorted(lines, key=lambda entry: entry[:2])]


def attached_per_hour(resources: Iterable[Resource]) -> dict[ResourceRef, Money | None]:
    """What the disks and addresses of each box cost per hour (by ``depends_on``); None when one has no known price."""
    known = list(resources)
    boxes = {(r.ref.account, r.ref.id): r.ref for r in known}
    found: dict[ResourceRef, Money | None] = {}
    for resource in known:
        box = None if resource.depends_on is None else boxes.get((resource.ref.account, resource.depends_on))
        if box is None or resource.state is State.GONE:
            continue
        burn, so_far = billed_per_hour(resource), found.get(box)
        if box not in found:
            found[box] = burn
        elif burn is None or so_far is None or burn.currency != so_far.currency:
            found[box] = None
        else:
            found[box] = so_far + burn
    return found


def still_costs(resource: Resource, attached: Mapping[ResourceRef, Money | None]) -> Money | None:
    """What a stopped box still costs per hour: its own bill where stopping ends none, its disks and addresses."""
    own = billed_per_hour(resource)
    effect = resource.stop_effect
    if resource.ref not in attached:
        keeps = effect is None or any(key in effect.still_billed for key in ("disks", "public_ip", "snapshots"))
        return None if keeps else own
    held = attached[resource.ref]
    if held is None or own is None:
        return None
    return held if not own else own + held if own.currency == held.currency else None


def _would_have(facts: AuditFacts) -> list[dict[str, object]]:
    """Per policy: dry-run stops that nothing but the dry run held back, and what the month would have cost less."""
    none = Money.zero(facts.rates.currency)
    groups: dict[str, Money] = {}
    counts: dict[str, int] = {}
    for action in facts.actions:
        if (span := _would_have_stopped(action, facts.until)) is None:
            continue
        began, ended = span
        counts[action.policy] = counts.get(action.policy, 0) + 1
        if action.waste_per_hour is not None:
            saved = facts.rates.over(action.waste_per_hour, max(began, facts.start), ended)
            groups[action.policy] = groups.get(action.policy, none) + (saved or none)
    return [
        {"policy": name, "actions": count, "saved": encode(groups.get(name, none))}
        for name, count in sorted(counts.items())
    ]


def _would_have_stopped(action: Action, until: datetime) -> tuple[datetime, datetime] | None:
    """From when to when a dry-run stop would have saved. A row that still records has its ``ended_at`` from when it
    would have stopped, and the finding still holds; a closed one has there when the finding no longer held."""
    if not action.dry_run or action.response is not Response.STOP:
        return None
    if action.state is ActionState.RECORDED:
        began, ended = action.ended_at, until
    else:
        began, ended = action.due_at if action.code in _ONLY_DRY else None, action.ended_at or until
    return None if began is None or began > until else (began, min(ended, until))


def _decisions_needed(facts: AuditFacts) -> list[str]:
    """What a person has to decide, in sentences."""
    lines = []
    for action in facts.actions:
        name = action.subject.name or action.subject.id
        if action.state is ActionState.FAILED:
            why = facts.translated(action.error or action.reason, facts.language)
            lines.append(remark(facts.language, "failed", name=name, policy=action.policy, error=why))
        elif action.code is GuardCode.APPROVAL and not action.state.terminal:
            lines.append(remark(facts.language, "approval", name=name, policy=action.policy, id=action.id))
    lines += [budget_remark(facts.language, line) for line in facts.budgets if line["state"] in ("over", "at_risk")]
    if unowned := sum(1 for r in facts.resources if r.is_running and not r.owner):
        lines.append(remark(facts.language, "no_owner", count=unowned))
    attached = attached_per_hour(facts.resources)
    stopped = [
        money for r in facts.resources if r.state is State.STOPPED and (money := still_costs(r, attached))
    ]  # fmt: skip
    if stopped:
        amount = facts.rates.total(stopped, facts.now).money
        lines.append(remark(facts.language, "stopped_still_costs", count=len(stopped), amount=amount))
    return lines


def budget_remark(language: Language, line: Mapping[str, object]) -> str:
    """One budget line (see :mod:`costguard.engine.budgets`) as a sentence."""

    def money(name: str) -> Money | None:
        value = line[name]
        return Money.of(value["amount"], value["currency"]) if isinstance(value, Mapping) else None

    code = "over_budget" if line["state"] == "over" else "budget_risk"
    return remark(
        language, code, policy=line["policy"], spent=money("spent"), amount=money("amount"), used=line["used"],
        forecast=money("forecast"),
    )  # fmt: skip


def _warnings(facts: AuditFacts, book: SpendBook, total: Line) -> list[str]:
    say, until = facts.language, facts.until
    lines = [remark(say, "no_rate", currency=money.currency, amount=money) for money in book.apart]
    if missing := unpriced(facts.intervals, facts.start, until):
        lines.append(remark(say, "unpriced", count=missing))
    assumed = [
        i
        for i in facts.intervals
        if i.assumed and i.per_hour and i.started < until and (i.ended or until) > facts.start
    ]
    if assumed:
        lines.append(remark(say, "assumed", amount=total.assumed, count=len(assumed)))
    unbilled = {i.ref.account for i in facts.intervals if i.per_hour} - set(facts.bill.reach)
    lines += [remark(say, "no_bill", account=name) for name in sorted(unbilled)]
    lines += [
        remark(
            say, "source", account=s.account, region=s.region, source=source_name(say, s.source),
            state=state_name(say, s.state.value), error=facts.translated(s.error or "", say),
        )
        for s in facts.sources
        if s.state in (SourceState.DENIED, SourceState.FAILED)
    ]  # fmt: skip
    return lines
