"""Ladders: whose rungs, and when they are due."""

from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.decision import Response
from costguard.domain.finding import SubjectType
from costguard.engine.ladder import Ladder, restarted, rungs_for
from costguard.rules.policy import Rung
from costguard.testing.builders import HOUR, MINUTE, NOW, make_action
from tests.unit.engine.stage import idle_policy, lifetime_policy

RESOURCE, BUDGET = SubjectType.RESOURCE, SubjectType.BUDGET


def rungs(*documents: dict[str, Any]) -> tuple[Rung, ...]:
    return tuple(Rung.model_validate(d) for d in documents)


WARN_WARN_STOP = Ladder(rungs({"do": "warn"}, {"after": "15m", "do": "warn"}, {"after": "30m", "do": "stop"}))


def test_after_counts_from_the_first_warnings_delivery() -> None:
    row = make_action(held_since=NOW)
    assert [WARN_WARN_STOP.due(row, i) for i in range(3)] == [NOW, None, None]
    row = make_action(held_since=NOW, warned_at=NOW + HOUR)
    assert WARN_WARN_STOP.due(row, 1) == NOW + HOUR + 15 * MINUTE
    assert WARN_WARN_STOP.due(row, 2) == NOW + HOUR + 30 * MINUTE


def test_without_a_warning_it_counts_from_the_first_cycle() -> None:
    ladder = Ladder(rungs({"do": "notify"}, {"after": "1h", "do": "stop", "unwarned": True}))
    assert ladder.first_warning is None
    assert ladder.due(make_action(held_since=NOW), 1) == NOW + HOUR


def test_what_a_person_asks_for_at_once_is_due_once_the_warning_is_there() -> None:
    """It is about what acts: the second warning keeps its time. Nobody makes anything later than it is."""
    row = make_action(held_since=NOW, hastened_at=NOW + MINUTE)
    assert [WARN_WARN_STOP.due(row, i) for i in range(3)] == [NOW, None, None]
    row = make_action(held_since=NOW, warned_at=NOW, hastened_at=NOW + MINUTE)
    assert [WARN_WARN_STOP.due(row, i) for i in range(3)] == [NOW, NOW + 15 * MINUTE, NOW + MINUTE]
    assert WARN_WARN_STOP.due(make_action(warned_at=NOW, hastened_at=NOW + HOUR), 2) == NOW + 30 * MINUTE
    assert restarted(row, NOW + HOUR, approved=True).hastened_at is None


def test_a_warning_that_announces_nothing_is_no_first_warning() -> None:
    assert Ladder(rungs({"do": "warn"}, {"do": "notify"})).first_warning is None
    assert WARN_WARN_STOP.first_warning == 0
    assert WARN_WARN_STOP.response(0) is Response.STOP
    assert WARN_WARN_STOP.ascends
    assert not Ladder(rungs({"after": "2h", "do": "warn"}, {"after": "1h", "do": "stop"})).ascends


RESPOND = [
    {"at": "50%", "do": "notify"}, {"at": "100%", "do": "notify"}, {"at": "100%", "do": "warn"},
    {"at": "100%", "after": "30m", "do": "stop"},
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "subject", "threshold", "expected"),
    [
        (BUDGET, BUDGET, "50%", ["notify"]),
        (BUDGET, RESOURCE, "50%", []),
        (BUDGET, BUDGET, "100%", ["notify"]),
        (BUDGET, RESOURCE, "100%", ["warn", "stop"]),
        (BUDGET, RESOURCE, "forecast:100%", []),
        (BUDGET, BUDGET, "80%", []),
    ],
)
def test_a_budget_tells_people_and_stops_its_boxes(
    rule: SubjectType, subject: SubjectType, threshold: str, expected: list[str]
) -> None:
    policy = idle_policy(respond=RESPOND)
    assert [r.do.value for r in rungs_for(policy, rule, subject, threshold)] == expected


def test_a_forecast_never_stops() -> None:
    policy = idle_policy(respond=[{"do": "notify"}, {"do": "warn"}, {"after": "30m", "do": "stop"}])
    assert rungs_for(policy, BUDGET, RESOURCE, "forecast:100%") == ()
    assert [r.do.value for r in rungs_for(policy, BUDGET, BUDGET, "forecast:100%")] == ["notify", "warn"]
    assert [r.do.value for r in rungs_for(policy, BUDGET, RESOURCE, "100%")] == ["warn", "stop"]


def test_a_warning_speaks_of_the_stop_and_a_timer_before_it_is_named_beside() -> None:
    policy = lifetime_policy(when={"max_age": "1h", "backstop": True})
    ladder = Ladder(rungs_for(policy, RESOURCE, RESOURCE, ""))
    assert [r.do.value for r in ladder.rungs] == ["warn", "set_release_time", "stop"]
    assert (ladder.announced(0), ladder.next_acting(0)) == (2, 1)
    assert ladder.release_after() == ladder.grace(2) + timedelta(hours=24)
    alone = Ladder(rungs({"do": "warn"}, {"after": "1h", "do": "set_release_time", "in": "48h"}))
    assert (alone.announced(0), alone.release_after()) == (1, timedelta(hours=49))
    assert (WARN_WARN_STOP.announced(0), WARN_WARN_STOP.release_after()) == (2, None)
    assert Ladder(rungs({"do": "warn"})).announced(0) is None


def test_a_backstop_sets_the_providers_timer_right_after_the_warning() -> None:
    """B10: at least 24 h after what is due, named, and never in place of the stop."""
    policy = lifetime_policy(when={"max_age": "1h", "backstop": True})
    ladder = Ladder(rungs_for(policy, RESOURCE, RESOURCE, ""))
    assert [r.do.value for r in ladder.rungs] == ["warn", "set_release_time", "stop"]
    row = make_action(warned_at=NOW)
    assert ladder.release_at(row, 1, NOW) == NOW + 30 * MINUTE + timedelta(hours=24)
    assert ladder.timer_before(2)
    assert not ladder.timer_before(1)


def test_a_restart_forgets_the_warning_and_remembers_the_attempts() -> None:
    row = make_action(rung=2, warned_at=NOW, warning_id="w", attempt=2, approved_by="li", clear_count=1)
    again = restarted(row, NOW + HOUR)
    assert (again.rung, again.warned_at, again.warning_id, again.approved_by) == (0, None, None, None)
    assert (again.held_since, again.attempt, again.fingerprint) == (NOW + HOUR, 2, row.fingerprint)
    assert restarted(row, NOW, approved=True).approved_by == "li"
