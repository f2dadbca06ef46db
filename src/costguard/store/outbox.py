"""The outbox: notices are queued in the transaction that decided them, and sent by whoever holds their lease.

At least once. A sender that dies leaves a lease that runs out; the next claim says in ``last_error`` that the message
may have been delivered.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, delete, func, or_, select, update

from costguard.domain.notice import Notice, NoticeKind, NoticeState, SendReason
from costguard.errors import StaleWrite
from costguard.store.rows import Rows
from costguard.store.sql import chunks, insert_new
from costguard.store.tables import notice as table
from costguard.store.tables import send_log

INTERRUPTED = "interrupted while sending: it may have been delivered"
_ROWS = Rows(Notice)
_PENDING, _SENDING = NoticeState.PENDING, NoticeState.SENDING
_UNSENT = [_PENDING, _SENDING]
# A warning starts a grace, so it goes first; then what went wrong, what was done, and the rest.
_URGENCY = case(
    (table.c.kind == NoticeKind.WARN, 0),
    (table.c.kind == NoticeKind.FAILED, 1),
    (table.c.kind.in_([NoticeKind.RESULT, NoticeKind.UNSEEN_WORK]), 2),
    else_=3,
)


@dataclass(frozen=True, slots=True)
class SendRecord:
    """One successful send, as deduplication sees it."""

    alert_key: str
    channel: str
    kind: NoticeKind
    facts_hash: str
    sent_at: datetime


def enqueue(conn: Connection, notices: Iterable[Notice]) -> tuple[str, ...]:
    """Queues notices and returns the ids of those that are new; one with a known ``idem_key`` is the same notice."""
    return tuple(one.id for one in notices if insert_new(conn, table, _ROWS.row(one), ("idem_key",)))


def claim(
    conn: Connection, channel: str, worker: str, now: datetime, lease_for: timedelta, limit: int
) -> tuple[Notice, ...]:
    """Takes up to ``limit`` due notices of a channel, most urgent first, then oldest.

    They are SENDING until ``now + lease_for``; ``attempts`` counts this attempt. Two workers never get the same one.
    """
    due = or_(
        and_(table.c.state == _PENDING, or_(table.c.next_at.is_(None), table.c.next_at <= now)),
        and_(table.c.state == _SENDING, table.c.lease_until < now),
    )
    chosen = (
        select(table.c.id)
        .where(table.c.channel == channel, due)
        .order_by(_URGENCY, table.c.created_at, table.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    ids = conn.execute(chosen).scalars().all()
    taken = (
        update(table)
        .where(table.c.id.in_(ids))
        .values(
            last_error=case((table.c.state == _SENDING, INTERRUPTED), else_=table.c.last_error),
            state=_SENDING,
            worker=worker,
            lease_until=now + lease_for,
            attempts=table.c.attempts + 1,
        )
        .returning(table)
    )
    by_id = {row.id: _ROWS.load(row) for row in conn.execute(taken)}
    return tuple(by_id[notice_id] for notice_id in ids)


def mark_sent(
    conn: Connection, notice_id: str, now: datetime, *, message_ref: str | None = None, reason: SendReason | None = None
) -> Notice:
    """Records an acceptance. It holds whoever claimed the notice since: what was sent was sent."""
    change: dict[str, Any] = {"state": NoticeState.SENT, "sent_at": now, "message_ref": message_ref}
    if reason is not None:
        change["reason"] = reason
    return _finish(conn, notice_id, None, change)


def mark_retry(
    conn: Connection, notice_id: str, worker: str, *, next_at: datetime, error: str, reason: SendReason | None = None
) -> Notice:
    """Puts a notice back until ``next_at``. Raises StaleWrite when ``worker`` no longer holds it."""
    change: dict[str, Any] = {"state": _PENDING, "next_at": next_at, "last_error": error}
    if reason is not None:
        change["reason"] = reason
    return _finish(conn, notice_id, worker, change)


def mark_dead(conn: Connection, notice_id: str, worker: str, *, error: str) -> Notice:
    """Gives a notice up, to be listed and replayed. Raises StaleWrite when ``worker`` no longer holds it."""
    return _finish(conn, notice_id, worker, {"state": NoticeState.DEAD, "last_error": error})


def suppress(conn: Connection, notice_id: str, reason: SendReason) -> Notice:
    """Ends an unsent notice that a stage decided not to send. Raises StaleWrite when it is no longer unsent."""
    return _finish(conn, notice_id, None, {"state": NoticeState.SUPPRESSED, "reason": reason})


def supersede(
    conn: Connection, alert_key: str, channel: str, before: datetime, reason: SendReason = SendReason.NEWER
) -> tuple[str, ...]:
    """Ends the waiting notices of one story in one channel that are older than ``before``; returns their ids."""
    older = and_(
        table.c.alert_key == alert_key,
        table.c.channel == channel,
        table.c.state == _PENDING,
        table.c.created_at < before,
    )
    return _supersede(conn, older, reason)


def expire(conn: Connection, now: datetime) -> tuple[str, ...]:
    """Ends the waiting notices whose ``not_after`` has passed; returns their ids."""
    return _supersede(conn, and_(table.c.state == _PENDING, table.c.not_after < now), SendReason.EXPIRED)


def expire_all(conn: Connection) -> tuple[str, ...]:
    """Ends everything that is unsent: after a restore no message of another time may go out."""
    return _supersede(conn, table.c.state.in_(_UNSENT), SendReason.EXPIRED)


def get(conn: Connection, notice_id: str) -> Notice | None:
    """One notice by its id."""
    row = conn.execute(select(table).where(table.c.id == notice_id)).first()
    return None if row is None else _ROWS.load(row)


def list_notices(
    conn: Connection,
    *,
    states: Collection[NoticeState] = (),
    channel: str | None = None,
    action_id: str | None = None,
    alert_key: str | None = None,
    since: datetime | None = None,
    limit: int | None = None,
) -> tuple[Notice, ...]:
    """Notices, newest first; ``since`` ≤ created_at; an empty filter is no filter."""
    query = select(table).order_by(table.c.created_at.desc(), table.c.id)
    if states:
        query = query.where(table.c.state.in_(list(states)))
    if channel is not None:
        query = query.where(table.c.channel == channel)
    if action_id is not None:
        query = query.where(table.c.action_id == action_id)
    if alert_key is not None:
        query = query.where(table.c.alert_key == alert_key)
    if since is not None:
        query = query.where(table.c.created_at >= since)
    return _all(conn, query.limit(limit))


def began(conn: Connection, notice: Notice) -> str | None:
    """The ``message_ref`` of the message that began the story of ``notice`` for its audience (a channel, or one person
    there) and that nothing has ended since; for what is told after the end, of the story that ended last."""
    query = (
        select(table.c.kind, table.c.message_ref, table.c.mention)
        .where(
            table.c.alert_key == notice.alert_key,
            table.c.channel == notice.channel,
            table.c.personal.is_(notice.personal),
            table.c.state == NoticeState.SENT,
            table.c.reason != SendReason.DIGESTED,
        )
        .order_by(table.c.sent_at, table.c.id)
    )
    first: str | None = None
    ended: str | None = None
    for kind, ref, mention in conn.execute(query):
        if kind.after_the_end or (notice.personal and tuple(mention) != notice.mention):
            continue
        first = first or ref
        if kind.ends_story:
            first, ended = None, first
    return first or (ended if notice.kind.after_the_end else None)


def replay(conn: Connection, now: datetime, notice_ids: Collection[str] | None = None) -> tuple[str, ...]:
    """Queues dead notices again (None: all of them), with their attempts forgotten; returns their ids."""
    dead = table.c.state == NoticeState.DEAD
    if notice_ids is not None:
        dead = and_(dead, table.c.id.in_(list(notice_ids)))
    again = (
        update(table)
        .where(dead)
        .values(state=_PENDING, reason=SendReason.RETRY, attempts=0, next_at=now, worker=None, lease_until=None)
        .returning(table.c.id)
    )
    return tuple(sorted(conn.execute(again).scalars()))


def depth(conn: Connection) -> dict[tuple[str, NoticeState], int]:
    """How many notices each channel has per state."""
    query = select(table.c.channel, table.c.state, func.count()).group_by(table.c.channel, table.c.state)
    return {(channel, state): count for channel, state, count in conn.execute(query)}


def record_send(conn: Connection, record: SendRecord) -> None:
    """Adds a successful send to the record."""
    conn.execute(send_log.insert().values(**_SENDS.row(record)))


def last_send(conn: Connection, alert_key: str, channel: str) -> SendRecord | None:
    """The newest successful send of a story to a channel."""
    query = (
        select(send_log)
        .where(send_log.c.alert_key == alert_key, send_log.c.channel == channel)
        .order_by(send_log.c.sent_at.desc(), send_log.c.id.desc())
        .limit(1)
    )
    row = conn.execute(query).first()
    return None if row is None else _SENDS.load(row)


def sends_since(conn: Connection, channel: str, since: datetime) -> tuple[datetime, ...]:
    """When messages were accepted by a channel since then, oldest first: what its pace has used up."""
    query = (
        select(send_log.c.sent_at)
        .where(send_log.c.channel == channel, send_log.c.sent_at >= since)
        .order_by(send_log.c.sent_at)
    )
    return tuple(conn.execute(query).scalars())


def prune(conn: Connection, before: datetime, limit: int = 5_000) -> int:
    """Deletes up to ``limit`` ended notices and sends older than ``before``; call it until it returns 0."""
    ended = select(table.c.id).where(table.c.created_at < before, table.c.state.not_in(_UNSENT)).limit(limit)
    gone = 0
    for ids in chunks(conn.execute(ended).scalars().all()):
        gone += conn.execute(delete(table).where(table.c.id.in_(ids))).rowcount
    sends = select(send_log.c.id).where(send_log.c.sent_at < before).limit(limit)
    for numbers in chunks(conn.execute(sends).scalars().all()):
        gone += conn.execute(delete(send_log).where(send_log.c.id.in_(numbers))).rowcount
    return gone


_SENDS = Rows(SendRecord)


def _finish(conn: Connection, notice_id: str, worker: str | None, change: dict[str, Any]) -> Notice:
    held = and_(table.c.id == notice_id, table.c.state.in_(_UNSENT))
    if worker is not None:
        held = and_(held, table.c.worker == worker, table.c.state == _SENDING)
    done = update(table).where(held).values(worker=None, lease_until=None, **change).returning(table)
    row = conn.execute(done).first()
    if row is None:
        raise StaleWrite(f"notice {notice_id} is no longer {f'held by {worker}' if worker else 'unsent'}")
    return _ROWS.load(row)


def _supersede(conn: Connection, condition: ColumnElement[bool], reason: SendReason) -> tuple[str, ...]:
    ended = update(table).where(condition).values(state=NoticeState.SUPERSEDED, reason=reason).returning(table.c.id)
    return tuple(sorted(conn.execute(ended).scalars()))


def _all(conn: Connection, query: Select[*tuple[Any, ...]]) -> tuple[Notice, ...]:
    return tuple(_ROWS.load(row) for row in conn.execute(query))
