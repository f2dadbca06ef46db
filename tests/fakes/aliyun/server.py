"""One Alibaba Cloud account behind one endpoint; products are told apart by the version that a call names."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Calls, Fault, Mutation
from tests.fakes.aliyun.assistant import CloudAssistant
from tests.fakes.aliyun.bss import Bills
from tests.fakes.aliyun.cms import CloudMonitor
from tests.fakes.aliyun.ecs import EcsReads, Fleet
from tests.fakes.aliyun.identity import Sts
from tests.fakes.aliyun.power import EcsChanges
from tests.fakes.aliyun.prices import Market
from tests.fakes.aliyun.rpc import Context, Refused, answer, answer_error, bind
from tests.fakes.aliyun.signature import COMMON, Gate, Session, parameters
from tests.fakes.aliyun.storage import Eips, Storage
from tests.fakes.server import Answer, Request, StrictServer

ACCOUNT = "1234567890123456"
KEY_ID = "LTAI5tEXAMPLEKEYID000001"
SECRET = "kEXAMPLEsecretKEXAMPLEsecret01"
REGIONS = ("cn-beijing", "cn-hangzhou", "cn-wulanchabu")

PRODUCTS = {
    "2014-05-26": "Ecs", "2019-01-01": "Cms", "2017-12-14": "BssOpenApi", "2016-04-28": "Vpc", "2015-04-01": "Sts",
}  # fmt: skip
MUTATIONS = {
    "StopInstance": "stop", "StopInstances": "stop", "StartInstance": "start", "StartInstances": "start",
    "DeleteInstance": "release", "DeleteDisk": "release", "DeleteSnapshot": "release", "ReleaseEipAddress": "release",
    "ModifyInstanceAutoReleaseTime": "set_release_time", "TagResources": "tag", "RunCommand": "run_command",
}  # fmt: skip
_INVENTORY = {"DescribeInstances", "DescribeInstanceStatus", "DescribeInstanceTypes"}
# Not of one region: an endpoint per site, or a call that says which regions there are.
_GLOBAL_PRODUCTS = {"BssOpenApi", "Sts"}
_GLOBAL_ACTIONS = {"DescribeRegions"}
_ABOUT = ("InstanceId", "InstanceId.1", "ResourceId.1", "DiskId", "SnapshotId", "AllocationId")


@dataclass(frozen=True)
class Call:
    """One call that was let in and understood."""

    product: str
    region: str
    action: str
    params: Mapping[str, Any]
    at: datetime


class AliyunServer(StrictServer):
    """``denied``: regions, ``denied_actions``: names that RAM refuses; ``limits``: action → (calls, span) per region;

    ``slow_s``: seconds before each answer; ``say_yes``: actions that answer well and do nothing.
    """

    def __init__(self, clock: FakeClock | None = None, regions: tuple[str, ...] = REGIONS) -> None:
        super().__init__(clock)
        self.regions = regions
        self.denied: set[str] = set()
        self.denied_actions: set[str] = set()
        self.limits: dict[str, tuple[int, timedelta]] = {}
        self.slow_s = 0.0
        self.calls: list[Call] = []
        self.paging: Fault | None = None
        self.gate = Gate({KEY_ID: Session(SECRET)})
        self.ecs = Fleet(self.clock, regions)
        self.storage = Storage(self.clock)
        self.cms = CloudMonitor(self.clock, self.ecs)
        self.bills = Bills(self.clock)
        self.market = Market(self.clock)
        self.assistant = CloudAssistant(self.clock, self.ecs)
        self.sts = Sts(self.clock, self.gate, ACCOUNT)
        self._changes = EcsChanges(self.ecs)
        self.say_yes = self._changes.say_yes
        eips = Eips(self.storage)
        self._services: dict[str, tuple[object, ...]] = {
            "Ecs": (
                EcsReads(self.ecs, ecs_endpoint), self._changes, self.storage, self.market, self.assistant, eips.of_ecs,
            ),
            "Cms": (self.cms,),
            "BssOpenApi": (self.bills,),
            "Vpc": (eips,),
            "Sts": (self.sts,),
        }  # fmt: skip
        self._counts: dict[tuple[str, str, int], int] = {}

    def handle(self, request: Request) -> Answer | None:
        if self.slow_s:
            self._closing.wait(self.slow_s)
        return super().handle(request)

    def respond(self, request: Request) -> Answer:
        given = dict(parameters(request))
        form = given.get("Format", "XML")
        try:
            self.sts.caller = self.gate.check(request)
            product, action, handler = self._find(given)
            region = self._region(product, action, given)
            if region in self.denied or action in self.denied_actions:
                raise _say(Fault.FORBIDDEN, product, action)
            self._check_rate(product, action, region)
            arguments = bind(handler, {name: value for name, value in given.items() if name not in COMMON})
            self.calls.append(Call(product, region, action, arguments, request.at))
            return answer(action, form, handler(Context(region, action, self.paging), **arguments))
        except Refused as error:
            return answer_error(form, error)

    def refuse(self, fault: Fault, request: Request) -> Answer:
        if fault in (Fault.REPEATED_TOKEN, Fault.DUPLICATED_ITEM):
            self.paging = fault
            try:
                return self.respond(request)
            finally:
                self.paging = None
        given = dict(parameters(request))
        product = PRODUCTS.get(given.get("Version", ""), "Ecs")
        return answer_error(given.get("Format", "XML"), _say(fault, product, given.get("Action", "")))

    def flaky(self, fault: Fault, share: float, seed: int, on: Calls = Calls.ALL) -> None:
        """This share of the calls goes wrong, the same ones each time."""
        dice, hit = random.Random(seed), self.on(on)
        self.fail(fault, on=lambda request: hit(request) and dice.random() < share)

    def on(self, calls: Calls) -> Callable[[Request], bool]:
        """Whether a request is one of these calls."""

        def is_one(request: Request) -> bool:
            given = dict(parameters(request))
            action = given.get("Action", "")
            return {
                Calls.ALL: True,
                Calls.INVENTORY: action in _INVENTORY,
                Calls.USAGE: PRODUCTS.get(given.get("Version", "")) == "Cms",
                Calls.MUTATION: action in MUTATIONS,
            }[calls]

        return is_one

    def action(self, name: str) -> Callable[[Request], bool]:
        """Whether a request calls this action."""
        return lambda request: ("Action", name) in parameters(request)

    def mutations(self) -> list[Mutation]:
        """Changing requests in order, whether they worked or not; dry runs are none."""
        found = []
        for request in list(self.requests):
            given = dict(parameters(request))
            what = MUTATIONS.get(given.get("Action", ""))
            if what is None or given.get("DryRun", "").lower() == "true":
                continue
            ids = [value for name, value in given.items() if name.startswith(("InstanceId.", "ResourceId."))]
            ids = ids or [given[name] for name in _ABOUT if name in given]
            found += [Mutation(what, id, given.get("ClientToken")) for id in ids]
        return found

    def actions(self) -> list[str]:
        """The names of all calls that were understood, in order."""
        return [call.action for call in self.calls]

    def signatures(self) -> list[str]:
        """As they came."""
        return [value for request in list(self.requests) for name, value in parameters(request) if name == "Signature"]

    def _find(self, given: Mapping[str, str]) -> tuple[str, str, Callable[..., Mapping[str, Any]]]:
        action, version = given.get("Action", ""), given.get("Version", "")
        if not action or not version:
            raise Refused("MissingAction" if not action else "MissingVersion", 400)
        product = PRODUCTS.get(version)
        if product is None:
            raise Refused("InvalidVersion")
        for service in self._services[product]:
            handler = getattr(service, action, None) if action[0].isupper() else None
            if handler is not None:
                return product, action, handler
        raise Refused("InvalidAction.NotFound", message="Specified api is not found, please check your url and method.")

    def _region(self, product: str, action: str, given: Mapping[str, str]) -> str:
        if product in _GLOBAL_PRODUCTS or action in _GLOBAL_ACTIONS:
            return ""
        region = given.get("RegionId", "")
        if not region:
            raise Refused("MissingRegionId", 400)
        if region not in self.regions:
            raise Refused("InvalidRegionId.NotFound")
        return region

    def _check_rate(self, product: str, action: str, region: str) -> None:
        """Who is throttled in one span is let in again when the next one begins."""
        if action not in self.limits:
            return
        most, span = self.limits[action]
        key = (action, region, int(self.clock.now().timestamp() // span.total_seconds()))
        self._counts[key] = self._counts.get(key, 0) + 1
        if self._counts[key] > most:
            raise _say(Fault.THROTTLED, product, action)


def ecs_endpoint(region: str) -> str:
    return "ecs.aliyuncs.com" if region == "cn-hangzhou" else f"ecs.{region}.aliyuncs.com"


def _say(fault: Fault, product: str, action: str) -> Refused:
    """How this product says it."""
    if fault is Fault.THROTTLED:
        code = {"Ecs": "Throttling", "BssOpenApi": "Throttling.Api"}.get(product, "Throttling.User")
        return Refused(code, message="Request was denied due to request throttling.")
    if fault is Fault.UNAUTHENTICATED:
        return Refused("InvalidAccessKeyId.NotFound", message="Specified access key is not found.")
    if fault is Fault.SERVER_ERROR:
        return Refused("ServiceUnavailable" if product == "Ecs" else "InternalError")
    assert fault is Fault.FORBIDDEN, fault
    message = "User not authorized to operate on the specified resource."
    detail = {
        "AuthAction": f"{product.lower()}:{action}",
        "NoPermissionType": "ImplicitDeny",
        "PolicyType": "AccountLevelIdentityBasedPolicy",
    }
    if product == "Cms":
        return Refused("403", message=message, soft=True, NextToken="", Datapoints="", Period="")
    if product == "BssOpenApi":
        return Refused("NotAuthorized", message="This API is not authorized for caller.")
    return Refused("NoPermission" if product == "Sts" else "Forbidden.RAM", message=message, AccessDeniedDetail=detail)
