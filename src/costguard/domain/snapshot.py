"""Snapshot: everything a decision may depend on, frozen, at one ``now``."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from costguard.domain.budget import Spend
from costguard.domain.charge import Balance
from costguard.domain.price import Price
from costguard.domain.quota import QuotaFact
from costguard.domain.resource import Kind, Resource, ResourceRef
from costguard.domain.time import Calendars
from costguard.domain.usage import Metric, UsageWindow, WindowSpec


class SourceState(StrEnum):
    OK = "ok"
    DENIED = "denied"
    FAILED = "failed"
    STALE = "stale"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """How one source of one account and region is doing.

    ``source`` ∈ inventory, usage, prices, spot_prices, charges, balance, identity, quotas; or prometheus, of a metrics
    source, whose name then stands for the account and whose count is that of the boxes it told of. ``fetched_at`` is
    the last success; ``interval`` the time between polls (older than two of them is stale). ``count``
    is what the last success returned, ``previous_count`` the one before (an emptied or halved
    inventory is an alarm). ``error`` is a redacted sentence.
    """

    account: str
    region: str
    source: str
    state: SourceState
    fetched_at: datetime | None
    interval: timedelta
    count: int = 0
    previous_count: int | None = None
    error: str | None = None

    def age(self, now: datetime) -> timedelta | None:
        return max(timedelta(0), now - self.fetched_at) if self.fetched_at else None

    def fresh(self, now: datetime) -> bool:
        """Answered well within two polls, and says so."""
        age = self.age(now)
        return self.state is SourceState.OK and age is not None and age <= 2 * self.interval


@dataclass(frozen=True, slots=True)
class Keep:
    """A person's time-boxed promise that a resource is needed. ``until_idle``: ends when it falls idle."""

    ref: ResourceRef
    until: datetime
    by: str
    reason: str
    at: datetime
    until_idle: bool = False


@dataclass(frozen=True, slots=True)
class PowerEvent:
    """A start or stop of a resource, as told by the provider or seen by us (``ours``: our own call)."""

    ref: ResourceRef
    at: datetime
    what: str  # start | stop
    ours: bool
    actor: str | None = None


@dataclass(frozen=True, slots=True)
class AccountFacts:
    """What is known of one account. ``armed``: listed in enforce_accounts and its identity verified.

    ``enforce``: the lowest of global and account mode is enforce. ``metric_delay`` is how late the
    newest sample of a metric arrives; ``metric_period`` the finest period; ``capabilities`` the
    manifest's (name → full | partial | impossible | not_written | unknown). ``stoppable`` are the kinds that
    the adapter can stop; ``group_tags`` tag keys that mark members of a group.
    """

    name: str
    provider: str
    enforce: bool = False
    armed: bool = False
    allow_release: bool = False
    owner: str | None = None
    team: str | None = None
    currency: str = "CNY"
    capabilities: Mapping[str, str] = field(default_factory=dict)
    stoppable: frozenset[Kind] = frozenset({Kind.VM})
    group_tags: tuple[str, ...] = ()
    metric_delay: Mapping[Metric, timedelta] = field(default_factory=dict)
    metric_period: Mapping[Metric, timedelta] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Frozen facts. ``usage[ref][spec]`` are the windows of every series that the spec's metric has;
    no entry means that nothing arrived, which is unknown and never zero. ``month_use`` is the mean use of the
    cards of prepaid boxes over the last 30 days (percent, of what was seen). ``heartbeats`` hold until
    when a job said it is alive. ``self_ids`` are costguard's own machine ids. ``last_run`` is the
    ``now`` of the previous cycle (None at the first). ``unattached_since`` tells of disks and addresses
    that belong to nothing since when (the listing that first saw it so). ``gaps`` are the stretches
    (from, to) of the last 16 days in which no cycle ran for longer than 10 min; the time before the very
    first cycle is one. ``spot_prices`` are change points, the one before the longest ``for`` included. ``refused_by``
    are the metrics sources that will not speak of a box, because several fit (name → why). ``cut`` are boxes of which
    a metrics source says that a card is cut into slices (MIG). ``told_by`` are the metrics sources that tell of the GPU
    use of an account's boxes (name of the account → theirs). ``read_at`` is when all this was read, where ``now`` is
    an earlier moment that is judged afterwards (None: it is ``now``).
    """

    now: datetime
    accounts: Mapping[str, AccountFacts] = field(default_factory=dict)
    resources: Mapping[ResourceRef, Resource] = field(default_factory=dict)
    usage: Mapping[ResourceRef, Mapping[WindowSpec, tuple[UsageWindow, ...]]] = field(default_factory=dict)
    sources: tuple[SourceStatus, ...] = ()
    month_use: Mapping[ResourceRef, float] = field(default_factory=dict)
    heartbeats: Mapping[ResourceRef, datetime] = field(default_factory=dict)
    keeps: Mapping[ResourceRef, Keep] = field(default_factory=dict)
    power_events: Mapping[ResourceRef, tuple[PowerEvent, ...]] = field(default_factory=dict)
    unattached_since: Mapping[ResourceRef, datetime] = field(default_factory=dict)
    disputed_until: Mapping[ResourceRef, datetime] = field(default_factory=dict)
    spot_prices: tuple[Price, ...] = ()
    on_demand_prices: tuple[Price, ...] = ()
    spend: tuple[Spend, ...] = ()
    balances: tuple[Balance, ...] = ()
    quotas: tuple[QuotaFact, ...] = ()
    exchange_rates: Mapping[str, tuple[tuple[datetime, str], ...]] = field(default_factory=dict)
    calendars: Calendars = field(default_factory=Calendars)
    timezone: str = "Asia/Shanghai"
    currency: str = "CNY"
    self_ids: frozenset[str] = frozenset()
    paused_until: datetime | None = None
    last_run: datetime | None = None
    gaps: tuple[tuple[datetime, datetime], ...] = ()
    refused_by: Mapping[ResourceRef, Mapping[str, str]] = field(default_factory=dict)
    cut: frozenset[ResourceRef] = frozenset()
    told_by: Mapping[str, frozenset[str]] = field(default_factory=dict)
    is_leader: bool = True
    read_at: datetime | None = None

    @property
    def known_at(self) -> datetime:
        """Up to when bills and what changed since are known."""
        return self.read_at or self.now

    def at_the_end(self, end: datetime) -> "Snapshot":
        """Judged at the last moment before ``end``, which is past, with the bills that are known by now."""
        return replace(self, now=end - timedelta(microseconds=1), read_at=self.known_at)

    def monitors(self) -> tuple[SourceStatus, ...]:
        """The metrics sources besides the providers."""
        return tuple(status for status in self.sources if status.source == "prometheus")

    def source(self, account: str, region: str, source: str) -> SourceStatus | None:
        for status in self.sources:
            if (status.account, status.region, status.source) == (account, region, source):
                return status
        return None
