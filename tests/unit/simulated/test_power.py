"""Power: refusals by state and lock, timers, commands, and who did what."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from costguard.domain.resource import Kind, State
from costguard.errors import InvalidState, NotFound, QuotaExceeded, TimedOut, Unsupported
from costguard.ports import PowerResult
from tests.unit.simulated.helpers import START, clock_at, machine, named, only, open_up, write

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def test_stop_and_start_go_through_their_transitions(tmp_path: Path) -> None:
    clock = clock_at()
    connection = open_up(write(tmp_path, machine("a")), clock)
    ref = only(connection).ref
    assert connection.stop(ref, "1") is PowerResult.ACCEPTED
    assert connection.get(ref).state is State.STOPPING
    with pytest.raises(InvalidState):
        connection.start(ref, "2")
    clock.advance(MINUTE)
    assert connection.get(ref).state is State.STOPPED
    assert connection.stop(ref, "1") is PowerResult.ALREADY
    assert connection.start(ref, "3") is PowerResult.ACCEPTED
    assert connection.get(ref).state is State.PENDING
    with pytest.raises(InvalidState):
        connection.stop(ref, "4")
    clock.advance(MINUTE)
    assert connection.get(ref).state is State.RUNNING


@pytest.mark.parametrize("kind", ["job", "endpoint"])
def test_jobs_and_endpoints_cannot_be_stopped(tmp_path: Path, kind: str) -> None:
    connection = open_up(write(tmp_path, machine("a", kind=kind)), clock_at())
    with pytest.raises(Unsupported):
        connection.stop(only(connection, Kind(kind)).ref, "t")


def test_a_notebook_can_be_stopped(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("a", kind="notebook")), clock_at())
    assert connection.stop(only(connection, Kind.NOTEBOOK).ref, "t") is PowerResult.ACCEPTED


def test_an_answer_lost_after_the_work_leaves_the_work_done(tmp_path: Path) -> None:
    """C11."""
    faults = [{"operation": "stop", "code": "RequestTimeout", "after_effect": True, "times": 1}]
    connection = open_up(write(tmp_path, machine("a"), faults=faults), clock_at())
    ref = only(connection).ref
    with pytest.raises(TimedOut):
        connection.stop(ref, "t")
    assert connection.get(ref).state is State.STOPPING


def test_a_scarce_type_may_be_sold_out(tmp_path: Path) -> None:
    """C12."""
    faults = [{"operation": "start", "code": "OperationDenied.NoStock"}]
    connection = open_up(write(tmp_path, machine("a", stopped="-1h"), faults=faults), clock_at())
    with pytest.raises(QuotaExceeded):
        connection.start(only(connection).ref, "t")


def test_release_needs_the_accounts_word(tmp_path: Path) -> None:
    path = write(tmp_path, machine("a"))
    clock = clock_at()
    careful = open_up(path, clock)
    ref = only(careful).ref
    for destroy in (lambda: careful.release(ref, "t"), lambda: careful.set_release_time(ref, START + HOUR)):
        with pytest.raises(Unsupported):
            destroy()
    bold = open_up(path, clock, allow_release=True)
    assert bold.release(ref, "t") is PowerResult.ACCEPTED
    assert bold.release(ref, "t") is PowerResult.ALREADY
    clock.advance(MINUTE)
    with pytest.raises(NotFound):
        bold.get(ref)


def test_a_locked_machine_and_a_disk_in_use_are_not_released(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("a", protected=True)), clock_at(), allow_release=True)
    for kind in (Kind.VM, Kind.DISK):
        with pytest.raises(InvalidState):
            connection.release(only(connection, kind).ref, "t")


def test_a_free_disk_is_released(tmp_path: Path) -> None:
    cloud = {"holdings": [{"name": "old", "kind": "disk", "region": "r1", "size_gib": 10}]}
    clock = clock_at()
    connection = open_up(write(tmp_path, cloud=cloud), clock, allow_release=True)
    connection.release(only(connection, Kind.DISK).ref, "t")
    assert list(connection.list(Kind.DISK, "r1")) == []


def test_the_providers_timer_destroys(tmp_path: Path) -> None:
    """A timer that was moved or removed does not fire; one that fired cannot be moved any more."""
    clock = clock_at()
    machines = [machine(name) for name in ("fires", "moved", "removed")]
    connection = open_up(write(tmp_path, *machines), clock, allow_release=True)
    refs = {name: named(connection, name).ref for name in ("fires", "moved", "removed")}
    for ref in refs.values():
        connection.set_release_time(ref, START + HOUR)
    assert connection.get(refs["fires"]).auto_release_at == START + HOUR
    connection.set_release_time(refs["moved"], START + 9 * HOUR)
    connection.set_release_time(refs["removed"], None)
    clock.advance(2 * HOUR)
    assert sorted(box.name for box in connection.list(Kind.VM, "r1")) == ["moved", "removed"]
    assert connection.get(refs["removed"]).auto_release_at is None
    with pytest.raises(NotFound):
        connection.set_release_time(refs["fires"], START + 9 * HOUR)


def test_timers_have_their_limits(tmp_path: Path) -> None:
    near = open_up(write(tmp_path, machine("a")), clock_at(), allow_release=True)
    with pytest.raises(InvalidState):
        near.set_release_time(only(near).ref, START + MINUTE)
    aws = open_up(write(tmp_path, machine("a"), personality="aws"), clock_at(), allow_release=True)
    with pytest.raises(Unsupported):
        aws.set_release_time(only(aws).ref, START + HOUR)


@pytest.mark.parametrize(("personality", "actor"), [("alibaba", "liu"), ("tencent", None)])
def test_history_tells_ours_from_theirs(tmp_path: Path, personality: str, actor: str | None) -> None:
    """C33: our own acts never look like a user's."""
    people = [{"at": "10m", "who": "liu", "do": "restart", "machine": "a"}]
    clock = clock_at(HOUR)
    connection = open_up(write(tmp_path, machine("a"), personality=personality, people=people), clock)
    ref = only(connection).ref
    connection.stop(ref, "t")
    events = connection.power_events(ref, START)
    assert [(event.what, event.ours) for event in events] == [("stop", False), ("start", False), ("stop", True)]
    assert events[0].actor == actor
    assert connection.power_events(ref, START - timedelta(days=99))[0].what == "start"


