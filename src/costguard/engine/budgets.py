"""Budgets: where each budget policy stands in its period, as the rule itself sees it, and the providers' own beside."""

from collections.abc import Iterable
from datetime import datetime

from costguard.domain.budget import ProviderBudget
from costguard.domain.codec import encode, instant
from costguard.domain.finding import Evidence, Outcome, SubjectType
from costguard.domain.money import Money
from costguard.domain.snapshot import Snapshot
from costguard.engine.evaluate import Prepared
from costguard.rules.scope import scoped

_RULE = "budget"
_SHOWN = ("period", "period_start", "period_end", "amount", "spent", "used", "basis", "forecast", "gone_at")


def budgets(policies: Iterable[Prepared], snapshot: Snapshot) -> list[dict[str, object]]:
    """One line per budget policy, by name, for the period that ``snapshot.now`` lies in.

    ``state`` ∈ over, at_risk (the forecast passes the amount), ok, unknown (money is missing: nothing is cleared).
    ``reached`` are the steps that spend has come to.
    """
    pairs = [(r, snapshot.accounts.get(r.ref.account)) for r in snapshot.resources.values()]
    lines: list[dict[str, object]] = []
    for ready in sorted((p for p in policies if p.policy.rule == _RULE), key=lambda p: p.policy.name):
        resources = ready.matcher.select(pairs)
        answers = [
            a
            for a in ready.kind.judge(ready.policy.when, resources, scoped(ready.matcher, resources, snapshot))
            if a.subject.type is SubjectType.BUDGET
        ]
        evidence = answers[0].evidence
        unknown = next((a.reason for a in answers if a.outcome is Outcome.UNKNOWN), None)
        lines.append(
            {"policy": ready.policy.name, "key": answers[0].subject.id, "state": _state(evidence, unknown)}
            | {name: encode(evidence[name]) for name in _SHOWN}
            | {
                "reached": [
                    a.threshold for a in answers if a.outcome is Outcome.FIRES and a.reason != "forecast_reached"
                ],
                "unknown": unknown,
            }
        )
    return lines


def provider_budgets(found: Iterable[tuple[ProviderBudget, datetime]]) -> list[dict[str, object]]:
    """One line per budget that is kept at a provider, by account and name: what it counts, and when that was read.

    ``used`` in whole percent, rounded down; None where the provider does not tell both amounts in one currency.
    """
    return [
        {
            "account": budget.account,
            "name": budget.name,
            "period": budget.period,
            "state": _standing(budget.limit, budget.actual, budget.forecast, unknown=budget.actual is None),
            "amount": encode(budget.limit),
            "spent": encode(budget.actual),
            "forecast": encode(budget.forecast),
            "used": _used(budget),
            "until": encode(budget.until),
            "read_at": instant(at),
        }
        for budget, at in sorted(found, key=lambda pair: (pair[0].account, pair[0].name))
    ]


def _used(budget: ProviderBudget) -> int | None:
    limit, actual = budget.limit, budget.actual
    if limit is None or actual is None or limit.currency != actual.currency or limit.nanos <= 0:
        return None
    return actual.nanos * 100 // limit.nanos


def _state(evidence: Evidence, unknown: str | None) -> str:
    amount, spent, forecast = (evidence[name] for name in ("amount", "spent", "forecast"))
    assert isinstance(amount, Money), "a budget has an amount"
    return _standing(
        amount,
        spent if isinstance(spent, Money) else None,
        forecast if isinstance(forecast, Money) else None,
        unknown=bool(unknown),
    )


def _standing(amount: Money | None, spent: Money | None, forecast: Money | None, *, unknown: bool) -> str:
    if amount is None:
        return "unknown"
    if spent is not None and spent.currency == amount.currency and amount <= spent:
        return "over"
    if forecast is not None and forecast.currency == amount.currency and amount <= forecast:
        return "at_risk"
    return "unknown" if unknown else "ok"
