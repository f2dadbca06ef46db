"""Beats: every loop says when it last came round; one that falls silent makes the process end.

The supervisor (systemd, a container runtime) restarts it, and recovery is the normal start.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

# A loop may be this many of its own periods late, but never declared dead before the floor: one API
# call may take its whole deadline, and a poll makes many.
_PERIODS = 10
_FLOOR_SECONDS = 600.0


@dataclass
class Beat:
    """One loop. Times are monotonic seconds."""

    every: float
    last: float
    errors: int = 0
    error: str | None = None


@dataclass
class Beats:
    """Thread-safe record of all loops."""

    monotonic: Callable[[], float]
    _beats: dict[str, Beat] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def expect(self, name: str, every: float) -> None:
        """A loop ``name`` will come round every ``every`` seconds from now on."""
        with self._lock:
            self._beats[name] = Beat(every, self.monotonic())

    def beat(self, name: str, error: str | None = None) -> None:
        """It came round; ``error`` when the round failed with something unexpected."""
        with self._lock:
            beat = self._beats[name]
            beat.last = self.monotonic()
            beat.errors = beat.errors + 1 if error else 0
            beat.error = error

    def silent(self) -> list[str]:
        """Loops that should have come round long ago."""
        now = self.monotonic()
        with self._lock:
            return [n for n, b in self._beats.items() if now - b.last > max(_PERIODS * b.every, _FLOOR_SECONDS)]

    def failing(self) -> dict[str, str]:
        """Loops whose last round failed, with the error."""
        with self._lock:
            return {n: b.error for n, b in self._beats.items() if b.error}
