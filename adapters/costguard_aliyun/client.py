"""Calls: one signed request, retries of reads, paging, total deadlines. The only module that touches the SDK's client.

The SDK's own retries are off: they cover ECS reads only, cannot be held to a deadline and do not know the minute that a
throttle lasts. Its loggers are off as well: they write signed URLs. Requests are POSTs, for a batch of fifty instances
makes a URL too long.
"""

import json
import logging
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from aliyunsdkcore.client import AcsClient
from aliyunsdkcore.request import CommonRequest

from costguard.deadline import DeadlinePassed, backoff, countdown, within
from costguard.errors import AuthFailed, BadResponse, ProviderError, Throttled, TimedOut, Unavailable
from costguard.keys import Keys
from costguard.ports import AccountSpec, Clock
from costguard_aliyun.credentials import AliyunCredentials
from costguard_aliyun.endpoints import HOME_REGIONS, PRODUCTS, Endpoint, endpoint, proxies
from costguard_aliyun.errors import TOKEN_EXPIRED, Call, refused, translate
from costguard_aliyun.fields import read_time
from costguard_aliyun.sessions import AliyunKeys

log = logging.getLogger("costguard_aliyun")

ATTEMPTS = 5
WORTHWHILE = 0.5  # seconds: an attempt with less left would only turn the last error into a timeout
PAGE_CAP = 2_000
_SESSION_SECONDS = 3600
_OK = frozenset({"200", "Success", "OK"})
Answer = Mapping[str, Any]
Params = Mapping[str, Any]


