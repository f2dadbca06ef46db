"""The simulated adapter under the adapter contract: its own world, scripted through the world's methods."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from pydantic import SecretStr

from costguard.domain.resource import ChargeType, State
from costguard.domain.usage import Metric
from costguard.ports import AccountSpec, Adapter
from costguard.testing.adapter_contract import AdapterContract
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import BillLine, Calls, Fault, Mutation, SkuFacts, VmFacts
from costguard_simulated import SimulatedAccount
from costguard_simulated import adapter as simulated
from costguard_simulated.client import PAGE_SIZE
from costguard_simulated.scenario import BillLineSpec, FaultSpec, MachineSpec
from costguard_simulated.world import World, world_for

CLOUD = "only"
SCENARIO = """
name: contract
start: "2026-03-05T12:00:00+00:00"
clouds:
  only:
    personality: alibaba
    account_id: "4242"
    currency: CNY
    regions: [cn-beijing, cn-hangzhou]
    billing: {delay: 0m}
    balance: {available: "1000.00"}
    skus:
      cpu.large: {vcpus: 2, memory_gib: 4, price: "0.39", per_month: "100.00"}
      gpu.one: {vcpus: 8, memory_gib: 31, price: "7.966", gpu: {model: T4, memory_mib: 15360}}
      gpu.two: {vcpus: 16, memory_gib: 60, price: "21.2", gpu: {model: A10, count: 2, memory_mib: 23028}}
      zz9.plural-alpha: {vcpus: 4, memory_gib: 8, undescribed: true}
"""
_OPERATIONS = {
    Calls.ALL: ["*"],
    Calls.INVENTORY: ["instances"],
    Calls.USAGE: ["usage"],
    Calls.MUTATION: ["stop", "start", "release", "set_release_time", "tags", "run_command"],
}
_CODES = {
    Fault.THROTTLED: "Throttling",
    Fault.UNAUTHENTICATED: "InvalidAccessKeyId",
    Fault.FORBIDDEN: "Forbidden",
    Fault.SERVER_ERROR: "InternalError",
    Fault.RESET: "ConnectionReset",
    Fault.SILENT: "RequestTimeout",
    Fault.LOST_ANSWER: "ConnectionReset",
}
_WORDS = {"tags": "tag"}


class SimulatedCloud:
    """The contract's fake account, on a world of its own."""

    account_id = "4242"
    regions = ("cn-beijing", "cn-hangzhou")
    page_size = PAGE_SIZE
    skus = (
        SkuFacts("cpu.large"),
        SkuFacts("gpu.one", "T4", Decimal(1), 15360),
        SkuFacts("gpu.two", "A10", Decimal(2), 23028),
    )
    charge_types = frozenset({ChargeType.ON_DEMAND, ChargeType.SPOT, ChargeType.PREPAID})
    refused_stops = (
        VmFacts(name="locked", protected=True),
        VmFacts(name="one-time", charge_type=ChargeType.SPOT, variant="one-time"),
    )
    secrets = ("AK-of-the-contract", "SK-of-the-contract")

    def __init__(self, scenario: Path) -> None:
        self.clock = FakeClock()
        self.scenario = scenario
        self.world: World = world_for(self.clock, str(scenario))

    def add(self, *vms: VmFacts) -> list[str]:
        return self.world.add(CLOUD, [self._spec(vm) for vm in vms])

    def _spec(self, vm: VmFacts) -> MachineSpec:
        created = vm.created_at or vm.started_at or self.clock.now() - timedelta(hours=6)
        return MachineSpec(
            name=vm.name,
            sku=vm.sku or "cpu.large",
            region=vm.region or self.regions[0],
            charge=vm.charge_type,
            created=created - self.world.start,
            started=vm.started_at - self.world.start if vm.started_at else None,
            stopped=timedelta(hours=-2) if vm.state is State.STOPPED else None,
            tags=dict(vm.tags),
            protected=vm.protected,
            one_time=vm.variant == "one-time",
            group=vm.group,
            silent=True,
            disk_gib=0,
        )

    def remove(self, vm_id: str) -> None:
        self.world.remove(CLOUD, vm_id)

    def set_raw_state(self, vm_id: str, word: str) -> None:
        self.world.set_raw_state(vm_id, word)

    def state(self, vm_id: str) -> State:
        machine = self.world.machine(CLOUD, vm_id)
        phase = self.world.phase(machine, self.clock.now()) if machine else None
        return phase.state if phase else State.GONE

    def settle(self) -> None:
        self.clock.advance(timedelta(minutes=2))

    def fail(self, fault: Fault, *, on: Calls = Calls.ALL, times: int | None = None) -> None:
        after = fault is Fault.LOST_ANSWER
        code = _CODES.get(fault, "MalformedResponse")
        for operation in _OPERATIONS[on]:
            self.world.inject(FaultSpec(code=code, operation=operation, times=times, after_effect=after))

    def heal(self) -> None:
        self.world.set_faults([])

    def deny_region(self, region: str) -> None:
        self.world.inject(FaultSpec(code="Forbidden", region=region))

    def mutations(self) -> Sequence[Mutation]:
        return [
            Mutation(_WORDS.get(seen.operation, seen.operation), seen.target, seen.token)
            for seen in self.world.attempts(CLOUD)
        ]

    def signatures(self) -> Sequence[str]:
        return []

    def set_samples(
        self, vm_id: str, metric: Metric, points: Sequence[tuple[datetime, float]], gpu_index: int | None = None
    ) -> None:
        self.world.set_readings(vm_id, metric, gpu_index, points)

    def fail_usage(self, vm_ids: Collection[str]) -> frozenset[str]:
        self.world.inject(FaultSpec(operation="usage", machines=sorted(vm_ids)))
        return frozenset(vm_ids)

    def bill(self, lines: Sequence[BillLine]) -> None:
        zone = ZoneInfo("Asia/Shanghai")
        specs = [
            BillLineSpec(
                day=datetime.combine(line.day, time(12), tzinfo=zone).astimezone(UTC) - self.world.start,
                service=line.service,
                cost=line.cost.amount,
                category=line.category,
            )
            for line in lines
        ]
        self.world.set_bill_lines(CLOUD, specs)


class TestSimulated(AdapterContract):
    @pytest.fixture
    def adapter(self) -> Adapter:
        return simulated

    @pytest.fixture
    def cloud(self, tmp_path: Path) -> SimulatedCloud:
        scenario = tmp_path / "contract.yaml"
        scenario.write_text(SCENARIO, encoding="utf-8")
        return SimulatedCloud(scenario)

    @pytest.fixture
    def spec(self, cloud: SimulatedCloud) -> AccountSpec:
        key_id, secret = cloud.secrets
        keys = SimulatedAccount(scenario=str(cloud.scenario), access_key_id=key_id, access_key_secret=SecretStr(secret))
        return AccountSpec("contract", credentials=keys)
