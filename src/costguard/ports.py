"""Ports: what the core needs from the outside, as Protocols. Adapters see domain, errors and this.

A provider is not one big interface. ``Connection`` is tiny; everything else is a role that a
connection implements or does not, and its manifest says so (the contract suite proves it).
All calls are synchronous, thread-safe, and bounded by a total deadline; they raise only ProviderError.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from costguard.domain.budget import ProviderBudget
from costguard.domain.charge import Balance, Charge
from costguard.domain.notice import Receipt
from costguard.domain.press import Button, Click, Reply, Said
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import Kind, Resource, ResourceRef, StopEffect
from costguard.domain.snapshot import PowerEvent
from costguard.domain.usage import Metric, UsageSample
from costguard.errors import ProviderError


class Clock(Protocol):
    """The only source of time. ``now`` is aware UTC; ``monotonic`` seconds never go back."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class AccountSpec:
    """One configured account as its adapter gets it.

    ``credentials`` is an instance of the adapter's config model (secrets are SecretStr), or None for
    the provider's own default chain. ``regions`` empty means every region that the account can see.
    ``deadline`` is the total time that one API call may take, retries included.
    """

    name: str
    credentials: BaseModel | None = field(default=None, repr=False)
    account_id: str | None = None
    regions: tuple[str, ...] = ()
    endpoint: str | None = None
    proxy: str | None = field(default=None, repr=False)  # may hold a password
    currency: str | None = None
    billing_timezone: ZoneInfo | None = None
    owner: str | None = None
    team: str | None = None
    project: str | None = None
    allow_release: bool = False
    deadline: timedelta = timedelta(seconds=30)
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the credentials are: the provider's account id and the principal (user, role)."""

    account_id: str
    principal: str


@dataclass(frozen=True, slots=True)
class PermissionProbe:
    """One permission proved without side effects. ``granted`` None: could not be told (``detail`` says why)."""

    capability: str
    permission: str
    granted: bool | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class UsageBatch:
    """Samples in time order per series, and the resources whose reading failed.

    A resource in neither answered with nothing: unknown, never zero. ``calls`` and ``metered`` count API
    calls and billable units for the account's own spend.
    """

    samples: tuple[UsageSample, ...]
    failed: Mapping[ResourceRef, ProviderError] = field(default_factory=dict)
    calls: int = 0
    metered: int = 0


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota of a region, in its own unit. ``used`` None: not told."""

    name: str
    region: str
    limit: float
    used: float | None
    unit: str


class PowerResult(StrEnum):
    """What the provider said to a stop or start."""

    ACCEPTED = "accepted"
    ALREADY = "already"


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A command on an instance. ``exit_code`` None while it runs or when it never started."""

    state: str  # pending | running | finished | failed | timed_out | unreachable
    exit_code: int | None = None
    output: str = ""


@runtime_checkable
class Connection(Protocol):
    """What every adapter gives: its regions, its effective endpoints, and an end."""

    def identity(self) -> Identity: ...
    def regions(self) -> Sequence[str]: ...
    def endpoints(self) -> Mapping[str, str]: ...
    def close(self) -> None: ...


@runtime_checkable
class Inventory(Protocol):
    """``list`` yields every resource of a kind in a region, all pages, each once. ``get`` is a live
    read that also looks up what listings do not tell (protections, group); raises NotFound."""

    def kinds(self) -> frozenset[Kind]: ...
    def list(self, kind: Kind, region: str) -> Iterable[Resource]: ...
    def get(self, ref: ResourceRef) -> Resource: ...


@runtime_checkable
class Usage(Protocol):
    """Samples with ``since`` ≤ at ≤ ``until``; batched inside; one failing resource fails alone."""

    def usage(
        self,
        resources: Sequence[Resource],
        metrics: frozenset[Metric],
        since: datetime,
        until: datetime,
    ) -> UsageBatch: ...


@runtime_checkable
class Prices(Protocol):
    def prices(self, keys: Sequence[PriceKey]) -> Sequence[Price]: ...


@runtime_checkable
class SpotPrices(Protocol):
    """Change points since ``since``, the one before included; the price holds until the next."""

    def spot_prices(self, keys: Sequence[PriceKey], since: datetime) -> Sequence[Price]: ...


@runtime_checkable
class Billing(Protocol):
    """Charges whose billing period overlaps [start, end)."""

    def charges(self, start: datetime, end: datetime) -> Iterable[Charge]: ...


@runtime_checkable
class Balances(Protocol):
    def balance(self) -> Balance: ...


@runtime_checkable
class Budgets(Protocol):
    """Budgets of money that are kept at the provider, as it counts them."""

    def budgets(self) -> Sequence[ProviderBudget]: ...


@runtime_checkable
class Quotas(Protocol):
    def quotas(self, region: str) -> Sequence[Quota]: ...


