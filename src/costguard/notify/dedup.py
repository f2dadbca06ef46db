"""Dedup: is this news? Decided against the record of what was really sent, with a named reason. Pure."""

import hashlib
from datetime import datetime, timedelta

from costguard.domain.notice import Notice, NoticeKind, SendReason
from costguard.notify.outbox import Sent

# Conditions that last and are seen again in each cycle. Everything else is an event, told once by its key: a warning
# that was held back as "the same as before" would leave a box without its warning.
_LASTING = frozenset({NoticeKind.NOTIFY, NoticeKind.NO_DATA, NoticeKind.BUDGET, NoticeKind.SOURCE})
# Who repeats a fact on time does not know how long the message waited to be sent.
_EARLY = 0.9


def facts_hash(notice: Notice) -> str:
    """What makes a message the same fact again: its kind and its ``dedup`` text, not the numbers in it."""
    text = f"{notice.kind.value}\x1f{notice.facts.get('dedup', '')}\x1f{notice.facts.get('dry_run', False)}"
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def dedup(notice: Notice, last: Sent | None, now: datetime, repeat: timedelta) -> tuple[bool, SendReason]:
    """Whether to send, and why.

    ``last`` is the newest send of the same alert to the same channel. An all-clear goes only to whom something was
    told; a condition that lasts is told again only after ``repeat`` (a tenth earlier is on time).
    """
    clears = notice.kind is NoticeKind.CLEARED or notice.facts.get("recovered") is True
    if last is None:
        return (False, SendReason.NOT_TOLD) if clears else (True, SendReason.FIRST)
    if last.facts_hash == facts_hash(notice):
        fresh = notice.kind in _LASTING and now - last.sent_at < repeat * _EARLY
        return (False, SendReason.DUPLICATE) if fresh else (True, SendReason.REPEAT)
    return True, SendReason.RESOLVED if clears else SendReason.CHANGED
