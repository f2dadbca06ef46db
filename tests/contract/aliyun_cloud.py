"""The contract's words in Alibaba Cloud's own: a CloudFixture over the strict server.

Written from the API's facts alone. What it decides where they are silent: a metric row's timestamp is the end of its
period; network traffic is the sum of Internet and Intranet rates in bit/s; the lock that refuses a stop is the
security lock (deletion protection guards a release only).
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from costguard.domain.charge import ChargeCategory
from costguard.domain.resource import ChargeType, State
from costguard.domain.usage import Metric
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import BillLine, Calls, Fault, Mutation, SkuFacts, VmFacts
from tests.fakes.aliyun.bss import Line
from tests.fakes.aliyun.cms import INSTANCES_PER_CALL
from tests.fakes.aliyun.ecs import PAGE
from tests.fakes.aliyun.server import ACCOUNT, KEY_ID, SECRET, AliyunServer
from tests.fakes.aliyun.types import SKUS, known

_STATES = {
    "Pending": State.PENDING,
    "Starting": State.PENDING,
    "Running": State.RUNNING,
    "Stopping": State.STOPPING,
    "Stopped": State.STOPPED,
}
_CHARGES: dict[ChargeType, dict[str, Any]] = {
    ChargeType.ON_DEMAND: {},
    ChargeType.SPOT: {"spot": "SpotWithPriceLimit", "spot_limit": 9.5},
    ChargeType.PREPAID: {"charge": "PrePaid"},
    ChargeType.UNKNOWN: {"extra": {"InstanceChargeType": "PayByTheMoon"}},
}
_VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    "security-lock": {"locks": ["security"]},
    "arrears": {"locks": ["financial"]},
    "classic": {"network": "classic"},
}
_ITEMS = {
    ChargeCategory.USAGE: ("PayAsYouGoBill", "PayAsYouGo"),
    ChargeCategory.PURCHASE: ("SubscriptionOrder", "Subscription"),
    ChargeCategory.CREDIT: ("Refund", "PayAsYouGo"),
    ChargeCategory.ADJUSTMENT: ("Adjustment", "PayAsYouGo"),
}
_GROUP_TAG = "acs:autoscaling:scalingGroupId"


class AliyunCloud:
    """One account on loopback; ``server`` is the machinery beneath."""

    def __init__(self, server: AliyunServer) -> None:
        self.server = server
        zone = f"{self.regions[0]}-h"
        for sku in SKUS:
            for hours, share in ((30, "0.31"), (9, "0.42"), (2, "0.39")):
                price = server.market.list_prices[sku.sku] * Decimal(share)
                server.market.quote(zone, sku.sku, self.clock.now() - timedelta(hours=hours), f"{price:.3f}")

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
        return frozenset(_CHARGES)

    @property
    def refused_stops(self) -> tuple[VmFacts, ...]:
        return VmFacts(variant="security-lock"), VmFacts(variant="arrears")

    @property
    def secrets(self) -> tuple[str, ...]:
        return KEY_ID, SECRET

    def add(self, *vms: VmFacts) -> list[str]:
        with self.server.lock:
            return [self._add(vm) for vm in vms]

    def _add(self, vm: VmFacts) -> str:
        ago = self.clock.now() - timedelta(hours=5)
        fields = {**_CHARGES[vm.charge_type], **_VARIANTS["security-lock" if vm.protected else vm.variant]}
        if vm.charge_type is ChargeType.PREPAID:
            fields["expires"] = self.clock.now() + timedelta(days=20)
        box = self.server.ecs.add(
            vm.region or self.regions[0],
            vm.sku or SKUS[0].sku,
            name=vm.name,
            state=next(word for word, state in _STATES.items() if state is vm.state),
            tags={**vm.tags, **({_GROUP_TAG: vm.group} if vm.group else {})},
            created=vm.created_at or ago,
            started=vm.started_at or vm.created_at or ago,
            **fields,
        )
        return box.id

    def remove(self, vm_id: str) -> None:
        with self.server.lock:
            del self.server.ecs.boxes[vm_id]

    def set_raw_state(self, vm_id: str, word: str) -> None:
        with self.server.lock:
            self.server.ecs.boxes[vm_id].state = word

    def state(self, vm_id: str) -> State:
        with self.server.lock:
            self.server.ecs.ripen()
            box = self.server.ecs.boxes.get(vm_id)
            return State.GONE if box is None else _STATES.get(box.state, State.UNKNOWN)

    def settle(self) -> None:
        with self.server.lock:
            self.server.ecs.settle()

    def fail(self, fault: Fault, *, on: Calls = Calls.ALL, times: int | None = None) -> None:
        self.server.fail(fault, on=self.server.on(on), times=times)

    def heal(self) -> None:
        self.server.heal()
        with self.server.lock:
            self.server.denied.clear()
            self.server.cms.broken.clear()

    def deny_region(self, region: str) -> None:
        with self.server.lock:
            self.server.denied.add(region)

    def mutations(self) -> Sequence[Mutation]:
        return self.server.mutations()

    def signatures(self) -> Sequence[str]:
        return self.server.signatures()

    def set_samples(
        self, vm_id: str, metric: Metric, points: Sequence[tuple[datetime, float]], gpu_index: int | None = None
    ) -> None:
        with self.server.lock:
            for name, scale in self._parts(vm_id, metric, gpu_index is not None).items():
                self.server.cms.put(name, vm_id, {at: value * scale for at, value in points}, gpu_index)

    def _parts(self, vm_id: str, metric: Metric, card: bool) -> dict[str, float]:
        """CloudMonitor's names, and what one domain unit is in them."""
        kind = known(self.server.ecs.boxes[vm_id].type)
        level = "" if card else "instance_"
        return {
            Metric.GPU_UTIL: {f"{level}gpu_gpu_usedutilization": 1.0},
            Metric.GPU_MEMORY: {f"{level}gpu_memory_usedutilization": 1.0},
            Metric.GPU_POWER: {f"{level}gpu_power_readings_power_draw": kind.watts / 100},
            Metric.CPU_CORES: {"CPUUtilization": 100 / kind.vcpus},
            Metric.NETWORK: {
                "IntranetInRate": 8 * 0.5, "IntranetOutRate": 8 * 0.25,
                "InternetInRate": 8 * 0.125, "InternetOutRate": 8 * 0.125,
            },
            Metric.DISK: {"DiskReadBPS": 0.75, "DiskWriteBPS": 0.25},
        }[metric]  # fmt: skip

    def fail_usage(self, vm_ids: Collection[str]) -> frozenset[str]:
        """A call that names one of them fails whole, so that all fifty of its batch are hit."""
        with self.server.lock:
            unlucky: set[str] = set()
            for region in self.regions:
                ids = [box.id for box in self.server.ecs.here(region)]
                for start in range(0, len(ids), INSTANCES_PER_CALL):
                    batch = ids[start : start + INSTANCES_PER_CALL]
                    unlucky |= set(batch) if not set(batch).isdisjoint(vm_ids) else set()
            self.server.cms.broken |= unlucky
            return frozenset(unlucky)

    def bill(self, lines: Sequence[BillLine]) -> None:
        with self.server.lock:
            self.server.bills.lines = [_line(line) for line in lines]


@contextmanager
def aliyun_cloud() -> Iterator[AliyunCloud]:
    """A fresh, empty account; it ends with the block."""
    with AliyunServer() as server:
        yield AliyunCloud(server)


def _line(line: BillLine) -> Line:
    item, subscription = _ITEMS[line.category]
    row = Line(line.day, line.service, Decimal(line.cost.plain()), line.vm_id or "")
    return replace(row, item=item, subscription=subscription)
