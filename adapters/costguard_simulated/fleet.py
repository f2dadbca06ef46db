"""Fleet: the machines and holdings that a scenario describes, with their ids, seeds and absolute times."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from costguard.domain.resource import Kind
from costguard_simulated.scenario import CloudSpec, HoldingSpec, MachineSpec, Personality, Scenario, Sku, names_of
from costguard_simulated.workload import Work, seed_of

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
_DEFAULT_WORK = "idle"
_DISK_TAGS = ("owner", "team")


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine. ``system_disk`` is the id of the disk that comes and goes with it (None: no disk of its own)."""

    cloud: str
    name: str
    id: str
    spec: MachineSpec
    sku: Sku
    seed: int
    created_at: datetime
    started_at: datetime
    stopped_at: datetime | None
    plan: tuple[Work, ...]
    agent_until: datetime | None
    system_disk: str | None

    @property
    def kind(self) -> Kind:
        return self.spec.kind

    @property
    def region(self) -> str:
        return self.spec.region

    @property
    def zone(self) -> str:
        return f"{self.spec.region}-{self.spec.zone}"


@dataclass(frozen=True, slots=True)
class Holding:
    """A disk, address or snapshot. ``owner_machine``: the machine that a system disk belongs to."""

    cloud: str
    name: str
    id: str
    kind: Kind
    region: str
    size_gib: int | None
    created_at: datetime
    detached_at: datetime | None
    tags: dict[str, str] | None
    owner_machine: str | None = None


def machines(scenario: Scenario, cloud: str) -> Iterator[Machine]:
    """Every machine of a cloud; with ``scale`` n each one n times, copies named ``name~2`` …"""
    spec = scenario.clouds[cloud]
    for machine in spec.machines:
        for name in names_of(machine):
            for copy in range(scenario.scale):
                full = name if copy == 0 else f"{name}~{copy + 1}"
                yield build(scenario, cloud, machine, full)


def build(scenario: Scenario, cloud: str, spec: MachineSpec, name: str, salt: str = "") -> Machine:
    """The machine of one spec under one name; ``salt`` tells apart machines of the same name."""
    start, home = scenario.start, scenario.clouds[cloud]
    created = start + spec.created
    plan = tuple(Work(start + work.since, work.do, work.cards, work.level) for work in spec.work)
    if not plan or plan[0].since > created:
        plan = (Work(created, _DEFAULT_WORK), *plan)
    match spec.agent:
        case "always":
            agent_until = None
        case "never":
            agent_until = created
        case offset:
            agent_until = start + offset
    own_disk = spec.disk_gib > 0 and spec.kind is Kind.VM and home.personality != "rack"
    disk = _id(home.personality, Kind.DISK, scenario.seed, cloud, f"{name}{salt}/system") if own_disk else None
    return Machine(
        cloud=cloud,
        name=name,
        id=_id(home.personality, spec.kind, scenario.seed, cloud, name + salt),
        spec=spec,
        sku=home.skus[spec.sku],
        seed=seed_of(scenario.seed, cloud, name, salt),
        created_at=created,
        started_at=created if spec.started is None else max(created, start + spec.started),
        stopped_at=None if spec.stopped is None else start + spec.stopped,
        plan=plan,
        agent_until=agent_until,
        system_disk=disk,
    )


def holdings(scenario: Scenario, cloud: str) -> Iterator[Holding]:
    """The holdings that belong to no machine; with ``scale`` n each one n times."""
    spec = scenario.clouds[cloud]
    for holding in spec.holdings:
        for copy in range(scenario.scale):
            name = holding.name if copy == 0 else f"{holding.name}~{copy + 1}"
            yield _holding(scenario, spec, cloud, holding, name)


def _holding(scenario: Scenario, home: CloudSpec, cloud: str, spec: HoldingSpec, name: str) -> Holding:
    created = scenario.start + spec.created
    return Holding(
        cloud=cloud,
        name=name,
        id=_id(home.personality, Kind(spec.kind), scenario.seed, cloud, name),
        kind=Kind(spec.kind),
        region=spec.region,
        size_gib=spec.size_gib,
        created_at=created,
        detached_at=max(created, scenario.start + spec.detached) if spec.detached is not None else created,
        tags=spec.tags,
    )


def system_disk(machine: Machine) -> Holding | None:
    """The disk that comes and goes with a machine; of its tags it carries those that say whose it is."""
    if machine.system_disk is None:
        return None
    tags = machine.spec.tags
    if tags is not None:
        tags = {key: value for key, value in tags.items() if key in _DISK_TAGS}
    return Holding(
        machine.cloud, f"{machine.name}-system", machine.system_disk, Kind.DISK, machine.region,
        machine.spec.disk_gib, machine.created_at, None, tags, machine.id,
    )  # fmt: skip


_PREFIX: dict[Personality, dict[Kind, tuple[str, int]]] = {
    "alibaba": {
        Kind.VM: ("i-2ze", 16), Kind.NOTEBOOK: ("dsw-", 16), Kind.JOB: ("dlc", 16), Kind.ENDPOINT: ("eas-m-", 14),
        Kind.DISK: ("d-2ze", 16), Kind.ADDRESS: ("eip-2ze", 16), Kind.SNAPSHOT: ("s-2ze", 16),
    },
    "tencent": {
        Kind.VM: ("ins-", 8), Kind.NOTEBOOK: ("nb-", 12), Kind.JOB: ("train-", 12), Kind.ENDPOINT: ("ms-", 12),
        Kind.DISK: ("disk-", 8), Kind.ADDRESS: ("eip-", 8), Kind.SNAPSHOT: ("snap-", 8),
    },
    "aws": {
        Kind.VM: ("i-0", 16), Kind.NOTEBOOK: ("nb-", 12), Kind.JOB: ("job-", 12), Kind.ENDPOINT: ("ep-", 12),
        Kind.DISK: ("vol-0", 16), Kind.ADDRESS: ("eipalloc-0", 16), Kind.SNAPSHOT: ("snap-0", 16),
    },
    "rack": {},
}  # fmt: skip


def _id(personality: Personality, kind: Kind, seed: int, cloud: str, name: str) -> str:
    """An id in the provider's form; the rack's machines are called by their host name."""
    if personality == "rack":
        return name
    prefix, length = _PREFIX[personality][kind]
    digest = hashlib.blake2b(f"{seed}\x1f{cloud}\x1f{kind.value}\x1f{name}".encode(), digest_size=12).hexdigest()
    if personality == "aws":
        return prefix + digest[:length]
    number, text = int(digest, 16), ""
    for _ in range(length):
        number, rest = divmod(number, 36)
        text += _LETTERS[rest]
    return prefix + text


def jitter(seed: int, at: datetime, low: float, high: float) -> timedelta:
    """A delay between ``low`` and ``high`` seconds that depends on the machine and the moment alone."""
    share = seed_of(seed, at.isoformat()) / 2**64
    return timedelta(seconds=round(low + (high - low) * share))
