"""Names in costguard.yaml that must exist elsewhere in it, and what does not go together.

All of it is asked of the plain document, so that a mistake in one place does not hide another. Each check appends
every mistake at its place; none stops the next.
"""

import ipaddress
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from costguard.config import hints, problems
from costguard.config.channels import CHANNELS, unavailable
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
    named = ("accounts", "channels", "owners", "metrics", "reports", "shared")
    for section in (*((key,) for key in named), ("web", "tokens")):
        unique(((document, loc, name) for loc, name in _given(document, section)), errors)
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
        for loc, name in texts(document, pattern):
            expect(name, kind, known, document, loc, errors)
    for loc, name in texts(document, ("metrics", "*", "accounts")):
        if "*" not in name:
            expect(name, "account", given.accounts, document, loc, errors)
    for loc, provider in texts(document, ("accounts", "*", "provider")):
        expect_provider(provider, document, loc, errors)


def check(document: Document, errors: list[ConfigError], warnings: list[ConfigError]) -> None:
    """What does not go together within costguard.yaml, and what this version cannot do."""
    _fallback_loops(document, errors)
    for index, data in enumerate(_listed(document, "channels")):
        model = CHANNELS.get(str(data.get("kind"))) if isinstance(data, dict) else None
        channel = problems.validate(model, document, ("channels", index), []) if model is not None else None
        if channel is not None and (found := unavailable(channel)):
            errors.append(document.error(("channels", index, found[0]), found[1]))
        if isinstance(data, dict):
            _in_the_clear(data, document, ("channels", index), warnings)
    _armed(document, errors, warnings)
    _heard(document, warnings)
    _money(document, errors)
    web = document.data.get("web")
    for loc, listen in texts(document, ("web", "listen")):
        host = listen.rpartition(":")[0].strip("[]")
        if host and not is_loopback(host) and not web.get("tokens"):
            message = f"{host} is reachable from other machines: web.tokens needs at least one token"
            errors.append(document.error(loc, message))


def _in_the_clear(data: dict[str, Any], document: Document, loc: Loc, warnings: list[ConfigError]) -> None:
    """An address whose path or token is the secret, over a network that anybody on the way can read."""
    for key in ("url", "endpoint"):
        address = data.get(key)
        if isinstance(address, str) and address.lower().startswith("http://"):
            host = urlsplit(address).hostname or ""
            if host and not is_loopback(host):
                message = "http:// shows the messages, and the secret in this address, to everybody on the way"
                warnings.append(document.error((*loc, key), message, hint="write https://"))


def _heard(document: Document, warnings: list[ConfigError]) -> None:
    """A chat where people can press and write, and nobody would be known there."""
    owners = [owner for owner in _listed(document, "owners") if isinstance(owner, dict)]
    for index, data in enumerate(_listed(document, "channels")):
        if not isinstance(data, dict):
            continue
        key, needs = _listens(data)
        if key is not None and not any(owner.get(handle) for owner in owners for handle in needs):
            what = "a dingtalk user id" if "dingtalk" in needs else "a slack member id or an email"
            message = f"no owner has {what}, so nobody may press a button or write a command here"
            warnings.append(document.error(("channels", index, key), message))


def _listens(data: dict[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """The key by which a channel hears people, and which keys of an owner tell who somebody is."""
    if data.get("kind") == "dingtalk" and data.get("mode") == "stream":
        return "mode", ("dingtalk",)
    if data.get("kind") == "slack":
        return next((key for key in ("app_token", "signing_secret") if data.get(key)), None), ("slack", "email")
    return None, ()


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


def texts(document: Document, pattern: Loc) -> Iterator[tuple[Loc, str]]:
    """Every text at a location in which ``*`` is each element of a list; a list of texts gives each of them."""
    found: list[tuple[Loc, Any]] = [((), document.data)]
    for part in pattern:
        if part == "*":
            found = [((*loc, i), x) for loc, value in found if isinstance(value, list) for i, x in enumerate(value)]
        else:
            found = [((*loc, part), v[part]) for loc, v in found if _has(v, part)]
    for loc, value in found:
        if isinstance(value, str):
            yield loc, value
        elif isinstance(value, list):
            yield from (((*loc, i), text) for i, text in enumerate(value) if isinstance(text, str))


def unique(given: Iterable[tuple[Document, Loc, str]], errors: list[ConfigError], kind: str = "name") -> None:
    """Appends an error for each name that was given before."""
    first: dict[str, tuple[Document, Loc]] = {}
    for document, loc, name in given:
        if name not in first:
            first[name] = (document, loc)
            continue
        earlier, place = first[name]
        where = "" if earlier.file == document.file else f" of {earlier.file}"
        hint = f"first on line {earlier.place(place)[0]}{where}"
        errors.append(document.error(loc, f"duplicate {kind} {name!r}", hint=hint))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _has(value: Any, part: str | int) -> bool:
    if isinstance(part, int):
        return isinstance(value, list) and part < len(value)
    return isinstance(value, dict) and part in value


def _listed(document: Document, section: str) -> list[Any]:
    value = document.data.get(section)
    return value if isinstance(value, list) else []


def _given(document: Document, section: Loc) -> Iterator[tuple[Loc, str]]:
    return texts(document, (*section, "*", "name"))


def _fallback_loops(document: Document, errors: list[ConfigError]) -> None:
    channels = [data for data in _listed(document, "channels") if isinstance(data, dict)]
    follows = {str(data.get("name")): str(data.get("fallback")) for data in channels}
    for loc, fallback in texts(document, ("channels", "*", "fallback")):
        if len(loc) > 3:
            continue  # a list, where one name is expected: told already
        name = str(document.at(loc[:-1]).get("name"))
        seen = [name]
        after = fallback
        while after in follows and after not in seen:
            seen.append(after)
            after = follows[after]
        if after == name:
            errors.append(document.error(loc, f"falls back to itself: {' → '.join([*seen, name])}"))


def _armed(document: Document, errors: list[ConfigError], warnings: list[ConfigError]) -> None:
    listed = {name for _, name in texts(document, ("enforce_accounts",))}
    seen: dict[tuple[str, str], str] = {}
    for index, account in enumerate(_listed(document, "accounts")):
        if not isinstance(account, dict):
            continue
        name, number = str(account.get("name")), account.get("account_id")
        if name in listed and number is None:
            message = "an account in enforce_accounts needs account_id, which is compared with who the credentials are"
            errors.append(document.error(("accounts", index, "name"), message))
        if isinstance(number, str):
            twin = seen.setdefault((str(account.get("provider")), number), name)
            if twin != name:
                message = f"the same account as {twin!r}: its resources are counted twice unless the regions differ"
                warnings.append(document.error(("accounts", index, "account_id"), message))
    if document.data.get("mode") == "enforce" and not listed:
        warnings.append(document.error(("mode",), "nothing acts: enforce_accounts is empty"))


def _money(document: Document, errors: list[ConfigError]) -> None:
    rates = document.data.get("exchange_rates")
    own = document.data.get("currency", "CNY")
    if isinstance(rates, dict):
        places: list[Loc] = [("exchange_rates", currency) for currency in rates if currency == own]
    else:
        places = [loc for loc, currency in texts(document, ("exchange_rates", "*", "currency")) if currency == own]
    for loc in places:
        message = f"{own} is the reporting currency itself; give the rates of the others"
        errors.append(document.error(loc, message, key=True))
