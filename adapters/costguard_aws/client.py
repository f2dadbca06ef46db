"""Calls: sessions, one lazily made client per service and region, retries, paging, total deadlines.

The SDK's own retries are off: they cannot be held to a total deadline, do not wait on our Clock and would repeat a
mutation. Reads are retried here as the SDK would (five attempts, exponential, jittered); mutations never.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from botocore import xform_name
from botocore.client import BaseClient
from botocore.config import Config
from botocore.session import Session
from pydantic import ValidationError

from costguard.deadline import DeadlinePassed, backoff, countdown, within
from costguard.errors import AuthFailed, BadResponse, ConfigError, ProviderError, TimedOut
from costguard.ports import AccountSpec, Clock
from costguard_aws.credentials import AwsCredentials, AwsOptions
from costguard_aws.errors import Call, translate
from costguard_aws.fields import read_only_these
from costguard_aws.sessions import make_session

log = logging.getLogger("costguard_aws")

ATTEMPTS = 5
WORTHWHILE = 0.5  # seconds: an attempt with less left would only turn the last error into a timeout
PAGE_CAP = 2_000
Answer = Mapping[str, Any]

_DEFAULTS = {"aws": "us-east-1", "aws-cn": "cn-north-1", "aws-us-gov": "us-gov-west-1"}

# The ends of the names of AWS's own hosts in all its partitions.
_AWS_HOSTS = (
    ".amazonaws.com", ".amazonaws.com.cn", ".api.aws", ".api.amazonwebservices.com.cn", ".amazonaws.eu",
    ".c2s.ic.gov", ".sc2s.sgov.gov", ".cloud.adc-e.uk", ".csp.hci.ic.gov",
)  # fmt: skip

# At DEBUG these write signed headers and session tokens into the log.
_TALKATIVE = ("boto3", "botocore", "urllib3")


class Api:
    """Every call of one account. Thread-safe; raises only ProviderError. Making it raises ConfigError for options that
    AWS accounts do not have."""

    def __init__(self, spec: AccountSpec, clock: Clock) -> None:
        self.spec, self.clock, self.options = spec, clock, _options(spec)
        given = spec.credentials if isinstance(spec.credentials, AwsCredentials) else AwsCredentials()
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str], BaseClient] = {}
        _quiet()
        try:
            base = make_session(given)
            self.home_region = _home_region(given, spec, base)
            self.partition = base.get_partition_for_region(self.home_region)
            self._base = self._session = base
            if given.role_arn:
                self._session = make_session(given, assume=self._assume(given))
        except Exception as error:
            raise translate(error, self.call_of("sts", "", "connect")) from error

    @property
    def account(self) -> str:
        return self.spec.name

    @property
    def currency(self) -> str:
        """What AWS bills in: USD, or CNY in the China partition, unless the account says otherwise."""
        return self.spec.currency or ("CNY" if self.partition == "aws-cn" else "USD")

    def call_of(self, service: str, region: str, operation: str, mutates: bool = False) -> Call:
        return Call(self.spec.name, service, region, operation, mutates)

    def client(self, service: str, region: str) -> BaseClient:
        """The one client for this service and region, made at first use; its endpoint is logged then."""
        with self._lock:  # making clients is not thread-safe in the SDK; using them is
            known = self._clients.get((service, region))
            if known is None:
                _quiet()
                known = self._clients[service, region] = self._make(self._session, service, region)
                self._tell(service, region, known.meta.endpoint_url)
            return known

    def _tell(self, service: str, region: str, url: str) -> None:
        """A stray AWS_ENDPOINT_URL redirects a daemon, keys and all, without anything looking wrong."""
        if self.spec.endpoint is None and not (urlsplit(url).hostname or "").endswith(_AWS_HOSTS):
            where = "AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_* or the profile's endpoint_url"
            log.warning("account %s: %s in %s is %s, not AWS: %s", self.account, service, region, url, where)
        else:
            log.info("account %s: %s in %s is %s", self.account, service, region, url)

    def endpoints(self) -> Mapping[str, str]:
        """`service.region` → the URL that calls really go to, of every client made so far."""
        with self._lock:
            return {f"{service}.{region}": c.meta.endpoint_url for (service, region), c in self._clients.items()}

    def close(self) -> None:
        """Closes the connections of all clients."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    def read(self, service: str, region: str, operation: str, **params: Any) -> Answer:
        """One read with its retries, all within the account's deadline."""
        call = self.call_of(service, region, operation)
        left = countdown(self.clock, self.spec.deadline.total_seconds())
        attempt = 1
        while True:
            try:
                return self._once(call, params, left())
            except ProviderError as error:
                wait = backoff(attempt)
                if not error.retryable or attempt == ATTEMPTS or wait + WORTHWHILE > left():
                    raise
                log.debug("account %s: %s attempt %d: %s", self.account, operation, attempt, type(error).__name__)
                attempt += 1
                self.clock.sleep(wait)

    def mutate(self, service: str, region: str, operation: str, token: str, **params: Any) -> Answer:
        """One call, once. TimedOut and Unavailable leave its outcome open. `token` is ours, for the log alone."""
        log.info("account %s: %s in %s, token %s", self.account, operation, region, token)
        call = self.call_of(service, region, operation, mutates=True)
        return self._once(call, params, self.spec.deadline.total_seconds())

    def pages(
        self,
        service: str,
        region: str,
        operation: str,
        key: str,
        *,
        next_key: str = "NextToken",
        cap: int = PAGE_CAP,
        may_lack: bool = False,
        **params: Any,
    ) -> Iterator[list[Any]]:
        """The items under `key` of every page. Raises BadResponse for a page without `key` (unless it `may_lack` it, as
        JSON services leave an empty list out), a token seen before, a page beyond `cap`."""
        seen: set[str] = set()
        for _ in range(cap):
            answer = self.read(service, region, operation, **params)
            call = self.call_of(service, region, operation)
            yield list((answer.get(key) or ()) if may_lack else self.required(answer, key, call))
            token = answer.get(next_key)
            if not token:
                return
            if token in seen:
                raise self.bad(service, region, operation, next_key, "the same paging token came twice")
            seen.add(token)
            params[next_key] = token
        raise self.bad(service, region, operation, next_key, f"more than {cap} pages")

    def required(self, answer: Answer, key: str, call: Call) -> Any:
        """`answer[key]`. The SDK reads a body without the expected element as an empty answer, which is no answer."""
        if answer.get(key) is None:
            raise self.bad(call.service, call.region, call.operation, key, f"the answer has no {key}")
        return answer[key]

    def bad(self, service: str, region: str, operation: str, where: str, detail: str) -> BadResponse:
        """A BadResponse at this call."""
        return BadResponse(
            f"{detail} in {region}", where=where, provider="aws", account=self.account, operation=operation
        )

    def _once(self, call: Call, params: Mapping[str, Any], seconds: float) -> Answer:
        try:
            client = self.client(call.service, call.region)
            method: Callable[..., Answer] = getattr(client, xform_name(call.operation))
            return within(seconds, lambda: method(**params))
        except DeadlinePassed:
            raise call.failed(TimedOut, f"no answer within {self.spec.deadline.total_seconds():g} s") from None
        except Exception as error:
            raise translate(error, call) from error

    def _assume(self, given: AwsCredentials) -> Callable[[], dict[str, str]]:
        def fetch() -> dict[str, str]:
            """Fresh credentials of the role, as the SDK's refresher wants them. Called under the SDK's own lock."""
            params: dict[str, Any] = {"RoleArn": given.role_arn, "RoleSessionName": "costguard"}
            if given.external_id:
                params["ExternalId"] = given.external_id
            sts = self._make(self._base, "sts", self.home_region)
            try:
                answer: Answer = getattr(sts, "assume_role")(**params)  # noqa: B009 - made from data, unknown to types
            except Exception as error:
                raise translate(error, self.call_of("sts", self.home_region, "AssumeRole")) from error
            finally:
                sts.close()
            fresh = answer["Credentials"]
            if fresh["Expiration"] <= self.clock.now():
                call = self.call_of("sts", self.home_region, "AssumeRole")
                raise call.failed(AuthFailed, "the role's new session has already ended: a clock is wrong")
            return {
                "access_key": fresh["AccessKeyId"],
                "secret_key": fresh["SecretAccessKey"],
                "token": fresh["SessionToken"],
                "expiry_time": fresh["Expiration"].isoformat(),
            }

        return fetch

    def _make(self, session: Session, service: str, region: str) -> BaseClient:
        seconds = self.spec.deadline.total_seconds()
        config = Config(
            connect_timeout=min(5.0, seconds / 4),
            read_timeout=seconds / 2,
            retries={"mode": "standard", "total_max_attempts": 1},
            max_pool_connections=32,
            proxies=_proxies(self.spec),
            user_agent_extra="costguard",
        )
        client: BaseClient = session.create_client(
            service, region_name=region, endpoint_url=self.spec.endpoint, config=config
        )
        if service == "ec2":
            read_only_these(client)
        return client


