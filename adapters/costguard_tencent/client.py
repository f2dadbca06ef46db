"""Calls: one signed request, retries of reads, paging, total deadlines. The only module that touches the SDK's client.

The SDK's retries are off: its retryer keeps the first error and repeats mutations that have worked. So is its check of
answers: it looks only at two content types, and changes the process's warning filters on the way. `CommonClient.call`
is `call_json` before the JSON is read: amounts must come through as decimals, never as floats.
"""

import json
import logging
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeVar

from tencentcloud.common.common_client import CommonClient
from tencentcloud.common.credential import Credential
from tencentcloud.common.profile.client_profile import ClientProfile
from tencentcloud.common.profile.http_profile import HttpProfile

from costguard.deadline import DeadlinePassed, backoff, countdown, within
from costguard.errors import AuthFailed, BadResponse, ProviderError, Throttled, TimedOut, Unavailable
from costguard.keys import Keys
from costguard.ports import AccountSpec, Clock
from costguard_tencent.credentials import TencentCredentials
from costguard_tencent.endpoints import GLOBAL, HOME_REGIONS, VERSIONS, Endpoint, endpoint, proxies
from costguard_tencent.errors import TOKEN_FAILURE, Call, of_one_item, refused, translate
from costguard_tencent.sessions import TencentKeys

log = logging.getLogger("costguard_tencent")

ATTEMPTS = 5
WORTHWHILE = 0.5  # seconds: an attempt with less left would only turn the last error into a timeout
PAGE_CAP = 2_000
PASSES = 3
_SESSION_SECONDS = 7200
Answer = Mapping[str, Any]
Params = Mapping[str, Any]
T = TypeVar("T")


class Api:
    """Every call of one account. Thread-safe; raises only ProviderError."""

    def __init__(self, spec: AccountSpec, clock: Clock) -> None:
        self.spec, self.clock = spec, clock
        given = spec.credentials if isinstance(spec.credentials, TencentCredentials) else TencentCredentials()
        self.site = given.site
        self.home_region = HOME_REGIONS[given.site]
        self._keys = TencentKeys(given, clock, self.call_of("sts", "", "credentials"), self._assume)
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str, Keys], Any] = {}
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

    def endpoint(self, product: str) -> Endpoint:
        return endpoint(product, self.site, self.spec.endpoint)

    def endpoints(self) -> Mapping[str, str]:
        """Product → the URL that its calls really went to."""
        with self._lock:
            return dict(self._used)

    def close(self) -> None:
        """Closes the connections of all clients."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            _session(client).close()

    def call(self, product: str, action: str, region: str, params: Params, *, call: Call, seconds: float) -> Answer:
        """One request, once, for at most `seconds`. TimedOut and Unavailable leave the outcome of a mutation open."""
        try:
            body = within(seconds, lambda: self._send(product, action, region, params, self._keys.get()))
        except DeadlinePassed:
            failure = call.failed(TimedOut, f"no answer within {self.spec.deadline.total_seconds():g} s")
        except Exception as error:  # noqa: BLE001 - translated below, outside, so that its text is chained to nothing
            failure = translate(error, call)
        else:
            try:
                return _answer(body, call)
            except ProviderError as error:
                failure = error
        if failure.code == TOKEN_FAILURE:
            self._keys.forget()
        raise failure

    def read(self, product: str, action: str, region: str, **params: Any) -> Answer:
        """One read with its retries, all within the account's deadline. None among `params` is left out."""
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
                    wait += error.after.total_seconds() / 2
                if not error.retryable or attempt == ATTEMPTS or wait + WORTHWHILE > left():
                    raise
                log.debug("account %s: %s attempt %d: %s", self.account, action, attempt, type(error).__name__)
            attempt += 1
            self.clock.sleep(wait)

    def mutate(self, product: str, action: str, region: str, token: str, **params: Any) -> Answer:
        """One call, once. `token` is ours, for the log alone: these calls take none."""
        log.info("account %s: %s in %s, token %s", self.account, action, region, token)
        call = self.call_of(product, region, action, mutates=True)
        return self.call(product, action, region, params, call=call, seconds=self.spec.deadline.total_seconds())

    def listing(
        self, product: str, action: str, region: str, path: str, id_key: str, *, size: int = 100, **params: Any
    ) -> Iterator[Mapping[str, Any]]:
        """Each item under `path` once, by offset.

        Rows shift while the fleet changes between two pages, so a listing counts only when `TotalCount` held still and
        as many different items came; else it is read again. Raises BadResponse when it never settles.
        """
        call = self.call_of(product, region, action)
        seen: set[str] = set()
        for _ in range(PASSES):
            ids: set[str] = set()
            totals: set[int] = set()
            offset = 0
            for _ in range(PAGE_CAP):
                answer = self.read(product, action, region, Offset=offset, Limit=size, **params)
                page, total = self.items(answer, path, call), int(self.required(answer, "TotalCount", call))
                totals.add(total)
                for item in page:
                    id = str(item.get(id_key) or "")
                    if not id:
                        raise bad(call, id_key, "an item without an id")
                    ids.add(id)
                    if id not in seen:
                        seen.add(id)
                        yield item
                offset += len(page)
                if not page or offset >= total:
                    break
            if totals == {len(ids)}:
                return
            log.info("account %s: %s in %s shifted between pages", self.account, action, region)
        raise bad(call, "TotalCount", f"the listing did not settle in {PASSES} passes")

    def items(self, answer: Answer, path: str, call: Call) -> list[Any]:
        """The list at `path`. Raises BadResponse where there is none: that is no empty one."""
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
        _ignore_the_sdks_clock()
        client = self._client(product, "" if product in GLOBAL else region, keys)
        body: bytes = client.call(action, {name: value for name, value in params.items() if value is not None})
        return body

    def _client(self, product: str, region: str, keys: Keys) -> Any:
        """One client per product, region and keys: a new one for each call would be a new connection."""
        where = self.endpoint(product)
        with self._lock:
            if self._used.get(product) != where.url:
                self._used[product] = where.url
                log.info("account %s: %s is %s", self.account, product, where.url)
            client = self._clients.get((product, region, keys))
            if client is None:
                for old in [known for known in self._clients if known[:2] == (product, region)]:
                    _session(self._clients.pop(old)).close()  # its keys have ended
                client = self._clients[product, region, keys] = self._make(product, region, where, keys)
                _quiet()
            return client

    def _make(self, product: str, region: str, where: Endpoint, keys: Keys) -> Any:
        # One second more than the deadline, so that it is the deadline that ends a call.
        seconds = self.spec.deadline.total_seconds() + 1
        http = HttpProfile(protocol=where.scheme, endpoint=where.host, reqTimeout=seconds)
        profile = ClientProfile(httpProfile=http)
        profile.request_client = "costguard"
        client = _Client(product, VERSIONS[product], Credential(keys.id, keys.secret, keys.token), region, profile)
        client.request.conn.proxy = proxies(where, self.spec.proxy)
        _session(client).trust_env = False  # neither its proxies nor ~/.netrc beside our signature
        return client

    def _assume(self, base: Keys, role: str, external_id: str | None) -> Keys:
        call = self.call_of("sts", self.home_region, "AssumeRole")
        wanted: dict[str, Any] = {
            "RoleArn": role, "RoleSessionName": "costguard", "DurationSeconds": _SESSION_SECONDS,
        }  # fmt: skip
        if external_id:
            wanted["ExternalId"] = external_id
        try:
            body = self._send("sts", "AssumeRole", self.home_region, wanted, base)
        except Exception as error:  # noqa: BLE001 - translated below, outside, so that its text is chained to nothing
            failure = translate(error, call)
        else:
            answer = _answer(body, call)
            fresh = self.required(answer, "Credentials", call)
            until = datetime.fromtimestamp(int(self.required(answer, "ExpiredTime", call)), UTC)
            if until <= self.clock.now():
                raise call.failed(AuthFailed, "the role's new session has already ended: a clock is wrong")
            return Keys(fresh["TmpSecretId"], fresh["TmpSecretKey"], fresh["Token"], until)
        raise failure


