"""Evening reminders: what of an owner still runs, and what it costs until the morning.

Once per entry and day, for all owners at the same moment: a box that is started later is tomorrow's. What was told is
a row, so that a restart tells nothing twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Connection

from costguard.daemon.documents import FleetRow
from costguard.daemon.fleet import OFF, fleet
from costguard.daemon.listing import COMPUTE
from costguard.domain.finding import Subject
from costguard.domain.money import Money, total
from costguard.domain.notice import Notice, NoticeKind
from costguard.domain.resource import ChargeType
from costguard.domain.time import Calendar, TimeRange
from costguard.engine.settings import Owner
from costguard.notify.bulletins import reminder_box, reminder_facts
from costguard.notify.document import Facts, next_morning
from costguard.notify.route import Draft, Routing, route
from costguard.ports import Clock
from costguard.store import kv, outbox
from costguard.store.database import Database

_TOLD = "told/reminder/"
# What is paid for in advance costs no less when it is stopped tonight.
_BY_THE_HOUR = (ChargeType.ON_DEMAND, ChargeType.SPOT)


@dataclass(frozen=True, slots=True)
class Evening:
    """One entry of ``reminders:``. ``when`` is from its time to midnight, on its days; ``to`` as of a message."""

    when: TimeRange
    to: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{_TOLD}{self.when.start}/{','.join(self.to)}"


@dataclass(frozen=True, slots=True)
class Reminders:
    """``calendar`` knows which days are workdays."""

    database: Database
    clock: Clock
    routing: Routing
    owners: tuple[Owner, ...]
    calendar: Calendar
    entries: tuple[Evening, ...]

    def round(self) -> None:
        """Looks at the clock, and queues what is due and was not told today."""
        now = self.clock.now()
        open_now = [entry for entry in self.entries if entry.when.covers(now, self.calendar)]
        if not open_now:
            return
        with self.database.read() as conn:
            due = [entry for entry in open_now if kv.get(conn, entry.key) != _told(entry, now)]
            found = [(entry, self._notices(conn, entry, now)) for entry in due]
        if not found:
            return
        with self.database.write() as conn:
            for entry, notices in found:
                outbox.enqueue(conn, notices)
                kv.put(conn, entry.key, _told(entry, now), now)

    def _notices(self, conn: Connection, entry: Evening, now: datetime) -> list[Notice]:
        """The reminders of every known owner who has something running."""
        running: dict[str, list[FleetRow]] = {}
        for row in fleet(conn, now, self.owners):
            owner = row.resource.owner
            if owner is None or owner not in self.routing.people:
                continue
            if row.resource.ref.kind in COMPUTE and row.activity != OFF:
                running.setdefault(owner, []).append(row)
        return [n for owner, rows in sorted(running.items()) for n in self._reminder(entry, owner, rows, now)]

    def _reminder(self, entry: Evening, owner: str, rows: Sequence[FleetRow], now: datetime) -> list[Notice]:
        zone, day = entry.when.timezone.key, _day(entry, now)
        nights = [_tonight(row, now, zone) for row in rows]
        facts = reminder_facts(
            owner=owner, now=now, timezone=zone, boxes=[_box(*each, now) for each in zip(rows, nights, strict=True)],
            tonight=total(night for night in nights if night is not None),
        )  # fmt: skip
        _, midnight = entry.when.interval(day)
        draft = Draft(
            NoticeKind.REMINDER, f"reminder/{owner}", f"{entry.key}/{owner}/{day.isoformat()}", facts, now,
            to=entry.to, owner=owner, not_after=midnight,
        )  # fmt: skip
        return route(draft, self.routing)


def _day(entry: Evening, now: datetime) -> date:
    return now.astimezone(entry.when.timezone).date()


def _told(entry: Evening, now: datetime) -> dict[str, str]:
    return {"day": _day(entry, now).isoformat()}


def _tonight(row: FleetRow, now: datetime, zone: str) -> Money | None:
    price = row.resource.price
    if price is None or row.resource.charge_type not in _BY_THE_HOUR:
        return None
    return price.per_hour_for(next_morning(now, zone) - now)


def _box(row: FleetRow, tonight: Money | None, now: datetime) -> Facts:
    """How long a box is idle is known from its ladder."""
    ladder = row.action if row.activity == "idle" and row.action and not row.action.state.terminal else None
    return reminder_box(
        subject=Subject.of(row.resource),
        activity=row.activity,
        idle_for=now - ladder.since if ladder else None,
        price=row.resource.price,
        tonight=tonight,
    )
