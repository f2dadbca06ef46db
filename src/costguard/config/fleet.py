"""A fleet in a few words: how tests of policies describe machines, their use and their bills.

Turns the compact grammar of docs/policies-tests.md into a snapshot. What is not written is the dull case: a running
on-demand machine that started long ago, whose stop ends its bill. Use that is not written did not arrive.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, model_validator

from costguard.config.texts import Name
from costguard.domain.budget import Spend
from costguard.domain.charge import Balance
from costguard.domain.price import Price, PriceKey
from costguard.domain.quota import QuotaFact
from costguard.domain.resource import (
    UNKNOWN_GPUS,
    ChargeType,
    Ends,
    Gpus,
    Kind,
    Resource,
    ResourceRef,
    State,
    StopEffect,
)
from costguard.domain.snapshot import AccountFacts, Keep, Snapshot, SourceState, SourceStatus
from costguard.domain.time import Calendars
from costguard.domain.usage import Metric, Series, Statistic, UsageWindow, WindowSpec
from costguard.plugins.manifest import CAPABILITIES, OPTIONAL_CAPABILITIES
from costguard.rules.fields import ByteRate, Cores, Duration, MoneyText, Percent, RateText, Strict, parse_rate

ACCOUNT, PROVIDER, REGION = "test", "simulated", "test"
PERIOD = timedelta(minutes=1)
_POLL = timedelta(minutes=2)
_SOURCES = ("inventory", "inventory.disk", "usage", "prices", "spot_prices", "charges", "balance", "quotas")

_DEFAULT_PRICE = parse_rate("10 CNY/h")


class Cards(Strict):
    """One metric in more detail than its flat value."""

    max: Percent
    """The highest sample."""

    mean: Percent | None = None
    """The mean; the maximum when left out."""

    over: int = Field(1, ge=1)
    """How many cards one value is the mean of."""


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) or value is None else [value]


PerCard = Annotated[tuple[Percent | Cards, ...], BeforeValidator(_listed)]


class Usage(Strict):
    """What arrived. One value is the whole box (of GPU metrics: every card); a list has one value for each card."""

    gpu_util: PerCard | None = None
    gpu_memory: PerCard | None = None
    gpu_power: PerCard | None = None
    cpu: Cores = None
    network: ByteRate = None
    disk: ByteRate = None
    connections: float | None = Field(None, ge=0)
    coverage: Percent = Field(100.0, le=100)
    """The share of the expected samples that arrived; the oldest are missing."""

    last: Duration = timedelta()
    """How old the newest sample is."""


_USUAL: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "idle": {
        "gpu_util": "0%", "gpu_memory": "1%", "gpu_power": "15%", "cpu": "0.1 cores", "network": "10KB/s",
        "disk": "0B/s",
    },
    "busy": {
        "gpu_util": "95%", "gpu_memory": "80%", "gpu_power": "90%", "cpu": "8 cores", "network": "5MB/s",
        "disk": "1MB/s",
    },
}  # fmt: skip


def _usage(value: object) -> object:
    return _USUAL.get(value, value) if isinstance(value, str) else value


def _gpus(value: object) -> object:
    """``8xA800`` or ``0.5xA10``; ``none``; ``unknown``."""
    if not isinstance(value, str) or value == "none":
        return None
    if value == "unknown":
        return UNKNOWN_GPUS
    count, x, model = value.partition("x")
    try:
        number = Decimal(count)
    except InvalidOperation:
        number = Decimal(0)
    if not x or not model or number <= 0:
        raise ValueError(f"not GPUs: {value!r}; write them like 8xA800")
    return Gpus(model, number, 81_920)


class Box(Strict):
    """One resource of a test's fleet."""

    name: str = Field(min_length=1)
    """Its name; also its id unless ``id`` is given."""

    id: str | None = None
    """How ``expect`` calls it."""

    kind: Kind = Kind.VM
    account: Name = ACCOUNT
    provider: str = PROVIDER
    region: str = REGION
    sku: str | None = None
    gpus: Annotated[Gpus | None, BeforeValidator(_gpus)] = None
    """``8xA800``; ``unknown``: it may have some; left out: none."""

    state: State = State.RUNNING
    charge: Literal["on_demand", "spot", "prepaid", "reserved", "owned", "unknown"] = "on_demand"
    tags: dict[str, str] | Literal["unreadable"] = Field({})
    owner: str | None = None
    team: str | None = None
    group: str | None = None
    """The scaling group, cluster or job that it belongs to."""

    protected: str | None = None
    """The provider's own lock."""

    started: Duration | Literal["unknown"] = timedelta(days=1)
    """How long ago it started."""

    created: Duration | Literal["unknown"] = timedelta(days=30)
    """How long ago it was made."""

    stopped: Duration | None = None
    """How long ago it was stopped, for ``state: stopped``."""

    expires: Duration | None = None
    """In how long a prepaid box ends."""

    price: RateText | Literal["unknown"] | None = None
    """Per hour, like 34.74 CNY/h; left out: 10 CNY/h."""

    spot_cap: RateText | None = None
    size_gib: int | None = None
    attached: str | None = None
    """The id of the box that a disk or address belongs to."""

    unattached: Duration | None = None
    """How long a disk or address has belonged to nothing."""

    zone: str | None = None
    """Its zone, for market prices."""

    auto_renew: bool | None = None
    """Whether a prepaid box renews by itself."""

    month_use: Percent | None = None
    """Mean use of its cards in the last 30 days, for prepaid boxes."""

    stop: Literal["saves", "saves_nothing", "loses_data", "unknown"] = "saves"
    """What a stop does to its bill and its data."""

    usage: Annotated[Usage, BeforeValidator(_usage)] = Field(default_factory=Usage)
    """idle, busy, none, or what arrived."""

    keep: Duration | None = None
    """A person keeps it for so long."""

    heartbeat: Duration | None = None
    """A job said that it is alive for so long."""

    warned: Duration | None = None
    """How long ago this policy's first warning was delivered; left out: not yet."""

    approved: bool = False
    """Whether an admin or the owner approved the action."""

    @property
    def key(self) -> str:
        """What ``expect`` calls it."""
        return self.id or self.name

    @model_validator(mode="after")
    def _cards(self) -> Self:
        per_card = self.usage.gpu_util
        cards = self.gpus.cards if self.gpus else None
        if per_card and len(per_card) > 1 and cards and len(per_card) > cards:
            raise ValueError(f"{len(per_card)} cards have use, and the box has {cards}")
        return self


