"""``load``: from files to one whole configuration, or to every mistake in every file. Never something in between."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from zoneinfo import ZoneInfo

from costguard.config import accounts as binding
from costguard.config import calendar, prices, problems, references, secrets, yaml
from costguard.config import metrics as sources
from costguard.config import policies as policy_files
from costguard.config.accounts import BoundAccount
from costguard.config.settings import Settings
from costguard.config.yaml import Document, Loc
from costguard.domain.price import Price
from costguard.domain.snapshot import AccountFacts
from costguard.domain.time import Calendars
from costguard.errors import ConfigError, ConfigErrors
from costguard.plugins import registry
from costguard.rules.policy import Policy

_SQLITE = "sqlite:///"
# Where the settings cannot be read, files are read for their mistakes alone: any zone will do.
_NO_ZONE = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that people configured, checked together.

    ``secrets`` are the texts that the redactor must mask; ``warnings`` are mistakes that do no harm (never raised).
    """

    path: Path
    settings: Settings
    accounts: Mapping[str, BoundAccount]
    policies: tuple[Policy, ...]
    prices: tuple[Price, ...] = ()
    calendars: Calendars = field(default_factory=Calendars)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    warnings: tuple[ConfigError, ...] = ()

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return self.path.parent

    def database_url(self) -> str:
        """The database's address, a relative SQLite file placed beside the configuration. May hold a password."""
        url = self.settings.database.get_secret_value()
        name = url.removeprefix(_SQLITE)
        if not url.startswith(_SQLITE) or name in ("", ":memory:"):
            return url
        return f"{_SQLITE}{(self.folder / name).resolve()}"

    def account_facts(self, armed: frozenset[str] = frozenset()) -> dict[str, AccountFacts]:
        """The facts of every account; ``armed`` are those whose account_id the provider has confirmed."""
        return {name: account.facts(armed=name in armed) for name, account in self.accounts.items()}


def load(path: Path, env: Mapping[str, str]) -> Config:
    """Reads costguard.yaml and every file it names. Raises ConfigErrors with all mistakes of all files.

    ``env`` is where ``${env:X}`` looks; nothing else is taken from it. Call again to read secrets anew.
    """
    errors: list[ConfigError] = []
    warnings: list[ConfigError] = []
    document = yaml.read(path, env, errors, strict_references=True)
    if document is None:
        # Nothing is known of the settings, so nothing else is read: its mistakes would be guesses.
        raise ConfigErrors(errors)
    if not isinstance(document.data, dict):
        raise ConfigErrors([*errors, document.error((), "costguard.yaml is a mapping that starts with version: 1")])
    language = str(document.data.get("language", ""))
    settings = problems.validate(Settings, document, (), errors)
    given = references.names(document)
    references.check_names(document, given, errors)
    references.check(document, errors, warnings)
    findings = policy_files.Findings(errors, warnings)
    placed = _policies(document, given, env, findings)
    if settings is None:
        # The other files are read all the same: every mistake in one run.
        binding.check(document, errors)
        listed = document.data.get("prices")
        names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
        _prices(names, written="prices" in document.data, zone=_NO_ZONE, document=document, errors=errors)
        holidays = document.data.get("holidays_file")
        _calendars(holidays if isinstance(holidays, str) else None, None, placed, document, errors)
        raise ConfigErrors(_sorted(errors), language)
    bound = binding.bind(settings, document, errors, warnings)
    sources.check(settings.metrics, document, errors)
    policy_files.check_against(placed, settings, bound, findings)
    written = "prices" in settings.model_fields_set
    book = _prices(settings.prices, written=written, zone=settings.timezone, document=document, errors=errors)
    calendars = replace(
        _calendars(settings.holidays_file, settings.holidays, placed, document, errors),
        home=settings.timezone.key,
        country=settings.country(),
    )
    if errors:
        raise ConfigErrors(_sorted(errors), language)
    return Config(
        path=path,
        settings=settings,
        accounts=bound,
        policies=tuple(one.policy for one in placed),
        prices=book,
        calendars=calendars,
        secrets=secrets.collect(settings, *(account.spec.credentials for account in bound.values())),
        warnings=tuple(_sorted(warnings)),
    )


def _policies(
    document: Document, given: references.Names, env: Mapping[str, str], found: policy_files.Findings
) -> list[policy_files.Placed]:
    """The policies of every file, also when the settings have mistakes: all errors in one run."""
    written = document.data.get("policies", ["policies/"])
    entries = [written] if isinstance(written, str) else written
    if not isinstance(entries, list):
        return []
    documents: list[Document] = []
    placed: list[policy_files.Placed] = []
    seen: set[Path] = set()
    for index, entry in enumerate(entries):
        if not isinstance(entry, str):
            continue
        paths = policy_files.files(entry, document.folder)
        where: Loc = ("policies", index)
        if paths is None and "policies" in document.data:
            found.errors.append(document.error(where, f"no such file or folder: {entry}"))
        elif not paths:
            found.warnings.append(document.error(where, f"{entry} holds no policy file"))
        for path in paths or ():
            if path.resolve() not in seen:
                seen.add(path.resolve())
                one, policies = policy_files.read_file(path, env, found)
                documents += [one] if one is not None else []
                placed += policies
    policy_files.check(documents, placed, given, found)
    return placed


def _prices(
    names: Iterable[str], *, written: bool, zone: ZoneInfo, document: Document, errors: list[ConfigError]
) -> tuple[Price, ...]:
    book: list[Price] = []
    for index, name in enumerate(names):
        path = document.folder / name
        if path.is_file():
            book += prices.price_book(path, str(path), zone, registry.discover(), errors)
        elif written:
            errors.append(document.error(("prices", index), f"no such file: {name}"))
    return tuple(book)


def _calendars(
    name: str | None,
    country: object,
    placed: Sequence[policy_files.Placed],
    document: Document,
    errors: list[ConfigError],
) -> Calendars:
    path = document.folder / name if name else None
    if path is not None and not path.is_file():
        errors.append(document.error(("holidays_file",), f"no such file: {name}"))
        path = None
    wrong: list[ConfigError] = []
    found = calendar.calendars(path, str(path), wrong)
    if not wrong:
        asked: list[tuple[Document, Loc, object]] = [(document, ("holidays",), country)]
        for one in placed:
            for key in ("holidays", "cover_holidays"):
                asked.append((one.document, (*one.loc, "when", key), getattr(one.policy.when, key, None)))
        calendar.check(found, asked, wrong)
    errors += wrong
    return found


def _sorted(found: list[ConfigError]) -> list[ConfigError]:
    """By file in the order in which files were read, then by place; one for each place.

    What follows from a mistake (a variable that is not set leaves an empty text, which is no address) stands at the
    same place as the mistake, and was found after it.
    """
    order = {file: index for index, file in enumerate(dict.fromkeys(error.file for error in found))}
    first = {(error.file, error.line, error.column): error for error in reversed(found)}
    return sorted(first.values(), key=lambda error: (order[error.file], error.line, error.column))
