"""``metrics:`` of costguard.yaml: sources of use besides the providers."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from costguard.config.channels import Secret, SecretUrl
from costguard.config.texts import Name
from costguard.config.yaml import Document
from costguard.domain.time import parse_duration
from costguard.errors import ConfigError
from costguard.prometheus.profiles import PROFILES
from costguard.rules.fields import Duration, Strict
from costguard.rules.globs import glob
from costguard.rules.policy import Texts

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_API = re.compile(r"/(api(/v1.*)?|graph|query|metrics)/*$")


def _label(text: str) -> str:
    if not _LABEL.fullmatch(text):
        raise ValueError(f"{text!r} is no label: letters, digits and _, like instance_id")
    return text


def _base(secret: SecretStr) -> SecretStr:
    parts = urlsplit(secret.get_secret_value())
    if parts.query or parts.fragment:
        raise ValueError("the address before /api/v1, without ? or #")
    if _API.search(parts.path):
        raise ValueError(f"the address before /api/v1, without {parts.path}")
    return secret


def _step(span: timedelta) -> timedelta:
    if not timedelta(seconds=10) <= span <= timedelta(minutes=10) or span % timedelta(seconds=1):
        raise ValueError("whole seconds, from 10s to 10m")
    return span


def _delay(span: timedelta) -> timedelta:
    if span > timedelta(minutes=30):
        raise ValueError("at most 30m: use that is older cannot speak of now")
    return span


Label = Annotated[str, AfterValidator(_label)]


class MetricJoin(Strict):
    """How a series finds its box. What fits several boxes is refused, and said; a port at the end (``10.0.0.5:9400``)
    is not looked at."""

    label: Label
    """The series' label that names the box."""

    to: Literal["any", "id", "name", "private_ip", "hostname"] = "any"
    """What of the box the label holds; any of these when left out. ``private_ip`` and ``hostname`` where the provider
    tells them."""

    map: dict[str, str] = Field({})
    """Label value to the box's id, name or full ref, for what the label does not tell by itself."""


class MetricSource(Strict):
    """A source of use besides the providers: docs/metrics-sources.md."""

    name: Name
    """How ``sources`` and ``explain`` call it."""

    kind: Literal["prometheus"]
    """What it speaks: the HTTP API of Prometheus, which VictoriaMetrics, Thanos and Mimir speak, too."""

    url: Annotated[SecretUrl, AfterValidator(_base)]
    """Its address, up to before ``/api/v1``; may hold a user and a password."""

    profile: Literal["dcgm", "nvidia_gpu_exporter", "telegraf", "ascend", "node_exporter"] = "dcgm"
    """Which exporter's metric names and units it has. For two exporters write two sources."""

    join: MetricJoin
    """How a series finds its box."""

    accounts: Texts | None = None
    """Names or globs of the accounts whose boxes it tells of; all when left out. Needed where two accounts have boxes
    of one name or address."""

    where: dict[Label, str] = Field({})
    """Further labels that a series must have, with exactly this value."""

    step: Annotated[Duration, AfterValidator(_step)] = parse_duration("1m")
    """The time between two points, each of which is the maximum of what was scraped since the last. At least the
    scrape interval: else points are missing, and what is missing is unknown."""

    delay: Annotated[Duration, AfterValidator(_delay)] = parse_duration("30s")
    """How late the newest samples arrive: more with remote write, a queue, or a query layer that holds back."""

    username: str | None = None
    """The user of basic authentication."""

    password: Secret | None = None
    """The password of basic authentication."""

    bearer_token: Secret | None = None
    """Sent as ``Authorization: Bearer``."""

    tenant: str | None = None
    """Sent as ``X-Scope-OrgID``: whose series to ask for, in Mimir, Cortex and Thanos."""

    headers: dict[str, Secret] = Field({})
    """Further headers, sent with every request. Their values are secrets: logs and messages never show them."""

    ca_file: str | None = None
    """A PEM file of the authorities to trust instead of the system's."""

    proxy: SecretUrl | None = None
    """An HTTP proxy for this source alone. Left out, the environment's HTTPS_PROXY and NO_PROXY hold."""

    def covers(self) -> Callable[[str], bool]:
        """Whether it tells of the boxes of an account, by the account's name."""
        if self.accounts is None:
            return lambda account: True
        names = glob(self.accounts)
        return lambda account: names.match(account) is not None

    @model_validator(mode="after")
    def _one_identity(self) -> Self:
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password go together")
        ways = [self.username, self.bearer_token, urlsplit(self.url.get_secret_value()).username]
        if sum(way is not None for way in ways) > 1:
            raise ValueError("one of username, bearer_token, or a user in the url")
        return self


def check(sources: Sequence[MetricSource], document: Document, errors: list[ConfigError]) -> None:
    """Files that sources name."""
    for index, source in enumerate(sources):
        if source.ca_file is None:
            continue
        loc = ("metrics", index, "ca_file")
        path = document.folder / source.ca_file
        if not path.is_file():
            errors.append(document.error(loc, f"no such file: {source.ca_file}"))
            continue
        from ssl import create_default_context  # few configurations name one, and OpenSSL is slow to load

        try:
            create_default_context(cafile=path)
        except OSError:  # SSLError is one
            errors.append(document.error(loc, f"{source.ca_file} holds no certificate (PEM)"))


def tellers(sources: Iterable[MetricSource], accounts: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """The names of the sources that tell of the GPU use of each account's boxes."""
    given = [(source.name, source.covers()) for source in sources if PROFILES[source.profile].of_cards]
    return {account: frozenset(name for name, covers in given if covers(account)) for account in accounts}


def capabilities(sources: Iterable[MetricSource], accounts: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """What the sources can tell of each account's boxes, in the words of a manifest."""
    given = [(source.covers(), PROFILES[source.profile].capabilities) for source in sources]
    return {name: frozenset().union(*(told for covers, told in given if covers(name))) for name in accounts}