@pytest.mark.parametrize(
    ("hook", "after_20s", "after_2m"),
    [
        ({"exit_code": 0}, ("running", None), ("finished", 0)),
        ({"exit_code": 75, "takes": "15s"}, ("finished", 75), ("finished", 75)),
        ({"exit_code": 1, "output": "no space left"}, ("running", None), ("finished", 1)),
        ({"hangs": True}, ("running", None), ("timed_out", None)),
        ({"takes": "9m"}, ("running", None), ("timed_out", None)),
        ({"unreachable": True}, ("unreachable", None), ("unreachable", None)),
    ],
)
def test_a_hook_runs_as_the_scenario_says(
    tmp_path: Path, hook: dict[str, Any], after_20s: tuple[str, int | None], after_2m: tuple[str, int | None]
) -> None:
    """C30."""
    clock = clock_at()
    connection = open_up(write(tmp_path, machine("a", hook=hook)), clock)
    ref = only(connection).ref
    run = connection.run_command(ref, "/opt/ckpt.sh", timedelta(seconds=90), "t")
    seen = []
    for step in (0, 20, 100):
        clock.advance(timedelta(seconds=step))
        result = connection.command_result(ref, run)
        seen.append((result.state, result.exit_code))
    assert seen[1:] == [after_20s, after_2m]
    assert seen[0][0] in ("pending", "unreachable")


def test_the_same_token_is_the_same_run(tmp_path: Path) -> None:
    """C31."""
    clock = clock_at()
    connection = open_up(write(tmp_path, machine("a")), clock)
    ref = only(connection).ref
    first = connection.run_command(ref, "x", HOUR, "t")
    clock.advance(MINUTE)
    assert connection.run_command(ref, "x", HOUR, "t") == first
    assert connection.command_result(ref, first).state == "finished"
    assert connection.run_command(ref, "x", HOUR, "u") != first


def test_a_machine_that_goes_down_takes_its_hook_with_it(tmp_path: Path) -> None:
    clock = clock_at()
    connection = open_up(write(tmp_path, machine("a", hook={"takes": "10m"})), clock)
    ref = only(connection).ref
    run = connection.run_command(ref, "x", HOUR, "t")
    clock.advance(MINUTE)
    connection.stop(ref, "u")
    clock.advance(20 * MINUTE)
    assert connection.command_result(ref, run).state == "unreachable"
    with pytest.raises(InvalidState):
        connection.run_command(ref, "x", HOUR, "v")


def test_an_unknown_run_is_not_found(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("a")), clock_at())
    with pytest.raises(NotFound):
        connection.command_result(only(connection).ref, "run-0")
