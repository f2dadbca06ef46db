"""Client: the door to the world. Every call passes here: credentials, faults, paging, and the count of calls.

It plays the network and the provider's gate; what the calls mean is the other modules' business.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from pydantic import SecretStr

from costguard.domain.resource import ResourceRef
from costguard.errors import ProviderError, Unsupported
from costguard.ports import AccountSpec, Clock
from costguard_simulated.errors import error
from costguard_simulated.fleet import Machine
from costguard_simulated.scenario import CloudSpec, FaultSpec
from costguard_simulated.world import Attempt, World

T = TypeVar("T")

PAGE_SIZE = 100
EXPIRED = "expired"
PERMISSIONS: Mapping[str, str] = {
    "identity": "sim:WhoAmI",
    "regions": "sim:DescribeRegions",
    "instances": "sim:DescribeInstances",
    "usage": "sim:GetMetrics",
    "price": "sim:GetPrices",
    "spot_price": "sim:GetSpotPrices",
    "charges": "sim:DescribeBill",
    "balance": "sim:GetBalance",
    "budgets": "sim:DescribeBudgets",
    "quota": "sim:GetQuotas",
    "history": "sim:LookupEvents",
    "stop": "sim:StopInstance",
    "start": "sim:StartInstance",
    "release": "sim:DeleteInstance",
    "set_release_time": "sim:SetReleaseTime",
    "tags": "sim:TagResources",
    "run_command": "sim:RunCommand",
    "command_result": "sim:DescribeCommand",
}


class Client:
    """One account's way in. Thread-safe: it holds nothing that changes."""

    def __init__(self, spec: AccountSpec, clock: Clock, world: World, cloud: str, secret: SecretStr | None) -> None:
        self.spec, self.clock, self.world, self.cloud_name = spec, clock, world, cloud
        self._secret = secret

    @property
    def cloud(self) -> CloudSpec:
        return self.world.cloud(self.cloud_name)

    def now(self) -> datetime:
        return self.clock.now()

    def read(self, operation: str, region: str | None = None, *, machine: Machine | None = None) -> bool:
        """One reading call. False: the answer is empty although it should not be. Raises ProviderError."""
        fault = self._gate(operation, region, machine)
        if fault is None:
            return True
        if fault.empty:
            return False
        raise self.failure(fault.code, "the call failed by order of the scenario", operation)

    def mutate(self, operation: str, ref: ResourceRef, token: str, effect: Callable[[], T]) -> T:
        """One changing call: refused before its effect, or losing the answer after it."""
        self.world.attempt(Attempt(operation, self.cloud_name, ref.id, token))
        fault = self._gate(operation, ref.region, None)
        if fault is None:
            return effect()
        if fault.after_effect:
            effect()
            raise self.failure(fault.code, "no answer came; the work may have been done", operation)
        raise self.failure(fault.code, "the call failed by order of the scenario", operation)

    def pages(self, operation: str, region: str, items: Sequence[T]) -> list[T]:
        """A listing, page by page; each page is a call. Raises ProviderError."""
        found: list[T] = []
        for first in range(0, max(1, len(items)), PAGE_SIZE):
            if not self.read(operation, region):
                return []
            found += items[first : first + PAGE_SIZE]
        return found

    def granted(self, operation: str, region: str) -> bool:
        """Whether this call would be allowed, without making it."""
        fault = self.world.fault(operation, self.cloud_name, region, self.now(), dry=True)
        return fault is None or fault.code != "Forbidden"

    def failure(self, code: str, detail: str, operation: str) -> ProviderError:
        return error(
            code, detail, account=self.spec.name, operation=operation, missing=PERMISSIONS.get(operation, operation)
        )

    def unsupported(self, capability: str, detail: str) -> Unsupported:
        return Unsupported(
            detail, capability=capability, provider="simulated", account=self.spec.name, operation=capability,
            code="UnsupportedOperation",
        )  # fmt: skip

    def _gate(self, operation: str, region: str | None, machine: Machine | None) -> FaultSpec | None:
        if self._secret is not None and self._secret.get_secret_value() == EXPIRED:
            raise self.failure("ExpiredToken", "the credentials have expired", operation)
        return self.world.fault(operation, self.cloud_name, region, self.now(), machine=machine)
