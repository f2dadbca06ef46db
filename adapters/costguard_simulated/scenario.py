"""Scenario: the YAML file that describes clouds, machines, people and faults, and its strict model.

Times are offsets from ``start`` (``-26h``, ``40m``, ``0m``). Prices are decimal strings in the cloud's currency per
hour. Nothing here knows what is happening; the world derives that.
"""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError

from costguard.domain.charge import ChargeCategory
from costguard.domain.resource import ChargeType, Kind
from costguard.domain.time import parse_duration
from costguard.errors import ConfigError, ConfigErrors
from costguard_simulated import scenario_path, started
from costguard_simulated.errors import CODES
from costguard_simulated.workload import KINDS_OF_WORK


def _offset(value: object) -> object:
    if isinstance(value, str):
        text = value.strip()
        return -parse_duration(text[1:]) if text.startswith("-") else parse_duration(text)
    return value


def _no_float(value: object) -> object:
    if isinstance(value, float):
        raise ValueError('money is never a float; quote it: "34.74"')
    return value


def _known_work(value: str) -> str:
    if value not in KINDS_OF_WORK:
        raise ValueError(f"unknown work {value!r}; one of {', '.join(sorted(KINDS_OF_WORK))}")
    return value


def _known_code(value: str) -> str:
    if value not in CODES:
        raise ValueError(f"unknown error code {value!r}; one of {', '.join(CODES)}")
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(f"not an IANA time zone: {value!r}; write one like Asia/Shanghai") from None
    return value


