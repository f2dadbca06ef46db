"""quota: shares and rests; unknown use is not zero."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from costguard.domain.finding import Outcome
from costguard.domain.quota import QuotaFact
from costguard.rules.quota import QuotaWhen, judge
from costguard.testing.builders import HOUR, NOW, make_snapshot


def quota(used: float | None, limit: float = 100, **fields: Any) -> QuotaFact:
    defaults = {
        "account": "prod",
        "region": "r",
        "name": "Running P instances",
        "unit": "vCPU",
        "observed_at": NOW - HOUR,
    }
    return QuotaFact(limit=limit, used=used, **{**defaults, **fields})


def said(when: dict[str, Any], *quotas: QuotaFact) -> list[str]:
    found = judge(QuotaWhen.model_validate(when), [], make_snapshot(quotas=quotas))
    return [f"{a.outcome.value}: {a.reason}" for a in found]


@pytest.mark.parametrize(
    ("when", "one", "expected"),
    [
        ({"used_above": "80%"}, quota(81), "fires: used_above"),
        ({"used_above": "80%"}, quota(80), "clear: enough"),
        ({"free_below": 8}, quota(93), "fires: free_below"),
        ({"free_below": 8}, quota(92), "clear: enough"),
        ({"used_above": "80%", "free_below": 8}, quota(95), "fires: used_above"),
        ({"used_above": "80%"}, quota(None), "unknown: use_unknown"),
        ({"used_above": "80%"}, quota(0, 0), "clear: nothing_granted"),
        ({"used_above": "80%"}, quota(99, observed_at=NOW - timedelta(hours=25)), "unknown: quota_stale"),
    ],
)
def test_shares_and_rests(when: dict[str, Any], one: QuotaFact, expected: str) -> None:
    """G05: a throttled quota API is unknown, not zero."""
    assert said(when, one) == [expected]


def test_each_quota_of_each_region_is_a_subject_of_its_own() -> None:
    quotas = (quota(99), quota(99, region="s"), quota(99, name="GPU cards"))
    found = list(judge(QuotaWhen.model_validate({"used_above": "80%"}), [], make_snapshot(quotas=quotas)))
    assert len({a.subject.key for a in found}) == 3
    assert all(a.outcome is Outcome.FIRES for a in found)
    assert said({"used_above": "80%", "names": "*gpu*"}, *quotas) == ["fires: used_above"]


@pytest.mark.parametrize("when", [{}, {"used_above": "101%"}, {"free_below": 0}, {"names": ["x"]}])
def test_mistakes_are_refused(when: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        QuotaWhen.model_validate(when)
