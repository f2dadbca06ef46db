"""Pace and back-off."""

from datetime import timedelta

import pytest

from costguard.notify.pace import backoff, next_slot
from costguard.notify.settings import DeliverySettings
from costguard.testing.builders import NOW


def test_a_robots_messages_are_more_than_three_seconds_apart() -> None:
    slot = next_slot(NOW, 18)
    assert slot is not None
    assert slot - NOW == timedelta(seconds=60) / 18
    assert slot - NOW >= timedelta(seconds=3.3)


def test_a_channel_that_was_never_used_is_free() -> None:
    assert next_slot(None, 18) is None


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 2), (2, 10), (3, 60), (4, 300), (5, 900), (6, 1800), (60, 1800)])
def test_the_waits_grow_to_half_an_hour(attempts: int, seconds: int) -> None:
    settings = DeliverySettings()
    assert backoff(attempts, settings, 1.0) == timedelta(seconds=seconds)
    assert backoff(attempts, settings, 0.0) == timedelta(0)
    assert backoff(attempts, settings, 0.5) == timedelta(seconds=seconds / 2)
