"""Outlook: what happens to one resource next, when, and why or why not, as one answer over all its policies.

Pure. The order is the plan's: what is under way, what may act, what waits, what a dry run would do, what is refused;
among equals the mildest, then the earliest, then by name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from costguard.domain.decision import Answer, GuardCode, Response, Verdict
from costguard.domain.finding import Judgement, Outcome

_FAR = datetime(9999, 1, 1, tzinfo=UTC)
_SEVERITY = {Response.STOP: 0, Response.RELEASE: 1}
_UNDONE = frozenset({GuardCode.DRY_RUN, GuardCode.NOT_ARMED})


class Prospect(StrEnum):
    """In the order in which one is told rather than another."""

    UNDER_WAY = "under_way"
    NOW = "now"
    LATER = "later"
    DRY_RUN = "dry_run"
    REFUSED = "refused"
    TOLD = "told"
    UNKNOWN = "unknown"
    NOTHING = "nothing"


_RANK = {prospect: number for number, prospect in enumerate(Prospect)}


@dataclass(frozen=True, slots=True)
class Outlook:
    """``at`` (aware UTC) is when, None where nobody knows or nothing comes; ``code`` and ``reason`` say why."""

    prospect: Prospect
    policy: str = ""
    response: Response = Response.NOTIFY
    at: datetime | None = None
    code: GuardCode = GuardCode.OK
    reason: str = ""


def of_ladder(
    policy: str, response: Response, verdict: Verdict, due_at: datetime | None, dry: GuardCode | None, *, flying: bool
) -> Outlook:
    """What one firing ladder comes to; ``dry`` is the effective dry run's code."""
    if flying:
        return Outlook(Prospect.UNDER_WAY, policy, response)
    if verdict.never is not None:
        return Outlook(Prospect.REFUSED, policy, response, None, verdict.never, verdict.reason)
    if verdict.answer is Answer.ALLOW:
        return Outlook(Prospect.NOW, policy, response)
    if dry is not None and (verdict.code in _UNDONE or verdict.answer is Answer.DEFER):
        return Outlook(Prospect.DRY_RUN, policy, response, due_at, dry, verdict.reason)
    if verdict.answer is Answer.DEFER:
        return Outlook(Prospect.LATER, policy, response, verdict.until or due_at, verdict.code, verdict.reason)
    return Outlook(Prospect.REFUSED, policy, response, verdict.until, verdict.code, verdict.reason)


def of_judgement(policy: str, answer: Judgement) -> Outlook:
    """What a ladder comes to whose rungs are all told, or whose rule does not fire."""
    kinds = {Outcome.FIRES: Prospect.TOLD, Outcome.UNKNOWN: Prospect.UNKNOWN, Outcome.CLEAR: Prospect.NOTHING}
    return Outlook(kinds[answer.outcome], policy, reason=answer.reason)


def outlook(found: Iterable[Outlook]) -> Outlook:
    """The one that is told."""
    ordered: Sequence[Outlook] = sorted(found, key=_order)
    return ordered[0] if ordered else Outlook(Prospect.NOTHING, reason="no policy matches it")


def _order(one: Outlook) -> tuple[int, int, datetime, str]:
    return _RANK[one.prospect], _SEVERITY.get(one.response, 2), one.at or _FAR, one.policy
