"""Steps: how the steps of one budget stand to each other, and what each of them is told as.

A budget that is first seen far over reaches several steps at once. People get one message, of the highest; the ladders
of the lower ones are opened all the same, so that none of them is told later in the period.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal

from costguard.domain.budget import FORECAST
from costguard.domain.finding import Finding, Judgement, Outcome, SubjectType, fingerprint
from costguard.domain.money import Money
from costguard.engine.evaluate import Evaluation, Prepared
from costguard.engine.ladder import Ladder
from costguard.rules.policy import Match, Policy, Rung

_NOW = timedelta()
# Under 95 % of a step it is over; above it may be the next night's bill.
_BACK = Decimal("0.95")
_SUSPECT = "day_quarantined"
# Which steps are told is no part of what a budget is about.
_STEPS = {"at", "forecast_at"}

Passed = Mapping[int, str]
"""Rungs of a step that need not be told (by index), each with the higher step whose message reaches the same people."""


def passed(evaluation: Evaluation) -> Mapping[str, Passed]:
    """What of each step that is reached goes without saying; by fingerprint."""
    found: dict[str, Passed] = {}
    for name, ready in evaluation.policies.items():
        if ready.kind.subject is not SubjectType.BUDGET:
            continue
        reached = [j for j in evaluation.judgements[name] if j.outcome is Outcome.FIRES and is_step(j)]
        for low in reached:
            above = sorted((j for j in reached if _says_all(j, low)), key=lambda j: _percent(j.threshold))
            covered = {index: high for j in above for index, high in _covered(ready, low, j)}
            if covered:
                found[fingerprint(name, ready.hash, low.subject, low.threshold, low.started_at)] = covered
    return found


def told_below(threshold: str, judgements: Iterable[Judgement]) -> bool:
    """Whether spend is back under a lower step as well, whose recovery says this one's too."""
    return any(
        j.outcome is Outcome.CLEAR and is_step(j) and _beyond(threshold, j.threshold) and not settling(j)
        for j in judgements
    )


def settling(judgement: Judgement) -> bool:
    """Whether spend is back under its step by so little that it will be over it again: a day's bill came in below the
    estimate. A step is told once in its period, so *fine again* would be the last word, and wrong within hours."""
    spent, amount = judgement.evidence.get("spent"), judgement.evidence.get("amount")
    if not isinstance(spent, Money) or not isinstance(amount, Money):
        return False
    return amount.times(Decimal(repr(_percent(judgement.threshold))) / 100 * _BACK) <= spent


def story(policy: Policy, finding: Finding) -> str:
    """What a budget's step is told as in its period: the same after every edit that leaves the money alone, like that
    of the people who hear of it or of what is done; another one for another amount or other resources."""
    when = policy.when.model_dump(mode="json", by_alias=True, exclude=_STEPS)
    match = policy.match.model_dump(mode="json") if isinstance(policy.match, Match) else policy.match
    money = hashlib.sha256(json.dumps([when, match], sort_keys=True).encode()).hexdigest()[:16]
    return f"{policy.name}:{finding.subject.id}:{finding.threshold}:{money}"


def is_step(claim: Judgement | Finding) -> bool:
    """Whether it is about the budget itself, not about one of its boxes."""
    return claim.subject.type is SubjectType.BUDGET


def _percent(threshold: str) -> float:
    return float(threshold.removeprefix(FORECAST).removesuffix("%"))


def _beyond(high: str, low: str) -> bool:
    """Whether ``high`` being reached means that ``low`` is, too: a forecast says nothing of what is spent."""
    if high == low or (high.startswith(FORECAST) and not low.startswith(FORECAST)):
        return False
    both = high.startswith(FORECAST) == low.startswith(FORECAST)
    return _percent(high) > _percent(low) if both else _percent(high) >= _percent(low)


def _says_all(high: Judgement, low: Judgement) -> bool:
    """A step that only a suspect day reaches says nothing of those that are reached beyond doubt."""
    sure = high.reason != _SUSPECT or low.reason == _SUSPECT
    return high.subject == low.subject and sure and _beyond(high.threshold, low.threshold)


def _covered(ready: Prepared, low: Judgement, high: Judgement) -> Iterator[tuple[int, str]]:
    """The rungs of ``low`` whose people hear of ``high`` no later."""
    ladders: tuple[Ladder, ...] = tuple(ready.ladder(j.subject.type, j.threshold) for j in (low, high))
    for index, rung in enumerate(ladders[0].rungs):
        if any(_reaches(other, rung) for other in ladders[1].rungs):
            yield index, high.threshold


def _reaches(rung: Rung, other: Rung) -> bool:
    everyone = (frozenset(one.to or ("",)) for one in (rung, other))
    theirs, others = everyone
    return theirs >= others and (rung.after or _NOW) <= (other.after or _NOW)