def _quiet() -> None:
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        if logger.level < logging.WARNING:
            logger.setLevel(logging.WARNING)


def _home_region(given: AwsCredentials, spec: AccountSpec, session: Session) -> str:
    """Where account-wide questions are asked: as named, else the first configured region that the SDK knows (one that
    is mistyped must not spoil the others), else the SDK's own, else the default of the role's partition."""
    if given.region:
        return given.region.strip()
    for name in (region.strip() for region in spec.regions):
        if any(name in session.get_available_regions("ec2", partition) for partition in _DEFAULTS):
            return name
    configured: str | None = session.get_config_variable("region")
    partition = (given.role_arn or "arn:aws").split(":")[1]
    return configured or _DEFAULTS.get(partition, _DEFAULTS["aws"])


def _options(spec: AccountSpec) -> AwsOptions:
    try:
        return AwsOptions.model_validate(dict(spec.options))
    except ValidationError as failure:
        found = "; ".join(f"options.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in failure.errors())
        raise ConfigError(f"account {spec.name}: {found}") from None


def _proxies(spec: AccountSpec) -> dict[str, str] | None:
    """The account's proxy; none at all for an endpoint on this machine; else (None) what the environment says."""
    if spec.proxy:
        return {"http": spec.proxy, "https": spec.proxy}
    host = urlsplit(spec.endpoint).hostname if spec.endpoint else None
    return {} if host is not None and (host in {"localhost", "::1"} or host.startswith("127.")) else None
