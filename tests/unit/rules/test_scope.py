"""Scope: whose money a policy speaks of, for what is there, what is gone, and what no resource stands for."""

from typing import Any

import pytest

from costguard.domain.charge import Balance
from costguard.domain.quota import QuotaFact
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.rules.match import compile_match
from costguard.rules.policy import Match
from costguard.rules.scope import scoped
from costguard.testing.builders import NOW, cny, make_account, make_ref, make_resource, make_snapshot, make_spend

OURS = make_resource("i-1", tags={"role": "dev"}, team="nlp")
THEIRS = make_resource("i-2", account="other", team="vision")
GONE = make_ref("i-3")
SNAPSHOT = make_snapshot(
    OURS,
    THEIRS,
    accounts={"prod": make_account("prod"), "other": make_account("other", "aws", team="vision")},
    spend=(
        make_spend(cny("1"), ref=OURS.ref),
        make_spend(cny("2"), ref=THEIRS.ref, account="other"),
        make_spend(cny("4"), ref=GONE),
        make_spend(cny("8")),
        make_spend(cny("16"), account="other"),
        make_spend(cny("32"), team="nlp"),
        make_spend(cny("64"), ref=GONE, owner="li"),
    ),
    balances=(Balance("prod", cny("1"), None, NOW), Balance("other", cny("2"), None, NOW)),
    quotas=(QuotaFact("prod", "a", "q", 1, 1, "", NOW), QuotaFact("prod", "b", "q", 1, 1, "", NOW)),
)


def seen(match: Any) -> Snapshot:
    matcher = compile_match(match if match in ("all", None) else Match.model_validate(match))
    pairs = [(r, SNAPSHOT.accounts.get(r.ref.account)) for r in SNAPSHOT.resources.values()]
    matched: list[Resource] = matcher.select(pairs)
    return scoped(matcher, matched, SNAPSHOT)


@pytest.mark.parametrize(
    ("match", "total"),
    [
        ("all", 127),
        (None, 127),
        ({"accounts": ["prod"]}, 1 + 4 + 8 + 32 + 64),
        ({"providers": ["aws"]}, 16),
        ({"tags": {"role": ["dev"]}}, 1),
        ({"teams": ["nlp"]}, 1 + 32),
        ({"teams": ["vision"]}, 2 + 16),
        ({"owners": ["li"]}, 64),
        ({"kinds": ["vm"]}, 1 + 2 + 4 + 64),
        ({"regions": ["cn-north"]}, 1 + 2 + 4 + 64),
        ({"not": {"tags": {"role": ["dev"]}}}, 2),
        ({"not": {"accounts": ["other"]}}, 1 + 4 + 8 + 32 + 64),
    ],
)
def test_spend_goes_by_its_resource_else_by_what_is_known(match: Any, total: int) -> None:
    """I24: what carries no tag belongs to nobody who is named."""
    assert sum(row.money.nanos for row in seen(match).spend) == total * 10**9


def test_balances_and_quotas_go_by_account_and_region() -> None:
    assert [b.account for b in seen({"accounts": ["prod"]}).balances] == ["prod"]
    assert len(seen("all").balances) == 2
    assert seen({"tags": {"role": ["dev"]}}).balances == ()
    assert [q.region for q in seen({"regions": ["b"]}).quotas] == ["b"]
    assert seen({"kinds": ["vm"]}).quotas == ()


def test_nothing_else_changes() -> None:
    found = seen({"accounts": ["prod"]})
    assert found.resources is SNAPSHOT.resources
    assert found.now == SNAPSHOT.now
