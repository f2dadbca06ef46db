"""Listing: every kind of one region, read first and then stored in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from costguard.daemon import savings
from costguard.daemon.accounts import Account
from costguard.daemon.facts import ATTACHABLE, note_attachment, note_tags
from costguard.daemon.sources import EMPTY, INVENTORY, UNREADABLE, Outcome, attempt, record
from costguard.domain.resource import Kind, Resource, ResourceRef
from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.engine.pricing import PriceTable, priced
from costguard.ports import Clock, Inventory, Power
from costguard.store import inventory, kv, prices, sources, states
from costguard.store.database import Database

COMPUTE = frozenset({Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT})
# A listing that lost more than half of at least this many resources is doubted until it is seen again.
_DOUBT_FROM = 4
_DOUBT_ROUNDS = 3
_DOUBT = "doubt/"
_TRIED = "tried/"
_LOCK = "protected/"
# A lock is only seen in a live read; what was seen is believed for a day.
_LOCK_HOLDS = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Lister:
    """Lists accounts into the database. ``book`` is the user's price book."""

    database: Database
    clock: Clock
    interval: timedelta
    book: PriceTable

    def due(self, account: Account, region: str, *, empty: bool = False) -> bool:
        """Whether a region is worth looking at now: one never readable daily, an empty one hourly, or if ``empty``."""
        with self.database.read() as conn:
            status = sources.get(conn, account.name, region, INVENTORY)
            tried = kv.get(conn, _tried(account, region))
            doubted = kv.by_prefix(conn, f"{_DOUBT}{account.name}/{region}/")
        if status is None or tried is None or doubted:
            return True
        age = self.clock.now() - datetime.fromisoformat(tried["at"])
        if status.state is SourceState.OK and tried["empty"]:
            return empty or age >= EMPTY
        if tried.get("aside") or (not empty and status.state is SourceState.DENIED and status.fetched_at is None):
            return age >= UNREADABLE
        return True

    def set_aside(self, account: Account) -> frozenset[str]:
        """The regions that are left out: nobody named them, they could never be read, and others can be.

        Their sources say ``skipped``, and why; they are tried again a day later. Where no region at all can be read
        none is left out: then it is the account that may not look.
        """
        if account.bound.spec.regions:
            return frozenset()
        now = self.clock.now()
        with self.database.read() as conn:
            known = sources.sources(conn, account.name)
        found = [s for s in known if s.source.split(".")[0] == INVENTORY]
        read = {s.region for s in found if s.fetched_at is not None}
        denied = {s.region for s in found if s.source == INVENTORY and s.state is SourceState.DENIED} - read
        with self.database.write() if read and denied else self.database.read() as conn:
            for status in found if read else ():
                if status.region not in denied or status.state is not SourceState.DENIED:
                    continue
                first = status.source == INVENTORY
                sources.record_failure(
                    conn, status.account, status.region, status.source, state=SourceState.SKIPPED, now=now,
                    error=f"never readable, tried again daily: {status.error}" if first else None,
                    interval=status.interval,
                )  # fmt: skip
                if first and (tried := kv.get(conn, _tried(account, status.region))) is not None:
                    kv.put(conn, _tried(account, status.region), {**tried, "aside": True}, now)
            return frozenset(s.region for s in never_readable(conn) if s.account == account.name)

    def region(self, account: Account, region: str) -> bool:
        """Lists every kind; False when some kind could not be listed."""
        connection = account.connection()
        if not isinstance(connection, Inventory):
            return True
        looks = [self._look(connection, kind, region) for kind in sorted(connection.kinds())]
        now = self.clock.now()
        # Nothing works there: looked at hourly, and not stale in between.
        empty = not any(look.outcome.count for look in looks if look.kind in COMPUTE)
        interval = max(self.interval, EMPTY) if empty else self.interval
        fine = True
        with self.database.write() as conn:
            listed = PriceTable(prices.in_effect(conn, now))
            locks = kv.by_prefix(conn, f"{_LOCK}{account.provider}/{account.name}/")
            kv.put(conn, _tried(account, region), {"at": now.isoformat(), "empty": empty}, now)
            counts = {status.source: status.count for status in sources.sources(conn, account.name, region)}
            doubts = kv.by_prefix(conn, f"{_DOUBT}{account.name}/{region}/")
            for look in looks:
                source = INVENTORY if look.kind is Kind.VM else f"{INVENTORY}.{look.kind.value}"
                if look.outcome.state is SourceState.OK and not self._doubtful(
                    conn, f"{_DOUBT}{account.name}/{region}/{source}", counts.get(source, 0), doubts, look
                ):
                    found = [self.enrich(account, r, listed, now, locks) for r in look.found.values()]
                    delta = inventory.record_listing(
                        conn, account.name, region, look.kind, found, look.began, self.interval, now
                    )
                    states.assume(conn, delta.new)
                    note_tags(conn, delta.retagged, now)
                    savings.listed(conn, delta, now)
                    if look.kind in ATTACHABLE:
                        place = f"{account.provider}/{account.name}/{region}/{look.kind.value}/"
                        note_attachment(conn, found, place, now)
                fine &= record(conn, account.name, region, source, interval, look.outcome, now)
        return fine

    def live(self, account: Account, seen: Resource) -> Resource | None:
        """Stores one live read, remembering a lock that only it can see; the resource as stored."""
        now = self.clock.now()
        with self.database.write() as conn:
            key = f"{_LOCK}{seen.ref}"
            if seen.protected is not None:
                kv.put(conn, key, {"lock": seen.protected, "at": now.isoformat()}, now)
            else:
                kv.remove(conn, key)
            resource = self.enrich(account, seen, PriceTable(prices.in_effect(conn, now)), now, {})
            delta = inventory.record_live(conn, resource, now)
            savings.listed(conn, delta, now)
            note_tags(conn, delta.retagged, now)
            return inventory.resource(conn, seen.ref)

    def enrich(
        self,
        account: Account,
        resource: Resource,
        listed: PriceTable,
        at: datetime,
        locks: Mapping[str, Mapping[str, str]],
    ) -> Resource:
        """A resource as read, with its price, what stopping it would mean, and a lock seen earlier."""
        connection = account.connection()
        resource = priced(resource, (self.book, listed), at)
        if isinstance(connection, Power) and resource.stop_effect is None and resource.ref.kind in COMPUTE:
            resource = replace(resource, stop_effect=connection.stop_effect(resource))
        lock = locks.get(f"{_LOCK}{resource.ref}")
        if lock and resource.protected is None and at - datetime.fromisoformat(lock["at"]) < _LOCK_HOLDS:
            resource = replace(resource, protected=lock["lock"])
        return resource

    def reprice(self, account: Account) -> None:
        """Gives stored resources the prices that have become known since they were listed."""
        now = self.clock.now()
        with self.database.write() as conn:
            listed = PriceTable(prices.in_effect(conn, now))
            for known in inventory.resources(conn, account=account.name):
                with_price = priced(known, (self.book, listed), now)
                if with_price != known:
                    inventory.record_live(conn, with_price, known.observed_at)

    def _look(self, connection: Inventory, kind: Kind, region: str) -> "_Look":
        # When the listing began: what is seen live while it runs is newer than it.
        began = self.clock.now()
        found: dict[ResourceRef, Resource] = {}

        def look() -> int:
            found.update((r.ref, r) for r in connection.list(kind, region))
            return len(found)

        return _Look(kind, began, attempt(look), found)

    def _doubtful(
        self, conn: Connection, key: str, count: int, doubts: Mapping[str, Mapping[str, int]], look: "_Look"
    ) -> bool:
        """Whether a shrunken listing has still to be seen again before it is believed; ``count``: what was known."""
        doubt = doubts.get(key)
        known = int(doubt["known"]) if doubt else count
        rounds = int(doubt["rounds"]) + 1 if doubt else 1
        doubtful = known >= _DOUBT_FROM and len(look.found) * 2 < known and rounds < _DOUBT_ROUNDS
        if doubtful:
            kv.put(conn, key, {"known": known, "rounds": rounds}, look.began)
        elif doubt is not None:
            kv.remove(conn, key)
        return doubtful


@dataclass(frozen=True, slots=True)
class _Look:
    """One kind as listed: when the listing began, how it went, what it found."""

    kind: Kind
    began: datetime
    outcome: Outcome
    found: Mapping[ResourceRef, Resource]


def _tried(account: Account, region: str) -> str:
    return f"{_TRIED}{account.name}/{region}"


def never_readable(conn: Connection) -> tuple[SourceStatus, ...]:
    """The inventories of the regions that are left out because they could never be read."""
    aside = {key for key, known in kv.by_prefix(conn, _TRIED).items() if known.get("aside")}
    return tuple(
        status
        for status in sources.sources(conn)
        if status.source == INVENTORY and status.state is SourceState.SKIPPED
        if f"{_TRIED}{status.account}/{status.region}" in aside
    )
