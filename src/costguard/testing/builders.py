"""Short functions that build domain facts with sensible defaults, for tests.

Every builder takes the fields that matter as keywords; what is left out is the dull, valid case:
a running on-demand GPU box of a fresh, armed account at :data:`NOW`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from costguard.domain.action import Action, ActionState
from costguard.domain.budget import Spend
from costguard.domain.charge import Charge, ChargeCategory, Stage
from costguard.domain.decision import Response
from costguard.domain.finding import Finding, Subject
from costguard.domain.money import Money
from costguard.domain.notice import Notice, NoticeKind
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType, Ends, Gpus, Kind, Resource, ResourceRef, State, StopEffect
from costguard.domain.snapshot import AccountFacts, Snapshot, SourceState, SourceStatus
from costguard.domain.usage import Metric, Series, Statistic, UsageSample, UsageWindow, WindowSpec
from costguard.ports import Message
from costguard.testing.clock import NOON

NOW = NOON
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)

CAPABILITIES = (
    "instances", "gpu_inventory", "gpu_usage", "cpu_usage", "spot_price", "price", "charges_daily",
    "charges_final", "stop", "stop_keeps_disk", "stop_ends_billing", "release", "set_release_time", "start",
    "tags", "balance", "quota", "notebooks", "jobs", "endpoints",
)  # fmt: skip


def cny(amount: str) -> Money:
    return Money.of(amount, "CNY")


def usd(amount: str) -> Money:
    return Money.of(amount, "USD")


def make_ref(
    id: str = "i-1",
    *,
    provider: str = "simulated",
    account: str = "prod",
    region: str = "cn-north",
    kind: Kind = Kind.VM,
) -> ResourceRef:
    return ResourceRef(provider, account, region, kind, id)


def make_resource(id: str = "i-1", **fields: Any) -> Resource:
    """A running box with eight A100, on demand, 34.74 CNY/h, up for a day, whose stop ends the bill.

    ``provider``, ``account``, ``region``, ``kind`` go to the ref (or pass ``ref``); ``cards=0`` makes a CPU box.
    """
    where = {name: fields.pop(name) for name in ("provider", "account", "region", "kind") if name in fields}
    ref = fields.pop("ref", None) or make_ref(id, **where)
    cards = fields.pop("cards", 8)
    state = fields.setdefault("state", State.RUNNING)
    now = fields.setdefault("observed_at", NOW)
    running = state is State.RUNNING
    defaults: dict[str, Any] = {
        "name": ref.id,
        "raw_state": state.value,
        "charge_type": ChargeType.ON_DEMAND,
        "sku": f"gpu.a100x{cards}" if cards else "cpu.large",
        "gpus": Gpus("A100", Decimal(cards), 81_920) if cards else None,
        "vcpus": 96,
        "memory_mib": 786_432,
        "created_at": now - 30 * 24 * HOUR,
        "started_at": now - 24 * HOUR if running else None,
        "stopped_at": None if running else now - HOUR,
        "price": cny("34.74"),
        "price_source": "list",
        "tags": {},
        "stop_effect": StopEffect(Ends.YES, still_billed=("disks",)),
    }
    return Resource(ref=ref, **{**defaults, **fields})


def make_series(
    ref: ResourceRef | None = None,
    metric: Metric = Metric.GPU_UTIL,
    gpu_index: int | None = None,
    *,
    source: str = "cloud",
    statistic: Statistic = Statistic.MAX,
    cards: int = 1,
) -> Series:
    return Series(ref or make_ref(), metric, gpu_index, source, statistic, cards)


def make_sample(series: Series, at: datetime, value: float, period: timedelta = MINUTE) -> UsageSample:
    return UsageSample(series, at, value, period)


def make_window(
    value: float = 0.0,
    *,
    series: Series | None = None,
    end: datetime = NOW,
    length: timedelta = HOUR,
    period: timedelta = MINUTE,
    coverage: float = 1.0,
    **fields: Any,
) -> UsageWindow:
    """A flat window of ``value``; ``max``, ``mean``, ``last`` may differ. Missing samples are the oldest."""
    expected = int(length / period)
    samples = max(1, round(expected * coverage))
    defaults: dict[str, Any] = {
        "samples": samples, "expected": expected,
        "max": value, "mean": value, "last": value,
        "first_at": end - (samples - 1) * period, "last_at": end,
    }  # fmt: skip
    return UsageWindow(
        series=series or make_series(), start=end - length, end=end, period=period, **{**defaults, **fields}
    )


def make_windows(
    resource: Resource, values: Mapping[Metric, float | Iterable[float]], length: timedelta = HOUR, **fields: Any
) -> dict[WindowSpec, tuple[UsageWindow, ...]]:
    """Windows of one resource. A number is one series of the whole box, an iterable one series per card."""
    windows: dict[WindowSpec, tuple[UsageWindow, ...]] = {}
    for metric, value in values.items():
        cards = {None: value} if isinstance(value, int | float) else dict(enumerate(value))
        windows[WindowSpec(metric, length)] = tuple(
            make_window(number, series=make_series(resource.ref, metric, card), length=length, **fields)
            for card, number in cards.items()
        )
    return windows


def make_account(name: str = "prod", provider: str = "simulated", **fields: Any) -> AccountFacts:
    """Armed, enforcing, able to do everything, GPU metrics each minute without delay."""
    defaults: dict[str, Any] = {
        "enforce": True,
        "armed": True,
        "capabilities": dict.fromkeys(CAPABILITIES, "full"),
        "metric_delay": dict.fromkeys(Metric, timedelta(0)),
        "metric_period": dict.fromkeys(Metric, MINUTE),
    }
    return AccountFacts(name, provider, **{**defaults, **fields})


def make_source(source: str = "inventory", **fields: Any) -> SourceStatus:
    """A source that answered half a minute ago and is polled every five."""
    defaults: dict[str, Any] = {
        "account": "prod", "region": "cn-north", "state": SourceState.OK,
        "fetched_at": NOW - MINUTE / 2, "interval": 5 * MINUTE, "count": 1,
    }  # fmt: skip
    return SourceStatus(source=source, **{**defaults, **fields})


def make_snapshot(
    *resources: Resource,
    usage: Mapping[ResourceRef, Mapping[WindowSpec, tuple[UsageWindow, ...]]] | None = None,
    **fields: Any,
) -> Snapshot:
    """A snapshot in which each resource's account is known and its inventory and usage are fresh."""
    now = fields.setdefault("now", NOW)
    places = sorted({(r.ref.account, r.ref.provider, r.ref.region) for r in resources})
    defaults: dict[str, Any] = {
        "accounts": {account: make_account(account, provider) for account, provider, _ in places},
        "sources": tuple(
            make_source(
                source,
                account=account,
                region=region,
                fetched_at=now - MINUTE / 2,
                count=sum((r.ref.account, r.ref.region) == (account, region) for r in resources),
            )
            for account, _, region in places
            for source in ("inventory", "usage")
        ),
        "last_run": now - MINUTE,
    }
    return Snapshot(resources={r.ref: r for r in resources}, usage=usage or {}, **{**defaults, **fields})


