"""manifest.toml: what an adapter says of itself, readable without importing a line of it.

Policies, ``check``, ``doctor`` and the documents ask the manifest; the contract suite proves that it is true. Knows no
provider.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, field_validator

from costguard.domain.resource import Kind, ResourceRef
from costguard.domain.usage import Metric, Statistic
from costguard.errors import ConfigError, ConfigErrors
from costguard.rules.fields import Duration, Strict, Zone

CAPABILITIES: Mapping[str, str] = {
    "instances": "lists machines with state, type and charge type",
    "gpu_inventory": "tells model and number of GPUs",
    "gpu_usage": "reads GPU use",
    "cpu_usage": "reads CPU and network use",
    "spot_price": "reads market prices",
    "price": "reads list prices",
    "charges_daily": "reads charges by day",
    "charges_final": "reads the final bill",
    "stop": "stops a machine",
    "stop_keeps_disk": "a stopped machine keeps its disks",
    "stop_ends_billing": "a stopped machine costs no compute",
    "release": "destroys a machine",
    "set_release_time": "sets the provider's own timer that destroys",
    "start": "starts a machine again",
    "tags": "reads and writes tags",
    "balance": "reads the prepaid balance",
    "quota": "reads quotas",
    "notebooks": "lists notebooks",
    "jobs": "lists training jobs",
    "endpoints": "lists serving endpoints",
}
"""Name → what an adapter with it can do."""

OPTIONAL_CAPABILITIES: Mapping[str, str] = {
    "commands": "runs a command on a machine, for hooks",
    "budgets": "reads the budgets kept at the provider",
}
"""Further names that a manifest may leave out; left out is unknown."""

Level = Literal["full", "partial", "impossible", "not_written", "unknown"]

_EXPLAINED = re.compile(r"(partial|impossible): \S.*", re.DOTALL)
_QUALITY = re.compile(r"done|(exempt|todo): \S.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Support:
    """How far a capability goes. ``note`` says what is missing (partial) or why it cannot be (impossible)."""

    level: Level
    note: str = ""

    @property
    def usable(self) -> bool:
        return self.level in ("full", "partial")

    def __str__(self) -> str:
        return f"{self.level}: {self.note}" if self.note else self.level


_UNKNOWN = Support("unknown")


def parse_support(text: str) -> Support:
    """``full``, ``partial: note``, ``impossible: why``, ``not_written`` or ``unknown``. Raises ValueError."""
    if text in ("full", "not_written", "unknown"):
        return Support(text)  # type: ignore[arg-type]  # one of the literals just tested
    if not _EXPLAINED.fullmatch(text):
        raise ValueError(f"{text!r} is not full, partial: NOTE, impossible: WHY, not_written or unknown")
    level, _, note = text.partition(": ")
    return Support(level, note)  # type: ignore[arg-type]  # partial or impossible


def _support(text: str) -> str:
    parse_support(text)
    return text


def _quality(text: str) -> str:
    if not _QUALITY.fullmatch(text):
        raise ValueError(f"{text!r} is not done, exempt: WHY or todo: WHAT")
    return text


class CredentialFields(Strict):
    """Names of the keys in ``accounts[].credentials``."""

    secret: tuple[str, ...] = ()
    """Masked everywhere."""

    plain: tuple[str, ...] = ()
    """May be shown."""


class MetricFacts(Strict):
    """One metric as the provider gives it."""

    period: Duration
    """The finest time between two samples."""

    delay: Duration
    """How late the newest sample arrives."""

    statistic: Statistic
    """What one sample says about its own period."""

    cards: Literal["each", "mean"] = "each"
    """Whether each card has a series of its own, or only the mean over all cards exists."""

    note: str = ""
    """For people."""


class BillingFacts(Strict):
    """When charges arrive."""

    delay: str = ""
    """How late a day's charges are."""

    final: str = ""
    """When a month is final."""

    note: str = ""
    """For people."""


