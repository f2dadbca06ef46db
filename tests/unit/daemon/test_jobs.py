import threading
from datetime import UTC, datetime, timedelta

import pytest

from costguard.daemon.health import Beats
from costguard.daemon.jobs import EVERY, BackgroundDriver, Job, SteppedDriver
from costguard.net.clock import SteppedClock, SystemClock

START = datetime(2026, 3, 5, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_stepped_rounds_follow_the_virtual_clock_and_the_order_of_the_list() -> None:
    clock, seen = SteppedClock(START), []
    poll = Job("poll", 2 * MINUTE, lambda: seen.append(("poll", clock.now())))
    cycle = Job("cycle", MINUTE, lambda: seen.append(("cycle", clock.now())))
    SteppedDriver([poll, cycle], clock).run_until(START + 3 * MINUTE)
    assert seen == [
        ("poll", START),
        ("cycle", START),
        ("cycle", START + MINUTE),
        ("poll", START + 2 * MINUTE),
        ("cycle", START + 2 * MINUTE),
    ]
    assert clock.now() == START + 3 * MINUTE


def test_a_poll_wakes_the_cycle_once_an_instant() -> None:
    clock, seen = SteppedClock(START), []
    jobs = [Job(f"poll{n}", MINUTE, lambda: None, wakes="cycle") for n in range(3)]
    jobs.append(Job("cycle", 10 * MINUTE, lambda: seen.append(clock.now())))
    SteppedDriver(jobs, clock).run_until(START + 2 * MINUTE)
    assert seen == [START, START + MINUTE]


def test_an_unexpected_error_stops_a_stepped_run() -> None:
    def broken() -> None:
        raise RuntimeError("bug")

    with pytest.raises(RuntimeError, match="bug"):
        SteppedDriver([Job("x", MINUTE, broken)], SteppedClock(START)).run_until(START + MINUTE)


def test_a_failing_loop_neither_dies_nor_stops_the_others() -> None:
    """E13"""
    beats = Beats(SystemClock().monotonic)
    failed, fine, woken = threading.Event(), threading.Event(), threading.Event()
    rounds = []

    def broken() -> None:
        rounds.append(1)
        failed.set()
        if len(rounds) < 3:
            raise RuntimeError("disk full")

    driver = BackgroundDriver(
        [
            Job("broken", MINUTE, broken),
            Job("fine", MINUTE, fine.set, wakes="late"),
            Job("late", timedelta(days=1), woken.set),
        ],
        beats,
        rate=600,
    )
    driver.start()
    try:
        assert failed.wait(5)
        assert fine.wait(5)
        assert woken.wait(5)
        deadline = threading.Event()
        for _ in range(100):
            if len(rounds) >= 4 and not beats.failing():
                break
            deadline.wait(0.05)
        assert len(rounds) >= 4
        assert beats.failing() == {}
    finally:
        driver.stop()


def test_silent_loops_are_named() -> None:
    """B11"""
    clock = SteppedClock(START)
    beats = Beats(clock.monotonic)
    beats.expect("cycle", 60)
    beats.expect("daily", 86_400)
    clock.advance(timedelta(minutes=9))
    assert beats.silent() == []
    clock.advance(timedelta(minutes=2))
    assert beats.silent() == ["cycle"]
    beats.beat("cycle")
    assert beats.silent() == []


def test_who_begins_to_lead_wakes_every_other_loop_once() -> None:
    """A daily loop whose first turn came before the lease must not wait for a day."""
    beats = Beats(SystemClock().monotonic)
    led = threading.Event()
    rounds: dict[str, int] = {"prices": 0, "cycle": 0}
    done = threading.Event()

    def lead() -> bool:
        if rounds["prices"] and not led.is_set():
            led.set()
            return True
        return False

    def work(name: str) -> None:
        rounds[name] += 1
        if min(rounds.values()) == 2:
            done.set()

    day = timedelta(days=1)
    driver = BackgroundDriver(
        [
            Job("lease", timedelta(seconds=60), lead, wakes=EVERY),
            Job("prices", day, lambda: work("prices")),
            Job("cycle", day, lambda: work("cycle")),
        ],
        beats,
        rate=600,
    )
    driver.start()
    try:
        assert done.wait(5)
    finally:
        driver.stop()
    assert rounds == {"prices": 2, "cycle": 2}


def test_a_stepped_leader_wakes_what_has_not_run_in_this_instant() -> None:
    clock, seen = SteppedClock(START), []
    answers = [False, True, False]
    loops = [
        Job("lease", MINUTE, lambda: answers.pop(0), wakes=EVERY),
        Job("late", timedelta(hours=1), lambda: seen.append(clock.now())),
    ]
    SteppedDriver(loops, clock).run_until(START + 3 * MINUTE)
    assert seen == [START, START + MINUTE]
