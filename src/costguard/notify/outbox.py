"""The outbox as the delivery needs it. The composition root adapts the store to this Protocol.

Every method is one transaction of its own and does no network call; the row is the truth, the delivery
keeps nothing in memory that a restart may lose.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from costguard.domain.notice import Notice, NoticeKind, Receipt, SendReason


@dataclass(frozen=True, slots=True)
class Sent:
    """One line of the record of successful sends: what was told, to which channel, when."""

    alert_key: str
    channel: str
    kind: NoticeKind
    facts_hash: str
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class Told:
    """A notice that an accepted message covered: itself, or one line of a digest."""

    notice_id: str
    alert_key: str
    kind: NoticeKind
    facts_hash: str


class HealthState(StrEnum):
    """``failing``: retries are going on · ``paused``: asked to wait · ``broken``: a person is needed."""

    OK = "ok"
    FAILING = "failing"
    PAUSED = "paused"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class ChannelHealth:
    """How a channel is doing; shown by the page, ``doctor`` and the metrics. ``since``: of this state.

    No message is tried before ``paused_until``. ``error`` is a redacted sentence, ``reason`` a DeliveryReason.
    """

    channel: str
    state: HealthState = HealthState.OK
    since: datetime | None = None
    paused_until: datetime | None = None
    reason: str = ""
    error: str = ""
    hint: str | None = None


class Outbox(Protocol):
    """What the delivery asks of the store."""

    def waiting(self, channel: str) -> Sequence[Notice]:
        """Every PENDING notice of a channel, oldest first, due or not."""
        ...

    def claim(self, channel: str, worker: str, now: datetime, lease_for: timedelta, limit: int) -> Sequence[Notice]:
        """Takes up to ``limit`` due notices (PENDING, or SENDING with an expired lease), the most urgent first:
        warning, failure, result, the rest, then by age. ``attempts`` already counts this attempt. A notice whose
        lease had run out says in ``last_error`` that it was interrupted."""
        ...

    def sent(self, notice: Notice, now: datetime, receipt: Receipt, reason: SendReason, covers: Sequence[Told]) -> None:
        """Marks ``notice`` and each covered notice sent and writes one :class:`Sent` line per covered notice, all
        in one transaction. A covered notice that is no longer unsent is skipped; raises StaleWrite when the notice
        itself is not."""
        ...

    def retry(
        self, notice_id: str, worker: str, *, next_at: datetime, error: str, reason: SendReason | None = None
    ) -> None:
        """Back to PENDING until ``next_at``. Does nothing when ``worker`` no longer holds it."""
        ...

    def dead(self, notice_id: str, worker: str, *, error: str) -> None:
        """Given up; listed and replayable. Does nothing when ``worker`` no longer holds it."""
        ...

    def suppress(self, notice_id: str, reason: SendReason) -> None:
        """Ends an unsent notice that is not to be sent. Does nothing when it is no longer unsent."""
        ...

    def supersede(self, alert_key: str, channel: str, before: datetime) -> None:
        """Ends the PENDING notices of one alert in one channel created before ``before``."""
        ...

    def expire(self, now: datetime) -> None:
        """Ends the PENDING notices whose ``not_after`` has passed."""
        ...

    def enqueue(self, notices: Collection[Notice]) -> None:
        """Queues notices; one whose ``idem_key`` is known is the same notice."""
        ...

    def fold(self, digest: Notice, children: Sequence[str], worker: str, until: datetime) -> None:
        """Queues ``digest`` and puts its children back to PENDING with ``next_at=until``, ``reason=DIGESTED`` and
        ``last_error=digest.id``, in one transaction. Raises StaleWrite when one of them is no longer ``worker``'s."""
        ...

    def get(self, notice_id: str) -> Notice | None: ...

    def last_sent(self, alert_key: str, channel: str) -> Sent | None: ...

    def began(self, notice: Notice) -> str | None:
        """The ``message_ref`` of the message that began the story of ``notice`` in its channel, for the same people;
        None when none did since it last ended, or the platform gave no ref. What a digest told began no story."""
        ...

    def last_sent_at(self, channel: str) -> datetime | None:
        """When the channel last accepted something: its pace survives a restart by this."""
        ...

    def health(self, channel: str) -> ChannelHealth:
        """The saved health; OK for a channel that was never seen."""
        ...

    def save_health(self, health: ChannelHealth, now: datetime) -> None: ...