class AgentFacts(Strict):
    """What has to run on a box for its GPU use to be seen."""

    install: str = Field(min_length=1)
    """A command line that installs it; ``{id}`` and ``{region}`` are the box's."""

    note: str = ""
    """Where to run it and what else it needs, for people."""

    @field_validator("install")
    @classmethod
    def _known_blanks(cls, text: str) -> str:
        if unknown := set(re.findall(r"\{(\w*)\}", text)) - {"id", "region"}:
            raise ValueError(f"only {{id}} and {{region}} are filled in, not {', '.join(sorted(unknown))}")
        return text

    def line(self, ref: ResourceRef) -> str:
        """The command line for one box."""
        return self.install.replace("{id}", ref.id).replace("{region}", ref.region)


class Manifest(Strict):
    """The whole file."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    """The provider's name in ``accounts[].provider``: the entry point's name."""

    name: str = Field(min_length=1)
    """The provider's name for people."""

    docs: str
    """Where the provider documents its API."""

    tier: Literal["stable", "beta", "experimental"]
    """How much it has been used."""

    currency: str = Field(pattern=r"^[A-Z]{3}$")
    """The currency of its prices."""

    billing_timezone: Zone
    """In which zone its billing days begin."""

    regions: str = ""
    """Where the list of regions comes from."""

    stoppable: tuple[Kind, ...] = ()
    """Kinds that ``stop`` can stop."""

    group_tags: tuple[str, ...] = ()
    """Tag keys that mark members of a group (scaling group, cluster)."""

    credentials: CredentialFields = Field(default_factory=CredentialFields)
    capabilities: dict[str, Annotated[str, AfterValidator(_support)]]
    limits: dict[str, int | float | str] = Field({})
    metrics: dict[Metric, MetricFacts] = Field({})
    billing: BillingFacts = Field(default_factory=BillingFacts)
    agent: AgentFacts | None = None
    permissions: dict[str, tuple[str, ...]] = Field({})
    quality: dict[str, Annotated[str, AfterValidator(_quality)]] = Field({})

    def support(self, capability: str) -> Support:
        """How far a capability goes; a name that the manifest does not tell is unknown."""
        text = self.capabilities.get(capability)
        return parse_support(text) if text is not None else _UNKNOWN


def read(path: Path) -> Manifest:
    """The manifest in a file. Raises ConfigErrors with every mistake, each at its line."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ConfigErrors(
            [ConfigError(f"cannot be read: {error.strerror}", file=str(path), line=1, column=1)]
        ) from None
    return parse(text, str(path))


def parse(text: str, file: str) -> Manifest:
    """The manifest in a text. Raises ConfigErrors with every mistake, each at its line."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(found[1]), int(found[2])) if found else (1, 1)
        message = re.sub(r" \(at .*\)", "", str(error))
        raise ConfigErrors([ConfigError(message, file=file, line=line, column=column)]) from None
    try:
        manifest = Manifest.model_validate(data)
    except ValidationError as failure:
        errors = [_error(detail["loc"], detail["msg"], text, file) for detail in failure.errors(include_url=False)]
        raise ConfigErrors(errors) from None
    known = {**CAPABILITIES, **OPTIONAL_CAPABILITIES}
    errors = [
        _error(("capabilities", name), "no such capability", text, file)
        for name in manifest.capabilities
        if name not in known
    ]
    missing = [name for name in CAPABILITIES if name not in manifest.capabilities]
    if missing:
        errors.append(_error(("capabilities",), f"says nothing of {', '.join(missing)}", text, file))
    if errors:
        raise ConfigErrors(errors)
    return manifest


def _error(loc: tuple[int | str, ...], message: str, text: str, file: str) -> ConfigError:
    parts = [str(part) for part in loc]
    return ConfigError(
        message.removeprefix("Value error, "), file=file, line=_line(parts, text), column=1, path=".".join(parts)
    )


def _line(parts: list[str], text: str) -> int:
    """The line of the deepest key of ``parts`` that is written out; 1 when none is. TOML tables are enough here."""
    table: list[str] = []
    best, depth = 1, 0
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.match(r"\s*\[([^\[\]]+)\]", line):
            table = [part.strip().strip('"') for part in found[1].split(".")]
            here = table
        elif found := re.match(r'\s*"?([\w:.-]+)"?\s*=', line):
            here = [*table, found[1]]
        else:
            continue
        if here == parts[: len(here)] and len(here) > depth:
            best, depth = number, len(here)
    return best
