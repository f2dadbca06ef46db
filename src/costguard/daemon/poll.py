"""Polling of everything but the inventory: identity, regions, use, prices.

No network call happens inside a transaction, and whatever happens is written as a source status.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from costguard.daemon import facts
from costguard.daemon.accounts import Account
from costguard.daemon.listing import COMPUTE
from costguard.daemon.sources import NO_REGION, Partly, attempt, record
from costguard.domain.price import PriceKey
from costguard.domain.resource import ChargeType, Resource, ResourceRef, State
from costguard.domain.usage import Metric
from costguard.errors import AuthFailed, ProviderError
from costguard.ports import Clock, Prices, SpotPrices, Usage
from costguard.store import inventory, kv, prices, usage
from costguard.store.database import Database

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Intervals:
    """How often each source is polled."""

    usage: timedelta
    spot_prices: timedelta


@dataclass(frozen=True, slots=True)
class Poller:
    """Polls accounts into the database. ``backfill`` is the longest window that any policy looks back."""

    database: Database
    clock: Clock
    intervals: Intervals
    backfill: timedelta

    def identity(self, account: Account) -> bool:
        """Confirms who the credentials are; False (and a denied source) when they are not who they should be."""

        def look() -> int:
            account.identify()
            if account.mismatch:
                raise AuthFailed(account.mismatch, provider=account.provider, account=account.name)
            return 1

        return self._source(account, NO_REGION, "identity", timedelta(days=1), look)

    def regions(self, account: Account) -> tuple[tuple[str, ...], bool]:
        """The regions to poll, and whether they could be listed: else they are those last known, or configured."""
        key = f"regions/{account.name}"
        found: list[str] = []

        def look() -> int:
            found.extend(account.connection().regions())
            return len(found)

        fine = self._source(account, NO_REGION, "regions", timedelta(days=1), look)
        with self.database.read() as conn:
            saved = kv.get(conn, key)
        known = tuple(saved["regions"]) if saved else account.bound.spec.regions
        if not fine:
            return known, False
        if saved is None or known != tuple(found):
            with self.database.write() as conn:
                kv.put(conn, key, {"regions": found}, self.clock.now())
        return tuple(found), True

    def usage(self, account: Account) -> bool:
        """Reads the use of every running box, each from where its newest sample ends."""
        connection = account.connection()
        metrics = frozenset(account.bound.manifest.metrics)
        if not isinstance(connection, Usage) or not metrics:
            return True
        now = self.clock.now()
        with self.database.read() as conn:
            found = inventory.resources(conn, account=account.name, state=State.RUNNING)
            newest = usage.newest(conn, account.name)
        running = [r for r in found if r.ref.kind in COMPUTE]
        fine = True
        for region in sorted({r.ref.region for r in running}):
            batch = [r for r in running if r.ref.region == region]
            look = self._reader(connection, batch, metrics, newest, now)
            fine &= self._source(account, region, "usage", self.intervals.usage, look, now)
        return fine

    def list_prices(self, account: Account) -> bool:
        """List prices of the types in use, where the provider tells."""
        connection = account.connection()
        if not isinstance(connection, Prices):
            return True
        with self.database.read() as conn:
            keys = _price_keys(inventory.resources(conn, account=account.name))

        def look() -> int:
            found = connection.prices(keys) if keys else ()
            with self.database.write() as conn:
                prices.record(conn, found)
            return len(found)

        return self._source(account, NO_REGION, "prices", timedelta(days=1), look)

    def spot_prices(self, account: Account) -> bool:
        """Market prices of the spot types in use, with the point before the window."""
        connection = account.connection()
        if not isinstance(connection, SpotPrices):
            return True
        with self.database.read() as conn:
            boxes = inventory.resources(conn, account=account.name, charge_type=ChargeType.SPOT)
        keys = _price_keys(boxes)
        if not keys:
            return True
        since = self.clock.now() - timedelta(hours=6)

        def look() -> int:
            found = connection.spot_prices(keys, since)
            with self.database.write() as conn:
                prices.record(conn, found)
                facts.note_markets(conn, account.name, account.provider, found, self.clock.now())
            return len(found)

        return self._source(account, NO_REGION, "spot_prices", self.intervals.spot_prices, look)

    def _reader(
        self,
        connection: Usage,
        boxes: Sequence[Resource],
        metrics: frozenset[Metric],
        newest: Mapping[tuple[ResourceRef, Metric], datetime],
        now: datetime,
    ) -> Callable[[], int]:
        def look() -> int:
            failures: list[ProviderError] = []
            count = 0
            for since, batch in _by_start(boxes, newest, metrics, now, self.backfill, self.intervals.usage):
                answer = connection.usage(batch, metrics, since, now)
                with self.database.write(durable=False) as conn:
                    count += usage.append(conn, answer.samples)
                failures += answer.failed.values()
            if failures:
                worst = failures[0]
                if len(failures) >= len(boxes):
                    raise worst
                raise Partly(f"{len(failures)} of {len(boxes)} resources could not be read: {worst}", count)
            return count

        return look

    def _source(
        self,
        account: Account,
        region: str,
        source: str,
        interval: timedelta,
        look: Callable[[], int],
        asked_at: datetime | None = None,
    ) -> bool:
        """Runs one look and writes how it went; True when it went well.

        ``asked_at``: up to which moment the answer speaks, where that is not when it came.
        """
        outcome = attempt(look)
        with self.database.write(durable=False) as conn:
            return record(conn, account.name, region, source, interval, outcome, asked_at or self.clock.now())


def _price_keys(resources: Iterable[Resource]) -> list[PriceKey]:
    keys = {
        PriceKey(r.ref.provider, r.ref.region, r.sku, r.charge_type)
        for r in resources
        if r.sku is not None and r.charge_type in (ChargeType.ON_DEMAND, ChargeType.SPOT)
    }
    return sorted(keys, key=lambda k: (k.region, k.sku, k.charge_type))


def _by_start(
    boxes: Sequence[Resource],
    newest: Mapping[tuple[ResourceRef, Metric], datetime],
    metrics: frozenset[Metric],
    now: datetime,
    backfill: timedelta,
    interval: timedelta,
) -> list[tuple[datetime, list[Resource]]]:
    """Boxes grouped by where their reading goes on: few calls for the many, a backfill for the new.

    Two intervals of overlap: a late sample must not be lost, and an equal one is written once.
    """
    groups: dict[datetime, list[Resource]] = {}
    recent = now - 3 * interval
    for box in boxes:
        ends = [at for metric in metrics if (at := newest.get((box.ref, metric))) is not None]
        since = max(min(ends), now - backfill) if ends else now - backfill
        if box.started_at is not None:
            since = max(since, box.started_at)
        # Everyone who is up to date shares one start, and so one batch.
        start = recent if since >= recent else since.replace(minute=0, second=0, microsecond=0)
        groups.setdefault(start, []).append(box)
    return sorted(groups.items(), key=lambda pair: pair[0])
