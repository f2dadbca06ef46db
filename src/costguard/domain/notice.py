"""Notices: messages to people, as facts; rendering into words happens per channel and language."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class NoticeKind(StrEnum):
    WARN = "warn"
    NOTIFY = "notify"
    RESULT = "result"
    FAILED = "failed"
    KEPT = "kept"
    CLEARED = "cleared"
    NO_DATA = "no_data"
    BUDGET = "budget"
    SOURCE = "source"
    DIGEST = "digest"
    TEST = "test"
    REMINDER = "reminder"
    REPORT = "report"
    APPROVAL = "approval"
    UNSEEN_WORK = "unseen_work"

    @property
    def outcome(self) -> bool:
        """Whether it says what became of something that was announced."""
        return self in (NoticeKind.RESULT, NoticeKind.FAILED, NoticeKind.KEPT, NoticeKind.CLEARED)

    @property
    def recurs(self) -> bool:
        """Whether each is a message of its own, about its own day, week or month: it follows none before it."""
        return self in (NoticeKind.DIGEST, NoticeKind.REMINDER, NoticeKind.REPORT, NoticeKind.TEST)

    @property
    def after_the_end(self) -> bool:
        """Whether it belongs to a story that has ended already."""
        return self is NoticeKind.UNSEEN_WORK

    @property
    def ends_story(self) -> bool:
        """Whether what comes after it is another story. A failure is tried again."""
        return self.outcome and self is not NoticeKind.FAILED


class NoticeState(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    DEAD = "dead"
    SUPERSEDED = "superseded"
    SUPPRESSED = "suppressed"


class SendReason(StrEnum):
    """Why a notice is sent, or why not: the dedup stage's answer, also a metric label."""

    FIRST = "first"
    REPEAT = "repeat"
    CHANGED = "changed"
    RESOLVED = "resolved"
    RETRY = "retry"
    FALLBACK = "fallback"
    DUPLICATE = "duplicate"
    MUTED = "muted"
    QUIET_HOURS = "quiet_hours"
    EXPIRED = "expired"
    NEWER = "newer"
    NO_CHANNEL = "no_channel"
    DIGESTED = "digested"
    NOT_TOLD = "not_told"


@dataclass(frozen=True, slots=True)
class Notice:
    """One message to one channel: an outbox row.

    ``alert_key`` groups the messages of one story (a ladder's fingerprint, a budget's period);
    ``idem_key`` is unique: the same fact is never queued twice. ``facts`` is a plain JSON document
    that rendering turns into words (see notify.render); it never holds a secret. ``not_after``: later
    than this it is pointless and is superseded. ``mention`` names the owners to mention.
    ``owner_route`` marks the copy that goes to a known owner's own route; ``personal`` one that only that person asked
    for: where the platform can, it is written to them directly.
    """

    id: str
    kind: NoticeKind
    channel: str
    alert_key: str
    idem_key: str
    facts: Mapping[str, object]
    created_at: datetime
    state: NoticeState = NoticeState.PENDING
    reason: SendReason = SendReason.FIRST
    action_id: str | None = None
    language: str | None = None
    mention: tuple[str, ...] = ()
    owner_route: bool = False
    not_after: datetime | None = None
    next_at: datetime | None = None
    attempts: int = 0
    sent_at: datetime | None = None
    message_ref: str | None = None
    last_error: str | None = None
    fallback_of: str | None = None
    personal: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """A platform's acceptance. ``message_ref`` lets the message be updated later where it can be."""

    message_ref: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