class Bill(Strict):
    """One day's money of an account."""

    amount: MoneyText
    day: date
    """The local day."""

    account: Name = ACCOUNT
    service: str = "compute"
    box: str | None = None
    """The resource it is for; the account's rest when left out."""

    estimated: bool = False
    owner: str | None = None
    team: str | None = None


class Market(Strict):
    """One market or list price."""

    sku: str
    price: RateText
    since: Duration = timedelta(days=7)
    """How long ago it began to hold."""

    provider: str = PROVIDER
    region: str = REGION
    zone: str | None = None


class Purse(Strict):
    """A prepaid balance."""

    available: MoneyText
    frozen: MoneyText | None = None
    account: Name = ACCOUNT


class Quota(Strict):
    """One quota of an account's region."""

    name: str
    limit: float
    used: float | None = None
    unit: str = ""
    account: Name = ACCOUNT
    region: str = REGION


class Facts(Strict):
    """What a test may say besides its fleet."""

    fleet: tuple[Box, ...] = ()
    spend: tuple[Bill, ...] = ()
    spot: tuple[Market, ...] = ()
    list_prices: tuple[Market, ...] = ()
    balances: tuple[Purse, ...] = ()
    quotas: tuple[Quota, ...] = ()
    last_run: Duration = PERIOD
    """How long ago the cycle before ran."""


