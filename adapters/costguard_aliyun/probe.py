"""The Probe role: every permission proved by ECS's own dry runs or by the smallest read; nothing is ever changed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from costguard.domain.resource import Kind, Resource, State
from costguard.errors import NotFound, PermissionDenied, ProviderError, TimedOut
from costguard.ports import PermissionProbe
from costguard_aliyun.client import Api
from costguard_aliyun.errors import DRY_RUN_OK
from costguard_aliyun.fields import millis, write_time
from costguard_aliyun.metrics import NAMESPACE

_IGNORED = "the endpoint ignored DryRun"
_AGENTS = "DescribeMonitoringAgentStatuses"
_AGENTS_PER_CALL = 10

# capability → product, action, smallest parameters.
_READS: tuple[tuple[str, str, str, Mapping[str, Any]], ...] = (
    ("instances", "ecs", "DescribeRegions", {}),
    ("instances", "ecs", "DescribeDisks", {"MaxResults": 10}),
    ("instances", "ecs", "DescribeSnapshots", {"MaxResults": 10}),
    ("instances", "vpc", "DescribeEipAddresses", {"PageSize": 10}),
    ("gpu_inventory", "ecs", "DescribeInstanceTypes", {"InstanceTypes": ["ecs.gn6i-c4g1.xlarge"]}),
    ("price", "ecs", "DescribePrice", {"InstanceType": "ecs.g6.large", "PriceUnit": "Hour", "Period": 1}),
    ("quota", "ecs", "DescribeAccountAttributes", {"AttributeName": ["max-postpaid-instance-vcpu-count"]}),
    ("gpu_usage", "cms", "DescribeMetricMetaList", {"Namespace": NAMESPACE, "PageSize": 1}),
    ("balance", "bss", "QueryAccountBalance", {}),
)


class ProbeRole:
    """Proves what the credentials may do."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def probe(self, region: str, candidates: Sequence[Resource]) -> Sequence[PermissionProbe]:
        """One line per permission, and one per candidate instance for what its state allows: a policy with a tag
        condition grants one box and not the next. Names the boxes whose GPU use nobody measures."""
        run = _Run(self._api, region)
        first = run.dry("instances", "DescribeInstances", "")
        answers = [first, *run.reads()]
        boxes = [c for c in candidates if c.ref.kind is Kind.VM and c.ref.region == region]
        if first.granted:  # where DryRun is ignored on a read, the same on StopInstance would really stop
            answers += run.on_boxes(boxes)
        answers += run.agents([box.ref.id for box in boxes if box.gpus is not None and box.is_running])
        return [*answers, PermissionProbe("commands", "ecs:RunCommand", None, "not tried: it has no dry run")]


class _Run:
    """One probe of one region. After one call without an answer no other is tried: each would wait as long."""

    def __init__(self, api: Api, region: str) -> None:
        self._api, self._region, self._silent = api, region, False

    def reads(self) -> Iterator[PermissionProbe]:
        for capability, product, action, params in _READS:
            yield self._ask(capability, product, action, "", params)
        now = self._api.clock.now()
        last = {"StartTime": write_time(now - timedelta(hours=1)), "EndTime": write_time(now)}
        spot = {"InstanceType": "ecs.g6.large", "NetworkType": "vpc", **last}
        yield self._ask("spot_price", "ecs", "DescribeSpotPriceHistory", "", spot)
        ask = {"Namespace": NAMESPACE, "MetricName": "CPUUtilization", "Period": 60, "Length": 1}
        span = {"StartTime": millis(now - timedelta(minutes=5)), "EndTime": millis(now)}
        nobody = {"Dimensions": json.dumps([{"instanceId": "i-probe"}])}
        yield self._ask("cpu_usage", "cms", "DescribeMetricList", "", {**ask, **span, **nobody})
        zone = now + timedelta(hours=8)
        cycle = {"BillingCycle": f"{zone:%Y-%m}"}
        day = {"Granularity": "DAILY", "BillingDate": f"{zone:%Y-%m-%d}", "MaxResults": 1}
        yield self._ask("charges_daily", "bss", "DescribeInstanceBill", "", {**cycle, **day})
        yield self._ask("charges_final", "bss", "QueryBillOverview", "", cycle)

    def on_boxes(self, boxes: Sequence[Resource]) -> Iterator[PermissionProbe]:
        """Dry runs look at the state too: a stop is tried on what runs, a start on what is stopped."""
        for box in boxes:
            if box.state is State.RUNNING:
                yield self.dry("stop", "StopInstance", box.ref.id, StoppedMode="StopCharging")
            if box.state is State.STOPPED:
                yield self.dry("start", "StartInstance", box.ref.id)
            if self._api.spec.allow_release:
                yield self.dry("release", "DeleteInstance", box.ref.id, Force=True)

    def agents(self, ids: Sequence[str]) -> Iterator[PermissionProbe]:
        """Without a running CloudMonitor agent the GPU metrics stay silent, which is unknown and never idle."""
        permission = self._api.call_of("cms", self._region, _AGENTS).permission
        for first in range(0, len(ids), _AGENTS_PER_CALL):
            some = ids[first : first + _AGENTS_PER_CALL]
            try:
                answer = self._api.read("cms", _AGENTS, self._region, InstanceIds=",".join(some))
            except PermissionDenied as error:
                yield PermissionProbe("gpu_usage", permission, False, error.code)
                return
            except ProviderError as error:
                yield PermissionProbe("gpu_usage", permission, None, error.code or type(error).__name__)
                return
            nodes = (answer.get("NodeStatusList") or {}).get("NodeStatus") or ()
            running = {node.get("InstanceId") for node in nodes if str(node.get("Status")).lower() == "running"}
            silent = [id for id in some if id not in running]
            yield PermissionProbe("gpu_usage", permission, True, f"no agent runs on {', '.join(silent)}" * bool(silent))

    def dry(self, capability: str, action: str, subject: str, **params: Any) -> PermissionProbe:
        """DryRun never does it: ECS answers DryRunOperation where it would have, and the true error where not."""
        about = {"InstanceId": subject} if subject else {}
        return self._ask(capability, "ecs", action, subject, {"DryRun": True, **about, **params})

    def _ask(
        self, capability: str, product: str, action: str, subject: str, params: Mapping[str, Any]
    ) -> PermissionProbe:
        region = self._api.home_region if product == "bss" else self._region
        permission = self._api.call_of(product, region, action).permission
        if self._silent:
            return PermissionProbe(capability, permission, None, "not tried: there was no answer before")
        try:
            self._api.read(product, action, region, **params)
        except PermissionDenied as error:
            return PermissionProbe(capability, permission, False, subject or error.code)
        except ProviderError as error:
            self._silent = isinstance(error, TimedOut)
            granted = error.code in DRY_RUN_OK or (not subject and isinstance(error, NotFound))
            why = f"{subject} {error.code or type(error).__name__}".strip()
            return PermissionProbe(capability, permission, True if granted else None, subject if granted else why)
        if params.get("DryRun"):
            return PermissionProbe(capability, permission, None, _IGNORED)
        return PermissionProbe(capability, permission, True)
