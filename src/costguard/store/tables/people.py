"""What people said: keeps, claims, heartbeats of jobs, disputes, pauses."""

from datetime import datetime

from sqlalchemy import Column, Index, Named, Table, TypedColumns

from costguard.domain.resource import ResourceRef
from costguard.store.tables.base import AutoId, metadata
from costguard.store.types import FreeText, Ref, UtcDateTime


class KeepColumns(TypedColumns):
    """The promise in force for a resource; who kept it before is in the ledger."""

    ref: Named[ResourceRef] = Column(Ref, primary_key=True)
    until: Named[datetime] = Column(UtcDateTime)
    by: Named[str] = Column(FreeText)
    reason: Named[str] = Column(FreeText)
    at: Named[datetime] = Column(UtcDateTime)
    until_idle: Named[bool]


keep = Table("keep", metadata, KeepColumns)


class ClaimColumns(TypedColumns):
    """Who owns a resource, against its tags."""

    ref: Named[ResourceRef] = Column(Ref, primary_key=True)
    owner: Named[str] = Column(FreeText)
    by: Named[str] = Column(FreeText)
    at: Named[datetime] = Column(UtcDateTime)


claim = Table("claim", metadata, ClaimColumns)


class HeartbeatColumns(TypedColumns):
    """A job on the resource is alive until then."""

    ref: Named[ResourceRef] = Column(Ref, primary_key=True)
    until: Named[datetime] = Column(UtcDateTime)
    by: Named[str] = Column(FreeText)
    at: Named[datetime] = Column(UtcDateTime)


heartbeat = Table("heartbeat", metadata, HeartbeatColumns)


class DisputeColumns(TypedColumns):
    """A false stop: that box is in dry run until ``until``."""

    action_id: Named[str] = Column(primary_key=True)
    ref: Named[ResourceRef] = Column(Ref)
    by: Named[str] = Column(FreeText)
    reason: Named[str] = Column(FreeText)
    at: Named[datetime] = Column(UtcDateTime)
    until: Named[datetime] = Column(UtcDateTime)


dispute = Table("dispute", metadata, DisputeColumns)
Index(None, dispute.c.ref, dispute.c.until)


class PauseColumns(TypedColumns):
    """The kill switch. In force is a pause that nobody resumed; ``until`` NULL holds until someone does."""

    id: Named[int] = Column(AutoId, primary_key=True)
    at: Named[datetime] = Column(UtcDateTime)
    by: Named[str] = Column(FreeText)
    reason: Named[str] = Column(FreeText)
    until: Named[datetime | None] = Column(UtcDateTime)
    resumed_at: Named[datetime | None] = Column(UtcDateTime)
    resumed_by: Named[str | None] = Column(FreeText)


pause = Table("pause", metadata, PauseColumns)
