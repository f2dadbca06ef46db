"""Pace: how soon a channel may be used again, and how long a failed message waits. Pure."""

from datetime import datetime, timedelta

from costguard.notify.settings import DeliverySettings


def next_slot(last: datetime | None, per_minute: int) -> datetime | None:
    """When the next message may go out: evenly spaced, so the minute's budget is never exceeded (18 a minute are
    3.33 s apart). None: at once."""
    return last + timedelta(seconds=60) / per_minute if last else None


def backoff(attempts: int, settings: DeliverySettings, jitter: float) -> timedelta:
    """How long to wait after the n-th failed attempt: full jitter, ``jitter`` in [0, 1) times the step's upper end."""
    steps = settings.backoff
    return steps[min(max(attempts, 1), len(steps)) - 1] * jitter
