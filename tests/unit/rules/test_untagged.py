"""untagged: whose it is, or who made it."""

from typing import Any

import pytest

from costguard.domain.finding import Outcome
from costguard.domain.resource import State
from costguard.rules.untagged import UNTAGGED, UntaggedWhen, judge
from costguard.testing.builders import make_resource, make_snapshot


@pytest.mark.parametrize(
    ("fields", "outcome", "missing"),
    [
        ({}, Outcome.FIRES, ("owner", "team")),
        ({"tags": {"Owner": "li"}}, Outcome.FIRES, ("team",)),
        ({"tags": {"owner": "li", "team": " "}}, Outcome.FIRES, ("team",)),
        ({"tags": {"owner": "li", "team": "x"}}, Outcome.CLEAR, None),
        ({"owner": "li", "team": "x"}, Outcome.CLEAR, None),
        ({"tags": None}, Outcome.UNKNOWN, None),
        ({"state": State.GONE}, Outcome.CLEAR, None),
        ({"state": State.STOPPED}, Outcome.FIRES, ("owner", "team")),
    ],
)
def test_required_tags(fields: dict[str, Any], outcome: Outcome, missing: tuple[str, ...] | None) -> None:
    """C21, I24: unreadable tags are unknown, not missing."""
    resource = make_resource(creator="arn:li", **fields)
    (answer,) = judge(UntaggedWhen(), [resource], make_snapshot(resource))
    assert answer.outcome is outcome
    assert answer.evidence.get("missing") == missing
    assert outcome is not Outcome.FIRES or answer.evidence["creator"] == "arn:li"


def test_it_may_not_stop() -> None:
    assert not UNTAGGED.may_stop
