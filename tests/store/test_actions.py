"""Ladders: one open per fingerprint, one in flight per box, and only the reader of the latest version may write."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from costguard.domain.action import IN_FLIGHT, Action, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import Subject, SubjectType
from costguard.errors import StaleWrite
from costguard.store import actions
from costguard.store.database import Database
from tests.store.things import NOW, action, ref

FULL = action(
    rung=2, warned_at=NOW, warning_id="note-1", due_at=NOW, retry_at=NOW, deadline=NOW, attempt=3, token="t",
    lease_token=7, executed_at=NOW, ended_at=NOW, clear_count=1, last_sample_at=NOW, code=GuardCode.LIMIT, reason="r",
    error="e", hook_run="h", hook_started_at=NOW, hook_output="o", approved_by="li", disputed_by="zhang", dry_run=True,
    threshold="80%",
)  # fmt: skip


def test_every_field_comes_back(database: Database) -> None:
    budget = action("b", subject=Subject(SubjectType.BUDGET, "gpu", "prod", name="GPU 预算"), started_at=None)
    with database.write() as conn:
        for one in (FULL, budget):
            assert actions.insert(conn, one) == one
            assert actions.get(conn, one.id) == one
        assert actions.get(conn, "nobody") is None


def test_one_open_ladder_per_fingerprint(database: Database) -> None:
    with database.write() as conn:
        first = actions.insert(conn, action())
        with pytest.raises(StaleWrite, match="open ladder"):
            actions.insert(conn, action(id="act-2"))
        actions.save(conn, replace(first, state=ActionState.DONE))
        actions.insert(conn, action(id="act-2"))
        assert [one.id for one in actions.open_actions(conn)] == ["act-2"]


@pytest.mark.parametrize("state", sorted(IN_FLIGHT))
def test_one_in_flight_per_box(database: Database, state: ActionState) -> None:
    """Two policies walk their own ladders on one box, but only one of them may act at a time."""
    with database.write() as conn:
        actions.insert(conn, action(state=state))
        other = actions.insert(conn, action(id="act-2", policy="lifetime", state=ActionState.WARNED))
        with pytest.raises(StaleWrite, match="in flight"):
            actions.save(conn, replace(other, state=ActionState.VALIDATING))
        # The transaction goes on, on Postgres too.
        kept = actions.save(conn, replace(other, state=ActionState.DEFERRED))
        with pytest.raises(StaleWrite):
            actions.insert(conn, action(id="act-3", policy="schedule", state=ActionState.VALIDATING))
    with database.read() as conn:
        assert actions.get(conn, "act-2") == kept
        assert [one.id for one in actions.in_flight(conn)] == ["act-1"]


def test_budgets_take_no_slot(database: Database) -> None:
    subject = Subject(SubjectType.BUDGET, "gpu", "prod")
    with database.write() as conn:
        for number in range(2):
            actions.insert(conn, action(number, subject=subject, threshold=str(number), state=ActionState.EXECUTING))
        assert len(actions.in_flight(conn)) == 2


def test_save_is_compare_and_swap(database: Database) -> None:
    """F04: of two that read the same version, the second to write is told so and changes nothing."""
    with database.write() as conn:
        actions.insert(conn, action())
    with database.read() as conn:
        mine = theirs = actions.get(conn, "act-1")
    assert mine is not None
    assert theirs is not None
    with database.write() as conn:
        saved = actions.save(conn, replace(mine, state=ActionState.WARNED, warned_at=NOW))
    assert saved.version == 1
    with pytest.raises(StaleWrite, match="since version 0"), database.write() as conn:
        actions.save(conn, replace(theirs, state=ActionState.CANCELLED))
    with database.read() as conn:
        assert actions.get(conn, "act-1") == saved


def test_of_many_racers_one_wins_each_version(database: Database) -> None:
    """F04: eight threads push one ladder's attempt up 25 times each; no step is lost or counted twice."""
    with database.write() as conn:
        actions.insert(conn, action())

    def push(_: int) -> int:
        lost = 0
        for _ in range(25):
            while True:
                with database.read() as conn:
                    seen = actions.get(conn, "act-1")
                assert seen is not None
                try:
                    with database.write(durable=False) as conn:
                        actions.save(conn, replace(seen, attempt=seen.attempt + 1))
                    break
                except StaleWrite:
                    lost += 1
        return lost

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(push, range(8)))
    with database.read() as conn:
        found = actions.get(conn, "act-1")
    assert found is not None
    assert (found.attempt, found.version) == (200, 200)


def test_lists(database: Database) -> None:
    hour = timedelta(hours=1)
    with database.write() as conn:
        for number, state in enumerate(
            [ActionState.DONE, ActionState.FAILED, ActionState.WARNED, ActionState.RECORDED]
        ):
            executed = NOW + number * hour if number < 2 else None
            actions.insert(
                conn,
                action(number, state=state, executed_at=executed, updated_at=NOW + number * hour, dry_run=number == 3),
            )

        def ids(found: tuple[Action, ...]) -> list[str]:
            return [one.id for one in found]

        assert ids(actions.list_actions(conn)) == ["act-3", "act-2", "act-1", "act-0"]
        assert ids(actions.list_actions(conn, limit=2)) == ["act-3", "act-2"]
        assert ids(actions.list_actions(conn, states=[ActionState.DONE, ActionState.FAILED])) == ["act-1", "act-0"]
        assert ids(actions.list_actions(conn, ref=ref(2))) == ["act-2"]
        assert ids(actions.list_actions(conn, account="nobody")) == []
        assert ids(actions.list_actions(conn, policy="idle-dev", dry_run=True)) == ["act-3"]
        assert ids(actions.list_actions(conn, since=NOW + hour, until=NOW + 3 * hour)) == ["act-2", "act-1"]
        assert ids(actions.open_actions(conn)) == ["act-2", "act-3"]
        # Failed calls count against limits as well.
        assert ids(actions.executed_since(conn, NOW + hour)) == ["act-1"]
        assert actions.list_actions(conn, states=[ActionState.DONE])[0].response is Response.STOP


def test_ended_ladders_whose_finding_still_holds(database: Database) -> None:
    with database.write() as conn:
        actions.insert(conn, action(1, state=ActionState.DONE, clear_count=1))
        actions.insert(conn, action(2, state=ActionState.DONE, clear_count=2))
        actions.insert(conn, action(3, state=ActionState.CANCELLED))
        assert [one.id for one in actions.closed(conn, [ActionState.DONE], 2)] == ["act-1"]


def test_what_came_due_in_a_stretch_of_time(database: Database) -> None:
    """Open at its start, closed at its end; a ladder that has ended is due for nothing."""
    minute = timedelta(minutes=1)
    with database.write() as conn:
        waiting = actions.insert(conn, action(state=ActionState.WARNED, due_at=NOW))
        assert actions.came_due(conn, NOW - minute, NOW)
        assert not actions.came_due(conn, NOW, NOW + minute)
        assert not actions.came_due(conn, NOW - 2 * minute, NOW - minute)
        again = actions.save(conn, replace(waiting, due_at=None, retry_at=NOW + minute))
        assert actions.came_due(conn, NOW, NOW + minute)
        actions.save(conn, replace(again, state=ActionState.DONE))
        assert not actions.came_due(conn, NOW, NOW + minute)
