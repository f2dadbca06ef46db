"""The connection of one account: every role in one object, each written in its own module."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from costguard.domain.budget import ProviderBudget
from costguard.domain.charge import Charge
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import Kind, Resource, ResourceRef, StopEffect
from costguard.domain.snapshot import PowerEvent
from costguard.domain.usage import Metric
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
from costguard_aws.budgets import BudgetsRole
from costguard_aws.charges import BillingRole
from costguard_aws.client import Api
from costguard_aws.commands import CommandsRole
from costguard_aws.history import HistoryRole
from costguard_aws.inventory import InventoryRole
from costguard_aws.power import PowerRole
from costguard_aws.prices import PricesRole
from costguard_aws.probe import ProbeRole
from costguard_aws.quotas import QuotasRole
from costguard_aws.usage import UsageRole

_KINDS = frozenset({Kind.VM, Kind.DISK, Kind.SNAPSHOT, Kind.ADDRESS, Kind.GATEWAY, Kind.RESERVATION})


class AwsConnection:
    """Implements Connection, Inventory, Usage, Prices, SpotPrices, Billing, Budgets, Quotas, Power, History, Release,
    Tagging, Commands and Probe; see their Protocols in costguard.ports. Making one calls nothing out."""

    def __init__(self, spec: AccountSpec, clock: Clock) -> None:
        self.api = Api(spec, clock)
        self._inventory = InventoryRole(self.api)
        self._usage = UsageRole(self.api)
        self._prices = PricesRole(self.api)
        self._billing = BillingRole(self.api)
        self._budgets = BudgetsRole(self.api)
        self._quotas = QuotasRole(self.api)
        self._power = PowerRole(self.api, self._inventory)
        self._history = HistoryRole(self.api, self._inventory)
        self._commands = CommandsRole(self.api)
        self._probe = ProbeRole(self.api)

    def identity(self) -> Identity:
        """By GetCallerIdentity, which needs no permission. The principal is an ARN."""
        api = self.api
        answer = api.read("sts", api.home_region, "GetCallerIdentity")
        call = api.call_of("sts", api.home_region, "GetCallerIdentity")
        return Identity(api.required(answer, "Account", call), answer.get("Arn") or "")

    def regions(self) -> Sequence[str]:
        return self._inventory.regions()

    def endpoints(self) -> Mapping[str, str]:
        """Where calls really go: a stray AWS_ENDPOINT_URL redirects a daemon. Makes the clients that polls need."""
        for service in ("sts", "ec2", "cloudwatch"):
            self.api.client(service, self.api.home_region)
        return self.api.endpoints()

    def close(self) -> None:
        self.api.close()

    def kinds(self) -> frozenset[Kind]:
        return _KINDS

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
        return self._billing.charges(start, end)

    def budgets(self) -> Sequence[ProviderBudget]:
        return self._budgets.budgets(self.api.spec.account_id or self.identity().account_id)

    def quotas(self, region: str) -> Sequence[Quota]:
        return self._quotas.quotas(region)

    def stop_effect(self, resource: Resource) -> StopEffect:
        return self._power.stop_effect(resource)

    def stop(self, ref: ResourceRef, token: str) -> PowerResult:
        return self._power.stop(ref, token)

    def start(self, ref: ResourceRef, token: str) -> PowerResult:
        return self._power.start(ref, token)

    def power_events(self, ref: ResourceRef, since: datetime) -> Sequence[PowerEvent]:
        return self._history.power_events(ref, since)

    def release(self, ref: ResourceRef, token: str) -> PowerResult:
        return self._power.release(ref, token)

    def set_release_time(self, ref: ResourceRef, at: datetime | None) -> None:
        self._power.set_release_time(ref, at)

    def tag(self, ref: ResourceRef, tags: Mapping[str, str]) -> None:
        self._power.tag(ref, tags)

    def run_command(self, ref: ResourceRef, command: str, timeout: timedelta, token: str) -> str:
        return self._commands.run_command(ref, command, timeout, token)

    def command_result(self, ref: ResourceRef, run_id: str) -> CommandResult:
        return self._commands.command_result(ref, run_id)

    def probe(self, region: str, candidates: Sequence[Resource]) -> Sequence[PermissionProbe]:
        return self._probe.probe(region, candidates)
