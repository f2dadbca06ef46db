"""Metrics sources besides the providers: polled like an account's use, each with a status and series of its own.

A series of one is never mixed with a provider's: its source names it, and its windows end with the step in which it was
last read. What does not arrive is unknown; a source that cannot be read, or whose clock is not ours, brings nothing.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from costguard.daemon.listing import COMPUTE
from costguard.daemon.sources import NO_REGION, Partly, attempt, record
from costguard.domain.resource import Resource, ResourceRef, State
from costguard.domain.usage import UsageSample
from costguard.errors import BadResponse, ProviderError
from costguard.ports import Clock
from costguard.prometheus.client import PROVIDER, TooMuch
from costguard.prometheus.read import Found, Reader, floor
from costguard.store import inventory, kv, sources, usage
from costguard.store.database import Database

_log = logging.getLogger(__name__)

SOURCE = "prometheus"
"""What the source of use of a monitor is called among the sources."""

_SKEW = timedelta(minutes=1)
# In one query: what a machine with little memory can hold, and no server refuses.
_POINTS = 360
_BATCH = 25
_LISTED = 50
_TOLD = 3


@dataclass(frozen=True, slots=True)
class Sight:
    """What the last poll saw: ``matched`` of ``of`` running boxes that it could tell of, boxes that are refused (full
    ref → why), ``unmatched`` label values that are no running box, how far its clock is ahead of ours, and boxes with a
    card that is ``cut`` into slices."""

    matched: int
    of: int
    ambiguous: Mapping[str, str]
    unmatched: Sequence[str]
    ahead: timedelta
    cut: frozenset[ResourceRef] = frozenset()


@dataclass(frozen=True, slots=True)
class Monitor:
    """One configured metrics source. ``covers`` says whose boxes it may speak of, by the account's name; ``backfill``
    is the longest window that any policy looks back, ``delay`` how late its newest samples arrive."""

    reader: Reader
    database: Database
    clock: Clock
    interval: timedelta
    backfill: timedelta
    delay: timedelta
    covers: Callable[[str], bool]

    @property
    def name(self) -> str:
        return self.reader.name

    def poll(self) -> bool:
        """Reads the use of every running box that it knows; True when all went well."""
        now = self.clock.now()
        outcome = attempt(lambda: self._poll(now))
        with self.database.write(durable=False) as conn:
            return record(conn, self.name, NO_REGION, SOURCE, self.interval, outcome, now)

    def read(self, resource: Resource) -> None:
        """The newest samples of one box, right now. Raises ProviderError, where this source knows the box."""
        if not self.covers(resource.ref.account) or resource.state is not State.RUNNING:
            return
        now = self.clock.now()
        self._begin_again(now)
        with self.database.read() as conn:
            running = self._running(conn)
            known = self._newest(conn, [resource.ref])
        boxes = [resource, *(box for box in running if box.ref != resource.ref)]
        # What was under way at the last read is over now.
        since = max(known.get(resource.ref, now - 3 * self.interval) - 3 * self.reader.step, now - self.backfill)
        try:
            self.agree()
            for low, high in spans(since, now - self.delay, self.reader.step):
                found = self._within(boxes, low, high, [resource])
                if resource.ref in found.ambiguous:
                    raise self._error(found.ambiguous[resource.ref])
                self._store(found.samples, [resource.ref])
                if found.partial:
                    raise self._error("; ".join(found.notes))
        except ProviderError as error:
            if resource.ref in known:
                raise
            _log.info("%s could not be asked of %s, which it never told of: %s", self.name, resource.ref, error)

    def history(self, boxes: Sequence[Resource], since: datetime, until: datetime) -> int:
        """Stores what it holds of ``boxes`` in (since, until]; returns how many samples. Raises ProviderError."""
        with self.database.read() as conn:
            running = self._running(conn)
        names = {box.ref for box in boxes}
        everyone = [*boxes, *(box for box in running if box.ref not in names)]
        count = 0
        for batch in batches(boxes):
            for low, high in spans(since, until, self.reader.step):
                count += self._store(self._within(everyone, low, high, batch).samples, [box.ref for box in batch])
        return count

    def agree(self) -> timedelta:
        """How far the server's clock is ahead of ours.

        Raises BadResponse when that is far: its samples would look newer, or older, than they are.
        """
        ahead = self.reader.api.clock() - self.clock.now()
        if abs(ahead) > _SKEW:
            way = "ahead of" if ahead > timedelta() else "behind"
            raise self._error(f"its clock is {abs(ahead).total_seconds():.0f} s {way} ours: set both by NTP")
        return ahead

    def sight(self, conn: Connection) -> Sight | None:
        """What the last poll saw; None before the first that came through."""
        return sight(conn, self.name)

    def may_tell_of(self, box: Resource) -> bool:
        """Whether it could say something of this box: it runs, is covered, and has cards if those are what is told."""
        return self.covers(box.ref.account) and (box.gpus is not None or not self.reader.profile.of_cards)

    def _poll(self, now: datetime) -> int:
        ahead = self.agree()
        self._begin_again(now)
        with self.database.read() as conn:
            boxes = self._running(conn)
            newest = self._newest(conn, [box.ref for box in boxes])
        until = now - self.delay
        recent = until - 3 * self.interval
        found = Found()
        for low, high in spans(recent, until, self.reader.step):
            one = self._within(boxes, low, high)
            found = _joined(found, one)
        self._store(found.samples, found.matched)
        self._remember(found, boxes, ahead, now)
        behind: dict[datetime, list[Resource]] = {}
        for box in boxes:
            at = newest.get(box.ref, now - self.backfill)
            since = max(at, now - self.backfill, *([box.started_at] if box.started_at else []))
            if box.ref in found.matched and since < recent:
                behind.setdefault(since.replace(minute=0, second=0, microsecond=0), []).append(box)
        for since, late in sorted(behind.items()):
            self._catch_up(boxes, late, since, recent)
        if notes := self._notes(found, boxes):
            raise Partly("; ".join(notes), len(found.matched))
        return len(found.matched)

    def _begin_again(self, now: datetime) -> None:
        """After another join, ``where`` or address was configured, what was told before may be of other boxes: as far
        as any window reaches back it is read anew."""
        with self.database.read() as conn:
            before = kv.get(conn, f"{_ASKS}{self.name}")
        if before is not None and before["asks"] == self.reader.asks:
            return
        with self.database.write() as conn:
            if before is not None:
                dropped = usage.forget(conn, self.name, now - self.backfill - timedelta(days=1))
                _log.info("%s is asked in another way now: %d samples are read anew", self.name, dropped)
            kv.put(conn, f"{_ASKS}{self.name}", {"asks": self.reader.asks}, now)

    def _catch_up(self, boxes: Sequence[Resource], late: Sequence[Resource], since: datetime, until: datetime) -> None:
        """The oldest first, so that what was stored has no gap behind it when this is cut short."""
        for batch in batches(late):
            for low, high in spans(since, until, self.reader.step):
                found = self._within(boxes, low, high, batch)
                self._store(found.samples, [box.ref for box in batch])

    def _within(self, boxes: Sequence[Resource], low: datetime, high: datetime, only: Sequence[Resource] = ()) -> Found:
        """One read, in halves of the span where the whole is more than the server or we can take."""
        try:
            return self.reader.read(boxes, low, high, only)
        except TooMuch:
            middle = floor(low + (high - low) / 2, self.reader.step)
            if middle <= low or high - low <= 5 * self.reader.step:
                raise
            return _joined(self._within(boxes, low, middle, only), self._within(boxes, middle, high, only))

    def _store(self, samples: Iterable[UsageSample], refs: Iterable[ResourceRef]) -> int:
        wanted = set(refs)
        kept = [sample for sample in samples if sample.series.ref in wanted]
        if not kept:
            return 0
        with self.database.write(durable=False) as conn:
            return usage.append(conn, kept)

    def _running(self, conn: Connection) -> list[Resource]:
        found = inventory.resources(conn, state=State.RUNNING)
        return [box for box in found if box.ref.kind in COMPUTE and self.covers(box.ref.account)]

    def _newest(self, conn: Connection, refs: Iterable[ResourceRef]) -> dict[ResourceRef, datetime]:
        """Up to where the use of each box is known: that of its metric that is furthest behind."""
        wanted = set(refs)
        found: dict[ResourceRef, datetime] = {}
        for account in sorted({ref.account for ref in wanted}):
            for (ref, _), at in usage.newest(conn, account, self.name).items():
                if ref in wanted:
                    found[ref] = min(at, found.get(ref, at))
        return found

    def _notes(self, found: Found, boxes: Sequence[Resource]) -> list[str]:
        """What a person must hear, though something was read."""
        notes = _few([f"{ref.id}: {why}" for ref, why in sorted(found.ambiguous.items())], "ambiguous: ")
        notes += _few(found.notes)
        told_of = [box for box in boxes if self.may_tell_of(box)]
        if told_of and not found.matched and not found.ambiguous:
            label = self.reader.how.label
            if found.unmatched:
                notes.append(f"no value of {label} is a running box: {', '.join(found.unmatched[:_TOLD])}")
            else:
                notes.append(f"it has no series of this profile with the label {label}")
        return notes

    def _remember(self, found: Found, boxes: Sequence[Resource], ahead: timedelta, now: datetime) -> None:
        seen = {
            "matched": len(found.matched), "of": sum(self.may_tell_of(box) for box in boxes),
            "ambiguous": {str(ref): why for ref, why in sorted(found.ambiguous.items())},
            "unmatched": list(found.unmatched[:_LISTED]), "ahead_s": ahead.total_seconds(),
        }  # fmt: skip
        running = {box.ref for box in boxes}
        with self.database.write(durable=False) as conn:
            before = sight(conn, self.name)
            # An exporter that fell silent does not make a card whole again.
            still = (before.cut & running) - found.matched if before else frozenset[ResourceRef]()
            seen["cut"] = sorted(str(ref) for ref in found.cut | still)
            kv.put(conn, f"{_SIGHT}{self.name}", seen, now)

    def _error(self, text: str) -> BadResponse:
        return BadResponse(text, provider=PROVIDER, account=self.name)


_SIGHT = "monitor/"
_ASKS = "asks/"


def sight(conn: Connection, name: str) -> Sight | None:
    """What the last poll of a monitor saw; None before the first that came through."""
    row = kv.get(conn, f"{_SIGHT}{name}")
    if row is None:
        return None
    return Sight(
        row["matched"],
        row["of"],
        row["ambiguous"],
        row["unmatched"],
        timedelta(seconds=row["ahead_s"]),
        frozenset(ResourceRef.parse(ref) for ref in row.get("cut", ())),
    )


def forget_others(database: Database, names: Collection[str]) -> None:
    """Removes what is known of metrics sources that are no longer configured: nobody will ever read them again."""
    with database.read() as conn:
        gone = [s.account for s in sources.sources(conn) if s.source == SOURCE and s.account not in names]
    if gone:
        with database.write() as conn:
            for name in gone:
                sources.forget(conn, name, NO_REGION, SOURCE)
                kv.remove(conn, f"{_SIGHT}{name}")
                kv.remove(conn, f"{_ASKS}{name}")


def refused(conn: Connection, monitors: Iterable[str]) -> dict[ResourceRef, dict[str, str]]:
    """Why a monitor refuses to speak of a box: ref → monitor → sentence."""
    found: dict[ResourceRef, dict[str, str]] = {}
    for name in monitors:
        seen = sight(conn, name)
        for ref, why in seen.ambiguous.items() if seen else ():
            found.setdefault(ResourceRef.parse(ref), {})[name] = why
    return found


def cut(conn: Connection, monitors: Iterable[str]) -> frozenset[ResourceRef]:
    """The boxes of which some monitor says that a card is cut into slices."""
    seen = (sight(conn, name) for name in monitors)
    return frozenset(ref for one in seen if one for ref in one.cut)


def spans(since: datetime, until: datetime, step: timedelta) -> Iterable[tuple[datetime, datetime]]:
    """[since, until] in pieces of few enough points, the oldest first."""
    low = since
    while low < until:
        high = min(until, low + _POINTS * step)
        yield low, high
        low = high


def batches(boxes: Sequence[Resource]) -> Iterable[Sequence[Resource]]:
    for first in range(0, len(boxes), _BATCH):
        yield boxes[first : first + _BATCH]


def _joined(one: Found, other: Found) -> Found:
    """Two reads of spans that follow each other. A box that either refuses is refused."""
    ambiguous = {**one.ambiguous, **other.ambiguous}
    return Found(
        tuple(s for s in (*one.samples, *other.samples) if s.series.ref not in ambiguous),
        (one.matched | other.matched) - ambiguous.keys(),
        ambiguous,
        tuple(sorted({*one.unmatched, *other.unmatched})),
        tuple(dict.fromkeys((*one.notes, *other.notes))),
        one.cut | other.cut,
        one.partial or other.partial,
    )


def _few(texts: Sequence[str], lead: str = "") -> list[str]:
    more = [f"and {len(texts) - _TOLD} more"] if len(texts) > _TOLD else []
    return [f"{lead}{text}" for text in texts[:_TOLD]] + more
