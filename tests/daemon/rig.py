"""A small cloud in memory, and applications on it: for what must be killed, raced and looked at from outside.

The cloud has no opinion about safety. It carries out what it is asked for, counts it, and knows who was at work.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

from costguard.app.app import App
from costguard.config.load import Config, load
from costguard.daemon.jobs import SteppedDriver
from costguard.daemon.lead import TTL
from costguard.domain.action import Action
from costguard.domain.ledger import LedgerEntry
from costguard.domain.money import Money
from costguard.domain.notice import Notice
from costguard.domain.resource import ChargeType, Ends, Gpus, Kind, Resource, ResourceRef, State, StopEffect
from costguard.domain.saving import Saving
from costguard.domain.usage import Metric, Series, Statistic, UsageSample
from costguard.errors import NotFound, ProviderError
from costguard.ports import AccountSpec, Clock, CommandResult, Identity, PowerResult, UsageBatch
from costguard.store import actions, ledger, outbox, savings
from costguard.store.database import Database
from costguard.testing.clock import FakeClock

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
STOP_TAKES = timedelta(seconds=5)
REGION = "cn-north"

IDLE = """\
policies:
  - name: idle-dev
    rule: idle
    match: all
    when: {gpu_util_below: 5%, for: 45m}
    respond:
      - {do: warn}
      - {after: 15m, do: warn}
      - {after: 30m, do: stop}
"""


def with_hook(hook: str) -> str:
    """The idle policy whose stop has a hook, as YAML flow."""
    return IDLE.replace("do: stop}", f"do: stop, hook: {hook}}}")


# The loops of a moved clock are what a simulated hour costs; what looks at promptness takes the real ones, {}.
UNHURRIED = "{cycle: 2m, act: 1m, deliver: 1m, heartbeat: 15s}"

CONFIG = """\
version: 1
database: "{database}"
timezone: UTC
language: en
currency: CNY
mode: {mode}
enforce_accounts: [prod]
limits: {{per_hour: {per_hour}, share: 100%}}
accounts:
  - {{name: prod, provider: simulated, account_id: "{account_id}"}}
channels:
  - {{name: ops, kind: slack, url: "{channel}"}}