class _Client(CommonClient):  # type: ignore[misc]  # the SDK has no types
    """The SDK's client, whose answers are judged by `_answer` alone."""

    def _check_error(self, resp: Any) -> None:
        """An error inside HTTP 200 is found by `_answer`, whatever content type a proxy made of it."""


def bad(call: Call, where: str, detail: str) -> BadResponse:
    """A BadResponse at this call."""
    place = f" in {call.region}" if call.region else ""
    return BadResponse(f"{detail}{place}", where=where, provider="tencent", account=call.account, operation=call.action)


def divided(items: Sequence[T], ask: Callable[[Sequence[T]], None], fail: Callable[[T, ProviderError], None]) -> None:
    """`ask(items)`, and after a refusal for one item's sake both halves, down to that item, which gets `fail`.

    Any other error is everybody's.
    """
    try:
        ask(items)
    except ProviderError as error:
        if len(items) > 1 and of_one_item(error):
            middle = len(items) // 2
            divided(items[:middle], ask, fail)
            divided(items[middle:], ask, fail)
            return
        for item in items:
            fail(item, error)


def _answer(body: bytes, call: Call) -> Answer:
    """What lies under `Response`. Raises the error that it carries inside HTTP 200."""
    try:
        whole = json.loads(body, parse_float=Decimal)
    except ValueError:
        whole = None
    answer = whole.get("Response") if isinstance(whole, dict) else None
    if not isinstance(answer, dict):
        raise call.failed(Unavailable if call.mutates else BadResponse, "an unreadable answer")
    error = answer.get("Error")
    if error is not None:
        code = error.get("Code") if isinstance(error, dict) else None
        raise refused(call, str(code or "unknown"), str(answer.get("RequestId") or ""))
    return answer


def _session(client: Any) -> Any:
    """The `requests` session beneath a client of the SDK."""
    return client.request.conn._session


def _quiet() -> None:
    """The SDK logs whole requests, tokens among them; urllib3 warns of every connection beyond ten."""
    logging.getLogger("tencentcloud_sdk_common").setLevel(logging.CRITICAL + 1)
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)


def _ignore_the_sdks_clock() -> None:
    """The SDK signs with `utcfromtimestamp`, which Python 3.12 deprecates. At each call, for others reset filters."""
    warnings.filterwarnings("ignore", r".*utcfromtimestamp", DeprecationWarning, r"tencentcloud\.")