def snapshot(
    facts: Facts, now: datetime, zone: ZoneInfo, specs: Iterable[WindowSpec], calendars: Calendars, currency: str
) -> Snapshot:
    """The facts at ``now`` (aware UTC), with a window for every spec that something arrived for."""
    wanted = tuple(specs)
    resources = {resource.ref: (box, resource) for box in facts.fleet for resource in [_resource(box, now)]}
    accounts = {box.account: box.provider for box in facts.fleet} or {ACCOUNT: PROVIDER}
    accounts |= {bill.account: PROVIDER for bill in facts.spend if bill.account not in accounts}
    accounts |= {purse.account: PROVIDER for purse in facts.balances if purse.account not in accounts}
    accounts |= {quota.account: PROVIDER for quota in facts.quotas if quota.account not in accounts}
    places = sorted({(box.account, box.region) for box in facts.fleet})
    fresh = now - PERIOD / 2
    refs = {box.key: ref for ref, (box, _) in resources.items()}
    return Snapshot(
        now=now,
        accounts={name: _account(name, provider) for name, provider in accounts.items()},
        resources={ref: resource for ref, (_, resource) in resources.items()},
        usage={ref: _windows(box, resource, wanted, now) for ref, (box, resource) in resources.items()},
        sources=tuple(
            SourceStatus(account, region, source, SourceState.OK, fresh, _POLL, count=len(facts.fleet))
            for account, region in places
            for source in _SOURCES
        ),
        month_use={ref: box.month_use for ref, (box, _) in resources.items() if box.month_use is not None},
        heartbeats={ref: now + box.heartbeat for ref, (box, _) in resources.items() if box.heartbeat},
        keeps={
            ref: Keep(ref, now + box.keep, "somebody", "test", now - PERIOD)
            for ref, (box, _) in resources.items()
            if box.keep
        },
        unattached_since={ref: now - box.unattached for ref, (box, _) in resources.items() if box.unattached},
        spot_prices=tuple(_price(market, now, ChargeType.SPOT, "spot") for market in facts.spot),
        on_demand_prices=tuple(_price(market, now, ChargeType.ON_DEMAND, "list") for market in facts.list_prices),
        spend=tuple(_spend(bill, zone, refs) for bill in facts.spend),
        balances=tuple(Balance(p.account, p.available, p.frozen, fresh) for p in facts.balances),
        quotas=tuple(QuotaFact(q.account, q.region, q.name, q.limit, q.used, q.unit, fresh) for q in facts.quotas),
        calendars=calendars,
        timezone=str(zone),
        currency=currency,
        last_run=now - facts.last_run,
    )


def _account(name: str, provider: str) -> AccountFacts:
    """Armed, enforcing, able to do everything: a test is about the policy."""
    return AccountFacts(
        name,
        provider,
        enforce=True,
        armed=True,
        allow_release=True,
        capabilities=dict.fromkeys((*CAPABILITIES, *OPTIONAL_CAPABILITIES), "full"),
        stoppable=frozenset({Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT}),
        metric_delay=dict.fromkeys(Metric, timedelta()),
        metric_period=dict.fromkeys(Metric, PERIOD),
    )


def _resource(box: Box, now: datetime) -> Resource:
    effect = {
        "saves": StopEffect(Ends.YES, ("disks",)),
        "saves_nothing": StopEffect(Ends.NO, ("compute",)),
        "loses_data": StopEffect(Ends.YES, ("disks",), ("local_disk",)),
        "unknown": StopEffect(Ends.UNKNOWN),
    }[box.stop]
    running = box.state is not State.STOPPED
    if box.price == "unknown":
        price = None
    else:
        price = (box.price or _DEFAULT_PRICE).of(box.gpus.count if box.gpus else None)
    return Resource(
        ref=ResourceRef(box.provider, box.account, box.region, box.kind, box.key),
        name=box.name,
        state=box.state,
        raw_state=box.state.value,
        observed_at=now - PERIOD / 2,
        charge_type=ChargeType(box.charge),
        sku=box.sku,
        gpus=box.gpus,
        vcpus=32,
        created_at=None if box.created == "unknown" else now - box.created,
        started_at=None if box.started == "unknown" or not running else now - box.started,
        stopped_at=now - (box.stopped or PERIOD) if box.state is State.STOPPED else None,
        expires_at=now + box.expires if box.expires else None,
        price=price,
        price_source="list" if price else None,
        spot_cap=box.spot_cap.of(box.gpus.count if box.gpus else None) if box.spot_cap else None,
        tags=None if box.tags == "unreadable" else box.tags,
        owner=box.owner,
        team=box.team,
        group=box.group,
        protected=box.protected,
        depends_on=box.attached,
        size_gib=box.size_gib,
        stop_effect=effect,
        attributes=_attributes(box),
    )


