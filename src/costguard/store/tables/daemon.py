"""The daemon's own memory: accounts' identities, sources, leases, cycles, and small values by key."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Column, Index, Named, Table, TypedColumns

from costguard.domain.snapshot import SourceState
from costguard.store.tables.base import metadata
from costguard.store.types import Document, FreeText, Span, UtcDateTime, Word


class AccountColumns(TypedColumns):
    """Who the credentials of a configured account were at the last look."""

    name: Named[str] = Column(primary_key=True)
    provider: Named[str]
    account_id: Named[str | None]
    principal: Named[str | None]
    verified: Named[bool]
    checked_at: Named[datetime] = Column(UtcDateTime)
    error: Named[str | None] = Column(FreeText)


account = Table("account", metadata, AccountColumns)


class SourceStatusColumns(TypedColumns):
    """How a source is doing. ``changed_at``: since when it is in this state."""

    account: Named[str] = Column(primary_key=True)
    region: Named[str] = Column(primary_key=True)
    source: Named[str] = Column(primary_key=True)
    state: Named[SourceState] = Column(Word(SourceState))
    fetched_at: Named[datetime | None] = Column(UtcDateTime)
    interval: Named[timedelta] = Column(Span)
    count: Named[int]
    previous_count: Named[int | None]
    error: Named[str | None] = Column(FreeText)
    changed_at: Named[datetime] = Column(UtcDateTime)


source_status = Table("source_status", metadata, SourceStatusColumns)


class LeaseColumns(TypedColumns):
    """Who leads. ``token`` rises at each take-over and never falls."""

    name: Named[str] = Column(primary_key=True)
    holder: Named[str]
    token: Named[int] = Column(BigInteger)
    expires_at: Named[datetime] = Column(UtcDateTime)


lease = Table("lease", metadata, LeaseColumns)


class CycleColumns(TypedColumns):
    """One cycle; ``document`` is its public JSON."""

    id: Named[str] = Column(primary_key=True)
    started_at: Named[datetime] = Column(UtcDateTime)
    finished_at: Named[datetime] = Column(UtcDateTime)
    document: Named[Mapping[str, Any]] = Column(Document)


cycle = Table("cycle", metadata, CycleColumns)
Index(None, cycle.c.finished_at)


class KvColumns(TypedColumns):
    """Small facts that have no table of their own."""

    key: Named[str] = Column(primary_key=True)
    value: Named[Mapping[str, Any]] = Column(Document)
    updated_at: Named[datetime] = Column(UtcDateTime)


kv = Table("kv", metadata, KvColumns)
