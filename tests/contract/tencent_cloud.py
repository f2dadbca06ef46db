"""The contract's words in Tencent Cloud's own: a CloudFixture over the strict server.

Written from the API's facts alone. What it decides where they are silent: a sample's stamp opens its period; network
traffic is the sum of four rates in Mbit/s; a group shows in the tag that auto scaling sets; a stop is refused to what
is isolated for its safety and to what does not support it (the lock against destruction guards no stop); nothing tells
when a box was last started, so that a box known by its start alone was made then.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from costguard.domain.charge import ChargeCategory
from costguard.domain.resource import ChargeType, State
from costguard.domain.usage import Metric
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import BillLine, Calls, Fault, Mutation, SkuFacts, VmFacts
from tests.fakes.tencent.cvm import PAGE, zones
from tests.fakes.tencent.ledger import ADJUSTMENT, POSTPAID, REFUND, RENEWAL, Line, of_day
from tests.fakes.tencent.server import OWNER, SECRET_ID, SECRET_KEY, TencentServer
from tests.fakes.tencent.types import SKUS, known

_STATES = {
    "PENDING": State.PENDING,
    "STARTING": State.PENDING,
    "REBOOTING": State.PENDING,
    "RUNNING": State.RUNNING,
    "STOPPING": State.STOPPING,
    "STOPPED": State.STOPPED,
    "TERMINATING": State.DELETING,
    "SHUTDOWN": State.DELETING,
}
_CHARGES = {
    ChargeType.ON_DEMAND: "POSTPAID_BY_HOUR",
    ChargeType.SPOT: "SPOTPAID",
    ChargeType.PREPAID: "PREPAID",
    ChargeType.UNKNOWN: "PAYBYTHEMOON",
}
_VARIANTS: dict[str, dict[str, Any]] = {
    "": {},
    "isolated": {"restrict": "PROTECTIVELY_ISOLATED"},
    "not-supported": {"supported": False},
    "local-disk": {"local_data_disk": True},
}
_ACTIONS = {
    ChargeCategory.USAGE: (POSTPAID, "postPay"),
    ChargeCategory.PURCHASE: (RENEWAL, "prePay"),
    ChargeCategory.CREDIT: (REFUND, "prePay"),
    ChargeCategory.ADJUSTMENT: (ADJUSTMENT, "postPay"),
}
_GROUP_TAG = "tencentcloud:autoscaling:auto-scaling-group-id"
_BYTES_PER_MBIT = 125_000


class TencentCloud:
    """One account on loopback; ``server`` is the machinery beneath."""

    def __init__(self, server: TencentServer) -> None:
        self.server = server
        for sku in SKUS:
            for hours, share in ((30, "0.31"), (9, "0.42"), (2, "0.39")):
                price = server.catalog.list_prices[sku.sku] * Decimal(share)
                at = self.clock.now() - timedelta(hours=hours)
                server.catalog.quote(zones(self.regions[0])[0], sku.sku, at, f"{price:.4f}")

    @property
    def clock(self) -> FakeClock:
        return self.server.clock

    @property
    def account_id(self) -> str:
        return OWNER

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
        return VmFacts(variant="isolated"), VmFacts(variant="not-supported")

    @property
    def secrets(self) -> tuple[str, ...]:
        return SECRET_ID, SECRET_KEY

    def add(self, *vms: VmFacts) -> list[str]:
        with self.server.lock:
            return [self._add(vm) for vm in vms]

    def _add(self, vm: VmFacts) -> str:
        expires = self.clock.now() + timedelta(days=20) if vm.charge_type is ChargeType.PREPAID else None
        box = self.server.cvm.add(
            vm.region or self.regions[0],
            vm.sku or SKUS[0].sku,
            name=vm.name,
            state=next(word for word, state in _STATES.items() if state is vm.state),
            tags={**vm.tags, **({_GROUP_TAG: vm.group} if vm.group else {})},
            created=vm.created_at or vm.started_at or self.clock.now() - timedelta(hours=5),
            charge=_CHARGES[vm.charge_type],
            expires=expires,
            protected=vm.protected,
            **_VARIANTS[vm.variant],
        )
        return box.id

    def remove(self, vm_id: str) -> None:
        with self.server.lock:
            del self.server.cvm.boxes[vm_id]

    def set_raw_state(self, vm_id: str, word: str) -> None:
        with self.server.lock:
            self.server.cvm.boxes[vm_id].state = word

    def state(self, vm_id: str) -> State:
        with self.server.lock:
            self.server.cvm.ripen()
            box = self.server.cvm.boxes.get(vm_id)
            return State.GONE if box is None else _STATES.get(box.state, State.UNKNOWN)

    def settle(self) -> None:
        with self.server.lock:
            self.server.cvm.settle()

    def fail(self, fault: Fault, *, on: Calls = Calls.ALL, times: int | None = None) -> None:
        self.server.fail(fault, on=self.server.on(on), times=times)

    def heal(self) -> None:
        self.server.heal()
        with self.server.lock:
            self.server.denied.clear()
            self.server.monitor.destroyed.clear()

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
        """Raises ValueError for a card's own values: the public dimension is the instance alone."""
        if gpu_index is not None:
            raise ValueError("Tencent Cloud tells the mean over the cards only")
        with self.server.lock:
            for name, scale in self._parts(vm_id, metric).items():
                self.server.monitor.put(name, vm_id, {at: value * scale for at, value in points})
            if metric is Metric.GPU_POWER:
                watts = float(known(self.server.cvm.boxes[vm_id].type).watts)
                self.server.monitor.put("GpuPowLimit", vm_id, dict.fromkeys((at for at, _ in points), watts))

    def _parts(self, vm_id: str, metric: Metric) -> dict[str, float]:
        """Monitor's names, and what one domain unit is in them. Raises KeyError for what Monitor does not tell."""
        kind = known(self.server.cvm.boxes[vm_id].type)
        return {
            Metric.GPU_UTIL: {"GpuUtil": 1.0},
            Metric.GPU_MEMORY: {"GpuMemUsage": 1.0},
            Metric.GPU_POWER: {"GpuPowUsage": 1.0, "GpuPowDraw": kind.watts / 100},
            Metric.CPU_CORES: {"CPUUsage": 100 / kind.cpu, "BaseCpuUsage": 100 / kind.cpu},
            Metric.NETWORK: {
                name: share / _BYTES_PER_MBIT
                for name, share in (
                    ("LanIntraffic", 0.5), ("LanOuttraffic", 0.25), ("WanIntraffic", 0.125), ("WanOuttraffic", 0.125),
                )
            },
        }[metric]  # fmt: skip

    def fail_usage(self, vm_ids: Collection[str]) -> frozenset[str]:
        """A call that names one of them fails whole; whoever cuts the batch smaller has all the others."""
        with self.server.lock:
            self.server.monitor.destroyed |= set(vm_ids)
        return frozenset(vm_ids)

    def bill(self, lines: Sequence[BillLine]) -> None:
        with self.server.lock:
            self.server.bills.lines = [_line(line) for line in lines]


@contextmanager
def tencent_cloud() -> Iterator[TencentCloud]:
    """A fresh, empty account; it ends with the block."""
    with TencentServer() as server:
        yield TencentCloud(server)


def _line(line: BillLine) -> Line:
    action, mode = _ACTIONS[line.category]
    return of_day(line.day, line.service, Decimal(line.cost.plain()), line.vm_id or "", action=action, mode=mode)
