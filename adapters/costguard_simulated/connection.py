"""Connection: one account's view of the world, with every role of the ports."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from pydantic import ValidationError

from costguard.domain.budget import ProviderBudget
from costguard.domain.charge import Balance, Charge
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import Kind, Resource, ResourceRef, StopEffect
from costguard.domain.snapshot import PowerEvent
from costguard.domain.usage import Metric
from costguard.errors import ConfigError
from costguard.ports import (
    AccountSpec,
    Clock,
    CommandResult,
    Identity,
    PermissionProbe,
    PowerResult,
    Quota,
    UsageBatch,
)
from costguard_simulated import SimulatedAccount, people
from costguard_simulated.charges import Bill
from costguard_simulated.client import PERMISSIONS, Client
from costguard_simulated.inventory import KINDS, Inventory
from costguard_simulated.metering import Meter
from costguard_simulated.people import Lever
from costguard_simulated.power import PowerSwitch
from costguard_simulated.prices import PriceReader
from costguard_simulated.usage import UsageReader
from costguard_simulated.world import World, world_for


class SimulatedConnection:
    """Thread-safe. Beside the ports: ``world``, ``starts_at`` and ``due_levers`` for whoever drives a demonstration."""

    def __init__(self, client: Client) -> None:
        self._client = client
        meter = Meter(client.world, client.cloud_name)
        self._inventory = Inventory(client, meter)
        self._usage = UsageReader(client)
        self._prices = PriceReader(client, meter)
        self._bill = Bill(client, meter)
        self._power = PowerSwitch(client, self._inventory)

    @property
    def world(self) -> World:
        return self._client.world

    @property
    def starts_at(self) -> datetime:
        """When the scenario begins (aware UTC)."""
        return self._client.world.start

    def due_levers(self, since: datetime, until: datetime) -> Sequence[Lever]:
        """The keeps and claims of this account's machines with since < at ≤ until."""
        levers = people.due_levers(self._client.world, since, until)
        return [lever for lever in levers if lever.cloud == self._client.cloud_name]

    def identity(self) -> Identity:
        self._client.read("identity")
        return Identity(self._client.cloud.account_id, "user/costguard")

    def regions(self) -> Sequence[str]:
        self._client.read("regions")
        return tuple(self._client.cloud.regions)

    def endpoints(self) -> Mapping[str, str]:
        return {"*": f"simulated://{self._client.world.scenario.name}/{self._client.cloud_name}"}

    def close(self) -> None:
        """Nothing to close: the world lives as long as its clock."""

    def kinds(self) -> frozenset[Kind]:
        return KINDS if self._client.cloud.personality != "rack" else frozenset({Kind.VM})

    def list(self, kind: Kind, region: str) -> Iterable[Resource]:
        return self._inventory.list(kind, region)

    def get(self, ref: ResourceRef) -> Resource:
        return self._inventory.get(ref)

    def usage(
        self, resources: Sequence[Resource], metrics: frozenset[Metric], since: datetime, until: datetime
    ) -> UsageBatch:
        return self._usage.usage(resources, metrics, since, until)

    def prices(self, keys: Sequence[PriceKey]) -> Sequence[Price]:
        return self._prices.prices(keys)

    def spot_prices(self, keys: Sequence[PriceKey], since: datetime) -> Sequence[Price]:
        return self._prices.spot_prices(keys, since)

    def charges(self, start: datetime, end: datetime) -> Iterable[Charge]:
        return self._bill.charges(start, end)

    def budgets(self) -> Sequence[ProviderBudget]:
        return self._bill.budgets()

    def balance(self) -> Balance:
        return self._prices.balance()

    def quotas(self, region: str) -> Sequence[Quota]:
        return self._prices.quotas(region)

    def stop_effect(self, resource: Resource) -> StopEffect:
        return self._power.stop_effect(resource)

    def stop(self, ref: ResourceRef, token: str) -> PowerResult:
        return self._power.stop(ref, token)

    def start(self, ref: ResourceRef, token: str) -> PowerResult:
        return self._power.start(ref, token)

    def power_events(self, ref: ResourceRef, since: datetime) -> Sequence[PowerEvent]:
        return self._power.power_events(ref, since)

    def release(self, ref: ResourceRef, token: str) -> PowerResult:
        return self._power.release(ref, token)

    def set_release_time(self, ref: ResourceRef, at: datetime | None) -> None:
        self._power.set_release_time(ref, at)

    def tag(self, ref: ResourceRef, tags: Mapping[str, str]) -> None:
        self._power.tag(ref, tags)

    def run_command(self, ref: ResourceRef, command: str, timeout: timedelta, token: str) -> str:
        return self._power.run_command(ref, command, timeout, token)

    def command_result(self, ref: ResourceRef, run_id: str) -> CommandResult:
        return self._power.command_result(ref, run_id)

    def probe(self, region: str, candidates: Sequence[Resource]) -> Sequence[PermissionProbe]:
        """Every permission of the manifest; changes nothing. ``candidates`` are not needed here."""
        found: list[PermissionProbe] = []
        for operation, permission in PERMISSIONS.items():
            granted = self._client.granted(operation, region)
            detail = "" if granted else "the scenario denies it"
            found.append(PermissionProbe(operation, permission, granted, detail))
        return found


def connect(spec: AccountSpec, clock: Clock) -> SimulatedConnection:
    """A connection to the world of the account's scenario. Raises ConfigErrors for a scenario that does not hold,
    ConfigError for a cloud that it does not have."""
    base = spec.credentials.model_dump(exclude_unset=True) if isinstance(spec.credentials, SimulatedAccount) else {}
    try:
        options = SimulatedAccount.model_validate({**base, **spec.options})
    except ValidationError as failure:
        raise ConfigError(f"account {spec.name}: {failure.errors(include_input=False)}") from None
    world = world_for(
        clock, options.scenario, state=options.state, start=options.start, scale=options.scale
    )  # fmt: skip
    clouds = world.scenario.clouds
    cloud = options.cloud or next(iter(clouds))
    if cloud not in clouds:
        raise ConfigError(
            f"account {spec.name}: no cloud {cloud!r} in scenario {world.scenario.name}",
            hint=f"one of {', '.join(clouds)}",
        )
    return SimulatedConnection(Client(spec, clock, world, cloud, options.access_key_secret))