@runtime_checkable
class Power(Protocol):
    """``stop`` and ``start`` are called once per token; SDK retries are off. A timeout or reset raises
    TimedOut or Unavailable and the caller looks before anything else. Stopping what is stopped is
    ALREADY. ``stop_effect`` is pure: from the resource's own fields."""

    def stop_effect(self, resource: Resource) -> StopEffect: ...
    def stop(self, ref: ResourceRef, token: str) -> PowerResult: ...
    def start(self, ref: ResourceRef, token: str) -> PowerResult: ...


@runtime_checkable
class History(Protocol):
    """Who started and stopped what, where the provider tells."""

    def power_events(self, ref: ResourceRef, since: datetime) -> Sequence[PowerEvent]: ...


@runtime_checkable
class Release(Protocol):
    """Destroys. Only ever called with allow_release. ``at`` None removes the timer."""

    def release(self, ref: ResourceRef, token: str) -> PowerResult: ...
    def set_release_time(self, ref: ResourceRef, at: datetime | None) -> None: ...


@runtime_checkable
class Tagging(Protocol):
    def tag(self, ref: ResourceRef, tags: Mapping[str, str]) -> None: ...


@runtime_checkable
class Commands(Protocol):
    """Runs a command on an instance. ``timeout`` bounds the run itself; output is cut to 4 KiB."""

    def run_command(self, ref: ResourceRef, command: str, timeout: timedelta, token: str) -> str: ...
    def command_result(self, ref: ResourceRef, run_id: str) -> CommandResult: ...


@runtime_checkable
class Probe(Protocol):
    """Proves permissions with the provider's own dry runs; never changes anything."""

    def probe(self, region: str, candidates: Sequence[Resource]) -> Sequence[PermissionProbe]: ...


@dataclass(frozen=True, slots=True)
class Adapter:
    """What an entry point of group ``costguard.adapters`` names (``package:adapter``).

    ``package`` holds ``manifest.toml`` beside its ``__init__``; ``config`` is the pydantic model of
    ``accounts[].credentials``; ``connect`` imports the SDK and makes a connection without calling out.
    ``settings`` is the model of ``accounts[].options``; without one they are checked by nobody before the adapter reads
    them. Importing the package imports no SDK.
    """

    package: str
    config: type[BaseModel]
    connect: Callable[[AccountSpec, Clock], Connection]
    settings: type[BaseModel] | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A rendered message for one channel. ``title`` alone must be enough (notification line).

    ``body`` is markup of the channel's own kind; ``payload`` the native structure where the platform
    has one (Slack blocks). ``fallback`` is a short plain text sent when the platform refuses the body.
    ``idem_key`` goes along where the platform has such a key. ``mentions`` are the platform's own handles.
    ``plain``: the body is plain text and is sent without any markup. ``buttons`` are for channels that can be clicked.
    ``to`` is the handle of the one person that it is for, where it is for nobody else. ``follows`` is the
    ``message_ref`` of the message that began its story here; with ``outcome`` it says what became of that.
    """

    title: str
    body: str
    fallback: str
    idem_key: str
    payload: Mapping[str, object] = field(default_factory=dict)
    mentions: tuple[str, ...] = ()
    plain: bool = False
    buttons: tuple[Button, ...] = ()
    to: str | None = None
    follows: str | None = None
    outcome: bool = False


class Channel(Protocol):
    """One configured place that notices go to. Raises only DeliveryError.

    ``max_per_minute`` paces it; ``render_format`` picks the renderer: slack | dingtalk | plain …;
    ``idempotent``: the platform drops a second message with the same ``idem_key``.
    """

    name: str
    kind: str
    max_per_minute: int
    render_format: str

    @property
    def idempotent(self) -> bool: ...
    def send(self, message: Message) -> Receipt: ...


@dataclass(frozen=True, slots=True)
class ChannelProbe:
    """One thing about a channel that was proved without sending anything. ``fine`` None: it could not be told."""

    text: str
    fine: bool | None
    hint: str = ""


@runtime_checkable
class Probing(Protocol):
    """A channel that can prove what it is allowed to do; what nobody sees, and nothing is changed by. Never raises."""

    def probe(self) -> Sequence[ChannelProbe]: ...


@runtime_checkable
class Directory(Protocol):
    """A channel that knows people by their address: ``find`` gives the platform's handle, None when it has none."""

    def find(self, email: str) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Listening:
    """How a connection on which presses and lines come in is doing. ``since``: of ``connected``; ``opened`` counts
    connections; ``error`` is our sentence about why there is none."""

    connected: bool = False
    since: datetime | None = None
    opened: int = 0
    error: str = ""
    hint: str | None = None


class Listener(Protocol):
    """A channel's connection on which presses and lines come in, on threads of its own.

    ``stop`` ends it within seconds, the message at hand finished. ``name`` is the channel's.
    """

    name: str

    @property
    def state(self) -> Listening: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...


class Desk(Protocol):
    """Where what people press and write in a chat is decided; see ``daemon/desk.py``.

    Call it after the platform has its acknowledgement, from any thread; it may take as long as a provider's call.
    """

    def press(self, click: Click) -> Reply: ...
    def command(self, said: Said) -> Reply: ...
