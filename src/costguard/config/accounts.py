"""Accounts bound to their adapters: credentials checked by the adapter's own model, facts taken from its manifest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from costguard.config import hints, problems
from costguard.config.settings import Account, Settings
from costguard.config.yaml import Document, Loc
from costguard.domain.snapshot import AccountFacts
from costguard.errors import ConfigError
from costguard.net.redact import Redactor
from costguard.plugins import registry
from costguard.plugins.manifest import Manifest
from costguard.ports import AccountSpec


@dataclass(frozen=True, slots=True)
class BoundAccount:
    """One account, ready to connect.

    ``enforce``: the lowest of the configuration's and the account's mode is enforce. ``listed``: named in
    enforce_accounts; it is armed once the provider has confirmed its account_id.
    """

    spec: AccountSpec
    manifest: Manifest
    enforce: bool
    listed: bool

    def facts(self, *, armed: bool = False) -> AccountFacts:
        """What a snapshot says of it; ``armed`` only holds for a listed account."""
        return registry.account_facts(self.manifest, self.spec, enforce=self.enforce, armed=armed and self.listed)


def check(document: Document, errors: list[ConfigError]) -> None:
    """Providers and credentials of every account that is right by itself, when the settings as a whole are not."""
    for index in range(len(document.data["accounts"]) if isinstance(document.data.get("accounts"), list) else 0):
        account = problems.validate(Account, document, ("accounts", index), [])
        manifest = _manifest(account, document, ("accounts", index), errors) if account is not None else None
        if account is not None and manifest is not None:
            _credentials(account, manifest, document, ("accounts", index, "credentials"), errors)
            _options(account, document, ("accounts", index, "options"), errors)


def bind(
    settings: Settings, document: Document, errors: list[ConfigError], warnings: list[ConfigError]
) -> Mapping[str, BoundAccount]:
    """Every account whose provider is installed and whose credentials are complete, by name."""
    rates = settings.rates()
    bound: dict[str, BoundAccount] = {}
    for index, account in enumerate(settings.accounts):
        manifest = _manifest(account, document, ("accounts", index), errors)
        if manifest is None:
            continue
        currency = account.currency or manifest.currency
        if currency != settings.currency and currency not in rates:
            message = f"no exchange rate for {currency}: its money is shown on its own, never added"
            warnings.append(document.error(("accounts", index, "currency"), message))
        elif currency != settings.currency and not settings.rates_given:
            message = f"1 {currency} counts as {rates[currency][0][1]} {settings.currency}: set exchange_rates"
            warnings.append(document.error(("accounts", index, "currency"), message))
        credentials = _credentials(account, manifest, document, ("accounts", index, "credentials"), errors)
        _options(account, document, ("accounts", index, "options"), errors)
        bound[account.name] = BoundAccount(
            spec=AccountSpec(
                name=account.name,
                credentials=credentials,
                account_id=account.account_id,
                regions=account.regions,
                endpoint=account.endpoint,
                proxy=account.proxy.get_secret_value() if account.proxy else None,
                currency=currency,
                billing_timezone=account.billing_timezone or manifest.billing_timezone,
                owner=account.owner,
                team=account.team,
                project=account.project,
                allow_release=account.allow_release,
                options=account.options,
            ),
            manifest=manifest,
            enforce=settings.mode == "enforce" and account.mode == "enforce",
            listed=account.name in settings.enforce_accounts,
        )
    return bound


def _manifest(account: Account, document: Document, loc: Loc, errors: list[ConfigError]) -> Manifest | None:
    known = registry.available()
    try:
        plugin = registry.find(account.provider)
        lacking = registry.missing_sdk(account.provider)
    except ConfigError as failure:
        hint = hints.value_hint("provider", account.provider, known)
        errors.append(document.error((*loc, "provider"), failure.message, hint=hint))
        return None
    if lacking:
        errors.append(document.error((*loc, "provider"), lacking))
    return plugin.manifest


def _credentials(
    account: Account, manifest: Manifest, document: Document, loc: Loc, errors: list[ConfigError]
) -> BaseModel | None:
    if account.credentials is None:
        return None
    known = (*manifest.credentials.secret, *manifest.credentials.plain)
    unknown = [key for key in account.credentials if key not in known]
    for key in unknown:
        errors.append(document.error((*loc, key), "unknown key", hint=hints.key_hint(key, known), key=True))
    if unknown:
        return None
    plain = {key: value.get_secret_value() for key, value in account.credentials.items()}
    found: list[ConfigError] = []
    try:
        model = problems.validate(registry.load(account.provider).config, document, loc, found, data=plain)
    except ConfigError as failure:
        errors.append(document.error(loc[:-1], failure.message))
        return None
    # An adapter's own sentence may quote what it was given.
    hide = Redactor(plain[key] for key in manifest.credentials.secret if key in plain).text
    errors += [_masked(error, hide) for error in found]
    return model


def _options(account: Account, document: Document, loc: Loc, errors: list[ConfigError]) -> None:
    """The adapter's own settings, where it says what they may be."""
    if not account.options:
        return
    try:
        model = registry.load(account.provider).settings
    except ConfigError as failure:
        if account.credentials is None:  # else it has been said
            errors.append(document.error(loc[:-1], failure.message))
        return
    if model is not None:
        problems.validate(model, document, loc, errors)


def _masked(error: ConfigError, hide: Callable[[str], str]) -> ConfigError:
    return ConfigError(
        hide(error.message), file=error.file, line=error.line, column=error.column, path=error.path, hint=error.hint
    )
