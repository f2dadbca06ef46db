"""Limits alone: what counts, for how long, and when a place gets free."""

from typing import Any

import pytest

from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.engine.evaluate import evaluate
from costguard.engine.limits import Limits, counted
from costguard.engine.settings import EngineSettings
from costguard.testing.builders import HOUR, MINUTE, NOW, make_action, make_resource
from tests.unit.engine.stage import idle_policy, snapshot_of

S = ActionState


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"state": S.EXECUTING}, True),
        ({"state": S.VALIDATING}, True),
        ({"state": S.FAILED, "executed_at": NOW - 59 * MINUTE}, True),
        ({"state": S.DONE, "executed_at": NOW - HOUR}, False),
        ({"state": S.WARNED}, False),
        ({"state": S.VALIDATING, "response": Response.TAG}, False),
        ({"state": S.RECORDED, "dry_run": True, "ended_at": NOW - MINUTE}, True),
        ({"state": S.RECORDED, "dry_run": True, "ended_at": NOW - HOUR}, False),
        ({"state": S.RECORDED, "dry_run": True}, False),
    ],
)
def test_what_counts(fields: dict[str, Any], expected: bool) -> None:
    """In flight, and called within the last 60 minutes whatever became of it; tags and notes never."""
    assert counted(make_action(**fields), NOW) is expected


def limits(*actions: Action, config: EngineSettings, boxes: int = 8, **own: Any) -> Limits:
    snapshot = snapshot_of(*(make_resource(f"i-{i}") for i in range(boxes)))
    return Limits(evaluate([idle_policy(limits=own)], snapshot), snapshot, config, actions)


def test_it_says_when_the_oldest_place_gets_free() -> None:
    """M18."""
    old = make_action(id="a", state=S.DONE, executed_at=NOW - 50 * MINUTE)
    new = make_action(id="b", state=S.EXECUTING, executed_at=NOW - MINUTE)
    full = limits(old, new, old, config=EngineSettings(per_hour=2, share=None)).ask("idle-dev", "prod", dry=False)
    assert full is not None
    assert (full.code, full.until) == (GuardCode.LIMIT, NOW + 10 * MINUTE)
    assert limits(old, config=EngineSettings(per_hour=2, share=None)).ask("idle-dev", "prod", dry=False) is None


@pytest.mark.parametrize(
    ("boxes", "share", "most"), [(1, 1.0, 1), (3, 25.0, 1), (8, 25.0, 2), (10, 30.0, 3), (0, 50.0, 1)]
)
def test_a_share_is_rounded_down_and_at_least_one(boxes: int, share: float, most: int) -> None:
    left = limits(config=EngineSettings(per_hour=None, share=share), boxes=boxes)
    for number in range(most):
        assert left.ask("idle-dev", "prod", dry=False) is None
        left.take(make_action(id=str(number)))
    assert left.ask("idle-dev", "prod", dry=False) is not None
    assert left.ask("idle-dev", "other", dry=False) is None


def test_another_policys_calls_count_only_over_all() -> None:
    other = make_action(state=S.EXECUTING, policy="other", executed_at=NOW)
    assert (
        limits(other, config=EngineSettings(per_hour=None, share=None), per_hour=1).ask("idle-dev", "prod", False)
        is None
    )
    assert limits(other, config=EngineSettings(per_hour=1, share=None)).ask("idle-dev", "prod", False) is not None
