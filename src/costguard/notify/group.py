"""Group: many waiting messages of one kind become one that names every box. Pure.

A digest is an outbox row of its own with a key made from its children: a crash while it is sent repeats
the same digest under the same key, not another mixture of the same boxes.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime

from costguard.domain.codec import instant
from costguard.domain.notice import Notice, NoticeKind, SendReason
from costguard.notify.dedup import facts_hash
from costguard.notify.outbox import Told
from costguard.notify.route import URGENT
from costguard.notify.settings import DeliverySettings

# What has lists, a reader or an answer of its own is never put into another list.
_ALONE = frozenset({
    NoticeKind.DIGEST, NoticeKind.REPORT, NoticeKind.REMINDER, NoticeKind.TEST, NoticeKind.APPROVAL,
    NoticeKind.UNSEEN_WORK,
})  # fmt: skip


def is_group(notice: Notice) -> bool:
    """Whether a notice is a digest of others."""
    return notice.facts.get("what") == "group"


def to_fold(due: Sequence[Notice], per_minute: int, settings: DeliverySettings) -> bool:
    """Whether the due messages of a channel are to be put together before anything is sent.

    Urgent ones only when the queue is longer than a minute's budget (or than anybody reads one by one).
    """
    alone = [n for n in due if _may_fold(n)]
    if len(alone) > min(settings.digest_above, per_minute):
        return True
    calm = [n.kind for n in alone if n.kind not in URGENT]
    return any(calm.count(kind) >= settings.group_min for kind in set(calm))


def groups(claimed: Sequence[Notice], size: int) -> list[list[Notice]]:
    """The claimed notices by kind and language, in digests of at most ``size``; single ones are left out."""
    by_kind: dict[tuple[NoticeKind, str | None], list[Notice]] = {}
    for notice in claimed:
        if _may_fold(notice):
            by_kind.setdefault((notice.kind, notice.language), []).append(notice)
    found = [members[i : i + size] for members in by_kind.values() for i in range(0, len(members), size)]
    return [members for members in found if len(members) > 1]


def digest(members: Sequence[Notice], now: datetime) -> Notice:
    """One notice for several of the same kind and channel."""
    first = members[0]
    key = hashlib.sha256("\n".join(sorted(n.idem_key for n in members)).encode()).hexdigest()[:32]
    people = tuple(dict.fromkeys(name for n in members for name in n.mention))
    ends = [n.not_after for n in members]
    since = min(n.created_at for n in members)
    return Notice(
        id=f"n-{key[:16]}", kind=first.kind, channel=first.channel, alert_key=f"digest/{key}",
        idem_key=f"digest/{key}@{first.channel}", created_at=since,
        facts={
            "version": 1, "kind": NoticeKind.DIGEST.value, "what": "group", "of": first.kind.value, "dedup": key,
            "at": instant(since), "timezone": first.facts.get("timezone"), "dry_run": False,
            "items": [dict(n.facts) for n in members],
            "covers": [[n.id, n.alert_key, n.kind.value, facts_hash(n)] for n in members],
        },
        reason=SendReason.FIRST, language=first.language, mention=people, next_at=now,
        not_after=max(end for end in ends if end) if all(ends) else None,
    )  # fmt: skip


def covers(notice: Notice) -> list[Told]:
    """The notices that an accepted message told: a digest's children, else the notice itself."""
    if not is_group(notice):
        return [Told(notice.id, notice.alert_key, notice.kind, facts_hash(notice))]
    rows = notice.facts["covers"]
    assert isinstance(rows, list | tuple)
    return [Told(str(i), str(alert), NoticeKind(kind), str(digest_of)) for i, alert, kind, digest_of in rows]


def _may_fold(notice: Notice) -> bool:
    return notice.kind not in _ALONE and not is_group(notice)