def _attributes(box: Box) -> Mapping[str, str]:
    """What adapters tell besides, by the names that rules read."""
    renews = {None: None, True: "yes", False: "no"}[box.auto_renew]
    return {key: value for key, value in (("zone", box.zone), ("auto_renew", renews)) if value is not None}


def _windows(
    box: Box, resource: Resource, specs: Iterable[WindowSpec], now: datetime
) -> Mapping[WindowSpec, tuple[UsageWindow, ...]]:
    found: dict[WindowSpec, tuple[UsageWindow, ...]] = {}
    for spec in specs:
        windows = [
            window
            for series, highest, mean in _series(box, resource, spec.metric)
            if (window := _window(box.usage, series, spec, highest, mean, resource.started_at, now)) is not None
        ]
        if windows:
            found[spec] = tuple(windows)
    return found


def _series(box: Box, resource: Resource, metric: Metric) -> Iterable[tuple[Series, float, float]]:
    usage = box.usage
    of_cards = {Metric.GPU_UTIL: usage.gpu_util, Metric.GPU_MEMORY: usage.gpu_memory, Metric.GPU_POWER: usage.gpu_power}
    if metric in of_cards:
        values = of_cards[metric] or ()
        if len(values) == 1 and resource.gpus is not None and getattr(values[0], "over", 1) == 1:
            values *= resource.gpus.cards or 1
        for index, value in enumerate(values):
            card = value if isinstance(value, Cards) else Cards(max=float(value))
            statistic = Statistic.MEAN if card.over > 1 else Statistic.MAX
            series = Series(resource.ref, metric, index if card.over == 1 else None, "test", statistic, card.over)
            yield series, card.max, card.max if card.mean is None else card.mean
        return
    flat = {
        Metric.CPU_CORES: usage.cpu, Metric.NETWORK: usage.network, Metric.DISK: usage.disk,
        Metric.CONNECTIONS: usage.connections,
    }[metric]  # fmt: skip
    if flat is not None:
        yield Series(resource.ref, metric, None, "test", Statistic.MAX), flat, flat


def _window(
    usage: Usage, series: Series, spec: WindowSpec, highest: float, mean: float, started: datetime | None, now: datetime
) -> UsageWindow | None:
    """A flat window that ends now; samples from before the start, and those that did not arrive, are missing."""
    expected = int(spec.length / PERIOD)
    last = now - usage.last
    since = max(now - spec.length, started) if started is not None else now - spec.length
    samples = min(int((last - since) / PERIOD), round(expected * usage.coverage / 100))
    if samples <= 0:
        return None
    return UsageWindow(
        series=series, start=now - spec.length, end=now, period=PERIOD, samples=samples, expected=expected,
        max=highest, mean=mean, last=mean, first_at=last - (samples - 1) * PERIOD, last_at=last,
    )  # fmt: skip


def _price(market: Market, now: datetime, charge: ChargeType, source: str) -> Price:
    key = PriceKey(market.provider, market.region, market.sku, charge, market.zone)
    return Price(key, market.price.per_hour, now - market.since, source)


def _spend(bill: Bill, zone: ZoneInfo, refs: Mapping[str, ResourceRef]) -> Spend:
    start, end = (
        datetime.combine(day, clock_time(), zone).astimezone(UTC) for day in (bill.day, bill.day + timedelta(days=1))
    )
    ref = refs.get(bill.box) if bill.box else None
    return Spend(bill.account, ref, bill.service, start, end, bill.amount, bill.estimated, bill.owner, bill.team)


def at(text: str, zone: ZoneInfo) -> datetime:
    """``2026-06-11T20:30+08:00``, or without an offset in ``zone``; aware UTC. Raises ValueError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"not a time: {text!r}; write it like 2026-06-11T20:30") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