Offset = Annotated[timedelta, BeforeValidator(_offset)]
Amount = Annotated[Decimal, BeforeValidator(_no_float)]
WorkName = Annotated[str, AfterValidator(_known_work)]
ErrorCode = Annotated[str, AfterValidator(_known_code)]
ZoneName = Annotated[str, AfterValidator(_zone)]
Personality = Literal["alibaba", "tencent", "aws", "rack"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GpuSpec(_Model):
    model: str
    count: Decimal = Decimal(1)
    memory_mib: int


class Sku(_Model):
    """An instance type. ``price`` on demand per hour; None is a type without a public price. ``per_month`` prepaid.
    ``spot`` is the usual share of the on-demand price. ``local_disk``: data that a stop loses, and in the Alibaba-like
    cloud a type whose bill a stop does not end. ``scarce``: hard to start again. ``undescribed``: the cloud does not
    say what its GPUs are, nor whether it has any."""

    vcpus: int
    memory_gib: int
    gpu: GpuSpec | None = None
    price: Amount | None = None
    per_month: Amount | None = None
    spot: Decimal = Decimal("0.35")
    local_disk: bool = False
    scarce: bool = False
    undescribed: bool = False


class WorkSpec(_Model):
    since: Offset
    do: WorkName
    cards: int | None = None
    level: float | None = None


class Hook(_Model):
    """What a command on this machine does: its exit code after a while, or nothing for ever (``hangs``)."""

    exit_code: int = 0
    takes: Offset = timedelta(seconds=40)
    output: str = "checkpoint saved"
    hangs: bool = False
    unreachable: bool = False


class MachineSpec(_Model):
    """A machine: vm, notebook, job or endpoint. ``count`` makes several of it (``name-1`` …). ``tags`` null: the
    account may not read them. ``agent``: until when the monitoring agent reports GPU use (``never``, an offset, or
    always). ``silent``: not even the host's metrics arrive. ``stopped``: since when it is switched off."""

    name: str
    sku: str
    region: str
    zone: str = "a"
    kind: Kind = Kind.VM
    charge: ChargeType = ChargeType.ON_DEMAND
    count: int = Field(1, ge=1)
    created: Offset = timedelta(days=-20)
    started: Offset | None = None
    stopped: Offset | None = None
    tags: dict[str, str] | None = Field(default_factory=dict)
    creator: str | None = None
    protected: bool = False
    one_time: bool = False
    group: str | None = None
    public_ip: bool = False
    agent: Offset | Literal["always", "never"] = "always"
    silent: bool = False
    disk_gib: int = 100
    spot_cap: Amount | None = None
    auto_renew: bool = False
    hook: Hook = Hook()
    work: list[WorkSpec] = Field(default_factory=list)

    @model_validator(mode="after")
    def _ascending(self) -> "MachineSpec":
        if any(b.since <= a.since for a, b in zip(self.work, self.work[1:], strict=False)):
            raise ValueError("work must ascend in time")
        return self


class HoldingSpec(_Model):
    """A disk, address or snapshot that belongs to no machine."""

    name: str
    kind: Literal[Kind.DISK, Kind.ADDRESS, Kind.SNAPSHOT]
    region: str
    size_gib: int | None = None
    created: Offset = timedelta(days=-40)
    detached: Offset | None = None
    tags: dict[str, str] | None = Field(default_factory=dict)


class Spike(_Model):
    """From ``at`` for ``lasts``, the spot price of these types is ``share`` of the on-demand price."""

    at: Offset
    lasts: Offset
    share: Decimal
    skus: list[str]
    zone: str | None = None


class BillingSpec(_Model):
    """``delay``: how long after a local day its rows appear. ``discount`` off the list price; ``voucher`` the share of
    the payable amount that vouchers pay; both as fractions."""

    delay: Offset = timedelta(hours=8)
    discount: Decimal = Decimal(0)
    voucher: Decimal = Decimal(0)


class BillLineSpec(_Model):
    """A line beside the machines and disks: traffic, a bucket, support, a refund (negative, category Credit)."""

    day: Offset
    service: str
    cost: Amount
    category: ChargeCategory = ChargeCategory.USAGE


class BalanceSpec(_Model):
    """The prepaid balance at ``start``; what is spent from then on comes off."""

    available: Amount
    frozen: Amount = Decimal(0)


class BudgetSpec(_Model):
    """A budget of a calendar month, kept at the cloud."""

    name: str
    limit: Amount


class QuotaSpec(_Model):
    name: str
    region: str
    limit: float
    counts: Literal["instances", "gpus", "vcpus"]


class StoragePrices(_Model):
    disk_gib: Amount = Decimal("0.0014")
    snapshot_gib: Amount = Decimal("0.00017")
    address: Amount = Decimal("0.02")


class CloudSpec(_Model):
    personality: Personality
    account_id: str
    currency: str = Field(pattern="[A-Z]{3}")
    billing_timezone: ZoneName = "Asia/Shanghai"
    regions: list[str]
    skus: dict[str, Sku]
    storage: StoragePrices = StoragePrices()
    billing: BillingSpec = BillingSpec()
    balance: BalanceSpec | None = None
    budgets: list[BudgetSpec] = Field(default_factory=list)
    quotas: list[QuotaSpec] = Field(default_factory=list)
    spikes: list[Spike] = Field(default_factory=list)
    bill_lines: list[BillLineSpec] = Field(default_factory=list)
    machines: list[MachineSpec] = Field(default_factory=list)
    holdings: list[HoldingSpec] = Field(default_factory=list)

    @model_validator(mode="after")
    def _known_names(self) -> "CloudSpec":
        for machine in self.machines:
            if machine.sku not in self.skus:
                raise ValueError(f"machine {machine.name}: no sku {machine.sku!r}")
            if machine.region not in self.regions:
                raise ValueError(f"machine {machine.name}: no region {machine.region!r}")
            if machine.charge is ChargeType.PREPAID and self.skus[machine.sku].per_month is None:
                raise ValueError(f"machine {machine.name}: sku {machine.sku!r} has no per_month")
        return self


class ActSpec(_Model):
    """What a person does at ``at``, or so long after somebody else stopped the machine (``after_stop``).

    start (if stopped), restart, stop, retag, reclaim (the provider takes a spot machine) happen in the world itself.
    keep and claim are costguard's levers: whoever drives the world performs them through costguard. ``then``: what the
    machine does from then on.
    """

    who: str
    do: Literal["start", "restart", "stop", "retag", "reclaim", "keep", "claim"]
    machine: str
    at: Offset | None = None
    after_stop: Offset | None = None
    lasts: Offset | None = None
    reason: str = ""
    tags: dict[str, str | None] = Field(default_factory=dict)
    then: WorkName | None = None

    @model_validator(mode="after")
    def _when(self) -> "ActSpec":
        if (self.at is None) == (self.after_stop is None):
            raise ValueError("an act has either `at` or `after_stop`")
        if self.after_stop is not None and self.do != "start":
            raise ValueError("`after_stop` goes with `do: start`")
        return self


class FaultSpec(_Model):
    """A call that goes wrong. ``operation`` is a name of the manifest's permissions table or ``*``; every ``every``-th
    matching call within [since, until) fails. ``after_effect``: the work is done first. ``empty``: a listing answers
    with nothing instead of an error. ``machines``: only metric reads of these names or ids."""

    code: ErrorCode = "InternalError"
    operation: str = "*"
    cloud: str | None = None
    region: str | None = None
    since: Offset = timedelta(0)
    until: Offset | None = None
    every: int = Field(1, ge=1)
    times: int | None = None
    after_effect: bool = False
    empty: bool = False
    machines: list[str] = Field(default_factory=list)


class Scenario(_Model):
    name: str
    seed: int = 1
    start: AwareDatetime
    timezone: ZoneName = "Asia/Shanghai"
    scale: int = Field(1, ge=1)
    clouds: dict[str, CloudSpec]
    people: list[ActSpec] = Field(default_factory=list)
    faults: list[FaultSpec] = Field(default_factory=list)

    @model_validator(mode="after")
    def _known_names(self) -> "Scenario":
        names: list[str] = []
        for cloud in self.clouds.values():
            for machine in cloud.machines:
                names += names_of(machine)
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"machine names are used twice: {', '.join(sorted(twice))}")
        for act in self.people:
            if act.machine not in names:
                raise ValueError(f"{act.who} acts on an unknown machine {act.machine!r}")
        for fault in self.faults:
            if fault.cloud is not None and fault.cloud not in self.clouds:
                raise ValueError(f"fault: no cloud {fault.cloud!r}")
        return self