notify: {{default: [ops], quiet_hours: null}}
policies: [policies.yaml]
schedule: {schedule}
"""


@dataclass
class Box:
    """A machine. It is busy from ``busy_since`` until ``busy_until`` (None: on and on); ``stopping_since`` None: nobody
    stopped it."""

    id: str
    started_at: datetime
    tags: dict[str, str] = field(default_factory=dict)
    busy_since: datetime | None = None
    busy_until: datetime | None = None
    stopping_since: datetime | None = None
    protected: str | None = None
    group: str | None = None
    price: Money = field(default_factory=lambda: Money.of("34.74", "CNY"))
    gone: bool = False
    name: str = ""
    charge_type: ChargeType = ChargeType.ON_DEMAND


@dataclass(frozen=True)
class Call:
    """A changing call that arrived."""

    operation: str
    id: str
    token: str
    at: datetime


@dataclass
class Cloud:
    """``boundary`` is told of each call, before and after it. ``fail`` raises before the effect, ``lose`` after it.
    ``tells_until``: nothing is measured after it. A minute is told of ``late`` after it was over."""

    clock: Clock
    account_id: str = "1"
    regions: list[str] = field(default_factory=lambda: [REGION])
    boxes: dict[str, Box] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    fail: dict[str, Callable[[], BaseException | None]] = field(default_factory=dict)
    lose: dict[str, Callable[[], BaseException | None]] = field(default_factory=dict)
    failed_usage: dict[str, ProviderError] = field(default_factory=dict)
    tells_until: datetime | None = None
    late: timedelta = timedelta(0)
    tells: tuple[tuple[Metric, int | None], ...] = (
        (Metric.GPU_UTIL, 0), (Metric.CPU_CORES, None), (Metric.NETWORK, None),
    )  # fmt: skip
    listed: Callable[[list[Resource]], list[Resource]] = lambda found: found
    boundary: Callable[[str], None] = lambda what: None
    hook: CommandResult = field(default_factory=lambda: CommandResult("finished", 0, "saved"))
    hook_runs: dict[str, str] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def add(self, id: str, age: timedelta = timedelta(hours=20), **fields: object) -> Box:
        box = Box(id, self.clock.now() - age, **fields)  # type: ignore[arg-type]
        self.boxes[id] = box
        return box

    def restart(self, id: str) -> None:
        box = self.boxes[id]
        box.stopping_since, box.started_at = None, self.clock.now()

    def stops(self, id: str | None = None) -> list[Call]:
        return [c for c in self.calls if c.operation == "stop" and id in (None, c.id)]

    def connect(self, provider: str, spec: AccountSpec, clock: Clock) -> "CloudConnection":
        return CloudConnection(self, spec.name)

    def state(self, box: Box) -> State:
        if box.stopping_since is None:
            return State.RUNNING
        return State.STOPPED if self.clock.now() - box.stopping_since >= STOP_TAKES else State.STOPPING


class CloudConnection:
    """Inventory, Usage, Power and Commands."""

    def __init__(self, cloud: Cloud, account: str) -> None:
        self._cloud, self._account = cloud, account

    def _enter(self, operation: str) -> None:
        self._cloud.boundary(f"before {operation}")
        if (make := self._cloud.fail.get(operation)) and (error := make()):
            raise error

    def _leave(self, operation: str) -> None:
        if (make := self._cloud.lose.get(operation)) and (error := make()):
            raise error
        self._cloud.boundary(f"after {operation}")

    def identity(self) -> Identity:
        self._enter("identity")
        return Identity(self._cloud.account_id, "user/costguard")

    def regions(self) -> Sequence[str]:
        self._enter("regions")
        return tuple(self._cloud.regions)

    def endpoints(self) -> Mapping[str, str]:
        return {}

    def close(self) -> None:
        """Nothing is open."""

    def kinds(self) -> frozenset[Kind]:
        return frozenset({Kind.VM})

    def list(self, kind: Kind, region: str) -> Iterable[Resource]:
        self._enter("list")
        if region != self._cloud.regions[0]:
            return []
        return self._cloud.listed([self._shown(box) for box in self._cloud.boxes.values() if not box.gone])

    def get(self, ref: ResourceRef) -> Resource:
        self._enter("get")
        box = self._cloud.boxes.get(ref.id)
        if box is None or box.gone:
            raise NotFound(f"no {ref.id}", provider="simulated", operation="get")
        self._leave("get")
        return self._shown(box)

    def _shown(self, box: Box) -> Resource:
        state = self._cloud.state(box)
        return Resource(
            ref=ResourceRef("simulated", self._account, self._cloud.regions[0], Kind.VM, box.id),
            name=box.name or f"box-{box.id}", state=state, raw_state=state.value, observed_at=self._cloud.clock.now(),
            charge_type=box.charge_type, sku="gpu.a100", gpus=Gpus("A100", Decimal(1), 81_920), vcpus=16,
            created_at=box.started_at, started_at=box.started_at, tags=MappingProxyType(dict(box.tags)),
            price=box.price, price_source="list", group=box.group, protected=box.protected,
        )  # fmt: skip

    def usage(
        self, resources: Sequence[Resource], metrics: frozenset[Metric], since: datetime, until: datetime
    ) -> UsageBatch:
        self._enter("usage")
        found: list[UsageSample] = []
        failed: dict[ResourceRef, ProviderError] = {}
        for resource in resources:
            if resource.ref.id in self._cloud.failed_usage:
                failed[resource.ref] = self._cloud.failed_usage[resource.ref.id]
            else:
                found += self._samples(resource, since, until)
        return UsageBatch(tuple(found), failed)

    def _samples(self, resource: Resource, since: datetime, until: datetime) -> Iterable[UsageSample]:
        box = self._cloud.boxes[resource.ref.id]
        first = max(since, box.started_at).replace(second=0, microsecond=0)
        off = box.stopping_since + STOP_TAKES if box.stopping_since else until
        last = min(until, off, self._cloud.clock.now() - self._cloud.late, self._cloud.tells_until or until)
        for metric, card in self._cloud.tells:
            series = Series(resource.ref, metric, card, "cloud", Statistic.MAX)
            at = first
            while at <= last:
                busy = box.busy_since is not None and box.busy_since <= at <= (box.busy_until or at)
                if at >= since:
                    yield UsageSample(series, at, 90.0 if busy and metric is Metric.GPU_UTIL else 0.0, MINUTE)
                at += MINUTE

    def stop_effect(self, resource: Resource) -> StopEffect:
        return StopEffect(Ends.YES, still_billed=("disks",))

    def stop(self, ref: ResourceRef, token: str) -> PowerResult:
        with self._cloud.lock:
            self._enter("stop")
            self._cloud.calls.append(Call("stop", ref.id, token, self._cloud.clock.now()))
            box = self._cloud.boxes[ref.id]
            already = box.stopping_since is not None
            if not already:
                box.stopping_since = self._cloud.clock.now()
            self._leave("stop")
        return PowerResult.ALREADY if already else PowerResult.ACCEPTED

    def start(self, ref: ResourceRef, token: str) -> PowerResult:
        self._enter("start")
        self._cloud.calls.append(Call("start", ref.id, token, self._cloud.clock.now()))
        self._cloud.restart(ref.id)
        return PowerResult.ACCEPTED

    def run_command(self, ref: ResourceRef, command: str, timeout: timedelta, token: str) -> str:
        self._enter("run_command")
        self._cloud.calls.append(Call("run_command", ref.id, token, self._cloud.clock.now()))
        self._cloud.hook_runs[f"run-{token}"] = ref.id
        self._leave("run_command")
        return f"run-{token}"

    def command_result(self, ref: ResourceRef, run_id: str) -> CommandResult:
        self._enter("command_result")
        assert self._cloud.hook_runs[run_id] == ref.id
        return self._cloud.hook


def configure(folder: Path, channel: str, *, policies: str = IDLE, more: str = "", **values: object) -> Config:
    """A configuration in ``folder``. ``values``: database, mode, per_hour, account_id, schedule. ``more``: further
    settings."""
    known = {
        "database": "sqlite:///costguard.db", "mode": "enforce", "per_hour": 100, "account_id": "1",
        "schedule": UNHURRIED, **values,
    }  # fmt: skip
    (folder / "policies.yaml").write_text(policies, "utf-8")
    path = folder / "costguard.yaml"
    path.write_text(CONFIG.format(channel=channel, **known) + more, "utf-8")
    return load(path, {})


def start(config: Config, cloud: Cloud, clock: FakeClock, lease_ttl: timedelta = TTL) -> App:
    """A fresh process on the configuration's database."""
    return App.open(config, clock, connect=cloud.connect, migrate=False, threads=1, lease_ttl=lease_ttl)


def drive(app: App, clock: FakeClock, span: timedelta) -> None:
    """The daemon's own loops for ``span`` of its time."""
    from costguard.app.jobs import jobs

    SteppedDriver(jobs(app), clock).run_until(clock.now() + span)  # type: ignore[arg-type]


def rows(database: Database) -> tuple[Action, ...]:
    """Every ladder, the oldest first."""
    with database.read() as conn:
        return tuple(sorted(actions.list_actions(conn), key=lambda a: (a.created_at, a.id)))


def lines(database: Database) -> tuple[LedgerEntry, ...]:
    with database.read() as conn:
        return tuple(reversed(ledger.list_entries(conn)))


def told(database: Database) -> tuple[Notice, ...]:
    with database.read() as conn:
        return tuple(reversed(outbox.list_notices(conn)))


def booked(database: Database, now: datetime) -> tuple[Saving, ...]:
    with database.read() as conn:
        return savings.savings(conn, now - timedelta(days=30), now + timedelta(days=1))
