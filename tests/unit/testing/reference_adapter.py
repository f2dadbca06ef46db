"""A cloud in memory and its adapter: as small as they can be and still pass the adapter contract.

``wrong`` makes one mistake that adapters really make; the contract must catch each of them.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import NoReturn
from zoneinfo import ZoneInfo

from costguard.domain.charge import Charge, Stage
from costguard.domain.money import Money
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
from costguard.domain.usage import Metric, Series, Statistic, UsageSample
from costguard.errors import (
    AuthFailed,
    InvalidState,
    NotFound,
    PermissionDenied,
    ProviderError,
    Throttled,
    TimedOut,
    Unavailable,
)
from costguard.ports import AccountSpec, Identity, PermissionProbe, PowerResult, UsageBatch
from costguard.testing.clock import FakeClock
from costguard.testing.cloud import BillLine, Calls, Fault, Mutation, SkuFacts, VmFacts

_ERRORS: dict[Fault, type[ProviderError]] = {
    Fault.THROTTLED: Throttled,
    Fault.UNAUTHENTICATED: AuthFailed,
    Fault.FORBIDDEN: PermissionDenied,
    Fault.SERVER_ERROR: Unavailable,
    Fault.RESET: Unavailable,
    Fault.SILENT: TimedOut,
    Fault.LOST_ANSWER: TimedOut,
}
_WORDS = {"on": State.RUNNING, "going down": State.STOPPING, "off": State.STOPPED, "coming up": State.PENDING}
_SHANGHAI = ZoneInfo("Asia/Shanghai")


@dataclass
class Box:
    id: str
    facts: VmFacts
    word: str
    created_at: datetime
    started_at: datetime
    samples: dict[int, dict[datetime, float]] = field(default_factory=lambda: defaultdict(dict))


class ReferenceCloud:
    """The CloudFixture and, through ``call``, the provider."""

    account_id = "4242"
    regions = ("north", "south")
    page_size = 3
    skus = (SkuFacts("cpu.large"), SkuFacts("gpu.two", "A10", Decimal(2), 24_576))
    charge_types = frozenset({ChargeType.ON_DEMAND, ChargeType.PREPAID})
    refused_stops = (VmFacts(protected=True),)
    secrets = ()

    def __init__(self, wrong: str = "") -> None:
        self.wrong = wrong
        self.clock = FakeClock()
        self.boxes: dict[str, Box] = {}
        self.lines: tuple[BillLine, ...] = ()
        self.denied: set[str] = set()
        self.unreadable: set[str] = set()
        self.seen: list[Mutation] = []
        self._faults: list[tuple[Fault, Calls, int | None]] = []

    def add(self, *vms: VmFacts) -> list[str]:
        ago = self.clock.now() - timedelta(hours=5)
        made = [f"box-{len(self.boxes) + n:05}" for n in range(len(vms))]
        for vm_id, vm in zip(made, vms, strict=True):
            facts = replace(vm, region=vm.region or self.regions[0], sku=vm.sku or self.skus[0].sku)
            word = next(word for word, state in _WORDS.items() if state is vm.state)
            self.boxes[vm_id] = Box(vm_id, facts, word, vm.created_at or ago, vm.started_at or ago)
        return made

    def remove(self, vm_id: str) -> None:
        del self.boxes[vm_id]

    def set_raw_state(self, vm_id: str, word: str) -> None:
        self.boxes[vm_id].word = word

    def state(self, vm_id: str) -> State:
        return _WORDS[self.boxes[vm_id].word]

    def settle(self) -> None:
        for box in self.boxes.values():
            box.word = {"going down": "off", "coming up": "on"}.get(box.word, box.word)

    def fail(self, fault: Fault, *, on: Calls = Calls.ALL, times: int | None = None) -> None:
        self._faults.append((fault, on, times))

    def heal(self) -> None:
        self._faults.clear()
        self.denied.clear()
        self.unreadable.clear()

    def deny_region(self, region: str) -> None:
        self.denied.add(region)

    def mutations(self) -> Sequence[Mutation]:
        return list(self.seen)

    def signatures(self) -> Sequence[str]:
        return []

    def set_samples(
        self, vm_id: str, metric: Metric, points: Sequence[tuple[datetime, float]], gpu_index: int | None = None
    ) -> None:
        self.boxes[vm_id].samples[gpu_index or 0].update(points)

    def fail_usage(self, vm_ids: Collection[str]) -> frozenset[str]:
        self.unreadable |= set(vm_ids)
        return frozenset(vm_ids)

    def bill(self, lines: Sequence[BillLine]) -> None:
        self.lines = tuple(lines)

    def next_fault(self, kind: Calls) -> Fault | None:
        for number, (fault, on, times) in enumerate(self._faults):
            if on in (Calls.ALL, kind):
                if times is not None:
                    self._faults[number : number + 1] = [(fault, on, times - 1)] if times > 1 else []
                return fault
        return None


class ReferenceConnection:
    """Every role that the manifest claims."""

    def __init__(self, spec: AccountSpec) -> None:
        cloud = spec.options["cloud"]
        assert isinstance(cloud, ReferenceCloud)
        self._cloud, self._account = cloud, spec.name
        self._last: Resource | None = None

    def _is(self, mistake: str) -> bool:
        return self._cloud.wrong == mistake

    def _raise(self, kind: type[ProviderError], operation: str) -> NoReturn:
        raise kind("the cloud said no", provider="reference", account=self._account, operation=operation)

    def _call(self, kind: Calls, operation: str, region: str = "", work: Callable[[], None] | None = None) -> None:
        if region in self._cloud.denied and not self._is("swallows denials"):
            self._raise(PermissionDenied, operation)
        fault = self._cloud.next_fault(kind)
        if work is not None and fault in (None, Fault.LOST_ANSWER):
            work()
        if fault is not None:
            if self._is("vendor errors leak"):
                raise ConnectionError(fault)
            self._raise(_ERRORS[fault], operation)

    # Connection

    def identity(self) -> Identity:
        self._call(Calls.INVENTORY, "WhoAmI")
        return Identity(self._cloud.account_id, "user/costguard")

    def regions(self) -> Sequence[str]:
        self._call(Calls.INVENTORY, "Regions")
        return self._cloud.regions

    def endpoints(self) -> Mapping[str, str]:
        return {}

    def close(self) -> None:
        """Nothing is open."""

    # Inventory

    def kinds(self) -> frozenset[Kind]:
        return frozenset({Kind.VM})

    def list(self, kind: Kind, region: str) -> Iterator[Resource]:
        boxes = [box for box in self._cloud.boxes.values() if box.facts.region == region]
        size = self._cloud.page_size
        for start in range(0, max(1, len(boxes)), size):
            try:
                self._call(Calls.INVENTORY, "List", region)
            except ProviderError:
                if self._is("a failure ends the listing"):
                    return
                raise
            yield from (self._resource(box) for box in boxes[start : start + size])
            if self._is("reads one page"):
                return
            if self._is("a full page is the last but one") and len(boxes) - start == size + 1:
                return

    def get(self, ref: ResourceRef) -> Resource:
        self._call(Calls.INVENTORY, "Get", ref.region)
        box = self._box(ref)
        found = replace(
            self._resource(box), protected="stop lock" if box.facts.protected else None, group=box.facts.group
        )
        if self._is("threads share an answer"):
            self._last = found
            threading.Event().wait(0.002)
            return self._last
        return found

    def _box(self, ref: ResourceRef) -> Box:
        if self._is("gone is a KeyError"):
            return self._cloud.boxes[ref.id]
        box = self._cloud.boxes.get(ref.id)
        if box is None:
            self._raise(NotFound, "Get")
        return box

    def _resource(self, box: Box) -> Resource:
        sku = {sku.sku: sku for sku in self._cloud.skus}.get(box.facts.sku)
        if sku is None:
            gpus: Gpus | None = UNKNOWN_GPUS
        else:
            gpus = Gpus(sku.gpu_model, sku.gpu_count, sku.gpu_memory_mib) if sku.gpu_model else None
        state = _WORDS.get(box.word, State.RUNNING if self._is("unknown is running") else State.UNKNOWN)
        started = box.started_at
        return Resource(
            ResourceRef("reference", self._account, box.facts.region, Kind.VM, box.id),
            box.facts.name,
            state,
            box.word,
            self._cloud.clock.now(),
            ChargeType.ON_DEMAND if self._is("one charge type") else box.facts.charge_type,
            box.facts.sku,
            gpus,
            created_at=box.created_at,
            started_at=started.replace(tzinfo=None) if self._is("naive times") else started,
            price=Money.zero("CNY") if self._is("unknown price is zero") else None,
            tags=dict(box.facts.tags),
        )

    # Usage

    def usage(
        self, resources: Sequence[Resource], metrics: frozenset[Metric], since: datetime, until: datetime
    ) -> UsageBatch:
        try:
            self._call(Calls.USAGE, "Usage")
        except PermissionDenied:
            if self._is("denied usage is silence"):
                return UsageBatch(())
            raise
        samples: list[UsageSample] = []
        failed: dict[ResourceRef, ProviderError] = {}
        for resource in resources:
            if resource.ref.id in self._cloud.unreadable:
                if self._is("one failure fails all"):
                    self._raise(Unavailable, "Usage")
                failed[resource.ref] = Unavailable("no answer", provider="reference")
            else:
                samples += self._samples(resource, since, until)
        return UsageBatch(tuple(samples), failed, calls=len(resources) if self._is("a call for each box") else 1)

    def _samples(self, resource: Resource, since: datetime, until: datetime) -> Iterator[UsageSample]:
        minute = timedelta(minutes=1)
        cards = self._cloud.boxes[resource.ref.id].samples
        if self._is("nothing is zero") and not cards:
            cards = {0: {until: 0.0}}
        if self._is("one card stands for all"):
            cards = {0: cards.get(0, {})}
        for index, points in sorted(cards.items()):
            series = Series(resource.ref, Metric.GPU_UTIL, index, "reference", Statistic.MAX)
            times = sorted(points, reverse=self._is("newest first"))
            for at in times:
                if since <= at <= until or self._is("more than was asked"):
                    yield UsageSample(series, at, points[at], minute)

    # Power

    def stop_effect(self, resource: Resource) -> StopEffect:
        prepaid = resource.charge_type is ChargeType.PREPAID and not self._is("prepaid saves money")
        return StopEffect(Ends.NO if prepaid else Ends.YES, still_billed=("disks",))

    def stop(self, ref: ResourceRef, token: str) -> PowerResult:
        if self._is("repeats a stop"):
            try:
                return self._power(ref, token, "stop", "on", "going down")
            except (TimedOut, Unavailable):
                pass
        return self._power(ref, token, "stop", "on", "going down")

    def start(self, ref: ResourceRef, token: str) -> PowerResult:
        result = self._power(ref, token, "start", "off", "coming up")
        if result is PowerResult.ACCEPTED and not self._is("the clock does not restart"):
            self._cloud.boxes[ref.id].started_at = self._cloud.clock.now()
        return result

    def _power(self, ref: ResourceRef, token: str, what: str, source: str, target: str) -> PowerResult:
        self._cloud.seen.append(Mutation(what, ref.id, token))
        box = self._box(ref)
        if box.facts.protected and what == "stop" and not self._is("locks are ignored"):
            self._raise(InvalidState, what)
        already = box.word != source

        def work() -> None:
            box.word = box.word if already else target

        self._call(Calls.MUTATION, what, work=work)
        if already and self._is("already is an error"):
            self._raise(InvalidState, what)
        return PowerResult.ALREADY if already else PowerResult.ACCEPTED

    # Probe

    def probe(self, region: str, candidates: Sequence[Resource]) -> Sequence[PermissionProbe]:
        if self._is("the probe stops a box") and candidates:
            self.stop(candidates[0].ref, "probe")
        try:
            self._call(Calls.MUTATION, "Stop")
        except PermissionDenied:
            return [PermissionProbe("stop", "box:Stop", self._is("the probe always says yes"))]
        return [PermissionProbe("stop", "box:Stop", True)]

    # Billing

    def charges(self, start: datetime, end: datetime) -> Iterator[Charge]:
        for number, line in enumerate(self._cloud.lines):
            day = datetime.combine(line.day, time(), _SHANGHAI)
            cost = Money.of(str(round(float(line.cost.amount), 1)), "CNY") if self._is("rounds") else line.cost
            yield Charge(
                self._account,
                "same" if self._is("keys repeat") else f"{line.day}/{line.service}/{number}",
                _utc(start),
                _utc(end),
                _utc(day),
                _utc(day + timedelta(days=1)),
                line.category,
                cost,
                cost,
                cost,
                Stage.FINAL,
                "reference",
                line.service,
            )


def _utc(at: datetime) -> datetime:
    return at.astimezone(ZoneInfo("UTC"))
