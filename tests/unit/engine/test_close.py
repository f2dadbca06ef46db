"""Closing: what ends a ladder, and what an ended one still holds."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode
from costguard.domain.resource import Resource, State
from costguard.engine.close import CLEAR_AFTER, Closing
from costguard.engine.evaluate import evaluate
from costguard.rules.registry import parse_policy
from costguard.testing.builders import MINUTE, NOW, make_resource
from tests.unit.engine.stage import SETTINGS, Cycles, busy, idle_policy, snapshot_of

S = ActionState
BOX = make_resource()
POLICY = idle_policy()


def closing(box: Resource = BOX, **facts: Any) -> Closing:
    snapshot = snapshot_of(box, **facts)
    ids = count()
    return Closing(evaluate([POLICY], snapshot), snapshot, SETTINGS, lambda: str(next(ids)))


def ended(state: ActionState, code: GuardCode = GuardCode.APPROVAL, **fields: Any) -> Action:
    cycles = Cycles([POLICY])
    cycles.cycle(snapshot_of(BOX))
    return replace(cycles.row, state=state, code=code, **fields)


@pytest.mark.parametrize(
    ("row", "holds"),
    [
        (ended(S.DONE), True),
        (ended(S.FAILED), True),
        (ended(S.CANCELLED), True),
        (ended(S.CANCELLED, GuardCode.PROTECTED), False),
        (ended(S.CANCELLED, GuardCode.BUSY), False),
        (ended(S.SUPERSEDED), False),
        (ended(S.FAILED, clear_count=CLEAR_AFTER), False),
        (ended(S.FAILED, policy_hash="old"), False),
    ],
)
def test_which_ended_ladders_hold_their_fingerprint(row: Action, holds: bool) -> None:
    assert (row.fingerprint in closing().held([row])) is holds


def test_a_hold_ends_when_the_finding_has_cleared_twice_with_new_data() -> None:
    row = ended(S.FAILED)
    for minute, expected in ((1, 1), (1, 1), (2, CLEAR_AFTER)):
        at = NOW + minute * MINUTE
        now = closing(now=at, usage={BOX.ref: busy(BOX, end=at)})
        now.held([row])
        row = now.latest(row)
        assert (row.clear_count, row.state) == (expected, S.FAILED)
    assert closing().held([row]) == {}


@pytest.mark.parametrize(
    "box",
    [replace(BOX, state=State.STOPPED, started_at=None), replace(BOX, started_at=NOW - MINUTE)],
)
def test_a_hold_ends_with_the_run_that_it_was_about(box: Resource) -> None:
    now = closing(box)
    row = ended(S.DONE)
    assert now.held([row]) == {}
    assert now.latest(row).clear_count == CLEAR_AFTER


def test_a_hold_survives_what_cannot_be_told() -> None:
    for box, usage in ((BOX, {BOX.ref: {}}), (replace(BOX, state=State.PENDING, started_at=None), None)):
        row = ended(S.FAILED)
        assert row.fingerprint in closing(box, usage=usage).held([row])


def test_a_glitch_of_the_state_does_not_end_a_ladder() -> None:
    """C19: a transitional state is skipped, not judged."""
    row = ended(S.WARNED, GuardCode.NOT_DUE, warned_at=NOW)
    assert not closing(replace(BOX, state=State.UNKNOWN, started_at=None)).close(row)
    assert closing(replace(BOX, started_at=NOW)).close(row)


def test_what_goes_on_after_a_restart_is_not_told_to_be_over() -> None:
    """The tag is still missing in the box's next run; a rule of which the restart is the end is over."""
    policy = parse_policy(
        {"name": "tags", "rule": "untagged", "when": {"require": ["owner"]}, "respond": [{"do": "notify"}]}
    )
    box = make_resource(tags={})
    cycles = Cycles([policy])
    cycles.cycle(snapshot_of(box))
    told = cycles.row
    again = replace(box, started_at=NOW - 5 * MINUTE)
    for tags, notices in (({}, 0), ({"owner": "zhang"}, 1)):
        snapshot = snapshot_of(replace(again, tags=tags))
        found = Closing(evaluate([policy], snapshot), snapshot, SETTINGS, lambda: "n")
        assert found.close(told)
        assert len(found.notices) == notices
