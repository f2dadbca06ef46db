"""Bills, balances, quotas and the providers' own budgets: read a few times a day, stored as the provider tells them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from costguard.daemon import facts
from costguard.daemon.accounts import Account
from costguard.daemon.sources import NO_REGION, Outcome, attempt, record
from costguard.domain.charge import Charge
from costguard.domain.snapshot import SourceState
from costguard.domain.time import local_midnight
from costguard.ports import Balances, Billing, Budgets, Clock, Quotas
from costguard.store import charges
from costguard.store.database import Database
from costguard.store.sql import chunks

# A month is still restated in the first days of the next one.
_RESTATED_UNTIL = 5
_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Biller:
    """Reads accounts' bills into the database."""

    database: Database
    clock: Clock
    interval: timedelta

    def charges(self, account: Account, since: datetime | None = None) -> bool:
        """The open billing period whole, and the one before until it is final; or everything back to ``since``."""
        connection = account.connection()
        if not isinstance(connection, Billing):
            return True
        now = self.clock.now()

        def look() -> int:
            seen: dict[datetime, set[str]] = {}
            begin = min(self._since(account, now), since or now)
            for batch in chunks(connection.charges(begin, now), _BATCH):
                self._put(batch)
                for charge in batch:
                    seen.setdefault(charge.billing_period_start, set()).add(charge.row_key)
            self._tidy(account.name, seen)
            return sum(map(len, seen.values()))

        return self._source(account, NO_REGION, "charges", look)

    def balance(self, account: Account) -> bool:
        connection = account.connection()
        if not isinstance(connection, Balances):
            return True

        def look() -> int:
            found = connection.balance()
            with self.database.write() as conn:
                charges.record_balance(conn, found)
            return 1

        return self._source(account, NO_REGION, "balance", look)

    def budgets(self, account: Account) -> bool:
        """The budgets that the provider keeps. Without the right to see them they are skipped: nothing needs them."""
        connection = account.connection()
        if not isinstance(connection, Budgets):
            return True

        def look() -> int:
            found = connection.budgets()
            with self.database.write() as conn:
                facts.note_budgets(conn, account.name, found, self.clock.now())
            return len(found)

        outcome = attempt(look)
        if outcome.state is SourceState.DENIED:
            outcome = replace(outcome, state=SourceState.SKIPPED)
        return self._record(account, NO_REGION, "budgets", outcome)

    def quotas(self, account: Account, region: str) -> bool:
        connection = account.connection()
        if not isinstance(connection, Quotas):
            return True

        def look() -> int:
            found = connection.quotas(region)
            with self.database.write() as conn:
                facts.note_quotas(conn, account.name, region, found, self.clock.now())
            return len(found)

        return self._source(account, region, "quotas", look)

    def _since(self, account: Account, now: datetime) -> datetime:
        zone = account.bound.spec.billing_timezone or account.bound.manifest.billing_timezone
        day = now.astimezone(zone).date()
        first = day.replace(day=1)
        if day.day <= _RESTATED_UNTIL:
            first = (first - timedelta(days=1)).replace(day=1)
        return local_midnight(first, zone)

    def _put(self, batch: Sequence[Charge]) -> None:
        with self.database.write() as conn:
            charges.put(conn, batch)

    def _tidy(self, account: str, seen: Mapping[datetime, Collection[str]]) -> None:
        """What a period was billed earlier and is no longer goes, once the whole of it has been read."""
        with self.database.write() as conn:
            for start, keys in seen.items():
                charges.keep_only(conn, account, start, keys)

    def _source(self, account: Account, region: str, source: str, look: Callable[[], int]) -> bool:
        return self._record(account, region, source, attempt(look))

    def _record(self, account: Account, region: str, source: str, outcome: Outcome) -> bool:
        with self.database.write(durable=False) as conn:
            return record(conn, account.name, region, source, self.interval, outcome, self.clock.now())
