"""The report in eight lines: what of an audit a person must know, as values. Pure; the words are the channel's.

Every number is the audit's own. Only what was wasted is added up here: an idle box costs its waste per hour from when
the finding began to hold until it no longer did, an estimate like every price × hours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from costguard.domain.action import Action, ActionState
from costguard.domain.codec import encode
from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import Subject
from costguard.domain.money import Money
from costguard.domain.resource import Kind, State
from costguard.engine.audit import AuditFacts, audit
from costguard.engine.remarks import Language

LANGUAGES: tuple[Language, ...] = ("zh", "en")
MOST = 3
_COMPUTE = (Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT)
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """``documents``: the ``costguard.audit/1`` document per language. ``numbers`` are JSON, and what messages say."""

    documents: Mapping[Language, Document]
    numbers: Mapping[str, Any]

    @property
    def final(self) -> bool:
        """Whether the bill will not change any more."""
        return bool(self.numbers["stage"] == "final")


def report(facts: AuditFacts) -> Report:
    """The audit in every language, and its eight lines."""
    documents: dict[Language, Document] = {one: audit(replace(facts, language=one)) for one in LANGUAGES}
    document = documents[facts.language]
    spend, savings = document["spend"], document["savings"]
    would = document["would_have"]
    wasted = _wasted(facts)
    numbers = {
        "stage": document["stage"],
        "amount": spend["amount"],
        "previous": spend["previous"],
        "billed": spend["billed"],
        "estimated": spend["estimated"],
        "difference": spend["difference"],
        "through": min((bill["through"] for bill in spend["bills"]), default=None),
        "gaps": len(document["warnings"]),
        "saved": savings["booked"],
        "lost": savings["lost"],
        "stops": sum(1 for a in facts.actions if _stopped(a, facts)),
        "would_stops": sum(line["actions"] for line in would),
        "would_save": encode(facts.rates.total([_money(line["saved"]) for line in would], facts.until).money),
        "wasted": [encode({"name": name, "amount": money, "span": span}) for name, money, span in wasted[:MOST]],
        "owners": [{"key": line["key"], "amount": line["amount"]} for line in spend["by_owner"]],
        "false_stops": document["false_stops"],
        "decisions": {one: list(documents[one]["decisions_needed"]) for one in LANGUAGES},
        "next": _next(facts, document),
    }
    return Report(documents, numbers)


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What differs between two reports' numbers: ``{"what", "from", "to"}``; owners by their name, the largest change
    first. Empty when a person would see no difference."""
    found = [
        {"what": what, "from": before[what], "to": after[what]}
        for what in ("amount", "billed", "saved")
        if _cents(before[what]) != _cents(after[what])
    ]
    old, new = ({line["key"]: line["amount"] for line in numbers["owners"]} for numbers in (before, after))
    owners = [
        {"what": "owner", "key": key, "from": old.get(key), "to": new.get(key)}
        for key in {**old, **new}
        if _cents(old.get(key)) != _cents(new.get(key))
    ]
    by_size = sorted(owners, key=lambda one: (-abs(_cents(one["to"]) - _cents(one["from"])), one["key"]))
    return [*found, *by_size[:MOST]]


def _stopped(action: Action, facts: AuditFacts) -> bool:
    done = action.state is ActionState.DONE and not action.dry_run and action.response is not Response.NOTIFY
    return done and action.executed_at is not None and facts.start <= action.executed_at < facts.until


def _wasted(facts: AuditFacts) -> list[tuple[str, Money, timedelta]]:
    """Name, money and time of every resource that was found wasting, the dearest first. Several policies that find the
    same are counted once, by the dearest of them."""
    sums: dict[tuple[Subject, str], tuple[int, timedelta]] = {}
    for action in facts.actions:
        if action.waste_per_hour is None or action.subject.ref is None:
            continue
        ended = action.ended_at if action.state.terminal else None  # what records has its own there
        low, high = max(action.since, facts.start), min(ended or facts.until, facts.until)
        worth = facts.rates.over(action.waste_per_hour, low, high)
        if high <= low or worth is None:
            continue
        nanos, span = sums.get((action.subject, action.policy), (0, timedelta(0)))
        sums[action.subject, action.policy] = (nanos + worth.nanos, span + (high - low))
    best: dict[Subject, tuple[int, timedelta]] = {}
    for (subject, _), found in sums.items():
        best[subject] = max(best.get(subject, found), found)
    ordered = sorted(best.items(), key=lambda item: (-item[1][0], item[0].id))
    return [(s.name or s.id, Money(nanos, facts.rates.currency), span) for s, (nanos, span) in ordered if nanos > 0]


def _next(facts: AuditFacts, document: Document) -> dict[str, Any]:
    """The one step that is worth most now: ``{"code", …}``."""
    last = {(a.policy, a.subject): a for a in sorted(facts.actions, key=lambda a: a.created_at)}
    for code, waits in (("failed", _failed), ("approve", _unapproved)):
        if waiting := [a for a in last.values() if waits(a)]:
            first = min(waiting, key=lambda a: (-_nanos(a.waste_per_hour), a.id))
            return {"code": code, "name": first.subject.name or first.subject.id, "id": first.subject.id,
                    "action": first.id, "count": len(waiting)}  # fmt: skip
    if over := [line["policy"] for line in document["budgets"] if line["state"] == "over"]:
        return {"code": "budget", "name": over[0]}
    if unowned := [r for r in facts.resources if r.is_running and not r.owner and r.ref.kind in _COMPUTE]:
        first_box = min(unowned, key=lambda r: (-_nanos(r.price), r.ref.id))
        return {"code": "owners", "count": len(unowned), "name": first_box.name or first_box.ref.id,
                "id": first_box.ref.id}  # fmt: skip
    if would := [line for line in document["would_have"] if _cents(line["saved"]) > 0]:
        most = max(would, key=lambda line: _cents(line["saved"]))
        return {"code": "enforce", "name": most["policy"], "amount": most["saved"]}
    if stopped := [r for r in document["resources"] if r["state"] == State.STOPPED and r["still_costs_per_hour"]]:
        return {"code": "release", "count": len(stopped)}
    return {"code": "nothing"}


def _failed(action: Action) -> bool:
    return action.state is ActionState.FAILED


def _unapproved(action: Action) -> bool:
    return action.code is GuardCode.APPROVAL and not action.state.terminal


def _money(value: Mapping[str, str]) -> Money:
    return Money.of(value["amount"], value["currency"])


def _nanos(money: Money | None) -> int:
    return money.nanos if money is not None else 0


def _cents(value: Mapping[str, str] | None) -> int:
    """What a person would see of an amount; 0 for none."""
    return 0 if value is None else int(_money(value).amount.scaleb(2).to_integral_value())
