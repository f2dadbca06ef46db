"""Names in costguard.yaml that must exist elsewhere in it, and what does not go together.

Names are checked on the plain document, so that a mistake in one place does not hide another; the rest needs the
typed settings. Each check appends every mistake at its place; none stops the next.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from costguard.config import hints
from costguard.config.channels import unavailable
from costguard.config.settings import Settings
from costguard.config.yaml import Document, Loc
from costguard.errors import ConfigError
from costguard.plugins import registry

OWNER = "owner"
"""In ``to``: whoever owns the resource."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names that are given in costguard.yaml, whether or not the rest of what they name is right."""

    accounts: tuple[str, ...]
    channels: tuple[str, ...]
    owners: tuple[str, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        """What ``to`` may name: owner, channels, owners."""
        return (OWNER, *self.channels, *self.owners)


def names(document: Document) -> Names:
    """The names in a configuration."""
    return Names(*(tuple(name for _, name in _given(document, (key,))) for key in ("accounts", "channels", "owners")))


def check_names(document: Document, given: Names, errors: list[ConfigError]) -> None:
    """Every mention of a name is of something that exists, and every name is given once."""
    for section in (("accounts",), ("channels",), ("owners",), ("metrics",), ("reports",), ("web", "tokens")):
        _unique(document, section, errors)
    mentions: list[tuple[Loc, str, Collection[str]]] = [
        (("enforce_accounts",), "account", given.accounts),
        (("admins",), "owner", given.owners),
        (("notify", "default"), "channel", given.channels),
        (("notify", "dry_run", "to"), "channel", given.channels),
        (("accounts", "*", "owner"), "owner", given.owners),
        (("channels", "*", "fallback"), "channel", given.channels),
        (("owners", "*", "channels"), "channel", given.channels),
        (("reports", "*", "to"), "channel", given.channels),
        (("reminders", "*", "to"), "channel", given.targets),
    ]
    for pattern, kind, known in mentions:
        for loc, name in _texts(document, pattern):
            expect(name, kind, known, document, loc, errors)
    for loc, provider in _texts(document, ("accounts", "*", "provider")):
        expect_provider(provider, document, loc, errors)


def check(settings: Settings, document: Document, errors: list[ConfigError], warnings: list[ConfigError]) -> None:
    """Every check that needs the settings as a whole."""
    _fallback_loops(settings, document, errors)
    for index, channel in enumerate(settings.channels):
        if found := unavailable(channel):
            errors.append(document.error(("channels", index, found[0]), found[1]))
    _armed(settings, document, errors, warnings)
    if settings.currency in settings.rates():
        message = f"{settings.currency} is the reporting currency itself; give the rates of the others"
        errors.append(document.error(("exchange_rates", settings.currency), message, key=True))
    if not settings.web.is_loopback and not settings.web.tokens:
        message = f"{settings.web.host} is reachable from other machines: web.tokens needs at least one token"
        errors.append(document.error(("web", "listen"), message))
    for section in ("metrics", "reminders", "reports"):
        if getattr(settings, section):
            warnings.append(document.error((section,), "checked, but not used by this version yet", key=True))


def expect(
    name: str, kind: str, known: Collection[str], document: Document, loc: Loc, errors: list[ConfigError]
) -> None:
    """Appends an error unless ``name`` is one of the known names of that kind."""
    if name in known:
        return
    hint = hints.near(name, known)
    if hint is None:
        others = [n for n in known if n != OWNER]
        hint = f"known: {', '.join(others)}" if others else f"no {kind} is configured"
    errors.append(document.error(loc, f"unknown {kind} {name!r}", hint=hint))


def expect_provider(name: str, document: Document, loc: Loc, errors: list[ConfigError]) -> None:
    """Appends an error unless an adapter for the provider is installed."""
    installed = registry.discover()
    if name not in installed:
        hint = hints.value_hint("provider", name, installed) or f"installed: {', '.join(registry.available())}"
        errors.append(document.error(loc, f"unknown provider {name!r}", hint=hint))


def element(document: Document, loc: Loc, index: int) -> Loc:
    """The place of one of several names; a single name may be written without a list."""
    return (*loc, index) if isinstance(document.at(loc), list) else loc


def _texts(document: Document, pattern: Loc) -> Iterator[tuple[Loc, str]]:
    """Every text at a location in which ``*`` is each element of a list; a list of texts gives each of them."""
    found: list[tuple[Loc, Any]] = [((), document.data)]
    for part in pattern:
        if part == "*":
            found = [((*loc, i), x) for loc, value in found if isinstance(value, list) for i, x in enumerate(value)]
        else:
            found = [((*loc, part), v[part]) for loc, v in found if isinstance(v, dict) and part in v]
    for loc, value in found:
        if isinstance(value, str):
            yield loc, value
        elif isinstance(value, list):
            yield from (((*loc, i), text) for i, text in enumerate(value) if isinstance(text, str))


def _given(document: Document, section: Loc) -> Iterator[tuple[Loc, str]]:
    return _texts(document, (*section, "*", "name"))


def _unique(document: Document, section: Loc, errors: list[ConfigError]) -> None:
    first: dict[str, Loc] = {}
    for loc, name in _given(document, section):
        earlier = first.setdefault(name, loc)
        if earlier is not loc:
            line, _ = document.place(earlier)
            errors.append(document.error(loc, f"duplicate name {name!r}", hint=f"first on line {line}"))


def _fallback_loops(settings: Settings, document: Document, errors: list[ConfigError]) -> None:
    follows = {channel.name: channel.fallback for channel in settings.channels}
    for index, channel in enumerate(settings.channels):
        seen: list[str] = [channel.name]
        after = channel.fallback
        while after is not None and after in follows and after not in seen:
            seen.append(after)
            after = follows[after]
        if after is not None and after == channel.name:
            message = f"falls back to itself: {' → '.join([*seen, after])}"
            errors.append(document.error(("channels", index, "fallback"), message))


def _armed(settings: Settings, document: Document, errors: list[ConfigError], warnings: list[ConfigError]) -> None:
    seen: dict[tuple[str, str], str] = {}
    for index, account in enumerate(settings.accounts):
        if account.name in settings.enforce_accounts and account.account_id is None:
            message = "an account in enforce_accounts needs account_id, which is compared with who the credentials are"
            errors.append(document.error(("accounts", index, "name"), message))
        if account.account_id is not None:
            twin = seen.setdefault((account.provider, account.account_id), account.name)
            if twin != account.name:
                message = f"the same account as {twin!r}: its resources are counted twice unless the regions differ"
                warnings.append(document.error(("accounts", index, "account_id"), message))
    if settings.mode == "enforce" and not settings.enforce_accounts:
        warnings.append(document.error(("mode",), "nothing acts: enforce_accounts is empty"))