def make_finding(resource: Resource | None = None, **fields: Any) -> Finding:
    """An idle finding of policy ``idle-dev`` that holds for an hour."""
    box = resource or make_resource()
    defaults: dict[str, Any] = {
        "policy": "idle-dev", "policy_hash": "hash-1", "rule": "idle", "subject": Subject.of(box),
        "since": NOW - HOUR, "evidence": {"max": 1.5, "samples": 60}, "waste_per_hour": box.price,
        "started_at": box.started_at,
    }  # fmt: skip
    return Finding(**{**defaults, **fields})


def make_action(finding: Finding | None = None, **fields: Any) -> Action:
    """The fresh ladder (proposed, enforce, next rung a stop) that answers ``finding``."""
    found = finding or make_finding()
    defaults: dict[str, Any] = {
        "id": "act-1", "policy": found.policy, "policy_hash": found.policy_hash, "rule": found.rule,
        "subject": found.subject, "threshold": found.threshold, "started_at": found.started_at,
        "response": Response.STOP, "state": ActionState.PROPOSED, "dry_run": False, "since": found.since,
        "held_since": NOW, "created_at": NOW, "updated_at": NOW, "evidence": found.evidence,
        "waste_per_hour": found.waste_per_hour,
    }  # fmt: skip
    return Action(**{**defaults, **fields})


def make_notice(id: str = "ntc-1", **fields: Any) -> Notice:
    defaults: dict[str, Any] = {
        "kind": NoticeKind.WARN, "channel": "ops", "alert_key": "alert-1", "idem_key": f"key-{id}",
        "facts": {}, "created_at": NOW,
    }  # fmt: skip
    return Notice(id, **{**defaults, **fields})


def make_message(text: str = "30 分钟后关机 train-a800-03 ¥34.74/h", **fields: Any) -> Message:
    """A plain rendered message whose title, body and fallback are ``text``."""
    return replace(Message(title=text, body=text, fallback=text, idem_key="key-1"), **fields)


def make_price(per_hour: Money | None = None, **fields: Any) -> Price:
    """A list price in force for a month; ``provider``, ``region``, ``sku``, ``charge_type``, ``zone`` go to the key."""
    key: dict[str, Any] = {
        "provider": "simulated", "region": "cn-north", "sku": "gpu.a100x8", "charge_type": ChargeType.ON_DEMAND,
    }  # fmt: skip
    key |= {name: fields.pop(name) for name in (*key, "zone") if name in fields}
    rest: dict[str, Any] = {"since": NOW - 30 * 24 * HOUR, "source": "list"}
    return Price(PriceKey(**key), per_hour or cny("34.74"), **{**rest, **fields})


def make_spend(money: Money | None = None, day: datetime = NOW - 24 * HOUR, **fields: Any) -> Spend:
    """One day's bill of an account, midnight to midnight UTC."""
    start = day.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    defaults: dict[str, Any] = {
        "account": "prod", "ref": None, "service": "compute", "start": start, "end": start + 24 * HOUR,
        "money": money or cny("800"), "estimated": False,
    }  # fmt: skip
    return Spend(**{**defaults, **fields})


def make_charge(row_key: str = "row-1", cost: Money | None = None, **fields: Any) -> Charge:
    """One provisional usage row of yesterday (UTC) in this month's bill."""
    day = NOW.replace(hour=0, minute=0, second=0, microsecond=0) - 24 * HOUR
    money = cost or cny("800")
    month = day.replace(day=1)
    defaults: dict[str, Any] = {
        "account": "prod", "billing_period_start": month,
        "billing_period_end": (month + 32 * 24 * HOUR).replace(day=1),
        "charge_period_start": day, "charge_period_end": day + 24 * HOUR,
        "charge_category": ChargeCategory.USAGE, "billed_cost": money, "effective_cost": money, "list_cost": money,
        "stage": Stage.PROVISIONAL, "provider": "simulated", "service_name": "compute",
    }  # fmt: skip
    return Charge(row_key=row_key, **{**defaults, **fields})
