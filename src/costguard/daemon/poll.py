"""Polling: provider → adapter → store, one source of one account and region at a time.

No network call happens inside a transaction. Whatever happens is written as a source status, so that "we
could not look" is a fact that every rule and every page sees. First failure and recovery are logged, the
rounds between are not.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from costguard.daemon.accounts import Account
from costguard.domain.price import PriceKey
from costguard.domain.resource import ChargeType, Kind, Resource, ResourceRef, State
from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.domain.usage import Metric
from costguard.engine.pricing import PriceTable, priced
from costguard.errors import AuthFailed, CostguardError, PermissionDenied, ProviderError, Unsupported
from costguard.ports import Clock, Inventory, Power, Prices, SpotPrices, Usage
from costguard.store import inventory, kv, prices, savings, sources, usage
from costguard.store.database import Database
from costguard.store.inventory import ListingDelta

_log = logging.getLogger(__name__)

INVENTORY = "inventory"
# A listing that lost more than half of at least this many resources is doubted until it is seen again.
_DOUBT_FROM = 4
_DOUBT_ROUNDS = 3
_NO_REGION = "-"
_EMPTY = timedelta(hours=1)
_UNREADABLE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Intervals:
    """How often each source is polled."""

    inventory: timedelta
    usage: timedelta
    spot_prices: timedelta
    charges: timedelta


@dataclass(frozen=True, slots=True)
class Poller:
    """Polls accounts into the database. ``backfill`` is the longest window that any policy looks back."""

    database: Database
    clock: Clock
    intervals: Intervals
    book: PriceTable
    backfill: timedelta

    def identity(self, account: Account) -> bool:
        """Confirms who the credentials are; False (and a denied source) when they are not who they should be."""

        def look() -> int:
            account.identify()
            if account.mismatch:
                raise AuthFailed(account.mismatch, provider=account.provider, account=account.name)
            return 1

        return self._source(account, _NO_REGION, "identity", timedelta(days=1), look)

    def regions(self, account: Account) -> tuple[str, ...]:
        """The regions to poll; those last known when they cannot be listed now."""
        key = f"regions/{account.name}"
        try:
            found = tuple(account.connection().regions())
        except ProviderError as error:
            _log.warning("regions of %s could not be listed: %s", account.name, error)
            with self.database.read() as conn:
                known = kv.get(conn, key)
            return tuple(known["regions"]) if known else account.bound.spec.regions
        with self.database.write() as conn:
            kv.put(conn, key, {"regions": list(found)}, self.clock.now())
        return found

    def due(self, account: Account, region: str) -> bool:
        """Whether a region is worth looking at now: empty ones hourly, those never readable daily."""
        now = self.clock.now()
        with self.database.read() as conn:
            status = sources.get(conn, account.name, region, INVENTORY)
            tried = kv.get(conn, f"tried/{account.name}/{region}")
        if status is None or tried is None:
            return True
        age = now - datetime.fromisoformat(tried["at"])
        if status.state is SourceState.OK and status.count == 0:
            return age >= _EMPTY
        if status.state is SourceState.DENIED and status.fetched_at is None:
            return age >= _UNREADABLE
        return True

    def inventory(self, account: Account, region: str) -> bool:
        """Lists every kind of one region; False when some kind could not be listed."""
        connection = account.connection()
        if not isinstance(connection, Inventory):
            return True
        fine = True
        with self.database.write(durable=False) as conn:
            kv.put(conn, f"tried/{account.name}/{region}", {"at": self.clock.now().isoformat()}, self.clock.now())
        for kind in sorted(connection.kinds()):
            source = INVENTORY if kind is Kind.VM else f"{INVENTORY}.{kind.value}"
            look = self._lister(account, connection, region, kind, source)
            fine &= self._source(account, region, source, self.intervals.inventory, look)
        return fine

    def usage(self, account: Account) -> bool:
        """Reads the use of every running box, each from where its newest sample ends."""
        connection = account.connection()
        metrics = frozenset(account.bound.manifest.metrics)
        if not isinstance(connection, Usage) or not metrics:
            return True
        now = self.clock.now()
        with self.database.read() as conn:
            running = [
                r
                for r in inventory.resources(conn)
                if r.ref.account == account.name and r.state is State.RUNNING and r.ref.kind in _MEASURED
            ]
            newest = usage.newest(conn, account.name)
        fine = True
        for region in sorted({r.ref.region for r in running}):
            batch = [r for r in running if r.ref.region == region]
            look = self._reader(connection, batch, metrics, newest, now)
            fine &= self._source(account, region, "usage", self.intervals.usage, look)
        return fine

    def list_prices(self, account: Account) -> bool:
        """List prices of the types in use, where the provider tells."""
        connection = account.connection()
        if not isinstance(connection, Prices):
            return True
        with self.database.read() as conn:
            keys = _price_keys(r for r in inventory.resources(conn) if r.ref.account == account.name)

        def look() -> int:
            found = connection.prices(keys) if keys else ()
            with self.database.write() as conn:
                prices.record(conn, found)
            return len(found)

        return self._source(account, _NO_REGION, "prices", timedelta(days=1), look)

    def spot_prices(self, account: Account) -> bool:
        """Market prices of the spot types in use, with the point before the window."""
        connection = account.connection()
        if not isinstance(connection, SpotPrices):
            return True
        with self.database.read() as conn:
            boxes = [
                r
                for r in inventory.resources(conn)
                if r.ref.account == account.name and r.charge_type is ChargeType.SPOT
            ]
        keys = _price_keys(boxes)
        if not keys:
            return True
        since = self.clock.now() - timedelta(hours=6)

        def look() -> int:
            found = connection.spot_prices(keys, since)
            with self.database.write() as conn:
                prices.record(conn, found)
            return len(found)

        return self._source(account, _NO_REGION, "spot_prices", self.intervals.spot_prices, look)

    def reprice(self, account: Account) -> None:
        """Gives stored resources the prices that have become known since they were listed."""
        now = self.clock.now()
        with self.database.write() as conn:
            listed = PriceTable(prices.in_effect(conn, now))
            for known in inventory.resources(conn):
                if known.ref.account == account.name:
                    with_price = priced(known, (self.book, listed), now)
                    if with_price != known:
                        inventory.record_live(conn, with_price, known.observed_at)

    def enrich(self, account: Account, resource: Resource, listed: PriceTable, at: datetime) -> Resource:
        """A resource as listed, with its price and what stopping it would mean."""
        connection = account.connection()
        resource = priced(resource, (self.book, listed), at)
        if isinstance(connection, Power) and resource.stop_effect is None and resource.ref.kind in _STOPPABLE:
            resource = replace(resource, stop_effect=connection.stop_effect(resource))
        return resource

    def _lister(
        self, account: Account, connection: Inventory, region: str, kind: Kind, source: str
    ) -> Callable[[], int]:
        def look() -> int:
            # When the listing began: what is seen live while it runs is newer than it.
            now = self.clock.now()
            found = {r.ref: r for r in connection.list(kind, region)}
            with self.database.read() as conn:
                listed = PriceTable(prices.in_effect(conn, now))
                status = sources.get(conn, account.name, region, source)
            if self._doubtful(account, region, source, status, len(found), now):
                return len(found)
            enriched = [self.enrich(account, r, listed, now) for r in found.values()]
            with self.database.write() as conn:
                delta = inventory.record_listing(
                    conn, account.name, region, kind, enriched, now, self.intervals.inventory
                )
                end_savings(conn, delta)
            return len(found)

        return look

    def _doubtful(
        self, account: Account, region: str, source: str, status: SourceStatus | None, count: int, now: datetime
    ) -> bool:
        """Whether a shrunken listing has still to be seen again before it is believed."""
        key = f"doubt/{account.name}/{region}/{source}"
        known = status.count if status else 0
        with self.database.read() as conn:
            doubt = kv.get(conn, key)
        if doubt is not None:
            known = int(doubt["known"])
        shrunk = known >= _DOUBT_FROM and count * 2 < known
        rounds = int(doubt["rounds"]) + 1 if doubt else 1
        if doubt is None and not shrunk:
            return False
        with self.database.write() as conn:
            if shrunk and rounds < _DOUBT_ROUNDS:
                kv.put(conn, key, {"known": known, "rounds": rounds}, now)
            elif doubt is not None:
                kv.remove(conn, key)
        return shrunk and rounds < _DOUBT_ROUNDS

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
                raise _Partly(f"{len(failures)} of {len(boxes)} resources could not be read: {worst}", count)
            return count

        return look

    def _source(self, account: Account, region: str, source: str, interval: timedelta, look: Callable[[], int]) -> bool:
        """Runs one look and writes how it went; True when it went well."""
        error: CostguardError | None = None
        count = 0
        try:
            count = look()
        except Unsupported as caught:
            error, state = caught, SourceState.SKIPPED
        except (PermissionDenied, AuthFailed) as caught:
            error, state = caught, SourceState.DENIED
        except ProviderError as caught:
            error, state = caught, SourceState.FAILED
        except _Partly as caught:
            # The others were read: their verdicts stand, and only the unread are unknown.
            error, state, count = caught, SourceState.OK, caught.count
        else:
            state = SourceState.OK
        now = self.clock.now()
        place = (account.name, region, source)
        if source == INVENTORY and count == 0:
            # Nobody is there: looked at hourly, and not stale in between.
            interval = max(interval, _EMPTY)
        with self.database.write(durable=False) as conn:
            if state is SourceState.OK:
                note = str(error) if error else None
                before = sources.record_success(conn, *place, count=count, interval=interval, now=now, note=note)
            else:
                before = sources.record_failure(conn, *place, state=state, error=str(error), interval=interval, now=now)
        fine = state is SourceState.SKIPPED or (state is SourceState.OK and error is None)
        if before is None or before.state is not state or (before.error is None) is not (error is None):
            text = "" if error is None else f": {error}"
            _log.log(
                logging.INFO if fine else logging.WARNING,
                "%s of %s/%s is %s%s",
                source,
                account.name,
                region,
                state,
                text,
            )
        return fine


def end_savings(conn: Connection, delta: ListingDelta) -> None:
    """A box that runs again, or is gone, saves nothing from then on."""
    for event in delta.events:
        if event.what == "start":
            savings.end(conn, [event.ref], event.at, "restarted")
    for resource in delta.gone:
        savings.end(conn, [resource.ref], resource.observed_at, "released")


class _Partly(CostguardError):
    """Some resources of a batch could not be read; the others were (``count`` samples)."""

    def __init__(self, message: str, count: int) -> None:
        self.count = count
        super().__init__(message)


_MEASURED = frozenset({Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT})
_STOPPABLE = _MEASURED


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
