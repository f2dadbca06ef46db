"""The ledger: append-only history of every action, refusal, deferral and lever, with its money."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from costguard.domain.finding import Evidence, Subject
from costguard.domain.money import Money


class LedgerKind(StrEnum):
    FINDING = "finding"
    CLEARED = "cleared"
    WARNING = "warning"
    REFUSED = "refused"
    DEFERRED = "deferred"
    RECORDED = "recorded"
    EXECUTED = "executed"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    SAVING = "saving"
    LEVER = "lever"
    UNDO = "undo"
    UNSEEN_WORK = "unseen_work"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One line. ``id`` rises with time and is set by the store (0 before). ``actor`` is
    ``costguard`` or the person (``cli:root``, ``slack:U012``, ``token:ci``). ``text`` is one plain English
    sentence; ``money`` what the line is worth: a saving is positive only once billing is confirmed ended.
    """

    at: datetime
    kind: LedgerKind
    subject: Subject | None
    text: str
    actor: str = "costguard"
    action_id: str | None = None
    policy: str | None = None
    code: str | None = None
    money: Money | None = None
    evidence: Evidence = field(default_factory=dict)
    id: int = 0
