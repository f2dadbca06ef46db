"""Savings as they end: the row and its ledger line in the transaction that saw the end."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from costguard.domain.action import Action
from costguard.domain.finding import Subject
from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.saving import WOULD_HAVE_STOPPED, Saving
from costguard.engine import savings as engine
from costguard.store import inventory, ledger, power, savings
from costguard.store.inventory import ListingDelta

_HISTORY = engine.HISTORY + timedelta(days=2)


def book(conn: Connection, action: Action, resource: Resource, zone: ZoneInfo, now: datetime) -> None:
    """Books what a confirmed stop saves, at most until the box would have stopped anyway."""
    until = engine.would_stop(resource, power.events_since(conn, now - _HISTORY).get(resource.ref, ()), now, zone)
    saving = engine.book(action, resource, now, until=until)
    if saving is not None:
        savings.book(conn, saving)
        ledger.append(conn, [engine.booked_line(saving, action, now)])


def end(conn: Connection, refs: Collection[ResourceRef], at: datetime, by: str) -> None:
    """Ends what stands for these resources (``restarted``, ``released``, ``undone``)."""
    if refs:
        _replace(conn, [(one, engine.end(one, at, by)) for one in savings.standing(conn, refs, at)], at)


def listed(conn: Connection, delta: ListingDelta, now: datetime) -> None:
    """A box that runs again, or is gone, saves nothing from then on; nor does one that would have stopped by now."""
    for event in delta.events:
        if event.what == "start":
            end(conn, [event.ref], event.at, "restarted")
    for resource in delta.gone:
        end(conn, [resource.ref], resource.observed_at, "released")
    over = savings.overdue(conn, now)
    if over:
        _replace(conn, [(one, engine.end(one, now, WOULD_HAVE_STOPPED)) for one in over], now)


def dispute(conn: Connection, action_id: str, now: datetime) -> None:
    """Makes what an action saved a loss."""
    saving = savings.get(conn, action_id)
    if saving is not None:
        _replace(conn, [(saving, engine.dispute(saving, now))], now)


def _replace(conn: Connection, changes: Sequence[tuple[Saving, Saving]], at: datetime) -> None:
    names: Mapping[ResourceRef, Subject] = {
        before.ref: Subject.of(resource)
        for before, _ in changes
        if (resource := inventory.resource(conn, before.ref)) is not None
    }
    for before, after in changes:
        savings.book(conn, after)
        ledger.append(conn, [engine.ended_line(before, after, names.get(before.ref), at)])