class Api:
    """Every call of one account. Thread-safe; raises only ProviderError."""

    def __init__(self, spec: AccountSpec, clock: Clock) -> None:
        self.spec, self.clock = spec, clock
        given = spec.credentials if isinstance(spec.credentials, AliyunCredentials) else AliyunCredentials()
        self.site = given.site
        self.home_region = HOME_REGIONS[given.site]
        self._keys = AliyunKeys(given, clock, self.call_of("sts", "", "credentials"), self._assume)
        self._lock = threading.Lock()
        self._clients: dict[tuple[Endpoint, Keys], AcsClient] = {}
        self._told: dict[str, str] = {}
        self._used: dict[str, str] = {}
        _quiet()

    @property
    def account(self) -> str:
        return self.spec.name

    @property
    def currency(self) -> str:
        """What the site bills in, unless the account says otherwise."""
        return self.spec.currency or ("USD" if self.site == "international" else "CNY")

    def call_of(self, product: str, region: str, action: str, mutates: bool = False) -> Call:
        return Call(self.spec.name, product, region, action, mutates)

    def learn_endpoints(self, told: Mapping[str, str]) -> None:
        """ECS's endpoint by region, as DescribeRegions tells them."""
        with self._lock:
            self._told = dict(told)

    def endpoint(self, product: str, region: str) -> Endpoint:
        return endpoint(product, region, self.site, self.spec.endpoint, self._told)

    def endpoints(self) -> Mapping[str, str]:
        """`product.region` → the URL that calls really went to."""
        with self._lock:
            return dict(self._used)

    def close(self) -> None:
        """Closes the connections of all clients."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.session.close()

    def call(self, product: str, action: str, region: str, params: Params, *, call: Call, seconds: float) -> Answer:
        """One request, once, for at most `seconds`. TimedOut and Unavailable leave the outcome of a mutation open."""
        try:
            body = within(seconds, lambda: self._send(product, action, region, params, self._keys.get()))
        except DeadlinePassed:
            failure = call.failed(TimedOut, f"no answer within {self.spec.deadline.total_seconds():g} s")
        except Exception as error:  # noqa: BLE001 - translated below, outside, so that its text is chained to nothing
            failure = translate(error, call, self._next_minute())
        else:
            return self._answer(body, call)
        if failure.code == TOKEN_EXPIRED:
            self._keys.forget()
        raise failure

    def read(self, product: str, action: str, region: str, **params: Any) -> Answer:
        """One read with its retries, all within the account's deadline.

        After a throttle it waits for the next minute, where the deadline allows that.
        """
        call = self.call_of(product, region, action)
        whole = self.spec.deadline.total_seconds()
        left = countdown(self.clock, whole)
        attempt = 1
        while True:
            try:
                # Half of it for one attempt: a lost answer must not cost the whole.
                return self.call(product, action, region, params, call=call, seconds=min(left(), whole / 2))
            except ProviderError as error:
                wait = backoff(attempt)
                if isinstance(error, Throttled) and error.after.total_seconds() + WORTHWHILE <= left():
                    wait = error.after.total_seconds()
                if not error.retryable or attempt == ATTEMPTS or wait + WORTHWHILE > left():
                    raise
                log.debug("account %s: %s attempt %d: %s", self.account, action, attempt, type(error).__name__)
            attempt += 1
            self.clock.sleep(wait)

    def mutate(self, product: str, action: str, region: str, token: str, **params: Any) -> Answer:
        """One call, once. `token` is ours, for the log alone."""
        log.info("account %s: %s in %s, token %s", self.account, action, region, token)
        call = self.call_of(product, region, action, mutates=True)
        return self.call(product, action, region, params, call=call, seconds=self.spec.deadline.total_seconds())

    def pages(
        self, product: str, action: str, region: str, path: str, *, cap: int = PAGE_CAP, **params: Any
    ) -> Iterator[list[Any]]:
        """The items under `path` (`Instances.Instance`) of every page, by token.

        The token lies beside the path's first member, or inside it for BSS's `Data`. Raises BadResponse for a page
        without `path`, a token seen before, a page beyond `cap`.
        """
        call = self.call_of(product, region, action)
        seen: set[str] = set()
        for _ in range(cap):
            answer = self.read(product, action, region, **params)
            yield self.items(answer, path, call)
            token = str(answer.get("NextToken") or (answer.get("Data") or {}).get("NextToken") or "")
            if not token:
                return
            if token in seen:
                raise bad(call, "NextToken", "the same paging token came twice")
            seen.add(token)
            params["NextToken"] = token
        raise bad(call, "NextToken", f"more than {cap} pages")

    def numbered_pages(
        self, product: str, action: str, region: str, path: str, *, size: int, **params: Any
    ) -> Iterator[list[Any]]:
        """The same for the older sort of paging, by number, until `TotalCount` is reached or a page is empty."""
        call = self.call_of(product, region, action)
        for number in range(1, PAGE_CAP + 1):
            answer = self.read(product, action, region, PageNumber=number, PageSize=size, **params)
            items = self.items(answer, path, call)
            yield items
            if not items or number * size >= int(answer.get("TotalCount") or 0):
                return
        raise bad(call, "PageNumber", f"more than {PAGE_CAP} pages")

    def items(self, answer: Answer, path: str, call: Call) -> list[Any]:
        """The list at `path`. Raises BadResponse where there is none."""
        found = self.required(answer, path, call)
        if not isinstance(found, list):
            raise bad(call, path, f"{path} is no list")
        return found

    def required(self, answer: Answer, path: str, call: Call) -> Any:
        """What lies at `path`. Raises BadResponse for an answer without it."""
        found: Any = answer
        for key in path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        if found is None:
            raise bad(call, path, f"the answer has no {path}")
        return found

    def _send(self, product: str, action: str, region: str, params: Params, keys: Keys) -> bytes:
        where = self.endpoint(product, region)
        request = CommonRequest(domain=where.host, version=PRODUCTS[product].version, action_name=action)
        request.set_protocol_type(where.scheme)  # the SDK's default is plain HTTP
        request.set_method("POST")
        request.add_query_param("RegionId", region)
        if keys.token:
            request.add_query_param("SecurityToken", keys.token)
        for name, value in flatten(params).items():
            request.add_body_params(name, value)
        body: bytes = self._client(where, keys, f"{product}.{region}").do_action_with_exception(request)
        return body

    def _client(self, where: Endpoint, keys: Keys, name: str) -> AcsClient:
        with self._lock:
            if self._used.get(name) != where.url:
                self._used[name] = where.url
                log.info("account %s: %s is %s", self.account, name, where.url)
            client = self._clients.get((where, keys))
            if client is None:
                for old in [known for known in self._clients if known[0] == where]:
                    self._clients.pop(old).session.close()  # its keys have ended
                seconds = self.spec.deadline.total_seconds()
                client = AcsClient(
                    keys.id,
                    keys.secret,
                    self.home_region,
                    auto_retry=False,
                    connect_timeout=min(5.0, seconds / 4),
                    timeout=seconds,
                    pool_size=32,
                    proxy=dict(proxies(where, self.spec.proxy)),
                )
                client.append_user_agent("costguard", "1")
                client.session.trust_env = False  # no ~/.netrc beside our signature
                self._clients[where, keys] = client
                _quiet()
            return client

    def _answer(self, body: bytes, call: Call) -> Answer:
        try:
            answer = json.loads(body, parse_float=Decimal)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            kind = Unavailable if call.mutates else BadResponse
            raise call.failed(kind, "an unreadable answer")
        # CloudMonitor and BSS refuse inside HTTP 200.
        success, code = answer.get("Success"), str(answer.get("Code") or "200")
        if str(success).lower() == "false" or (success is None and code not in _OK):
            raise refused(call, code, 0, str(answer.get("RequestId") or ""), self._next_minute())
        return answer

    def _assume(self, base: Keys, role_arn: str, external_id: str | None) -> Keys:
        call = self.call_of("sts", self.home_region, "AssumeRole")
        wanted = {"RoleArn": role_arn, "RoleSessionName": "costguard", "DurationSeconds": _SESSION_SECONDS}
        if external_id:
            wanted["ExternalId"] = external_id
        try:
            body = self._send("sts", "AssumeRole", self.home_region, wanted, base)
        except Exception as error:  # noqa: BLE001 - translated below, outside, so that its text is chained to nothing
            failure = translate(error, call, self._next_minute())
        else:
            fresh = self.required(self._answer(body, call), "Credentials", call)
            until = read_time(fresh.get("Expiration"))
            if until is None or until <= self.clock.now():
                raise call.failed(AuthFailed, "the role's new session has already ended: a clock is wrong")
            return Keys(fresh["AccessKeyId"], fresh["AccessKeySecret"], fresh["SecurityToken"], until)
        raise failure

    def _next_minute(self) -> timedelta:
        """Calls are counted per minute: one that was throttled now is not before the next (and not all at once)."""
        return timedelta(seconds=60 - self.clock.now().second + secrets.randbelow(2_000) / 1000)


def bad(call: Call, where: str, detail: str) -> BadResponse:
    """A BadResponse at this call."""
    place = f" in {call.region}" if call.region else ""
    return BadResponse(f"{detail}{place}", where=where, provider="aliyun", account=call.account, operation=call.action)


def flatten(params: Params) -> dict[str, str]:
    """Lists as `Name.1`, objects in lists as `Name.1.Key`, booleans as `true`; None is left out."""
    flat: dict[str, str] = {}

    def put(name: str, value: Any) -> None:
        if isinstance(value, bool):
            flat[name] = "true" if value else "false"
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                put(f"{name}.{key}", inner)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for number, inner in enumerate(value, 1):
                put(f"{name}.{number}", inner)
        elif value is not None:
            flat[name] = str(value)

    for name, value in params.items():
        put(name, value)
    return flat


def _quiet() -> None:
    """The SDK logs signed URLs, keys and tokens in them, and adds a handler that prints them."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "aliyunsdkcore"]
    for logger in map(logging.getLogger, names):
        logger.setLevel(logging.CRITICAL + 1)
