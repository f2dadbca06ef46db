"""The keys that sign an account's calls: fetched when they are needed, and anew before temporary ones end.

Where keys come from is each adapter's own business; that they are kept, shared between threads and renewed in time is
the same for all that do not leave it to their SDK.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from costguard.ports import Clock

MARGIN = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Keys:
    """What signs a request. ``until`` (aware UTC) is when temporary keys end."""

    id: str = field(repr=False)
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    until: datetime | None = None


Assume = Callable[[Keys, str, str | None], Keys]
"""(base keys, role, external id) → the role's keys."""


class KeyRing(ABC):
    """An account's keys. Thread-safe; calls out only in ``get``, and raises ProviderError there."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: Keys | None = None

    def get(self) -> Keys:
        """Keys that are good for some minutes. Raises AuthFailed when there are none."""
        with self._lock:
            keys = self._keys
            if keys is None or (keys.until is not None and keys.until - MARGIN <= self._clock.now()):
                keys = self._keys = self.fetch()
            return keys

    def forget(self) -> None:
        """The cloud says that the keys have ended: the next call fetches new ones."""
        with self._lock:
            self._keys = None

    @abstractmethod
    def fetch(self) -> Keys:
        """Fresh keys, from wherever they come. Raises AuthFailed when there are none."""