def names_of(machine: MachineSpec) -> list[str]:
    """The names of a spec's machines: its own, or numbered ones."""
    if machine.count == 1:
        return [machine.name]
    return [f"{machine.name}-{number}" for number in range(1, machine.count + 1)]


def load(name: str, *, start: str | None = None, scale: int | None = None) -> Scenario:
    """A scenario from a path or a shipped name. ``start`` (ISO 8601 with a zone) and ``scale`` beat the file's.

    Raises ConfigErrors, each with its place in the file or its path in the document.
    """
    path = scenario_path(name)
    try:
        data = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise ConfigErrors([ConfigError(f"cannot read the scenario: {failure.strerror}", file=str(path))]) from None
    except MarkedYAMLError as failure:
        mark = failure.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise ConfigErrors(
            [ConfigError(failure.problem or "not YAML", file=str(path), line=line, column=column)]
        ) from None
    if isinstance(data, dict):
        if start is not None:
            try:
                data["start"] = started(start)
            except ValueError as failure:
                raise ConfigErrors([ConfigError(str(failure), file=str(path), path="start")]) from None
        if scale is not None:
            data["scale"] = scale
    try:
        return Scenario.model_validate(data)
    except ValidationError as failure:
        raise ConfigErrors(
            [
                ConfigError(
                    str(problem["msg"]), file=str(path), line=1, column=1, path=".".join(str(p) for p in problem["loc"])
                )
                for problem in failure.errors(include_url=False)
            ]
        ) from None
