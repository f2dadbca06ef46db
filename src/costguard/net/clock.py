"""Clocks: the one place that reads the machine's time.

Everything else takes ``now`` or a Clock, so that a test moves time instead of waiting for it and the
demo lives a day in minutes.
"""

import threading
import time
from datetime import UTC, datetime, timedelta

from costguard.domain.time import utc


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The present instant, aware UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back, whatever happens to the wall clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Blocks the calling thread; nothing for zero or less."""
        if seconds > 0:
            time.sleep(seconds)


class ScaledClock:
    """Begins at ``start`` when it is made and runs ``rate`` times faster than the machine's clock.

    ``sleep(60)`` at rate 60 blocks for one real second. Raises ValueError for a naive start or a rate
    that is not positive.
    """

    def __init__(self, start: datetime, rate: float) -> None:
        if rate <= 0:
            raise ValueError(f"a clock cannot run at rate {rate}")
        self._start, self._rate, self._origin = utc(start), rate, time.monotonic()

    @property
    def rate(self) -> float:
        return self._rate

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        """Virtual seconds since the clock was made."""
        return (time.monotonic() - self._origin) * self._rate

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds / self._rate)


class SteppedClock:
    """Stands still until somebody sleeps: ``sleep`` moves it and returns at once. Thread-safe.

    Two threads that sleep one after the other move it twice; a run on this clock has one driver.
    """

    def __init__(self, start: datetime) -> None:
        self._start, self._elapsed, self._lock = utc(start), timedelta(0), threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._start + self._elapsed

    def monotonic(self) -> float:
        """Virtual seconds since the clock was made."""
        with self._lock:
            return self._elapsed.total_seconds()

    def sleep(self, seconds: float) -> None:
        self.advance(timedelta(seconds=max(0.0, seconds)))

    def advance(self, by: timedelta) -> datetime:
        """Moves the clock forward and returns the new instant. Raises ValueError for a negative step."""
        if by < timedelta(0):
            raise ValueError("this clock does not go back")
        with self._lock:
            self._elapsed += by
            return self._start + self._elapsed
