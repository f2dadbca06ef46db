"""Leadership: one replica polls and acts; its token proves it at each step.

The lease is a row; the deadline that is checked right before each call ends before the row does, so that a
paused or slow process stops acting before another one may begin. It is kept on both clocks: the monotonic one
does not notice that the wall clock was set, the wall clock notices that the machine was suspended. What is
about to be done is committed only while the row itself still names this process.
"""

import logging
import threading
from datetime import datetime, timedelta

from sqlalchemy import Connection

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
    """This process's part in the election. Thread-safe."""

    def __init__(self, database: Database, clock: Clock, holder: str, ttl: timedelta = TTL) -> None:
        self._database, self._clock, self.holder, self._ttl = database, clock, holder, ttl
        self._token: int | None = None
        self._renewing = threading.Lock()
        self._deadline = 0.0
        self._until: datetime | None = None
        self._awaited: str | None = None
        self.since: datetime | None = None

    @property
    def token(self) -> int | None:
        """The fencing token while this process leads, else None."""
        token, until = self._token, self._until
        if token is None or until is None:
            return None
        return token if self._clock.monotonic() < self._deadline and self._clock.now() < until else None

    @property
    def leads(self) -> bool:
        return self.token is not None

    def check(self) -> int:
        """The token, right before a call. Raises LeaseLost when the deadline has passed."""
        token = self.token
        if token is None:
            raise LeaseLost("this process does not lead (any more)")
        return token

    def fence(self, conn: Connection, token: int) -> None:
        """Inside the transaction that commits what the holder of ``token`` is about to do. Raises LeaseLost."""
        if self.token != token or not lease.holds(conn, NAME, self.holder, token, self._clock.now()):
            raise LeaseLost("another process leads")

    def round(self) -> bool:
        """Renews the lease once half of it is over, or tries to take it; True while this process leads."""
        with self._renewing:
            return self._round()

    def _round(self) -> bool:
        started, now = self._clock.monotonic(), self._clock.now()
        if self.leads and self._deadline - started > self._ttl.total_seconds() / 2:
            return True
        with self._database.write() as conn:
            token = lease.acquire(conn, NAME, self.holder, self._ttl, now)
            other = lease.current(conn, NAME) if token is None else None
        if token is None:
            self._wait_for(other)
            self._token, self.since = None, None
            return False
        self._awaited = None
        if token != self._token:
            _log.info("this process leads (token %d)", token)
            self.since = self._clock.now()
        self._deadline = started + (self._ttl - _MARGIN).total_seconds()
        self._until = now + self._ttl - _MARGIN
        self._token = token
        return True

    def _wait_for(self, other: lease.Lease | None) -> None:
        """Says once of each holder who leads, and until when at least: what was killed holds it until then."""
        if other is None or other.holder == self._awaited:
            return
        self._awaited = other.holder
        level = logging.INFO if self._token is None else logging.WARNING
        _log.log(
            level, "%s leads, until %s unless it renews; this process waits, serves the page and polls nothing",
            other.holder, other.expires_at.isoformat(timespec="seconds"),
        )  # fmt: skip

    def give_up(self) -> None:
        """Frees the lease at a clean end, so that another replica need not wait."""
        if self._token is not None:
            with self._database.write() as conn:
                lease.release(conn, NAME, self.holder, self._token, self._clock.now())
            self._token = None
