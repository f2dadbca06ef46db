"""The clock that tests move."""

import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest

from costguard.testing.clock import NOON, FakeClock


def test_time_stands_still_until_somebody_moves_it() -> None:
    clock = FakeClock()
    assert clock.now() == clock.now() == NOON
    assert clock.now().utcoffset() == timedelta(0)
    assert clock.monotonic() == clock.monotonic()


def test_advance_moves_both_clocks() -> None:
    clock = FakeClock()
    before = clock.monotonic()
    assert clock.advance(timedelta(hours=2)) == clock.now() == NOON + timedelta(hours=2)
    assert clock.monotonic() - before == 7_200


def test_sleep_returns_at_once_and_is_remembered() -> None:
    clock = FakeClock()
    clock.sleep(90)
    clock.sleep(-1)
    assert (clock.now(), clock.slept) == (NOON + timedelta(seconds=90), [90, -1])


def test_a_jump_is_not_seen_by_the_monotonic_clock() -> None:
    """E08: somebody sets the wall clock."""
    clock = FakeClock()
    before = clock.monotonic()
    assert clock.jump(timedelta(hours=-1)) == NOON - timedelta(hours=1)
    assert clock.monotonic() == before


def test_it_begins_in_utc_and_refuses_what_has_no_zone() -> None:
    east = datetime(2026, 3, 5, 20, 0, tzinfo=timezone(timedelta(hours=8)))
    assert (FakeClock(east).now(), FakeClock(east).now().tzinfo) == (NOON, UTC)
    with pytest.raises(ValueError, match="naive"):
        FakeClock(datetime(2026, 3, 5))  # noqa: DTZ001
    with pytest.raises(ValueError, match="jump"):
        FakeClock().advance(timedelta(seconds=-1))


def test_threads_lose_no_sleep() -> None:
    clock = FakeClock()
    threads = [threading.Thread(target=lambda: [clock.sleep(1) for _ in range(100)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clock.now() == NOON + timedelta(seconds=800)
    assert len(clock.slept) == 800
