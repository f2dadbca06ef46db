"""Matching: which resources a policy speaks of, and why not.

A test answers yes, no or cannot tell. Keys AND. Cannot tell never matches a positive test, and inside
``not:`` it does not match either: a box that may be the excluded one is left alone. What is readable and
absent (a tag that is not there, no GPU) is a plain no, so ``not: {tags: {env: [prod]}}`` holds for it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from costguard.domain.resource import ChargeType, Gpus, Resource
from costguard.domain.snapshot import AccountFacts
from costguard.rules.globs import glob
from costguard.rules.policy import GpuMatch, Match

Pair = tuple[Resource, AccountFacts | None]
Test = Callable[[Resource, AccountFacts | None], bool | None]


@dataclass(frozen=True, slots=True)
class MatchResult:
    """``why_not`` is one plain English sentence, empty when matched."""

    matched: bool
    why_not: str = ""

    def __bool__(self) -> bool:
        return self.matched


_YES = MatchResult(True)


@dataclass(frozen=True, slots=True)
class Matcher:
    """A match with its globs compiled; make it once per policy and cycle."""

    tests: tuple[tuple[str, Test], ...]
    excluded: "Matcher | None" = None

    def select(self, pairs: Iterable[Pair]) -> list[Resource]:
        """The resources that match, in order: test by test over all of them, which is quicker than one by one."""
        left: Iterable[Pair] = pairs
        for _, test in self.tests:
            left = [(resource, account) for resource, account in left if test(resource, account)]
        if self.excluded is not None:
            decide = self.excluded.decide
            left = [(resource, account) for resource, account in left if decide(resource, account) is False]
        return [resource for resource, _ in left]

    def decide(self, resource: Resource, account: AccountFacts | None) -> bool | None:
        """Yes, no or cannot tell (None); a no anywhere decides."""
        answers = [test(resource, account) for _, test in self.tests]
        if self.excluded is not None:
            inside = self.excluded.decide(resource, account)
            answers.append(None if inside is None else not inside)
        if False in answers:
            return False
        return None if None in answers else True

    def explain(self, resource: Resource, account: AccountFacts | None) -> MatchResult:
        """Whether, and the first reason why not."""
        for key, test in self.tests:
            answer = test(resource, account)
            if answer is None:
                return MatchResult(False, f"{key} is not known, and an unknown value never matches")
            if not answer:
                return MatchResult(False, f"{key} differs or is not there")
        inside = False if self.excluded is None else self.excluded.decide(resource, account)
        if inside is None:
            return MatchResult(False, "it cannot be told whether `not:` excludes it, so it is left alone")
        return MatchResult(False, "`not:` excludes it") if inside else _YES


def compile_match(match: Match | Literal["all"] | None) -> Matcher:
    """The matcher of a policy's ``match``; ``all`` and None match everything."""
    if match is None or match == "all":
        return Matcher(())
    return Matcher(_tests(match), compile_match(match.negated) if match.negated is not None else None)


def matches(
    match: Match | Literal["all"] | None, resource: Resource, account: AccountFacts | None = None
) -> MatchResult:
    """Whether ``match`` holds for one resource, with the reason when it does not."""
    return compile_match(match).explain(resource, account)


def _tests(match: Match) -> tuple[tuple[str, Test], ...]:
    # Tags tell most boxes apart, so they are asked first.
    tests: list[tuple[str, Test]] = [
        (f"tags.{key}", _tag_test(key, frozenset(values))) for key, values in (match.tags or {}).items()
    ]
    if match.kinds is not None:
        kinds = frozenset(match.kinds)
        tests.append(("kinds", lambda r, a: r.ref.kind in kinds))
    if match.accounts is not None:
        accounts = glob(match.accounts).match
        tests.append(("accounts", lambda r, a: accounts(r.ref.account) is not None))
    if match.providers is not None:
        providers = frozenset(match.providers)
        tests.append(("providers", lambda r, a: r.ref.provider in providers))
    if match.regions is not None:
        regions = frozenset(match.regions)
        tests.append(("regions", lambda r, a: r.ref.region in regions))
    if match.charge is not None:
        charge = frozenset(ChargeType(c) for c in match.charge)
        tests.append(("charge", lambda r, a: None if r.charge_type is ChargeType.UNKNOWN else r.charge_type in charge))
    if match.gpus is not None:
        tests.extend(_gpu_tests(match.gpus))
    if match.names is not None:
        names = glob(match.names).match
        tests.append(("names", lambda r, a: names(r.name) is not None))
    if match.skus is not None:
        skus = glob(match.skus).match
        tests.append(("skus", lambda r, a: None if r.sku is None else skus(r.sku) is not None))
    if match.owners is not None:
        owners = frozenset(match.owners)
        tests.append(("owners", lambda r, a: _said(r, r.owner or (a.owner if a else None), owners)))
    if match.teams is not None:
        teams = frozenset(match.teams)
        tests.append(("teams", lambda r, a: _said(r, r.team or (a.team if a else None), teams)))
    return tuple(tests)


def _tag_test(key: str, values: frozenset[str]) -> Test:
    def test(resource: Resource, account: AccountFacts | None) -> bool | None:
        tags: Mapping[str, str] | None = resource.tags
        if tags is None:
            return None
        value = tags.get(key)
        return value is not None and value in values

    return test


def _said(resource: Resource, value: str | None, wanted: frozenset[str]) -> bool | None:
    """Owners and teams come from tags: nobody named is a no, unless the tags could not be read."""
    if value is None:
        return None if resource.tags is None else False
    return value in wanted


def _gpu_tests(gpus: GpuMatch) -> list[tuple[str, Test]]:
    tests: list[tuple[str, Test]] = []
    if gpus.min is not None:
        low = Decimal(str(gpus.min))
        tests.append(("gpus.min", _of_gpus(lambda known, count: count >= low)))
    if gpus.max is not None:
        high = Decimal(str(gpus.max))
        tests.append(("gpus.max", _of_gpus(lambda known, count: count <= high)))
    if gpus.models is not None:
        models = glob(gpus.models, fold=True).match
        tests.append(("gpus.models", _of_gpus(lambda known, count: models(known.model) is not None)))
    return tests


def _of_gpus(holds: Callable[[Gpus, Decimal], bool]) -> Test:
    """A box that may have GPUs or none cannot be told; one that has none is a no."""

    def test(resource: Resource, account: AccountFacts | None) -> bool | None:
        gpus = resource.gpus
        if gpus is None:
            return False
        return None if gpus.count is None else holds(gpus, gpus.count)

    return test
