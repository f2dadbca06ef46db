"""Resource: a thing that costs money, in one vocabulary for all clouds.

Adapters translate the provider's answer into these types; the raw state keeps the provider's word.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType

from costguard.domain.money import Money

_EMPTY: Mapping[str, str] = MappingProxyType({})
# Key of Resource.attributes: an opaque name of the run that a box is in (the id of the request that began it), from a
# provider that tells this and not when it was. Another name is another run.
RUN = "run"
# Key of Resource.attributes: what to do with a member of a group in place of stopping it, in the provider's own words.
INSTEAD = "instead"


class Kind(StrEnum):
    """What sort of thing it is."""

    VM = "vm"
    NOTEBOOK = "notebook"
    JOB = "job"
    ENDPOINT = "endpoint"
    DISK = "disk"
    ADDRESS = "address"
    SNAPSHOT = "snapshot"
    BUCKET = "bucket"
    GATEWAY = "gateway"
    RESERVATION = "reservation"


class State(StrEnum):
    """Where it is in its life; UNKNOWN is any provider word that the adapter does not know."""

    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DELETING = "deleting"
    GONE = "gone"
    UNKNOWN = "unknown"


class ChargeType(StrEnum):
    ON_DEMAND = "on_demand"
    SPOT = "spot"
    PREPAID = "prepaid"
    RESERVED = "reserved"
    OWNED = "owned"
    UNKNOWN = "unknown"


class Ends(StrEnum):
    """Whether stopping ends the compute bill."""

    YES = "yes"
    NO = "no"
    PARTLY = "partly"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, order=True)
class ResourceRef:
    """The identity of a resource. ``str()`` is the full ref that commands accept."""

    provider: str
    account: str
    region: str
    kind: Kind
    id: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.account}/{self.region}/{self.kind.value}/{self.id}"

    @classmethod
    def parse(cls, text: str) -> "ResourceRef":
        """The inverse of ``str()``. Raises ValueError for another shape."""
        return _parsed(text)


@lru_cache(maxsize=16_384)
def _parsed(text: str) -> ResourceRef:
    parts = text.split("/", 4)
    if len(parts) != 5 or not all(parts):
        raise ValueError(f"not a full ref (provider/account/region/kind/id): {text!r}")
    return ResourceRef(parts[0], parts[1], parts[2], Kind(parts[3]), parts[4])


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs of one resource: model in the provider's word, count (may be a fraction), MiB per card.

    A count of None is not known, and may be none at all: whoever asks for GPUs does not get it, and no proof of rest
    is had without them. :data:`UNKNOWN_GPUS` is that of a box of which nothing is told.
    """

    model: str
    count: Decimal | None
    memory_mib: int | None = None

    @property
    def cards(self) -> int | None:
        """How many per-card series to expect: the count rounded up, at least one; None when it is not known."""
        if self.count is None:
            return None
        whole = int(self.count)
        return max(1, whole if whole == self.count else whole + 1)


UNKNOWN_GPUS = Gpus("unknown", None)


@dataclass(frozen=True, slots=True)
class StopEffect:
    """What stopping this very instance does to its bill and its data.

    ``still_billed`` and ``lost`` are keys of a shared vocabulary that messages translate:
    still_billed ∈ disks, public_ip, compute, reservation, gpu_capacity, snapshots;
    lost ∈ local_disk, public_ip, capacity, memory.
    ``restart_risk`` says that the type may be out of stock at the next start. ``stop_again``, of a stopped box whose
    compute bill goes on: a start and a stop of the kind that saves would end it.
    """

    compute_billing_ends: Ends
    still_billed: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    restart_risk: bool = False
    note: str = ""
    stop_again: bool = False


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource as one listing saw it. Times are aware UTC.

    ``tags`` is None when the provider could not or may not tell them: such a resource counts as
    protected. ``started_at`` restarts the idle and lifetime clocks; None is unknown and never
    satisfies a limit. ``price`` is the compute price per hour (list or price book), None when unknown.
    ``spot_cap`` is the user's maximum price per hour. ``group`` names the scaling group, cluster or
    multi-node job by the provider's own grouping. ``protected`` names the provider-side lock
    (``disableApiStop`` …) when known. ``depends_on`` is the id of the box a disk or address is
    attached to. ``attributes`` holds further facts for people (zone, image, attachment …).
    """

    ref: ResourceRef
    name: str
    state: State
    raw_state: str
    observed_at: datetime
    charge_type: ChargeType = ChargeType.UNKNOWN
    sku: str | None = None
    gpus: Gpus | None = None
    vcpus: int | None = None
    memory_mib: int | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    stopped_at: datetime | None = None
    expires_at: datetime | None = None
    auto_release_at: datetime | None = None
    price: Money | None = None
    price_source: str | None = None
    spot_cap: Money | None = None
    tags: Mapping[str, str] | None = field(default_factory=lambda: _EMPTY)
    owner: str | None = None
    team: str | None = None
    group: str | None = None
    protected: str | None = None
    depends_on: str | None = None
    size_gib: int | None = None
    stop_effect: StopEffect | None = None
    creator: str | None = None
    attributes: Mapping[str, str] = field(default_factory=lambda: _EMPTY)

    @property
    def is_running(self) -> bool:
        return self.state is State.RUNNING
