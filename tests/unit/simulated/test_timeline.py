"""Timeline: transitions take their time, senseless operations change nothing, people react."""

from datetime import datetime, timedelta
from pathlib import Path

from costguard.domain.resource import State
from costguard_simulated.fleet import Machine, build
from costguard_simulated.scenario import load
from costguard_simulated.timeline import Operation, Reaction, Timeline, draw
from tests.unit.simulated.helpers import START, machine, write

HOUR = timedelta(hours=1)


def made(tmp_path: Path, **facts: object) -> Machine:
    scenario = load(str(write(tmp_path, machine("a", created="-5h", **facts))))
    return build(scenario, "one", scenario.clouds["one"].machines[0], "a")


def states(timeline: Timeline) -> list[State]:
    return [phase.state for phase in timeline.phases]


def state(timeline: Timeline, at: datetime) -> State:
    phase = timeline.at(at)
    assert phase is not None
    return phase.state


def test_a_machine_is_born_and_boots(tmp_path: Path) -> None:
    timeline = draw(made(tmp_path), [], [])
    assert timeline.at(START - 6 * HOUR) is None
    assert states(timeline) == [State.PENDING, State.RUNNING]
    assert timedelta(seconds=25) <= timeline.phases[1].start - timeline.phases[0].start <= timedelta(seconds=55)
    assert timeline.phases[1].booted == START - 5 * HOUR


def test_a_stop_takes_thirty_to_sixty_seconds(tmp_path: Path) -> None:
    timeline = draw(made(tmp_path), [Operation(START, "stop", "x", ours=True)], [])
    assert state(timeline, START) is State.STOPPING
    down = timeline.phases[-1]
    assert down.state is State.STOPPED
    assert timedelta(seconds=30) <= down.start - START <= timedelta(seconds=60)


def test_a_second_stop_changes_nothing(tmp_path: Path) -> None:
    once = draw(made(tmp_path), [Operation(START, "stop", "x")], [])
    twice = draw(
        made(tmp_path), [Operation(START, "stop", "x"), Operation(START + timedelta(seconds=5), "stop", "y")], []
    )
    assert twice == once


def test_a_restart_resets_the_boot_time(tmp_path: Path) -> None:
    timeline = draw(made(tmp_path), [Operation(START, "restart", "liu")], [])
    last = timeline.phases[-1]
    assert last.state is State.RUNNING
    assert last.booted is not None
    assert START < last.booted < START + timedelta(minutes=2)
    assert [(event.what, event.actor) for event in timeline.events[1:]] == [("stop", "liu"), ("start", "liu")]


def test_a_person_starts_again_only_what_somebody_else_stopped(tmp_path: Path) -> None:
    reaction = [Reaction(timedelta(minutes=20), "chen", "training")]
    by_us = draw(made(tmp_path), [Operation(START, "stop", "costguard", ours=True)], reaction)
    by_chen = draw(made(tmp_path), [Operation(START, "stop", "chen")], reaction)
    assert state(by_us, START + HOUR) is State.RUNNING
    assert by_us.plan[-1].do == "training"
    assert state(by_chen, START + HOUR) is State.STOPPED


def test_the_reaction_happens_once(tmp_path: Path) -> None:
    stops = [Operation(START + n * HOUR, "stop", "costguard", ours=True) for n in (0, 1)]
    timeline = draw(made(tmp_path), stops, [Reaction(timedelta(minutes=20), "chen")])
    assert state(timeline, START + 10 * HOUR) is State.STOPPED


def test_a_release_is_the_end(tmp_path: Path) -> None:
    timeline = draw(made(tmp_path), [Operation(START, "release", "x"), Operation(START + HOUR, "start", "y")], [])
    assert states(timeline)[-2:] == [State.DELETING, State.GONE]


def test_a_machine_can_begin_stopped(tmp_path: Path) -> None:
    timeline = draw(made(tmp_path, stopped="-3h"), [], [])
    assert state(timeline, START) is State.STOPPED
    assert state(timeline, START - 4 * HOUR) is State.RUNNING


def test_a_machine_can_be_started_long_after_its_birth(tmp_path: Path) -> None:
    timeline = draw(made(tmp_path, started="-2h"), [], [])
    assert state(timeline, START - 3 * HOUR) is State.STOPPED
    assert timeline.phases[-1].booted == START - 2 * HOUR


def test_spans_are_cut_and_joined(tmp_path: Path) -> None:
    timeline = draw(made(tmp_path), [Operation(START, "stop", "x")], [])
    on = frozenset({State.RUNNING, State.STOPPING})
    down = timeline.phases[-1].start
    assert timeline.spans(on, START - HOUR, START + HOUR) == [(START - HOUR, down)]
    assert timeline.spans(on, START + HOUR, START + 2 * HOUR) == []
