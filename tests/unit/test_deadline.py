"""The total time of one call."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from costguard.deadline import DeadlinePassed, backoff, countdown, within
from costguard.net.clock import SteppedClock


def test_an_answer_in_time_is_the_answer() -> None:
    assert within(5, lambda: 7) == 7


def test_a_call_that_drips_on_is_left_at_its_deadline() -> None:
    ended = threading.Event()
    with pytest.raises(DeadlinePassed):
        within(0.05, lambda: ended.wait(10))
    ended.set()


def test_a_calls_own_timeout_is_not_the_deadline() -> None:
    def fails() -> None:
        raise TimeoutError("from within")

    with pytest.raises(TimeoutError, match="from within"):
        within(5, fails)


def test_the_countdown_follows_the_clock_of_a_test() -> None:
    clock = SteppedClock(datetime(2026, 11, 12, tzinfo=UTC))
    left = countdown(clock, 100)
    assert 99 < left() <= 100
    clock.advance(timedelta(seconds=60))
    assert 39 < left() <= 40


@pytest.mark.parametrize(("attempt", "full"), [(1, 0.5), (2, 1.0), (4, 4.0)])
def test_the_wait_doubles_and_is_spread(attempt: int, full: float) -> None:
    waits = {backoff(attempt) for _ in range(200)}
    assert len(waits) > 1
    assert all(full / 2 <= wait < full for wait in waits)
