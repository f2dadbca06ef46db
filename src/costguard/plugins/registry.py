"""Which adapters are installed: entry points of group ``costguard.adapters``.

Discovery reads manifests only, so that ``check`` and the tables cost no SDK import (boto3 alone is 100 ms and 22 MiB).
An adapter's package is imported when an account uses it, its SDK when that account connects.
"""

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from costguard.domain.snapshot import AccountFacts
from costguard.errors import ConfigError, ConfigErrors
from costguard.plugins import manifest as manifests
from costguard.plugins.manifest import Manifest, Support
from costguard.ports import AccountSpec, Adapter, Clock, Connection

GROUP = "costguard.adapters"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One installed adapter: its entry point, and its manifest or what is wrong with it."""

    name: str
    entry_point: metadata.EntryPoint
    manifest: Manifest | None
    problem: str = ""


@cache
def discover() -> Mapping[str, Plugin]:
    """Every installed adapter by provider name; one that cannot be used has a ``problem`` and no manifest."""
    found = sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name)
    return {point.name: _plugin(point) for point in found}


def available() -> Mapping[str, Manifest]:
    """The manifests of every adapter that can be used, by provider name."""
    return {name: plugin.manifest for name, plugin in discover().items() if plugin.manifest is not None}


def find(provider: str) -> Plugin:
    """The adapter of that provider. Raises ConfigError when it is not installed or its manifest is unusable."""
    plugin = discover().get(provider)
    if plugin is None:
        raise ConfigError(f"no adapter is installed for provider {provider!r}; installed: {', '.join(available())}")
    if plugin.manifest is None:
        raise ConfigError(f"provider {provider!r} cannot be used: {plugin.problem}")
    return plugin


def load(provider: str) -> Adapter:
    """Imports the adapter's package, not its SDK. Raises ConfigError."""
    plugin = find(provider)
    try:
        adapter = plugin.entry_point.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"the adapter of provider {provider!r} cannot be loaded: {error}") from error
    if not isinstance(adapter, Adapter):
        raise ConfigError(f"entry point {plugin.entry_point.value!r} of provider {provider!r} is not an Adapter")
    return adapter


def connect(provider: str, spec: AccountSpec, clock: Clock) -> Connection:
    """Connects one account; imports the SDK and calls nothing. Raises ConfigError when the SDK is not installed."""
    adapter = load(provider)
    try:
        return adapter.connect(spec, clock)
    except ModuleNotFoundError as error:
        raise ConfigError(_install(provider, [str(error.name)])) from error


def missing_sdk(provider: str) -> str | None:
    """A sentence with the line that installs what the provider's extra needs and this machine lacks, or None."""
    distribution = find(provider).entry_point.dist
    if distribution is None:
        return None
    wanted = [
        re.split(r"[\s<>=!~;\[(]", requirement, maxsplit=1)[0]
        for requirement in _requirements(distribution)
        if re.search(rf"""extra\s*==\s*['"]{re.escape(provider)}['"]""", requirement)
    ]
    lacking = [name for name in wanted if not (_installed(name) or _installed(name.rpartition("-")[0]))]
    return _install(provider, lacking) if lacking else None


def capability_table() -> Mapping[str, Mapping[str, Support]]:
    """Provider → capability → support, for every adapter that can be used."""
    names = (*manifests.CAPABILITIES, *manifests.OPTIONAL_CAPABILITIES)
    return {provider: {name: found.support(name) for name in names} for provider, found in available().items()}


def account_facts(
    manifest: Manifest,
    spec: AccountSpec,
    *,
    enforce: bool = False,
    armed: bool = False,
) -> AccountFacts:
    """What a snapshot says of an account, from its manifest and its settings."""
    return AccountFacts(
        name=spec.name,
        provider=manifest.id,
        enforce=enforce,
        armed=armed,
        allow_release=spec.allow_release,
        owner=spec.owner,
        team=spec.team,
        currency=spec.currency or manifest.currency,
        capabilities={name: manifest.support(name).level for name in manifest.capabilities},
        stoppable=frozenset(manifest.stoppable),
        group_tags=manifest.group_tags,
        metric_delay={metric: facts.delay for metric, facts in manifest.metrics.items()},
        metric_period={metric: facts.period for metric, facts in manifest.metrics.items()},
    )


def _plugin(point: metadata.EntryPoint) -> Plugin:
    spec = importlib.util.find_spec(point.module.partition(".")[0])
    if spec is None or spec.origin is None:
        return Plugin(point.name, point, None, f"its package {point.module} is not installed")
    path = Path(spec.origin).with_name("manifest.toml")
    if not path.is_file():
        return Plugin(point.name, point, None, "this version has no adapter for it yet")
    try:
        manifest = manifests.read(path)
    except ConfigErrors as failure:
        return Plugin(point.name, point, None, str(failure))
    if manifest.id != point.name:
        return Plugin(point.name, point, None, f"its manifest is that of {manifest.id!r}")
    return Plugin(point.name, point, manifest)


@cache
def _requirements(distribution: metadata.Distribution) -> tuple[str, ...]:
    # Its metadata holds the whole README and is parsed as a mail is, each time that it is asked.
    return tuple(distribution.requires or ())


def _installed(name: str) -> bool:
    if not name:
        return False
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _install(provider: str, lacking: list[str]) -> str:
    return f"provider {provider!r} needs {', '.join(lacking)}: pip install 'costguard[{provider}]'"
