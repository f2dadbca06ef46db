"""Accounts at run time: one lazily made connection each, and whether the account may be acted on.

SDKs are imported at the first call of an account that uses them, never before.
"""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from costguard.config.accounts import BoundAccount
from costguard.domain.snapshot import AccountFacts
from costguard.errors import ProviderError
from costguard.ports import AccountSpec, Clock, Connection, Identity

# The identity is confirmed at start and daily; one that is older proves nothing.
IDENTITY_HOLDS = timedelta(hours=25)


class Account:
    """One configured account. Thread-safe."""

    def __init__(self, bound: BoundAccount, connect: Callable[[AccountSpec, Clock], Connection], clock: Clock) -> None:
        self.bound = bound
        self._connect = connect
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._identity: Identity | None = None
        self._identified_at: datetime | None = None
        self.confirmed = False

    @property
    def name(self) -> str:
        return self.bound.spec.name

    @property
    def provider(self) -> str:
        return self.bound.manifest.id

    def connection(self) -> Connection:
        """The connection, made at the first call. Raises ConfigError when the SDK is not installed."""
        with self._lock:
            if self._connection is None:
                self._connection = self._connect(self.bound.spec, self._clock)
            return self._connection

    def identify(self) -> Identity:
        """Asks the provider who the credentials are. Raises ProviderError.

        A refusal disarms the account. An outage does not: who it was yesterday keeps its ladders, but nothing is
        called before the provider has confirmed it to this process (``confirmed``).
        """
        try:
            identity = self.connection().identity()
        except ProviderError as error:
            if not error.retryable:
                self._identity, self.confirmed = None, False
            raise
        self._identity, self._identified_at, self.confirmed = identity, self._clock.now(), True
        return identity

    def identity_due(self, every: timedelta) -> bool:
        """Whether this process has not confirmed who the credentials are, or did so ``every`` ago or earlier."""
        at = self._identified_at
        return not self.confirmed or at is None or self._clock.now() - at >= every

    def recall(self, identity: Identity, at: datetime) -> None:
        """Who the provider said it was, as an earlier process wrote it down."""
        self._identity, self._identified_at = identity, at

    @property
    def identity(self) -> Identity | None:
        """Who the credentials were at the last successful look."""
        return self._identity

    @property
    def mismatch(self) -> str | None:
        """A sentence when the credentials belong to another account than the configured one."""
        wanted = self.bound.spec.account_id
        if self._identity is None or wanted is None or self._identity.account_id == wanted:
            return None
        return f"account {self.name} is configured as {wanted}, but the credentials are of {self._identity.account_id}"

    def armed(self, now: datetime) -> bool:
        """Listed in enforce_accounts and confirmed by the provider to be who the configuration says."""
        return (
            self.bound.listed
            and self._identity is not None
            and self._identity.account_id == self.bound.spec.account_id
            and self._identified_at is not None
            and now - self._identified_at <= IDENTITY_HOLDS
        )

    def facts(self, now: datetime) -> AccountFacts:
        """What a snapshot says of it."""
        return self.bound.facts(armed=self.armed(now))

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
