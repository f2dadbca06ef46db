"""What the adapter contract needs from the author of an adapter: a cloud on loopback that can be scripted.

:class:`CloudFixture` speaks domain words; the fixture turns them into the provider's own. It must know
nothing of the adapter under test: a fixture written from the adapter's code proves only that both agree.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from costguard.domain.charge import ChargeCategory
from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, State
from costguard.domain.usage import Metric
from costguard.testing.clock import FakeClock


class Calls(StrEnum):
    """Which calls a fault hits."""

    ALL = "all"
    INVENTORY = "inventory"  # listings and live reads of vms
    USAGE = "usage"  # metric calls
    MUTATION = "mutation"  # anything that changes something


class Fault(StrEnum):
    """What goes wrong, in the provider's own way (its codes, its HTTP statuses, 200 where it says 200)."""

    THROTTLED = "throttled"  # the explicit refusal for too many calls
    UNAUTHENTICATED = "unauthenticated"  # wrong or expired credentials
    FORBIDDEN = "forbidden"  # right credentials without the permission
    SERVER_ERROR = "server_error"  # HTTP 500 or 503 in the provider's error shape
    RESET = "reset"  # the connection is reset before any work is done
    SILENT = "silent"  # the request is read, no answer comes for a minute
    LOST_ANSWER = "lost_answer"  # the work is done, then the connection is reset
    HTML = "html"  # HTTP 200 and a page of a proxy
    TRUNCATED = "truncated"  # HTTP 200, the well-formed answer cut in the middle, its length as sent
    REPEATED_TOKEN = "repeated_token"  # each page of a listing names the same next page
    DUPLICATED_ITEM = "duplicated_item"  # the last item of a page is also the first of the next


@dataclass(frozen=True, slots=True)
class SkuFacts:
    """An instance type that the fixture knows. ``gpu_model`` in the provider's word; None for a CPU type."""

    sku: str
    gpu_model: str | None = None
    gpu_count: Decimal = Decimal(0)
    gpu_memory_mib: int | None = None


@dataclass(frozen=True, slots=True)
class VmFacts:
    """A box to make. ``region`` and ``sku`` empty: the fixture's first. Times aware UTC, None: some hours ago.

    ``protected``: locked against stopping by the provider's own switch. ``group``: member of that scaling group.
    ``variant`` is free for the fixture's own ``refused_stops`` (one-time spot, instance store …).
    """

    name: str = "box"
    region: str = ""
    sku: str = ""
    state: State = State.RUNNING
    charge_type: ChargeType = ChargeType.ON_DEMAND
    tags: Mapping[str, str] = field(default_factory=dict)
    created_at: datetime | None = None
    started_at: datetime | None = None
    protected: bool = False
    group: str | None = None
    variant: str = ""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A changing request that reached the cloud, whether it worked or not; the provider's dry runs are none.

    ``what`` ∈ stop, start, release, set_release_time, tag, run_command, other; ``token`` as it came over the wire.
    """

    what: str
    vm_id: str
    token: str | None = None


@dataclass(frozen=True, slots=True)
class BillLine:
    """One line of the bill: a local day of the billing time zone, an exact amount, what for."""

    day: date
    service: str
    cost: Money
    category: ChargeCategory = ChargeCategory.USAGE
    vm_id: str | None = None


class CloudFixture(Protocol):
    """A fake account: empty at first, one per test. Methods may be called at any time from any thread.

    - ``clock`` is the account's time; adapters under test get the same clock.
    - ``regions``: at least two where the provider has regions; the suite works in the first.
    - ``page_size``: how many vms one page of the listing holds, as the adapter asks for it.
    - ``skus``: known types, a CPU type and one with at least two GPUs among them.
    - ``charge_types``: what ``add`` can make.
    - ``refused_stops``: running boxes that the provider refuses to stop (protected, one-time spot …).
    - ``secrets``: every credential string of the spec, key ids and tokens included.
    """

    @property
    def clock(self) -> FakeClock: ...
    @property
    def account_id(self) -> str: ...
    @property
    def regions(self) -> tuple[str, ...]: ...
    @property
    def page_size(self) -> int: ...
    @property
    def skus(self) -> tuple[SkuFacts, ...]: ...
    @property
    def charge_types(self) -> frozenset[ChargeType]: ...
    @property
    def refused_stops(self) -> tuple[VmFacts, ...]: ...
    @property
    def secrets(self) -> tuple[str, ...]: ...

    def add(self, *vms: VmFacts) -> list[str]:
        """Makes the boxes and returns their ids, in order. Thousands at once must be cheap."""
        ...

    def remove(self, vm_id: str) -> None:
        """The box is gone for good: neither listed nor known by id."""
        ...

    def set_raw_state(self, vm_id: str, word: str) -> None:
        """The provider says this state word from now on, be it documented or not."""
        ...

    def state(self, vm_id: str) -> State:
        """The true state, not through any API."""
        ...

    def settle(self) -> None:
        """Every transition under way comes to its end; moves the clock as far as that takes."""
        ...

    def fail(self, fault: Fault, *, on: Calls = Calls.ALL, times: int | None = None) -> None:
        """The next ``times`` calls of that sort go wrong; None: all of them until :meth:`heal`."""
        ...

    def heal(self) -> None:
        """Takes all faults and denials back."""
        ...

    def deny_region(self, region: str) -> None:
        """Every call in this region is refused for want of permission."""
        ...

    def mutations(self) -> Sequence[Mutation]:
        """Every changing request so far, in order."""
        ...

    def signatures(self) -> Sequence[str]:
        """The signatures of all requests so far, as they came."""
        ...

    def set_samples(
        self, vm_id: str, metric: Metric, points: Sequence[tuple[datetime, float]], gpu_index: int | None = None
    ) -> None:
        """The metric's values in domain units; each time is the end of its period (manifest: ``period``)."""
        ...

    def fail_usage(self, vm_ids: Collection[str]) -> frozenset[str]:
        """Reading the metrics of these boxes fails from now on, with an error, not with silence.

        Returns whom it hits: the boxes themselves, or all that the provider makes one call with them.
        """
        ...

    def bill(self, lines: Sequence[BillLine]) -> None:
        """The bill of the account from now on: these lines and no others."""
        ...
