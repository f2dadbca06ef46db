"""Budgets: where each budget policy stands in its period, as the rule itself sees it."""

from collections.abc import Iterable

from costguard.domain.codec import encode
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


def _state(evidence: Evidence, unknown: str | None) -> str:
    amount, spent, forecast = (evidence[name] for name in ("amount", "spent", "forecast"))
    assert isinstance(amount, Money), "a budget has an amount"
    if isinstance(spent, Money) and amount <= spent:
        return "over"
    if isinstance(forecast, Money) and amount <= forecast:
        return "at_risk"
    return "unknown" if unknown else "ok"
