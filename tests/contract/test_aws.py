"""costguard_aws under the adapter contract, against a strict account on loopback."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr

import costguard_aws
from costguard.domain.charge import ChargeCategory
from costguard.domain.resource import ChargeType, State
from costguard.domain.usage import Metric
from costguard.ports import AccountSpec, Adapter
from costguard.testing.adapter_contract import AdapterContract
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import BillLine, Calls, Fault, Mutation, SkuFacts, VmFacts
from tests.fakes.aws import signature
from tests.fakes.aws.ec2 import PAGE
from tests.fakes.aws.server import ACCOUNT, KEY_ID, SECRET, AwsServer
from tests.fakes.aws.types import SKUS, TYPES

_STATES = {"pending": State.PENDING, "running": State.RUNNING, "stopping": State.STOPPING, "stopped": State.STOPPED}
_LIFECYCLES: dict[ChargeType, dict[str, Any]] = {
    ChargeType.ON_DEMAND: {},
    ChargeType.SPOT: {"lifecycle": "spot", "spot_type": "persistent"},
    ChargeType.RESERVED: {"lifecycle": "capacity-block"},
    ChargeType.UNKNOWN: {"lifecycle": "lifecycle-of-2027"},
}
_VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    "one-time": {"lifecycle": "spot", "spot_type": "one-time"},
    "instance-store": {"root": "instance-store"},
}
_GPU_NAMES = {
    Metric.GPU_UTIL: "nvidia_smi_utilization_gpu",
    Metric.GPU_MEMORY: "nvidia_smi_memory_used",
    Metric.GPU_POWER: "nvidia_smi_power_draw",
}
_RECORD_TYPES = {ChargeCategory.USAGE: "Usage", ChargeCategory.TAX: "Tax", ChargeCategory.CREDIT: "Credit"}


class AwsCloud:
    """The contract's words in AWS's own."""

    def __init__(self, server: AwsServer) -> None:
        self.server = server
        for sku in SKUS:
            self.server.pricing.offers["us-east-1", sku.sku] = [("12.2400000000", "2026-01-01T00:00:00Z")]
            for hours, price in ((30, "3.1"), (9, "4.2"), (2, "3.9")):
                self.server.ec2.spot_prices.append(
                    {
                        "InstanceType": sku.sku,
                        "AvailabilityZone": "us-east-1a",
                        "ProductDescription": "Linux/UNIX",
                        "SpotPrice": price,
                        "Timestamp": self.clock.now() - timedelta(hours=hours),
                    }
                )

    @property
    def clock(self) -> FakeClock:
        return self.server.clock

    @property
    def account_id(self) -> str:
        return ACCOUNT

    @property
    def regions(self) -> tuple[str, ...]:
        return self.server.regions

    @property
    def page_size(self) -> int:
        return PAGE

    @property
    def skus(self) -> tuple[SkuFacts, ...]:
        return SKUS

    @property
    def charge_types(self) -> frozenset[ChargeType]:
        return frozenset(_LIFECYCLES)

    @property
    def refused_stops(self) -> tuple[VmFacts, ...]:
        return VmFacts(protected=True), VmFacts(variant="one-time"), VmFacts(variant="instance-store")

    @property
    def secrets(self) -> tuple[str, ...]:
        return KEY_ID, SECRET

    def add(self, *vms: VmFacts) -> list[str]:
        made = []
        for vm in vms:
            ago = self.clock.now() - timedelta(hours=5)
            tags = {"Name": vm.name, **vm.tags}
            if vm.group:
                tags["aws:autoscaling:groupName"] = vm.group
            box = self.server.ec2.add(
                vm.region or self.regions[0],
                vm.sku or SKUS[0].sku,
                state=next(word for word, state in _STATES.items() if state is vm.state),
                tags=tags,
                created=vm.created_at or ago,
                launched=vm.started_at or vm.created_at or ago,
                protected=vm.protected,
                group=vm.group,
                **{**_LIFECYCLES[vm.charge_type], **_VARIANTS[vm.variant]},
            )
            made.append(box.id)
        return made

    def remove(self, vm_id: str) -> None:
        del self.server.ec2.boxes[vm_id]

    def set_raw_state(self, vm_id: str, word: str) -> None:
        self.server.ec2.boxes[vm_id].state = word

    def state(self, vm_id: str) -> State:
        return _STATES[self.server.ec2.boxes[vm_id].state]

    def settle(self) -> None:
        self.server.ec2.settle()

    def fail(self, fault: Fault, *, on: Calls = Calls.ALL, times: int | None = None) -> None:
        self.server.fail(fault, on=self.server.on(on), times=times)

    def heal(self) -> None:
        self.server.heal()
        self.server.denied.clear()
        self.server.cloudwatch.broken.clear()

    def deny_region(self, region: str) -> None:
        self.server.denied.add(region)

    def mutations(self) -> Sequence[Mutation]:
        return self.server.mutations()

    def signatures(self) -> Sequence[str]:
        return [signature.scope(request)[3] for request in self.server.requests]

    def set_samples(
        self, vm_id: str, metric: Metric, points: Sequence[tuple[datetime, float]], gpu_index: int | None = None
    ) -> None:
        box = self.server.ec2.boxes[vm_id]
        kind = TYPES[box.type]
        if metric in _GPU_NAMES:
            scale = {
                Metric.GPU_UTIL: 1.0,
                Metric.GPU_MEMORY: kind.gpu_memory_mib / 100,
                Metric.GPU_POWER: kind.watts / 100,
            }[metric]
            dimensions = {
                "InstanceId": vm_id,
                "InstanceType": box.type,
                "name": f"Tesla {kind.model}",
                "arch": "Turing",
            }
            if gpu_index is not None:
                dimensions["index"] = str(gpu_index)
            raw = {end - timedelta(seconds=60): value * scale for end, value in points}
            self.server.cloudwatch.put("CWAgent", _GPU_NAMES[metric], dimensions, raw)
            return
        parts = {
            Metric.CPU_CORES: {"CPUUtilization": 100 / kind.vcpus},
            Metric.NETWORK: {"NetworkIn": 300 * 0.75, "NetworkOut": 300 * 0.25},
            Metric.DISK: {"EBSReadBytes": 300 * 0.5, "EBSWriteBytes": 300 * 0.5},
        }[metric]
        for name, scale in parts.items():
            raw = {end - timedelta(seconds=300): value * scale for end, value in points}
            self.server.cloudwatch.put("AWS/EC2", name, {"InstanceId": vm_id}, raw)

    def fail_usage(self, vm_ids: Collection[str]) -> frozenset[str]:
        self.server.cloudwatch.broken.update(vm_ids)
        return frozenset(vm_ids)

    def bill(self, lines: Sequence[BillLine]) -> None:
        self.server.costs.lines = [
            (line.day, line.service, _RECORD_TYPES[line.category], line.cost.plain(), line.cost.plain())
            for line in lines
        ]


class TestAws(AdapterContract):
    @pytest.fixture
    def adapter(self) -> Adapter:
        return costguard_aws.adapter

    @pytest.fixture
    def cloud(self) -> Iterator[AwsCloud]:
        with AwsServer() as server:
            yield AwsCloud(server)

    @pytest.fixture
    def spec(self, cloud: AwsCloud) -> AccountSpec:
        keys = costguard_aws.AwsCredentials(access_key_id=KEY_ID, secret_access_key=SecretStr(SECRET))
        return AccountSpec("prod", credentials=keys, endpoint=cloud.server.url)
