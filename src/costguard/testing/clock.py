"""A clock that only tests move. It must not read the machine's clock."""

import threading
from datetime import UTC, datetime, timedelta

from costguard.domain.time import utc

NOON = datetime(2026, 3, 5, 12, 0, tzinfo=UTC)


class FakeClock:
    """The Clock port. ``sleep`` returns at once and advances the time; safe for many threads.

    ``slept`` lists the seconds of every sleep, so that a test can judge a back-off.
    """

    def __init__(self, now: datetime = NOON) -> None:
        self._now = utc(now)
        self._monotonic = 1_000.0
        self._lock = threading.Lock()
        self.slept: list[float] = []

    def now(self) -> datetime:
        """Aware UTC."""
        with self._lock:
            return self._now

    def monotonic(self) -> float:
        """Seconds that never go back, also when the wall clock jumps."""
        with self._lock:
            return self._monotonic

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.slept.append(seconds)
        self.advance(timedelta(seconds=max(0.0, seconds)))

    def advance(self, span: timedelta) -> datetime:
        """Time passes: both clocks move on. Returns the new now. Raises ValueError for a negative span."""
        if span < timedelta(0):
            raise ValueError("time does not go back; jump() moves the wall clock alone")
        with self._lock:
            self._now += span
            self._monotonic += span.total_seconds()
            return self._now

    def jump(self, span: timedelta) -> datetime:
        """Somebody sets the wall clock, forward or back; the monotonic one does not notice."""
        with self._lock:
            self._now += span
            return self._now
