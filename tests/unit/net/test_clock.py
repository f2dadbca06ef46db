"""Clocks: aware UTC, never backwards, scaled and stepped time."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from costguard.net.clock import ScaledClock, SteppedClock, SystemClock

START = datetime(2026, 3, 5, 13, 0, tzinfo=UTC)


def test_system_clock_is_aware_utc() -> None:
    now = SystemClock().now()
    assert now.utcoffset() == timedelta(0)


def test_scaled_clock_sleeps_scaled_and_runs_faster() -> None:
    real, clock = SystemClock(), ScaledClock(START, rate=600)
    before = real.monotonic()
    clock.sleep(30)
    assert 0.04 < real.monotonic() - before < 2
    assert clock.now() >= START + timedelta(seconds=30)
    assert clock.monotonic() >= 30


@pytest.mark.parametrize("rate", [0, -1])
def test_a_rate_is_positive(rate: float) -> None:
    with pytest.raises(ValueError, match="rate"):
        ScaledClock(START, rate)


def test_stepped_clock_moves_by_sleeping_only() -> None:
    clock = SteppedClock(START)
    assert clock.now() == clock.now() == START
    clock.sleep(90)
    clock.sleep(-5)
    assert clock.now() == START + timedelta(seconds=90)
    assert clock.monotonic() == 90
    with pytest.raises(ValueError, match="back"):
        clock.advance(timedelta(seconds=-1))


def test_stepped_clock_loses_no_step_between_threads() -> None:
    clock = SteppedClock(START)
    threads = [threading.Thread(target=lambda: [clock.sleep(1) for _ in range(500)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clock.monotonic() == 4000


def test_a_naive_start_is_refused() -> None:
    with pytest.raises(ValueError, match="naive"):
        SteppedClock(START.replace(tzinfo=None))
