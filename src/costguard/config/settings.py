"""The whole costguard.yaml as models. Each field is followed by why it exists and what it is when left out.

These paragraphs are the source of docs/settings.md and of the JSON Schema. Nothing here looks at other files, at the
environment or at what is installed: names are checked in references, accounts are bound in accounts.
"""

from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, SecretStr, field_validator

from costguard.config.channels import Channel, Secret, SecretUrl
from costguard.config.metrics import MetricSource
from costguard.config.people import Notify, Owner, Reminder, Report
from costguard.config.sharing import SharedCost
from costguard.config.texts import Currency, ExactRate, Language, Mode, Name
from costguard.domain.time import country_of, parse_duration
from costguard.rules.fields import Duration, Percent, Strict, Zone
from costguard.rules.policy import Texts


def _database(secret: SecretStr) -> SecretStr:
    url = secret.get_secret_value()
    if not url.startswith(("sqlite:///", "postgresql+psycopg://")):
        raise ValueError("a database is sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME")
    return secret


def _listen(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{text!r} is not HOST:PORT, like 127.0.0.1:8787")
    return text


def _every(span: timedelta) -> timedelta:
    if span < timedelta(seconds=1):
        raise ValueError("must be at least 1s")
    return span


DatabaseUrl = Annotated[SecretStr, AfterValidator(_database)]
Listen = Annotated[str, AfterValidator(_listen)]
Every = Annotated[Duration, AfterValidator(_every)]


class DatedRate(Strict):
    """One exchange rate from a day on."""

    currency: Currency
    """The foreign currency, ISO 4217."""

    rate: ExactRate
    """How much of the reporting currency one unit is worth, in quotes."""

    since: date | None = Field(None, alias="from")
    """The first day, in the configuration's time zone, on which it holds; always when left out."""


class Fence(Strict):
    """What no policy may ever touch. costguard's own machine is always inside."""

    names: Texts = ()
    """Globs on the resource's name; any one that fits protects."""

    tags: dict[str, Texts] = Field({})
    """Tag values; any one tag that fits protects."""


def usual_fence() -> Fence:
    """The fence when nobody says otherwise."""
    return Fence(names=("prod-*",), tags={"env": ("prod",)})


class GlobalLimits(Strict):
    """The blast radius over all policies; it cannot be switched off."""

    per_hour: int = Field(5, ge=0)
    """Actions in any 60 minutes, failed and running ones counted."""

    share: Percent = Field(25.0, le=100)
    """Of the running resources of an account, at least one."""


class Account(Strict):
    """One set of credentials at one provider."""

    name: Name
    """How policies and commands call it."""

    provider: str
    """The adapter: an entry point's name, like aliyun, tencent, aws or simulated."""

    account_id: str | None = None
    """The provider's own id of the account. Needed to arm it: a mismatch with who the credentials really are denies
    every action, so a wrong key in the environment cannot stop the wrong company's machines."""

    mode: Mode = "enforce"
    """What acts is the lowest of the configuration's, the account's and the policy's mode."""

    regions: Texts = ()
    """Which regions to watch; every region that the account can see when left out."""

    credentials: dict[str, Secret] | None = None
    """Keys as the adapter names them (docs/providers.md). Left out: the provider's own default chain (environment,
    profile, machine role). Use ${env:X} or ${file:P}; a key written here in full is kept secret, too."""

    endpoint: str | None = None
    """Every call of this account goes there: a private cloud, a gateway, a test server."""

    proxy: SecretUrl | None = None
    """An HTTP proxy for this account alone. Left out, the environment's HTTPS_PROXY and NO_PROXY hold."""

    currency: Currency | None = None
    """The currency of its prices and bills; the provider's when left out."""

    billing_timezone: Zone | None = None
    """In which zone its billing days begin; the provider's when left out."""

    owner: str | None = None
    """The owner of what carries no owner tag."""

    team: str | None = None
    """The team of what carries no team tag."""

    project: str | None = None
    """The project of what carries no project tag."""

    allow_release: bool = False
    """Without it nothing of this account is ever destroyed, and no provider-side timer that destroys is set."""

    options: dict[str, Any] = Field({})
    """Further settings of the adapter itself, like the simulated fleet's scenario."""

    @field_validator("regions")
    @classmethod
    def _bare(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            if not value or any(c.isspace() for c in value):
                raise ValueError(f"{value!r} is not a region: no spaces, like cn-beijing")
        return values

    @field_validator("endpoint")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("an endpoint starts with https:// or http://")
        return value


class Token(Strict):
    """A key to the API and the pages."""

    name: Name
    """Who uses it: the ledger says token:NAME."""

    token: Secret
    """The secret itself, at least 16 characters."""

    scopes: tuple[Literal["read", "act", "admin", "heartbeat"], ...] = Field(("read",), min_length=1)
    """read: tables, explain · act: keep, claim, approve, cancel, undo · admin: pause, resume · heartbeat: only that."""

    @field_validator("token")
    @classmethod
    def _long(cls, value: SecretStr) -> SecretStr:
        if len(value.get_secret_value()) < 16:
            raise ValueError("is too short to be safe: use at least 16 random characters")
        return value


class Web(Strict):
    """The page, the API and the health checks."""

    listen: Listen = "127.0.0.1:8787"
    """HOST:PORT. Anything but loopback is refused without a token."""

    tokens: tuple[Token, ...] = ()
    """Keys to the API. Without any, the page is for people on this machine."""

    public_url: str | None = None
    """How people reach the page, for links in messages; no links when left out."""

    @field_validator("public_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("an address starts with https:// or http://")
        return value

    @property
    def host(self) -> str:
        """The host part of ``listen``."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port part of ``listen``."""
        return int(self.listen.rpartition(":")[2])


class Schedule(Strict):
    """How often what is done."""

    inventory: Every = parse_duration("2m")
    """Listing resources, for each account and region."""

    usage: Every = parse_duration("5m")
    """Reading GPU, CPU and network use."""

    spot_prices: Every = parse_duration("10m")
    """Reading market prices."""

    charges: Every = parse_duration("6h")
    """Reading bills and balances."""

    cycle: Every = parse_duration("1m")
    """Deciding; a completed poll also starts a cycle."""

    act: Every = parse_duration("10s")
    """Looking for actions that are due."""

    deliver: Every = parse_duration("5s")
    """Looking for messages that are due."""

    heartbeat: Every = parse_duration("5s")
    """Renewing the lease and proving that the loops live."""


class Retention(Strict):
    """How long history is kept. The ledger and the evidence of actions are kept for ever."""

    usage_raw: Duration = parse_duration("40d")
    """Samples as they came."""

    usage_hourly: Duration = parse_duration("400d")
    """Samples rolled up to hours."""

    notices: Duration = parse_duration("400d")
    """Messages that were sent."""


class Settings(Strict):
    """costguard.yaml."""

    version: Literal[1]
    """The version of this format."""

    database: DatabaseUrl = SecretStr("sqlite:///costguard.db")
    """sqlite:///FILE (beside this file) for one process; postgresql+psycopg://… for several replicas."""

    timezone: Zone = ZoneInfo("Asia/Shanghai")
    """IANA zone: the default of policies, of reports and of what "today" means."""

    language: Language = "zh"
    """zh or en; channels and owners may have their own."""

    currency: Currency = "CNY"
    """The currency of reports."""

    exchange_rates: dict[Currency, ExactRate] | tuple[DatedRate, ...] = Field({"USD": Decimal("7.10")})
    """What one unit of another currency is worth in the reporting currency: a map, or a list with dates. Amounts of
    different currencies are never added without one. Left out: 7.10 for USD when reports are in CNY, with a warning."""

    mode: Mode = "dry_run"
    """dry_run records what would be done; enforce acts, where the account and the policy say so as well and the account
    is armed."""

    enforce_accounts: Texts = ()
    """The armed accounts, by name. Each needs account_id."""

    never_stop: Fence = Field(default_factory=usual_fence)
    """A fence that no policy crosses. Left out: names prod-* and the tag env=prod; write {} to have none."""

    limits: GlobalLimits = Field(default_factory=GlobalLimits)
    """Limits over all policies, always on."""

    admins: Texts = ()
    """Owners who may pause, approve, stop and keep others' boxes; every owner may do so for their own."""

    accounts: tuple[Account, ...] = ()
    """What is watched."""

    prices: Texts = ("prices.yaml",)
    """Price books (YAML files): negotiated prices and own machines; they beat list prices. A line counts for time that
    is seen after it was written; ``spend`` tells of time before. Left out: prices.yaml where there is one."""

    metrics: tuple[MetricSource, ...] = ()
    """Sources of use besides the providers."""

    channels: tuple[Channel, ...] = ()
    """Places that notices go to."""

    owners: tuple[Owner, ...] = ()
    """People, and how to tell what is theirs."""

    notify: Notify = Field(default_factory=Notify)
    """Who hears what, and how often."""

    reminders: tuple[Reminder, ...] = ()
    """Daily notes of what still runs."""

    reports: tuple[Report, ...] = ()
    """Reports that are sent by themselves."""

    shared: tuple[SharedCost, ...] = ()
    """Costs that everybody causes, and how reports divide them among teams, owners or projects."""

    policies: Texts = ("policies/",)
    """Policy files, or folders of them (their tests/ and examples/ are not read)."""

    holidays_file: str | None = None
    """A YAML file {CN: {off: [DATE], work: [DATE]}} that beats the library's data for the years it names."""

    holidays: str | None = Field(None, pattern=r"^[A-Z]{2}$")
    """The country whose calendar tells workdays from restdays. Left out: CN in China's time zone, else none."""

    web: Web = Field(default_factory=Web)
    """The page and the API."""

    schedule: Schedule = Field(default_factory=Schedule)
    """How often what is done."""

    heartbeat_url: SecretUrl | None = None
    """Pinged by the leader each cycle: a dead-man switch elsewhere raises the alarm that costguard itself cannot."""

    retention: Retention = Field(default_factory=Retention)
    """How long history is kept."""

    @property
    def rates_given(self) -> bool:
        """Whether somebody wrote exchange rates; if not, the built-in one is no more than a guess."""
        return "exchange_rates" in self.model_fields_set

    def country(self) -> str | None:
        """The country whose calendar holds; None is the plain weekday rule."""
        return self.holidays or country_of(self.timezone)

    def rates(self) -> dict[str, tuple[tuple[datetime, str], ...]]:
        """Currency → (since in UTC, rate as a decimal string), ascending: as a snapshot takes them."""
        if not self.rates_given and self.currency != "CNY":
            return {}
        rates: dict[str, list[tuple[datetime, str]]] = {}
        always = datetime(1970, 1, 1, tzinfo=UTC)
        if isinstance(self.exchange_rates, dict):
            return {currency: ((always, str(rate)),) for currency, rate in self.exchange_rates.items()}
        for dated in self.exchange_rates:
            since = (
                datetime.combine(dated.since, clock_time(), self.timezone).astimezone(UTC) if dated.since else always
            )
            rates.setdefault(dated.currency, []).append((since, str(dated.rate)))
        return {currency: tuple(sorted(entries)) for currency, entries in rates.items()}
