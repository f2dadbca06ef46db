"""A small stage for engine tests: one policy, one box with windows, and a planner that keeps its rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from costguard.domain.action import Action
from costguard.domain.decision import Decision
from costguard.domain.ledger import LedgerEntry
from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.snapshot import Keep, Snapshot
from costguard.domain.usage import Metric, UsageWindow, WindowSpec
from costguard.engine.activity import WINDOW
from costguard.engine.evaluate import evaluate
from costguard.engine.events import Event, EventKind
from costguard.engine.lifecycle import advance
from costguard.engine.notices import NoticeRequest
from costguard.engine.plan import Plan, PlanFacts, plan
from costguard.engine.settings import EngineSettings
from costguard.rules.policy import Policy
from costguard.rules.registry import parse_policy
from costguard.testing.builders import NOW, make_resource, make_snapshot, make_windows

FOR = timedelta(minutes=45)
MIN = timedelta(minutes=1)

SETTINGS = EngineSettings(per_hour=None, share=None)


def idle_policy(name: str = "idle-dev", **changes: Any) -> Policy:
    document: dict[str, Any] = {
        "name": name,
        "rule": "idle",
        "match": "all",
        "when": {"for": "45m"},
        "respond": [{"do": "warn", "to": ["owner", "ops"]}, {"after": "30m", "do": "stop"}],
    }
    return parse_policy({**document, **changes})


def lifetime_policy(name: str = "old", **changes: Any) -> Policy:
    document: dict[str, Any] = {
        "name": name,
        "rule": "lifetime",
        "match": "all",
        "when": {"max_age": "1h"},
        "respond": [{"do": "warn"}, {"after": "30m", "do": "stop"}],
    }
    return parse_policy({**document, **changes})


Windows = Mapping[WindowSpec, tuple[UsageWindow, ...]]


def quiet(
    resource: Resource,
    *,
    gpu: float | Iterable[float] | None = 0.5,
    cpu: float | None = 0.1,
    network: float | None = 1000.0,
    end: datetime = NOW,
    lengths: Iterable[timedelta] = (FOR, WINDOW),
    **fields: Any,
) -> Windows:
    """The windows of a box; a number for ``gpu`` goes to each card, None leaves a metric out."""
    cards = resource.gpus.cards if resource.gpus else 0
    if isinstance(gpu, int | float):
        gpu = [gpu] * cards if cards else None
    series: dict[Metric, Any] = {Metric.GPU_UTIL: gpu, Metric.CPU_CORES: cpu, Metric.NETWORK: network}
    values = {metric: value for metric, value in series.items() if value is not None}
    windows: dict[WindowSpec, tuple[UsageWindow, ...]] = {}
    for length in lengths:
        windows.update(make_windows(resource, values, length=length, end=end, **fields))
    return windows


def busy(resource: Resource, **fields: Any) -> Windows:
    return quiet(resource, gpu=80.0, **fields)


def snapshot_of(*resources: Resource, now: datetime = NOW, usage: Any = None, **fields: Any) -> Snapshot:
    """A snapshot at ``now`` in which the boxes were just seen; idle ones unless ``usage`` (ref → windows) says else."""
    seen = [replace(r, observed_at=now) for r in resources]
    windows = {r.ref: quiet(r, end=now) for r in seen} | dict(usage or {})
    return make_snapshot(*seen, now=now, usage=windows, **fields)


@dataclass
class Cycles:
    """Runs plans over moving snapshots and keeps the rows as a store would."""

    policies: list[Policy]
    settings: EngineSettings = SETTINGS
    rows: dict[str, Action] = field(default_factory=dict)
    ledger: list[LedgerEntry] = field(default_factory=list)
    told: list[NoticeRequest] = field(default_factory=list)
    last: Plan = field(default_factory=Plan)
    ids: Any = field(default_factory=count)

    def cycle(self, snapshot: Snapshot, **facts: Any) -> Plan:
        evaluation = evaluate(self.policies, snapshot)
        closed = tuple(r for r in self.rows.values() if r.state.terminal and r.clear_count < 2)
        hour = snapshot.now - timedelta(hours=1)
        executed = tuple(r for r in self.rows.values() if r.executed_at is not None and r.executed_at >= hour)
        known = PlanFacts(executed=executed, closed=closed, **facts)
        self.last = plan(evaluation, self.open, snapshot, known, self.settings, lambda: f"id-{next(self.ids):05d}")
        for row in (*self.last.updates, *self.last.inserts):
            self.rows[row.id] = row
        self.ledger.extend(self.last.ledger)
        self.told.extend(self.last.notices)
        return self.last

    @property
    def open(self) -> tuple[Action, ...]:
        return tuple(row for row in self.rows.values() if not row.state.terminal)

    @property
    def row(self) -> Action:
        """The only open row."""
        (row,) = self.open
        return row

    @property
    def decision(self) -> Decision:
        (decision,) = self.last.decisions
        return decision

    def send(self, event: Event, now: datetime, row: Action | None = None) -> Action:
        """An event for a row; the row after it."""
        change = advance(row or self.row, event, now, self.settings)
        self.rows[change.action.id] = change.action
        self.ledger.extend(change.ledger)
        return change.action

    def deliver(self, now: datetime, row: Action | None = None) -> Action:
        """The outbox says that the first warning is delivered."""
        target = row or self.row
        return self.send(Event(EventKind.WARNED, warning_id=target.warning_id), now, target)


def refs(resources: Iterable[Resource]) -> list[ResourceRef]:
    return [r.ref for r in resources]


def warned(policies: list[Any] | None = None, box: Resource | None = None, **settings: Any) -> Cycles:
    """A ladder whose warning was delivered at NOW."""
    cycles = Cycles(policies or [idle_policy()], replace(SETTINGS, **settings))
    cycles.cycle(snapshot_of(box or make_resource()))
    for row in cycles.open:
        cycles.deliver(NOW, row)
    return cycles


def keep_at(at: datetime, until: datetime) -> dict[str, Any]:
    """The facts of a keep of the usual box."""
    ref = make_resource().ref
    return {"keeps": {ref: Keep(ref, until, "slack:U012", "training", at)}}
