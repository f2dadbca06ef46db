"""From finding to saving: findings, actions, the outbox with its record of sends, the ledger, savings."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Column, Index, Named, String, Table, TypedColumns, false, text

from costguard.domain.action import IN_FLIGHT, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import NoticeKind, NoticeState, SendReason
from costguard.domain.resource import ResourceRef
from costguard.store.tables.base import AutoId, OptionalSubjectColumns, SubjectColumns, metadata
from costguard.store.types import Document, EvidenceJson, FreeText, Ref, UtcDateTime, Word, Words


def _one_of(states: frozenset[ActionState]) -> str:
    return ", ".join(f"'{state.value}'" for state in sorted(states))


_OPEN = text(f"state NOT IN ({_one_of(frozenset(state for state in ActionState if state.terminal))})")
_HOLDS_SLOT = text(f"subject_type = 'resource' AND state IN ({_one_of(IN_FLIGHT)})")


class FindingColumns(SubjectColumns):
    """What a rule claimed, from ``since`` until it was no longer there (``closed_at``)."""

    id: Named[int] = Column(AutoId, primary_key=True)
    fingerprint: Named[str]
    policy: Named[str]
    policy_hash: Named[str]
    rule: Named[str]
    since: Named[datetime] = Column(UtcDateTime)
    evidence: Named[Mapping[str, Any]] = Column(EvidenceJson)
    waste_per_hour_nanos: Named[int | None] = Column(BigInteger)
    waste_per_hour_currency: Named[str | None] = Column(String(3))
    started_at: Named[datetime | None] = Column(UtcDateTime)
    threshold: Named[str]
    opened_at: Named[datetime] = Column(UtcDateTime)
    seen_at: Named[datetime] = Column(UtcDateTime)
    closed_at: Named[datetime | None] = Column(UtcDateTime)


finding = Table("finding", metadata, FindingColumns)
Index(
    "uq_finding_open",
    finding.c.fingerprint,
    unique=True,
    sqlite_where=text("closed_at IS NULL"),
    postgresql_where=text("closed_at IS NULL"),
)
Index(None, finding.c.subject_key, finding.c.opened_at)


class ActionColumns(SubjectColumns):
    """A ladder: see :class:`~costguard.domain.action.Action`."""

    id: Named[str] = Column(primary_key=True)
    fingerprint: Named[str]
    policy: Named[str]
    policy_hash: Named[str]
    rule: Named[str]
    threshold: Named[str]
    started_at: Named[datetime | None] = Column(UtcDateTime)
    response: Named[Response] = Column(Word(Response))
    state: Named[ActionState] = Column(Word(ActionState))
    dry_run: Named[bool]
    since: Named[datetime] = Column(UtcDateTime)
    held_since: Named[datetime] = Column(UtcDateTime)
    created_at: Named[datetime] = Column(UtcDateTime)
    updated_at: Named[datetime] = Column(UtcDateTime)
    evidence: Named[Mapping[str, Any]] = Column(EvidenceJson)
    waste_per_hour_nanos: Named[int | None] = Column(BigInteger)
    waste_per_hour_currency: Named[str | None] = Column(String(3))
    rung: Named[int]
    warned_at: Named[datetime | None] = Column(UtcDateTime)
    warning_id: Named[str | None]
    due_at: Named[datetime | None] = Column(UtcDateTime)
    retry_at: Named[datetime | None] = Column(UtcDateTime)
    deadline: Named[datetime | None] = Column(UtcDateTime)
    attempt: Named[int]
    token: Named[str | None]
    lease_token: Named[int | None] = Column(BigInteger)
    executed_at: Named[datetime | None] = Column(UtcDateTime)
    ended_at: Named[datetime | None] = Column(UtcDateTime)
    clear_count: Named[int]
    last_sample_at: Named[datetime | None] = Column(UtcDateTime)
    code: Named[GuardCode] = Column(Word(GuardCode))
    reason: Named[str] = Column(FreeText)
    error: Named[str | None] = Column(FreeText)
    hook_run: Named[str | None]
    hook_started_at: Named[datetime | None] = Column(UtcDateTime)
    hook_output: Named[str | None] = Column(FreeText)
    approved_by: Named[str | None] = Column(FreeText)
    hastened_at: Named[datetime | None] = Column(UtcDateTime)
    disputed_by: Named[str | None] = Column(FreeText)
    heard: Named[Mapping[str, Any]] = Column(EvidenceJson, server_default="{}")
    version: Named[int]


action = Table("action", metadata, ActionColumns)
Index("uq_action_open_ladder", action.c.fingerprint, unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN)
Index("uq_action_in_flight", action.c.subject_key, unique=True, sqlite_where=_HOLDS_SLOT, postgresql_where=_HOLDS_SLOT)
Index(None, action.c.subject_key, action.c.created_at)
Index(None, action.c.executed_at)
Index(None, action.c.updated_at)


class NoticeColumns(TypedColumns):
    """The outbox: one message to one channel. ``worker`` and ``lease_until`` say who is sending it, until when."""

    id: Named[str] = Column(primary_key=True)
    kind: Named[NoticeKind] = Column(Word(NoticeKind))
    channel: Named[str]
    alert_key: Named[str]
    idem_key: Named[str] = Column(unique=True)
    facts: Named[Mapping[str, object]] = Column(Document)
    created_at: Named[datetime] = Column(UtcDateTime)
    state: Named[NoticeState] = Column(Word(NoticeState))
    reason: Named[SendReason] = Column(Word(SendReason))
    action_id: Named[str | None]
    language: Named[str | None]
    mention: Named[tuple[str, ...]] = Column(Words)
    owner_route: Named[bool]
    not_after: Named[datetime | None] = Column(UtcDateTime)
    next_at: Named[datetime | None] = Column(UtcDateTime)
    attempts: Named[int]
    sent_at: Named[datetime | None] = Column(UtcDateTime)
    message_ref: Named[str | None]
    last_error: Named[str | None] = Column(FreeText)
    personal: Named[bool] = Column(server_default=false())
    fallback_of: Named[str | None]
    worker: Named[str | None]
    lease_until: Named[datetime | None] = Column(UtcDateTime)


notice = Table("notice", metadata, NoticeColumns)
Index(None, notice.c.channel, notice.c.state, notice.c.next_at)
Index(None, notice.c.alert_key, notice.c.channel)
Index(None, notice.c.action_id)
Index(None, notice.c.created_at)


class SendLogColumns(TypedColumns):
    """The record of successful sends, which deduplication reads."""

    id: Named[int] = Column(AutoId, primary_key=True)
    alert_key: Named[str]
    channel: Named[str]
    kind: Named[NoticeKind] = Column(Word(NoticeKind))
    facts_hash: Named[str]
    sent_at: Named[datetime] = Column(UtcDateTime)


send_log = Table("send_log", metadata, SendLogColumns)
Index(None, send_log.c.alert_key, send_log.c.channel, send_log.c.sent_at)
Index(None, send_log.c.channel, send_log.c.sent_at)


class LedgerColumns(OptionalSubjectColumns):
    """History. Rows are only ever added."""

    id: Named[int] = Column(AutoId, primary_key=True)
    at: Named[datetime] = Column(UtcDateTime)
    kind: Named[LedgerKind] = Column(Word(LedgerKind))
    text: Named[str] = Column(FreeText)
    actor: Named[str] = Column(FreeText)
    action_id: Named[str | None]
    policy: Named[str | None]
    code: Named[str | None]
    money_nanos: Named[int | None] = Column(BigInteger)
    money_currency: Named[str | None] = Column(String(3))
    evidence: Named[Mapping[str, Any]] = Column(EvidenceJson)


ledger = Table("ledger", metadata, LedgerColumns, sqlite_autoincrement=True)
Index(None, ledger.c.at)
Index(None, ledger.c.subject_key, ledger.c.at)
Index(None, ledger.c.action_id)


class SavingColumns(TypedColumns):
    """What a confirmed action saves, from ``since`` to ``until``."""

    action_id: Named[str] = Column(primary_key=True)
    ref: Named[ResourceRef] = Column(Ref)
    policy: Named[str]
    per_hour_nanos: Named[int] = Column(BigInteger)
    per_hour_currency: Named[str] = Column(String(3))
    since: Named[datetime] = Column(UtcDateTime)
    until: Named[datetime | None] = Column(UtcDateTime)
    ended_by: Named[str | None]


saving = Table("saving", metadata, SavingColumns)
Index(None, saving.c.ref, saving.c.until)
