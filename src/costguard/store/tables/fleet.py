"""Resources, the intervals of their states, and their starts and stops."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Named, String, Table, TypedColumns, text

from costguard.domain.resource import ChargeType, Kind, ResourceRef, State, StopEffect
from costguard.store.tables.base import AutoId, metadata
from costguard.store.types import Document, Exact, FreeText, Ref, StopEffectJson, UtcDateTime, Word


class ResourceColumns(TypedColumns):
    """A resource as last seen. ``state`` is the last state that was seen, also once it is gone (``gone_at``).

    ``settled_state`` and ``settled_at``: the last time that it was seen running or stopped, not on the way between.
    """

    ref: Named[ResourceRef] = Column(Ref, primary_key=True)
    provider: Named[str]
    account: Named[str]
    region: Named[str]
    kind: Named[Kind] = Column(Word(Kind))
    id: Named[str]
    name: Named[str] = Column(FreeText)
    state: Named[State] = Column(Word(State))
    raw_state: Named[str]
    observed_at: Named[datetime] = Column(UtcDateTime)
    charge_type: Named[ChargeType] = Column(Word(ChargeType))
    sku: Named[str | None]
    gpu_model: Named[str | None]
    gpu_count: Named[Decimal | None] = Column(Exact)
    gpu_memory_mib: Named[int | None]
    vcpus: Named[int | None]
    memory_mib: Named[int | None]
    created_at: Named[datetime | None] = Column(UtcDateTime)
    started_at: Named[datetime | None] = Column(UtcDateTime)
    stopped_at: Named[datetime | None] = Column(UtcDateTime)
    expires_at: Named[datetime | None] = Column(UtcDateTime)
    auto_release_at: Named[datetime | None] = Column(UtcDateTime)
    price_nanos: Named[int | None] = Column(BigInteger)
    price_currency: Named[str | None] = Column(String(3))
    price_source: Named[str | None]
    spot_cap_nanos: Named[int | None] = Column(BigInteger)
    spot_cap_currency: Named[str | None] = Column(String(3))
    tags: Named[Mapping[str, str] | None] = Column(Document)
    owner: Named[str | None] = Column(FreeText)
    team: Named[str | None] = Column(FreeText)
    group: Named[str | None]
    protected: Named[str | None]
    depends_on: Named[str | None]
    size_gib: Named[int | None]
    stop_effect: Named[StopEffect | None] = Column(StopEffectJson)
    creator: Named[str | None] = Column(FreeText)
    attributes: Named[Mapping[str, str]] = Column(Document)
    first_seen_at: Named[datetime] = Column(UtcDateTime)
    settled_state: Named[State | None] = Column(Word(State))
    settled_at: Named[datetime | None] = Column(UtcDateTime)
    gone_at: Named[datetime | None] = Column(UtcDateTime)


resource = Table("resource", metadata, ResourceColumns)
Index(None, resource.c.account, resource.c.region, resource.c.kind)
Index(None, resource.c.id)


class ResourceStateColumns(TypedColumns):
    """[started, ended) in one state at one price and charge type; ``ended`` NULL is now.

    ``assumed``: nobody looked between ``started`` and ``ended``, because polling paused for more than two polls.
    """

    id: Named[int] = Column(AutoId, primary_key=True)
    ref: Named[ResourceRef] = Column(Ref, ForeignKey("resource.ref", ondelete="CASCADE"))
    state: Named[State] = Column(Word(State))
    charge_type: Named[ChargeType] = Column(Word(ChargeType))
    per_hour_nanos: Named[int | None] = Column(BigInteger)
    per_hour_currency: Named[str | None] = Column(String(3))
    started: Named[datetime] = Column(UtcDateTime)
    ended: Named[datetime | None] = Column(UtcDateTime)
    assumed: Named[bool]


resource_state = Table("resource_state", metadata, ResourceStateColumns)
Index(None, resource_state.c.ref, resource_state.c.started)
Index(None, resource_state.c.ended)
Index(
    "uq_resource_state_open",
    resource_state.c.ref,
    unique=True,
    sqlite_where=text("ended IS NULL"),
    postgresql_where=text("ended IS NULL"),
)


class PowerEventColumns(TypedColumns):
    """A start or stop: ``told`` by the provider, ``seen`` between two looks, or both."""

    id: Named[int] = Column(AutoId, primary_key=True)
    ref: Named[ResourceRef] = Column(Ref)
    at: Named[datetime] = Column(UtcDateTime)
    what: Named[str]
    ours: Named[bool]
    actor: Named[str | None] = Column(FreeText)
    told: Named[bool]
    seen: Named[bool]


power_event = Table("power_event", metadata, PowerEventColumns)
Index(None, power_event.c.ref, power_event.c.at)
Index(None, power_event.c.at)
