"""The lowest of three modes, and arming."""

from dataclasses import replace
from typing import Any

import pytest

from costguard.domain.decision import GuardCode
from costguard.domain.finding import Subject, SubjectType
from costguard.engine.effective import dry_run_code
from costguard.engine.settings import EngineSettings
from costguard.testing.builders import HOUR, NOW, make_account, make_resource, make_snapshot
from tests.unit.engine.stage import idle_policy

BOX = make_resource()


@pytest.mark.parametrize(
    ("policy", "account", "enforce", "code"),
    [
        ("enforce", {}, True, None),
        ("dry_run", {}, True, GuardCode.DRY_RUN),
        ("enforce", {"enforce": False}, True, GuardCode.DRY_RUN),
        ("enforce", {}, False, GuardCode.DRY_RUN),
        ("enforce", {"armed": False}, True, GuardCode.NOT_ARMED),
        ("enforce", {"armed": False, "enforce": False}, True, GuardCode.DRY_RUN),
    ],
)
def test_the_lowest_mode_holds(policy: str, account: dict[str, Any], enforce: bool, code: GuardCode | None) -> None:
    """K01, C32: an account that is not listed, or not who it should be, is not armed."""
    snapshot = make_snapshot(BOX, accounts={"prod": make_account(**account)})
    settings = EngineSettings(enforce=enforce)
    assert dry_run_code(idle_policy(mode=policy), Subject.of(BOX), snapshot, settings) is code


def test_a_disputed_box_is_in_dry_run_until_the_dispute_ends() -> None:
    snapshot = make_snapshot(BOX, disputed_until={BOX.ref: NOW + HOUR})
    assert dry_run_code(idle_policy(), Subject.of(BOX), snapshot, EngineSettings()) is GuardCode.DRY_RUN
    later = replace(snapshot, now=NOW + HOUR)
    assert dry_run_code(idle_policy(), Subject.of(BOX), later, EngineSettings()) is None


def test_an_unknown_account_is_not_armed_and_a_budget_needs_none() -> None:
    snapshot = make_snapshot(BOX, accounts={})
    assert dry_run_code(idle_policy(), Subject.of(BOX), snapshot, EngineSettings()) is GuardCode.NOT_ARMED
    budget = Subject(SubjectType.BUDGET, "month")
    assert dry_run_code(idle_policy(), budget, snapshot, EngineSettings()) is None
