"""Inventory: machines and holdings as resources, the way each cloud's listing tells them.

The Tencent-like cloud does not tell when a machine was started; the AWS-like one resets its launch time at each start
and tells protections only in a live read; the Alibaba-like one tells whether a stopped machine is still charged.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from costguard.domain.money import Money
from costguard.domain.resource import UNKNOWN_GPUS, ChargeType, Ends, Gpus, Kind, Resource, ResourceRef, State
from costguard_simulated.client import Client
from costguard_simulated.effects import STOPPABLE, stop_effect
from costguard_simulated.errors import PROVIDER
from costguard_simulated.fleet import Holding, Machine
from costguard_simulated.metering import Meter
from costguard_simulated.scenario import Personality, Sku
from costguard_simulated.timeline import Phase

_WORDS: dict[Personality, dict[State, str]] = {
    "alibaba": {
        State.PENDING: "Starting", State.RUNNING: "Running", State.STOPPING: "Stopping", State.STOPPED: "Stopped",
        State.DELETING: "Deleting",
    },
    "tencent": {
        State.PENDING: "STARTING", State.RUNNING: "RUNNING", State.STOPPING: "STOPPING", State.STOPPED: "STOPPED",
        State.DELETING: "TERMINATING",
    },
    "aws": {
        State.PENDING: "pending", State.RUNNING: "running", State.STOPPING: "stopping", State.STOPPED: "stopped",
        State.DELETING: "shutting-down",
    },
    "rack": {
        State.PENDING: "booting", State.RUNNING: "up", State.STOPPING: "halting", State.STOPPED: "off",
        State.DELETING: "retired",
    },
}  # fmt: skip
_MEANING = {(cloud, word): state for cloud, words in _WORDS.items() for state, word in words.items()}
_HELD: dict[Personality, tuple[str, str]] = {
    "alibaba": ("Available", "In_use"),
    "tencent": ("UNATTACHED", "ATTACHED"),
    "aws": ("available", "in-use"),
    "rack": ("free", "used"),
}
_LOCKS: dict[Personality, str] = {
    "alibaba": "DeletionProtection",
    "tencent": "DisableApiTermination",
    "aws": "disableApiStop",
    "rack": "locked",
}
_HOLDINGS = frozenset({Kind.DISK, Kind.ADDRESS, Kind.SNAPSHOT})
KINDS = frozenset({Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT}) | _HOLDINGS


class Inventory:
    """Lists and reads. Raises ProviderError."""

    def __init__(self, client: Client, meter: Meter) -> None:
        self._client, self._meter = client, meter
        self._personality = client.cloud.personality

    def list(self, kind: Kind, region: str) -> list[Resource]:
        """Every resource of a kind in a region, each once."""
        self._known(region)
        now, world, cloud = self._client.now(), self._client.world, self._client.cloud_name
        found: dict[str, Resource] = {}
        if kind in _HOLDINGS:
            held = [h for h in world.holdings(cloud) if h.kind is kind and h.region == region]
            for holding in self._client.pages("instances", region, held):
                if (resource := self._held(holding, now)) is not None:
                    found[holding.id] = resource
        else:
            alive = [m for m in world.machines(cloud) if m.kind is kind and m.region == region]
            for machine in self._client.pages("instances", region, alive):
                phase = world.phase(machine, now)
                if phase is not None:
                    found[machine.id] = self._machine(machine, phase, now, live=False)
        return list(found.values())

    def get(self, ref: ResourceRef) -> Resource:
        """A live read; it tells protections that listings leave out. Raises NotFound."""
        self._client.read("instances", ref.region)
        now = self._client.now()
        if ref.kind in _HOLDINGS:
            holding = self._client.world.holding(self._client.cloud_name, ref.id)
            found = self._held(holding, now) if holding is not None and holding.region == ref.region else None
        else:
            machine, phase = self.find(ref, "instances")
            found = self._machine(machine, phase, now, live=True)
        if found is None:
            raise self._client.failure("InvalidInstanceId.NotFound", f"no {ref.kind} {ref.id}", "instances")
        return found

    def find(self, ref: ResourceRef, operation: str) -> tuple[Machine, Phase]:
        """The machine of a ref and its phase now. Raises NotFound."""
        machine = self._client.world.machine(self._client.cloud_name, ref.id)
        if machine is not None and machine.region == ref.region and machine.kind is ref.kind:
            phase = self._client.world.phase(machine, self._client.now())
            if phase is not None:
                return machine, phase
        raise self._client.failure("InvalidInstanceId.NotFound", f"no {ref.kind} {ref.id}", operation)

    def ref(self, machine: Machine) -> ResourceRef:
        return ResourceRef(PROVIDER, self._client.spec.name, machine.region, machine.kind, machine.id)

    def _machine(self, machine: Machine, phase: Phase, now: datetime, *, live: bool) -> Resource:
        spec, sku, cloud = machine.spec, machine.sku, self._client.cloud
        raw = self._client.world.raw_state(machine.id) or _WORDS[self._personality][phase.state]
        stopped = phase.start if phase.state is State.STOPPED else None
        price = self._meter.price(machine, now)
        resource = Resource(
            ref=self.ref(machine),
            name=machine.name,
            state=_MEANING.get((self._personality, raw), State.UNKNOWN),
            raw_state=raw,
            observed_at=now,
            charge_type=spec.charge,
            sku=spec.sku,
            gpus=_gpus(sku),
            vcpus=sku.vcpus,
            memory_mib=sku.memory_gib * 1024,
            created_at=machine.created_at,
            started_at=None if self._personality == "tencent" else phase.booted,
            stopped_at=stopped if self._personality in ("aws", "rack") else None,
            expires_at=self._expires(machine, now),
            auto_release_at=self._client.world.release_time(machine.cloud, machine.id),
            price=price,
            price_source=None if price is None else _PRICE_SOURCE.get(spec.charge, "list"),
            # Tencent's listing does not tell the cap of a spot machine.
            spot_cap=None
            if spec.spot_cap is None or self._personality == "tencent"
            else Money.of(spec.spot_cap, cloud.currency),
            tags=self._client.world.tags(machine.cloud, machine.id, machine.name, spec.tags, now),
            owner=self._client.spec.owner,
            team=self._client.spec.team,
            group=spec.group,
            protected=_LOCKS[self._personality] if spec.protected and (live or self._personality != "aws") else None,
            creator=spec.creator,
            attributes=self._attributes(machine, phase),
        )
        return resource if machine.kind not in STOPPABLE else _with_effect(self._personality, resource)

    def _attributes(self, machine: Machine, phase: Phase) -> dict[str, str]:
        facts = {"cloud": machine.cloud, "zone": machine.zone}
        if machine.sku.local_disk:
            facts["local_disk"] = "yes"
        if machine.sku.scarce:
            facts["scarce"] = "yes"
        if machine.spec.public_ip:
            facts["public_ip"] = "yes"
        if machine.spec.charge is ChargeType.SPOT:
            facts["spot_request"] = "one-time" if machine.spec.one_time else "persistent"
        if machine.spec.charge is ChargeType.PREPAID:
            facts["auto_renew"] = "yes" if machine.spec.auto_renew else "no"
        if self._personality in ("alibaba", "tencent") and machine.kind is Kind.VM:
            facts["stopped_mode"] = "Not-applicable"
        return facts

    def _expires(self, machine: Machine, now: datetime) -> datetime | None:
        if machine.spec.charge is not ChargeType.PREPAID:
            return None
        return max((end for _, end in self._meter.terms(machine, now + timedelta(microseconds=1))), default=None)

    def _held(self, holding: Holding, now: datetime) -> Resource | None:
        world = self._client.world
        ended = world.holding_ended(holding)
        if now < holding.created_at or (ended is not None and ended <= now):
            return None
        attached = holding.owner_machine
        since = holding.detached_at
        hourly = self._meter.storage(holding, now, now + timedelta(hours=1))
        return Resource(
            ref=ResourceRef(PROVIDER, self._client.spec.name, holding.region, holding.kind, holding.id),
            name=holding.name,
            state=State.RUNNING,
            raw_state=_HELD[self._personality][1 if attached else 0],
            observed_at=now,
            charge_type=ChargeType.ON_DEMAND,
            created_at=holding.created_at,
            price=hourly[0].per_hour if hourly else None,
            price_source="list" if hourly else None,
            tags=world.tags(holding.cloud, holding.id, holding.name, holding.tags, now),
            owner=self._client.spec.owner,
            team=self._client.spec.team,
            depends_on=attached,
            size_gib=holding.size_gib,
            attributes={"cloud": holding.cloud, **({"detached_at": since.isoformat()} if since else {})},
        )

    def _known(self, region: str) -> None:
        if region not in self._client.cloud.regions:
            raise self._client.failure("InvalidParameter", f"no region {region}", "instances")


_PRICE_SOURCE = {ChargeType.SPOT: "spot", ChargeType.PREPAID: "prepaid", ChargeType.OWNED: "book"}


def _gpus(sku: Sku) -> Gpus | None:
    if sku.undescribed:
        return UNKNOWN_GPUS
    return None if sku.gpu is None else Gpus(sku.gpu.model, sku.gpu.count, sku.gpu.memory_mib)


def _with_effect(personality: Personality, resource: Resource) -> Resource:
    effect = stop_effect(personality, resource)
    if resource.state is not State.STOPPED or "stopped_mode" not in resource.attributes:
        return replace(resource, stop_effect=effect)
    mode = "StopCharging" if effect.compute_billing_ends is Ends.YES else "KeepCharging"
    return replace(resource, stop_effect=effect, attributes={**resource.attributes, "stopped_mode": mode})


def gpu_cards(machine: Machine) -> int:
    """How many cards report: a fraction counts as one; 0 for a CPU type."""
    return 0 if machine.sku.gpu is None else Gpus("", Decimal(machine.sku.gpu.count)).cards or 0
