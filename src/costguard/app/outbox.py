"""The store's outbox as the delivery wants it: each method one transaction, none of them a network call."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from costguard.domain.notice import Notice, NoticeState, Receipt, SendReason
from costguard.errors import StaleWrite
from costguard.notify.outbox import ChannelHealth, HealthState, Sent, Told
from costguard.store import kv, outbox
from costguard.store.database import Database
from costguard.store.types import from_micros, to_micros

_DAY = timedelta(days=1)


class StoreOutbox:
    """Implements :class:`costguard.notify.outbox.Outbox` on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self, channel: str) -> Sequence[Notice]:
        with self._database.read() as conn:
            found = outbox.list_notices(conn, channel=channel, states=[NoticeState.PENDING])
        return tuple(reversed(found))

    def claim(self, channel: str, worker: str, now: datetime, lease_for: timedelta, limit: int) -> Sequence[Notice]:
        with self._database.write() as conn:
            return outbox.claim(conn, channel, worker, now, lease_for, limit)

    def sent(self, notice: Notice, now: datetime, receipt: Receipt, reason: SendReason, covers: Sequence[Told]) -> None:
        with self._database.write() as conn:
            outbox.mark_sent(conn, notice.id, now, message_ref=receipt.message_ref, reason=reason)
            for told in covers:
                if told.notice_id != notice.id:
                    try:
                        outbox.mark_sent(conn, told.notice_id, now, message_ref=receipt.message_ref)
                    except StaleWrite:
                        # It ended meanwhile (called off, expired): what was said of it needs no record.
                        continue
                outbox.record_send(
                    conn, outbox.SendRecord(told.alert_key, notice.channel, told.kind, told.facts_hash, now)
                )

    def retry(
        self, notice_id: str, worker: str, *, next_at: datetime, error: str, reason: SendReason | None = None
    ) -> None:
        with self._database.write() as conn:
            try:
                outbox.mark_retry(conn, notice_id, worker, next_at=next_at, error=error, reason=reason)
            except StaleWrite:
                # Another worker holds it now and decides.
                return

    def dead(self, notice_id: str, worker: str, *, error: str) -> None:
        with self._database.write() as conn:
            try:
                outbox.mark_dead(conn, notice_id, worker, error=error)
            except StaleWrite:
                # As in retry.
                return

    def suppress(self, notice_id: str, reason: SendReason) -> None:
        with self._database.write() as conn:
            try:
                outbox.suppress(conn, notice_id, reason)
            except StaleWrite:
                # It has ended already.
                return

    def supersede(self, alert_key: str, channel: str, before: datetime) -> None:
        with self._database.write() as conn:
            outbox.supersede(conn, alert_key, channel, before)

    def expire(self, now: datetime) -> None:
        with self._database.write() as conn:
            outbox.expire(conn, now)

    def enqueue(self, notices: Collection[Notice]) -> None:
        with self._database.write() as conn:
            outbox.enqueue(conn, notices)

    def fold(self, digest: Notice, children: Sequence[str], worker: str, until: datetime) -> None:
        with self._database.write() as conn:
            outbox.enqueue(conn, [digest])
            for child in children:
                outbox.mark_retry(conn, child, worker, next_at=until, error=digest.id, reason=SendReason.DIGESTED)

    def get(self, notice_id: str) -> Notice | None:
        with self._database.read() as conn:
            return outbox.get(conn, notice_id)

    def last_sent(self, alert_key: str, channel: str) -> Sent | None:
        with self._database.read() as conn:
            found = outbox.last_send(conn, alert_key, channel)
        if found is None:
            return None
        return Sent(found.alert_key, found.channel, found.kind, found.facts_hash, found.sent_at)

    def began(self, notice: Notice) -> str | None:
        with self._database.read() as conn:
            return outbox.began(conn, notice)

    def last_sent_at(self, channel: str) -> datetime | None:
        with self._database.read() as conn:
            newest = outbox.list_notices(conn, channel=channel, states=[NoticeState.SENT], limit=1)
            if not newest:
                return None
            sends = outbox.sends_since(conn, channel, newest[0].created_at - _DAY)
        return sends[-1] if sends else newest[0].sent_at

    def health(self, channel: str) -> ChannelHealth:
        with self._database.read() as conn:
            saved = kv.get(conn, f"channel/{channel}")
        if saved is None:
            return ChannelHealth(channel)
        return ChannelHealth(
            channel,
            HealthState(saved["state"]),
            _instant(saved["since"]),
            _instant(saved["paused_until"]),
            saved["reason"],
            saved["error"],
            saved["hint"],
        )

    def save_health(self, health: ChannelHealth, now: datetime) -> None:
        with self._database.write() as conn:
            kv.put(
                conn,
                f"channel/{health.channel}",
                {
                    "state": health.state.value,
                    "since": _micros(health.since),
                    "paused_until": _micros(health.paused_until),
                    "reason": health.reason,
                    "error": health.error,
                    "hint": health.hint,
                },
                now,
            )


def _micros(at: datetime | None) -> int | None:
    return None if at is None else to_micros(at)


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
