"""Sharing: costs that everybody causes (gateways, file systems, support fees), divided by rule among those who do.

Pure and exact: the parts of an amount add up to it to the nano (largest remainder). What no rule divides stays where it
was, and what nobody stands for stays unallocated. Costs that are shared weigh nothing themselves.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import Literal

from costguard.domain.budget import Spend
from costguard.engine.attribution import Attribution
from costguard.rules.globs import folded, folded_tag, glob

Recipient = Literal["team", "owner", "project"]
Who = tuple[str | None, str | None, str | None]
# What each one itself cost, by the first day of the calendar month.
Weights = dict[date, dict[Who, int]]
_WHO: Sequence[Recipient] = ("owner", "team", "project")


@dataclass(frozen=True, slots=True)
class SharedCost:
    """One rule. A row has to pass every test that is given; an empty one is none.

    ``accounts``, ``services`` and ``names`` (of resources) are globs, ``tags`` those of the resource at the time,
    ``teams`` whose cost it is otherwise; ``unallocated``: only what has neither owner nor team. ``shares`` are parts of
    the whole by name and may leave a rest; without them the amount is divided evenly, or ``by_cost`` of the same
    calendar month. ``among`` limits who takes part.
    """

    name: str
    accounts: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    teams: tuple[str, ...] = ()
    unallocated: bool = False
    to: Recipient = "team"
    by_cost: bool = False
    shares: Mapping[str, Fraction] = field(default_factory=dict)
    among: tuple[str, ...] = ()


class Sharing:
    """The rules of a configuration, applied to rows of one currency. The first rule that fits a row divides it."""

    def __init__(self, rules: Sequence[SharedCost], attribution: Attribution) -> None:
        self._rules, self._attribution = rules, attribution

    def __bool__(self) -> bool:
        return bool(self._rules)

    def rule(self, row: Spend) -> SharedCost | None:
        """The rule that divides a row."""
        return next((rule for rule in self._rules if self._fits(rule, row)), None)

    def weights(self, rows: Iterable[tuple[date, Spend]]) -> Weights:
        """What each one itself cost per calendar month, which later amounts are divided by."""
        found: Weights = {}
        for day, row in rows:
            if self.rule(row) is None:
                month = found.setdefault(day.replace(day=1), {})
                who = (row.owner, row.team, row.project)
                month[who] = month.get(who, 0) + row.money.nanos
        return found

    def spread(self, rows: Iterable[tuple[date, Spend]], weights: Weights) -> Iterator[tuple[date, Spend]]:
        """The rows with shared ones divided; sums per day, account, service and resource stay as they are."""
        for day, row in rows:
            rule = self.rule(row)
            if rule is None:
                yield day, row
                continue
            month = weights.get(day.replace(day=1), {})
            rest = row.money.nanos
            for (owner, team, project), nanos in _divided(rule, row.money.nanos, month):
                rest -= nanos
                money = replace(row.money, nanos=nanos)
                yield day, replace(row, money=money, owner=owner, team=team, project=project, shared=rule.name)
            if rest:
                yield day, replace(row, money=replace(row.money, nanos=rest))

    def _fits(self, rule: SharedCost, row: Spend) -> bool:
        if rule.accounts and not glob(rule.accounts).match(row.account):
            return False
        if rule.services and not glob(rule.services, fold=True).match(row.service):
            return False
        if rule.teams and row.team not in rule.teams:
            return False
        if rule.unallocated and (row.team or row.owner):
            return False
        if rule.names and not glob(rule.names).match(self._attribution.name(row.ref) or ""):
            return False
        if not rule.tags:
            return True
        tags = self._attribution.tags(row.ref, row.start) or {}
        return all(
            (found := folded_tag(tags, key)) is not None and folded(found[1]) in {folded(value) for value in values}
            for key, values in rule.tags.items()
        )


def _divided(rule: SharedCost, nanos: int, month: Mapping[Who, int]) -> Iterator[tuple[Who, int]]:
    """The parts of an amount: first among the recipients, then within each among those who make it up."""
    place = _WHO.index(rule.to)
    groups: dict[str, dict[Who, int]] = {}
    for who, cost in month.items():
        name = who[place]
        if name is not None and cost > 0 and (not rule.among or name in rule.among):
            groups.setdefault(name, {})[who] = cost
    if rule.shares:
        parts = dict(rule.shares)
    elif rule.by_cost:
        parts = {name: Fraction(sum(members.values())) for name, members in groups.items()}
    else:
        parts = {name: Fraction(1) for name in rule.among or groups}
    if not parts:
        return
    names = sorted(parts)
    rest = 1 - sum(parts.values(), Fraction()) if rule.shares else Fraction()
    shares = largest_remainder(nanos, [*(parts[name] for name in names), rest])
    for name, share in zip(names, shares[:-1], strict=True):
        members = groups.get(name) or {_alone(place, name): 1}
        order = sorted(members, key=str)
        yield from zip(order, largest_remainder(share, [Fraction(members[who]) for who in order]), strict=True)


def _alone(place: int, name: str) -> Who:
    """A recipient of whom nothing else is known."""
    owner, team, project = (name if place == index else None for index in range(3))
    return owner, team, project


def largest_remainder(nanos: int, weights: Sequence[Fraction]) -> list[int]:
    """``nanos`` in whole parts after ``weights`` (not all zero) that add up to it; those that lose most by rounding get
    the last nanos, the first of equals."""
    sign, left, total = (-1 if nanos < 0 else 1), abs(nanos), sum(weights)
    exact = [left * weight / total for weight in weights]
    parts = [int(one) for one in exact]
    order = sorted(range(len(parts)), key=lambda index: (parts[index] - exact[index], index))
    for index in order[: left - sum(parts)]:
        parts[index] += 1
    return [sign * part for part in parts]
