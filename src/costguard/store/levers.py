"""People's levers: keep, claim, heartbeat, dispute, pause. Each row says who, when and why.

The caller writes the ledger line in the same transaction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import BindParameter, ColumnElement, Connection, and_, bindparam, delete, func, or_, select, update

from costguard.domain.resource import ResourceRef
from costguard.domain.snapshot import Keep
from costguard.store.rows import Rows
from costguard.store.sql import upsert
from costguard.store.tables import claim as claim_table
from costguard.store.tables import dispute as dispute_table
from costguard.store.tables import heartbeat as heartbeat_table
from costguard.store.tables import keep as keep_table
from costguard.store.tables import pause as pause_table

FOREVER = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Claim:
    """A person's word on who owns a resource; it beats its tags."""

    ref: ResourceRef
    owner: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A job's word that it is alive until then."""

    ref: ResourceRef
    until: datetime
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Dispute:
    """A person's word that an action was wrong; the box is in dry run until ``until``."""

    action_id: str
    ref: ResourceRef
    by: str
    reason: str
    at: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Pause:
    """The kill switch was pulled. ``until`` None: until somebody resumes."""

    at: datetime
    by: str
    reason: str
    until: datetime | None
    resumed_at: datetime | None = None
    resumed_by: str | None = None


_KEEPS, _CLAIMS, _HEARTBEATS, _DISPUTES, _PAUSES = Rows(Keep), Rows(Claim), Rows(Heartbeat), Rows(Dispute), Rows(Pause)


def keep(conn: Connection, promise: Keep) -> None:
    """Keeps a resource; an earlier promise is replaced."""
    upsert(conn, keep_table, [_KEEPS.row(promise)], ["ref"])


def unkeep(conn: Connection, ref: ResourceRef) -> Keep | None:
    """Ends a promise and returns it; None if there was none."""
    row = conn.execute(delete(keep_table).where(keep_table.c.ref == ref).returning(keep_table)).first()
    return None if row is None else _KEEPS.load(row)


def keeps(conn: Connection, now: datetime) -> Mapping[ResourceRef, Keep]:
    """The promises in force."""
    query = select(keep_table).where(keep_table.c.until > now)
    return {row.ref: _KEEPS.load(row) for row in conn.execute(query)}


def kept_until(conn: Connection, since: datetime, now: datetime) -> Mapping[ResourceRef, datetime]:
    """When the promises ran out that ended in (since, now]."""
    query = select(keep_table).where(keep_table.c.until > since, keep_table.c.until <= now)
    return {row.ref: row.until for row in conn.execute(query)}


def claim(conn: Connection, ref: ResourceRef, owner: str, *, by: str, at: datetime) -> None:
    """Says who owns a resource; an earlier claim is replaced."""
    upsert(conn, claim_table, [_CLAIMS.row(Claim(ref, owner, by, at))], ["ref"])


def claims(conn: Connection) -> Mapping[ResourceRef, Claim]:
    """All claims."""
    return {row.ref: _CLAIMS.load(row) for row in conn.execute(select(claim_table))}


def heartbeat(conn: Connection, ref: ResourceRef, until: datetime, *, by: str, at: datetime) -> datetime:
    """Says that a job is alive until then. A longer word that was given before stands; returns the one that holds."""
    query = select(heartbeat_table.c.until).where(heartbeat_table.c.ref == ref)
    before = conn.execute(query).scalar_one_or_none()
    if before is None or before < until:
        upsert(conn, heartbeat_table, [_HEARTBEATS.row(Heartbeat(ref, until, by, at))], ["ref"])
        return until
    return before


def heartbeats(conn: Connection, after: datetime) -> Mapping[ResourceRef, datetime]:
    """Until when each resource's job said that it is alive, where that is after ``after``.

    A word that has run out still counts for the windows that it lies in.
    """
    query = select(heartbeat_table).where(heartbeat_table.c.until > after)
    return {row.ref: row.until for row in conn.execute(query)}


def dispute(conn: Connection, word: Dispute) -> None:
    """Marks an action as a false one; a second dispute of the same action replaces the first."""
    upsert(conn, dispute_table, [_DISPUTES.row(word)], ["action_id"])


def disputes(conn: Connection, since: datetime, until: datetime) -> tuple[Dispute, ...]:
    """The disputes of [since, until), oldest first."""
    query = select(dispute_table).where(dispute_table.c.at >= since, dispute_table.c.at < until)
    return tuple(_DISPUTES.load(row) for row in conn.execute(query.order_by(dispute_table.c.at)))


def disputed_until(conn: Connection, now: datetime) -> Mapping[ResourceRef, datetime]:
    """Until when each disputed resource is in dry run."""
    query = select(dispute_table.c.ref, func.max(dispute_table.c.until).label("until"))
    query = query.where(dispute_table.c.until > now).group_by(dispute_table.c.ref)
    return {row.ref: row.until for row in conn.execute(query)}


def pause(conn: Connection, *, by: str, reason: str, at: datetime, until: datetime | None = None) -> None:
    """Pulls the kill switch. Pauses add up: the latest end holds."""
    conn.execute(pause_table.insert().values(**_PAUSES.row(Pause(at, by, reason, until))))


def resume(conn: Connection, *, by: str, at: datetime) -> tuple[Pause, ...]:
    """Ends every pause in force and returns them; empty if there was none."""
    statement = update(pause_table).where(_in_force(at)).values(resumed_at=at, resumed_by=by).returning(pause_table)
    return tuple(_PAUSES.load(row) for row in conn.execute(statement))


def paused(conn: Connection, now: datetime) -> Pause | None:
    """The pause in force that ends last."""
    rows = [_PAUSES.load(row) for row in conn.execute(_PAUSED, {"moment": now})]
    return max(rows, key=lambda one: one.until or FOREVER, default=None)


def paused_until(conn: Connection, now: datetime) -> datetime | None:
    """Until when nothing may be done: None if not paused, :data:`FOREVER` for a pause without end."""
    held = paused(conn, now)
    return None if held is None else held.until or FOREVER


def pauses(conn: Connection, since: datetime) -> tuple[Pause, ...]:
    """The pauses that began, ended or were resumed at ``since`` or later, oldest first."""
    recent = or_(
        pause_table.c.at >= since,
        pause_table.c.resumed_at >= since,
        pause_table.c.until >= since,
        and_(pause_table.c.resumed_at.is_(None), pause_table.c.until.is_(None)),
    )
    query = select(pause_table).where(recent).order_by(pause_table.c.at)
    return tuple(_PAUSES.load(row) for row in conn.execute(query))


def _in_force(now: datetime | BindParameter[datetime]) -> ColumnElement[bool]:
    return and_(pause_table.c.resumed_at.is_(None), or_(pause_table.c.until.is_(None), pause_table.c.until > now))


_PAUSED = select(pause_table).where(_in_force(bindparam("moment")))
