"""Leadership: one replica polls and acts; its token proves it at each step.

The lease is a row; the deadline that is checked right before each call is monotonic and ends before the
row does, so that a paused or slow process stops acting before another one may begin.
"""

import logging
from datetime import datetime, timedelta

from costguard.errors import LeaseLost
from costguard.ports import Clock
from costguard.store import lease
from costguard.store.database import Database

_log = logging.getLogger(__name__)

NAME = "leader"
TTL = timedelta(seconds=30)
# Clocks of two hosts may differ, and the row is written a moment after the deadline is taken.
_MARGIN = timedelta(seconds=5)


class Leadership:
    """This process's part in the election. Thread-safe for readers; one thread renews."""

    def __init__(self, database: Database, clock: Clock, holder: str, ttl: timedelta = TTL) -> None:
        self._database, self._clock, self.holder, self._ttl = database, clock, holder, ttl
        self._token: int | None = None
        self._deadline = 0.0
        self.since: datetime | None = None

    @property
    def token(self) -> int | None:
        """The fencing token while this process leads, else None."""
        token = self._token
        return token if token is not None and self._clock.monotonic() < self._deadline else None

    @property
    def leads(self) -> bool:
        return self.token is not None

    def check(self) -> int:
        """The token, right before a call. Raises LeaseLost when the deadline has passed."""
        token = self.token
        if token is None:
            raise LeaseLost("this process does not lead (any more)")
        return token

    def round(self) -> bool:
        """Renews the lease, or tries to take it; True while this process leads."""
        started = self._clock.monotonic()
        with self._database.write() as conn:
            token = lease.acquire(conn, NAME, self.holder, self._ttl, self._clock.now())
        if token is None:
            if self._token is not None:
                _log.warning("another process leads now")
            self._token, self.since = None, None
            return False
        if token != self._token:
            _log.info("this process leads (token %d)", token)
            self.since = self._clock.now()
        self._token = token
        self._deadline = started + (self._ttl - _MARGIN).total_seconds()
        return True

    def give_up(self) -> None:
        """Frees the lease at a clean end, so that another replica need not wait."""
        if self._token is not None:
            with self._database.write() as conn:
                lease.release(conn, NAME, self.holder, self._token, self._clock.now())
            self._token = None
