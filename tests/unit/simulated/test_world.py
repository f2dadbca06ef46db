"""World: a function of scenario, time and journal; shared under one clock; faults on order."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from costguard.domain.resource import Kind, State
from costguard.errors import PermissionDenied, Throttled
from costguard.ports import PowerResult
from tests.unit.simulated.helpers import clock_at, machine, only, open_up, write

HOUR = timedelta(hours=1)


def test_accounts_under_one_clock_share_a_world_and_others_do_not(tmp_path: Path) -> None:
    path, clock = write(tmp_path, machine("a")), clock_at()
    first, second, elsewhere = open_up(path, clock), open_up(path, clock), open_up(path, clock_at())
    first.stop(only(first).ref, "t")
    assert only(second).state is State.STOPPING
    assert only(elsewhere).state is State.RUNNING


def test_a_state_file_carries_the_world_to_the_next_process(tmp_path: Path) -> None:
    path, state = write(tmp_path, machine("a")), str(tmp_path / "state.jsonl")
    today = open_up(path, clock_at(), state=state)
    today.stop(only(today).ref, "t")
    today.tag(only(today).ref, {"k": "v"})
    tomorrow = open_up(path, clock_at(24 * HOUR), state=state)
    assert (only(tomorrow).state, only(tomorrow).tags) == (State.STOPPED, {"k": "v"})
    assert "token" in json.loads((tmp_path / "state.jsonl").read_text().splitlines()[1])


def test_two_processes_on_one_state_file_see_each_other(tmp_path: Path) -> None:
    path, state = write(tmp_path, machine("a")), str(tmp_path / "state.jsonl")
    daemon, shell = open_up(path, clock_at(), state=state), open_up(path, clock_at(), state=state)
    daemon.stop(only(daemon).ref, "t")
    assert only(shell).state is State.STOPPING
    assert shell.stop(only(shell).ref, "u") is PowerResult.ALREADY


def test_every_nth_call_in_a_window_fails(tmp_path: Path) -> None:
    faults = [
        {"operation": "instances", "code": "Throttling", "since": "1h", "until": "2h", "every": 3, "region": "r1"}
    ]
    clock = clock_at()
    connection = open_up(write(tmp_path, machine("a"), faults=faults), clock)

    def outcomes(region: str) -> list[bool]:
        found = []
        for _ in range(6):
            try:
                list(connection.list(Kind.VM, region))
                found.append(True)
            except Throttled:
                found.append(False)
        return found

    assert outcomes("r1") == [True] * 6
    clock.advance(HOUR)
    assert outcomes("r2") == [True] * 6
    assert outcomes("r1") == [True, True, False] * 2
    clock.advance(HOUR)
    assert outcomes("r1") == [True] * 6


def test_a_denied_region_denies_only_itself(tmp_path: Path) -> None:
    faults = [{"code": "Forbidden", "region": "r2"}]
    connection = open_up(write(tmp_path, machine("a"), faults=faults), clock_at())
    assert only(connection).name == "a"
    with pytest.raises(PermissionDenied):
        list(connection.list(Kind.VM, "r2"))


def test_scale_copies_every_machine_under_its_own_id(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("a", count=2)), clock_at(), scale=500)
    boxes = list(connection.list(Kind.VM, "r1"))
    assert len({box.ref.id for box in boxes}) == len({box.name for box in boxes}) == 1000
    assert {"a-1", "a-2", "a-1~2", "a-2~500"} <= {box.name for box in boxes}


def test_people_act_on_the_original_and_not_on_its_copies(tmp_path: Path) -> None:
    path = write(tmp_path, machine("a"), people=[{"at": "1m", "who": "li", "do": "stop", "machine": "a"}])
    connection = open_up(path, clock_at(HOUR), scale=3)
    states = {box.name: box.state for box in connection.list(Kind.VM, "r1")}
    assert states == {"a": State.STOPPED, "a~2": State.RUNNING, "a~3": State.RUNNING}


def test_many_threads_stop_each_machine_once(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("a", count=20)), clock_at())
    refs = [box.ref for box in connection.list(Kind.VM, "r1")]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: connection.stop(refs[n % 20], f"t{n}"), range(200)))
    assert answers.count(PowerResult.ACCEPTED) == 20
    assert len([e for e in connection.world.entries("one") if e.what == "stop"]) == 20
