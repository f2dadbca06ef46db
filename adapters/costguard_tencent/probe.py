"""The Probe role: every permission that a small read can prove. CVM has no dry runs, and nothing is ever changed."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from costguard.domain.resource import Kind, Resource
from costguard.domain.usage import Metric
from costguard.errors import PermissionDenied, ProviderError, TimedOut
from costguard.ports import PermissionProbe
from costguard_tencent.client import Api
from costguard_tencent.fields import BEIJING, write_time
from costguard_tencent.inventory import TIMER
from costguard_tencent.metrics import METRICS, NAMESPACE

MANAGED = ("costguard", "managed")
"""The tag that the policies in deploy/iam let stop, start and release act on."""

_AGENTS = "DescribeAutomationAgentStatus"
_AGENTS_PER_CALL = 100
_FAMILY = {"Name": "instance-family", "Values": ["GN7"]}


def _of(mode: str) -> Mapping[str, Any]:
    return {"Filters": [_FAMILY, {"Name": "instance-charge-type", "Values": [mode]}]}


# capability → product, action, smallest parameters.
_READS: tuple[tuple[str, str, str, Mapping[str, Any]], ...] = (
    ("instances", "region", "DescribeRegions", {"Product": "cvm"}),
    ("instances", "cvm", "DescribeInstances", {"Limit": 1}),
    ("instances", "cbs", "DescribeDisks", {"Limit": 1}),
    ("instances", "cbs", "DescribeSnapshots", {"Limit": 1}),
    ("instances", "vpc", "DescribeAddresses", {"Limit": 1}),
    ("gpu_inventory", "cvm", "DescribeInstanceTypeConfigs", {"Filters": [_FAMILY]}),
    ("price", "cvm", "DescribeZoneInstanceConfigInfos", _of("POSTPAID_BY_HOUR")),
    ("spot_price", "cvm", "DescribeZoneInstanceConfigInfos", _of("SPOTPAID")),
    ("quota", "cvm", "DescribeAccountQuota", {"Filters": [{"Name": "quota-type", "Values": ["SpotPaidQuotaSet"]}]}),
    ("balance", "billing", "DescribeAccountBalance", {}),
)
# Not tried: a call would do it. capability → product, action.
_CHANGES = (
    ("stop", "cvm", "StopInstances"),
    ("start", "cvm", "StartInstances"),
    ("tags", "tag", "TagResources"),
    ("commands", "tat", "RunCommand"),
)
_RELEASES = (("release", "cvm", "TerminateInstances"), ("set_release_time", "cvm", "ImportInstancesActionTimer"))


class ProbeRole:
    """Proves what the credentials may do."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def probe(self, region: str, candidates: Sequence[Resource]) -> Sequence[PermissionProbe]:
        """One line per permission. Of what changes something it can only be said which boxes lack the tag that the
        shipped policies ask for. Names the GPU boxes on which no TAT agent is online."""
        run = _Run(self._api, region)
        boxes = [c for c in candidates if c.ref.kind is Kind.VM and c.ref.region == region]
        running = [box.ref.id for box in boxes if box.is_running]
        return [*run.reads(running), *run.agents(running), *run.changes(boxes)]


class _Run:
    """One probe of one region. After one call without an answer no other is tried: each would wait as long."""

    def __init__(self, api: Api, region: str) -> None:
        self._api, self._region, self._silent = api, region, False

    def reads(self, running: Sequence[str]) -> Iterator[PermissionProbe]:
        for capability, product, action, params in _READS:
            yield self._ask(capability, product, action, params)
        now = self._api.clock.now()
        month = f"{now.astimezone(BEIJING):%Y-%m}"
        first = {"Month": month, "Offset": 0, "Limit": 1, "NeedRecordNum": 0}
        yield self._ask("charges_daily", "billing", "DescribeBillDetail", first)
        summary = {"BeginTime": month, "EndTime": month, "PayType": "consume"}
        yield self._ask("charges_final", "billing", "DescribeBillSummaryByProduct", summary)
        yield from self._metrics(running)
        if self._api.spec.allow_release:
            unfired = {"TimerAction": TIMER, "StatusList": ["UNDO"]}
            yield self._ask("set_release_time", "cvm", "DescribeInstancesActionTimer", unfired)

    def agents(self, ids: Sequence[str]) -> Iterator[PermissionProbe]:
        """Hooks need TAT's agent on the box."""
        permission = self._api.call_of("tat", self._region, _AGENTS).permission
        for first in range(0, len(ids), _AGENTS_PER_CALL):
            some = ids[first : first + _AGENTS_PER_CALL]
            answer, told = self._read("commands", "tat", _AGENTS, {"InstanceIds": list(some), "Limit": len(some)})
            if answer is None:
                yield told
                return
            agents = answer.get("AutomationAgentSet") or ()
            online = {agent.get("InstanceId") for agent in agents if agent.get("AgentStatus") == "Online"}
            silent = [id for id in some if id not in online]
            yield PermissionProbe("commands", permission, True, f"no agent on {', '.join(silent)}" if silent else "")

    def changes(self, boxes: Sequence[Resource]) -> Iterator[PermissionProbe]:
        key, value = MANAGED
        bare = [box.ref.id for box in boxes if (box.tags or {}).get(key) != value]
        why = "not tried: CVM has no dry run"
        if boxes:
            why += f"; {len(boxes) - len(bare)} of {len(boxes)} boxes carry the tag {key}={value}"
        for capability, product, action in (*_CHANGES, *(_RELEASES if self._api.spec.allow_release else ())):
            permission = self._api.call_of(product, self._region, action).permission
            yield PermissionProbe(capability, permission, None, why)

    def _metrics(self, running: Sequence[str]) -> Iterator[PermissionProbe]:
        permission = self._api.call_of("monitor", self._region, "GetMonitorData").permission
        if not running:
            yield PermissionProbe("gpu_usage", permission, None, "not tried: no box runs")
            return
        now = self._api.clock.now()
        (cpu,) = METRICS[Metric.CPU_CORES]
        params = {
            "Namespace": NAMESPACE, "MetricName": cpu.spellings[0], "Period": 300,
            "StartTime": write_time(now - timedelta(minutes=15)), "EndTime": write_time(now - timedelta(minutes=5)),
            "Instances": [{"Dimensions": [{"Name": "InstanceId", "Value": running[0]}]}],
        }  # fmt: skip
        yield self._ask("gpu_usage", "monitor", "GetMonitorData", params)

    def _ask(self, capability: str, product: str, action: str, params: Mapping[str, Any]) -> PermissionProbe:
        return self._read(capability, product, action, params)[1]

    def _read(
        self, capability: str, product: str, action: str, params: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any] | None, PermissionProbe]:
        permission = self._api.call_of(product, self._region, action).permission
        if self._silent:
            return None, PermissionProbe(capability, permission, None, "not tried: there was no answer before")
        try:
            answer = self._api.read(product, action, self._region, **params)
        except PermissionDenied as error:
            return None, PermissionProbe(capability, permission, False, error.code)
        except ProviderError as error:
            self._silent = isinstance(error, TimedOut)
            return None, PermissionProbe(capability, permission, None, error.code or type(error).__name__)
        return answer, PermissionProbe(capability, permission, True)
