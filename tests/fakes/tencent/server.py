"""One Tencent Cloud account behind one endpoint; products are told apart by the credential's scope."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Calls, Fault, Mutation
from tests.fakes.server import Answer, Request, StrictServer
from tests.fakes.tencent.billing import Billing
from tests.fakes.tencent.catalog import Catalog
from tests.fakes.tencent.cvm import CvmReads, Fleet
from tests.fakes.tencent.identity import Metadata, Regions, Sts, Tags
from tests.fakes.tencent.monitor import Monitor
from tests.fakes.tencent.power import CvmChanges
from tests.fakes.tencent.storage import Cbs, Vpc
from tests.fakes.tencent.tat import Tat
from tests.fakes.tencent.tc3 import Gate, Session, read_scope
from tests.fakes.tencent.wire import Context, Refused, answer, answer_error, bind, read_body

OWNER = "100000000001"
SECRET_ID = "AKIDEXAMPLEz8krbsJ5yKBZQpn74WFkm"
SECRET_KEY = "Gu5t9xGARNpq86cd98joQYCN3EXAMPLE"
REGIONS = ("ap-beijing", "ap-shanghai", "ap-guangzhou")

VERSIONS = {
    "cvm": "2017-03-12", "cbs": "2017-03-12", "vpc": "2017-03-12", "monitor": "2018-07-24", "billing": "2018-07-09",
    "tat": "2020-10-28", "sts": "2018-08-13", "tag": "2018-08-13", "region": "2022-06-27",
}  # fmt: skip
MUTATIONS = {
    "StopInstances": "stop", "StartInstances": "start", "TerminateInstances": "release",
    "ImportInstancesActionTimer": "set_release_time", "DeleteInstancesActionTimer": "set_release_time",
    "TagResources": "tag", "UnTagResources": "tag", "RunCommand": "run_command",
    "ModifyInstancesRenewFlag": "other", "ModifyInstancesAttribute": "other",
}  # fmt: skip
_INVENTORY = {"DescribeInstances", "DescribeInstancesStatus", "DescribeInstanceTypeConfigs"}
_REGIONAL = {"cvm", "cbs", "vpc", "monitor", "tat"}
_DENIALS = {
    "cvm": "UnauthorizedOperation", "cbs": "UnauthorizedOperation", "vpc": "UnauthorizedOperation",
    "billing": "UnauthorizedOperation.CamNoAuth",
}  # fmt: skip
_MOST_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True)
class Call:
    """One call that was let in. ``code``: how it was refused, empty when it was not."""

    product: str
    region: str
    action: str
    params: Mapping[str, Any]
    at: datetime
    code: str = ""


class TencentServer(StrictServer):
    """``denied``: regions, ``denied_actions``: names that CAM refuses; ``refusals``: action → code that it says;

    ``limits``: action → (calls, span) per region; ``slow_s``: seconds before each answer; ``say_yes``: actions that
    answer well and do nothing; ``hollow``: actions whose good answer holds nothing but a RequestId; ``nulls``: those
    whose sets are null; ``content_type``: of the answers (a proxy may add a charset, and then the SDK reads no error);
    ``server_status``: the HTTP status of a SERVER_ERROR, a gateway's page unless it is 200.
    """

    def __init__(self, clock: FakeClock | None = None, regions: tuple[str, ...] = REGIONS) -> None:
        super().__init__(clock)
        self.regions = regions
        self.denied: set[str] = set()
        self.denied_actions: set[str] = set()
        self.refusals: dict[str, str] = {}
        self.limits: dict[str, tuple[int, timedelta]] = {}
        self.slow_s = 0.0
        self.say_yes: set[str] = set()
        self.hollow: set[str] = set()
        self.nulls: set[str] = set()
        self.content_type = "application/json"
        self.server_status = 200
        self.calls: list[Call] = []
        self.paging: Fault | None = None
        self.gate = Gate({SECRET_ID: Session(SECRET_KEY)})
        self.cvm = Fleet(self.clock, regions)
        self.catalog = Catalog(self.clock, self.cvm)
        self.monitor = Monitor(self.clock, self.cvm)
        self.bills = Billing(self.clock, OWNER)
        self.cbs, self.vpc = Cbs(self.clock), Vpc(self.clock)
        self.tat = Tat(self.clock, self.cvm)
        self.sts = Sts(self.clock, self.gate, OWNER)
        self.metadata = Metadata(self.sts)
        self._services: dict[str, tuple[object, ...]] = {
            "cvm": (CvmReads(self.cvm), CvmChanges(self.cvm), self.catalog),
            "cbs": (self.cbs,),
            "vpc": (self.vpc,),
            "monitor": (self.monitor,),
            "billing": (self.bills,),
            "tat": (self.tat,),
            "sts": (self.sts,),
            "tag": (Tags(self.cvm, OWNER),),
            "region": (Regions(regions),),
        }
        self._counts: dict[tuple[str, str, int], int] = {}
        self._served = 0

    def handle(self, request: Request) -> Answer | None:
        if self.slow_s:
            self._closing.wait(self.slow_s)
        return super().handle(request)

    def respond(self, request: Request) -> Answer:
        if request.method == "GET":
            return self.metadata.get(request.path)
        self._served += 1
        request_id = f"3c140219-cfe9-470e-b241-{self._served:012x}"
        try:
            return answer(request_id, self._perform(request, request_id), self.content_type)
        except Refused as error:
            return answer_error(request_id, error, self.content_type)

    def _perform(self, request: Request, request_id: str) -> Mapping[str, Any]:
        self._check_form(request)
        scope, self.sts.caller = self.gate.check(request)
        product, action = scope.service, request.headers.get("x-tc-action", "")
        handler = self._find(product, action, request.headers.get("x-tc-version", ""))
        region = self._region(product, action, request.headers.get("x-tc-region", ""))
        params = read_body(request.body)
        try:
            self._check_rights(product, action, region)
            self._check_rate(action, region)
            arguments = bind(handler, params)
            call = Context(region, action, request_id, self.paging, action in self.say_yes)
            body = dict(handler(call, **arguments))
        except Refused as error:
            self.calls.append(Call(product, region, action, params, request.at, error.code))
            raise
        self.calls.append(Call(product, region, action, params, request.at))
        if action in self.hollow:
            return {}
        if action in self.nulls:
            return {name: None if isinstance(value, list) else value for name, value in body.items()}
        return body

    def refuse(self, fault: Fault, request: Request) -> Answer:
        if fault in (Fault.REPEATED_TOKEN, Fault.DUPLICATED_ITEM):
            self.paging = fault
            try:
                return self.respond(request)
            finally:
                self.paging = None
        if fault is Fault.SERVER_ERROR and self.server_status != 200:
            page = b"<html><head><title>502 Bad Gateway</title></head><body>tcgw</body></html>"
            return Answer(self.server_status, page, {"Content-Type": "text/html"})
        try:
            product = read_scope(request).service
        except Refused:
            product = "cvm"
        error = _say(fault, product, request.headers.get("x-tc-action", ""))
        return answer_error("b5b41468-520d-4192-b42f-595cc34b6c1c", error, self.content_type)

    def flaky(self, fault: Fault, share: float, seed: int, on: Calls = Calls.ALL) -> None:
        """This share of the calls goes wrong, the same ones each time."""
        dice, hit = random.Random(seed), self.on(on)
        self.fail(fault, on=lambda request: hit(request) and dice.random() < share)

    def on(self, calls: Calls) -> Callable[[Request], bool]:
        """Whether a request is one of these calls."""

        def is_one(request: Request) -> bool:
            action = request.headers.get("x-tc-action", "")
            return {
                Calls.ALL: True,
                Calls.INVENTORY: action in _INVENTORY,
                Calls.USAGE: action == "GetMonitorData",
                Calls.MUTATION: action in MUTATIONS,
            }[calls]

        return is_one

    def action(self, name: str) -> Callable[[Request], bool]:
        """Whether a request calls this action."""
        return lambda request: request.headers.get("x-tc-action") == name

    def mutations(self) -> list[Mutation]:
        """Changing requests in order, one for each thing they are about, whether they worked or not."""
        found = []
        for request in list(self.requests):
            what = MUTATIONS.get(request.headers.get("x-tc-action", ""))
            if what is not None:
                given = json.loads(request.body)
                about = given.get("InstanceIds") or given.get("ResourceList") or given.get("ActionTimerIds") or []
                found += [Mutation(what, str(id).rpartition("/")[2]) for id in about]
        return found

    def actions(self) -> list[str]:
        """The names of all calls that were let in, in order."""
        return [call.action for call in self.calls]

    def signatures(self) -> list[str]:
        """As they came."""
        found = []
        for request in list(self.requests):
            _, _, signature = request.headers.get("authorization", "").partition("Signature=")
            found += [signature] if signature else []
        return found

    def _check_form(self, request: Request) -> None:
        if request.method != "POST" or request.path != "/":
            raise Refused("UnsupportedProtocol", "Only POST requests to / are played here.")
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise Refused("InvalidParameter", "The `Content-Type` is not application/json.")
        if len(request.body) > _MOST_BYTES:
            raise Refused("RequestSizeLimitExceeded", "The request is larger than 10 MB.")
        for name in ("X-TC-Action", "X-TC-Version", "X-TC-Timestamp"):
            if not request.headers.get(name.lower()):
                raise Refused("MissingParameter", f"The request is missing a required parameter `{name}`.")

    def _find(self, product: str, action: str, version: str) -> Callable[..., Mapping[str, Any]]:
        if product not in VERSIONS:
            raise Refused("NoSuchProduct", f"The product `{product}` does not exist.")
        if version != VERSIONS[product]:
            raise Refused("NoSuchVersion", f"The version `{version}` of `{product}` does not exist.")
        for service in self._services[product]:
            handler = getattr(service, action, None) if action[:1].isupper() else None
            if handler is not None:
                return handler  # type: ignore[no-any-return]
        raise Refused("InvalidAction", f"The action `{action}` is invalid or not found.")

    def _region(self, product: str, action: str, region: str) -> str:
        if product not in _REGIONAL or (action == "DescribeRegions" and not region):
            return ""
        if not region:
            raise Refused("MissingParameter", "The request is missing a required parameter `X-TC-Region`.")
        if region not in self.regions:
            raise Refused("UnsupportedRegion", f"The region `{region}` is not supported.")
        return region

    def _check_rights(self, product: str, action: str, region: str) -> None:
        if region in self.denied or action in self.denied_actions:
            raise _say(Fault.FORBIDDEN, product, action)
        if action in self.refusals:
            raise Refused(self.refusals[action])

    def _check_rate(self, action: str, region: str) -> None:
        """Who is throttled in one span is let in again when the next one begins."""
        if action not in self.limits:
            return
        most, span = self.limits[action]
        key = (action, region, int(self.clock.now().timestamp() // span.total_seconds()))
        self._counts[key] = self._counts.get(key, 0) + 1
        if self._counts[key] > most:
            raise _say(Fault.THROTTLED, "cvm", action)


def _say(fault: Fault, product: str, action: str) -> Refused:
    """How this product says it."""
    if fault is Fault.THROTTLED:
        text = "Your current request times equals to `41` in a second, which exceeds the frequency limit `40`."
        return Refused("RequestLimitExceeded", text)
    if fault is Fault.UNAUTHENTICATED:
        return Refused("AuthFailure.SecretIdNotFound", "The SecretId is not found, please ensure it is correct.")
    if fault is Fault.SERVER_ERROR:
        return Refused("InternalServerError" if product == "cvm" else "InternalError", "An internal error occurred.")
    assert fault is Fault.FORBIDDEN, fault
    prefix = {"billing": "finance"}.get(product, product)
    text = (
        f"[request id:b5b41468-520d-4192-b42f-595cc34b6c1c]you are not authorized to perform operation "
        f"({prefix}:{action})\nresource (qcs::{prefix}::uin/{OWNER}:*) has no permission\n"
    )
    return Refused(_DENIALS.get(product, "AuthFailure.UnauthorizedOperation"), text)
