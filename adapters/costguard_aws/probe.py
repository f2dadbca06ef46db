"""The Probe role: every permission proved by EC2's own dry runs or by the smallest read; nothing is ever changed."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from costguard.domain.resource import Kind, Resource
from costguard.errors import NotFound, PermissionDenied, ProviderError, TimedOut
from costguard.ports import PermissionProbe
from costguard_aws.client import Api
from costguard_aws.errors import DRY_RUN_OK
from costguard_aws.power import RELEASE

# capability → EC2 reads, asked with DryRun.
_EC2_READS: Mapping[str, tuple[tuple[str, Mapping[str, Any]], ...]] = {
    "instances": (
        ("DescribeRegions", {}),
        ("DescribeInstances", {}),
        ("DescribeSpotInstanceRequests", {}),
        ("DescribeVolumes", {}),
        ("DescribeSnapshots", {"OwnerIds": ["self"]}),
        ("DescribeAddresses", {}),
        ("DescribeNatGateways", {}),
        ("DescribeCapacityReservations", {}),
    ),
    "gpu_inventory": (("DescribeInstanceTypes", {}),),
    "spot_price": (("DescribeSpotPriceHistory", {}),),
}

_IGNORED = "the endpoint ignored DryRun"
_MUTATIONS = (("stop", "StopInstances"), ("start", "StartInstances"), ("release", "TerminateInstances"))


class ProbeRole:
    """Proves what the credentials may do."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def probe(self, region: str, candidates: Sequence[Resource]) -> Sequence[PermissionProbe]:
        """One line per permission, and per candidate instance one for stop and start (and one per candidate of any kind
        for release, where the account allows it): a policy with a tag condition grants one and not the next."""
        run = _Run(self._api, region)
        answers = list(run.reads())
        if PermissionProbe("instances", "ec2:DescribeInstances", None, _IGNORED) not in answers:
            # Where that is ignored, the same on StopInstances would really stop.
            answers += run.on_candidates(candidates)
        return [
            *answers,
            PermissionProbe("charges_daily", "ce:GetCostAndUsage", None, "not tried: each request costs 0.01 USD"),
            PermissionProbe("commands", "ssm:SendCommand", None, "not tried: it has no dry run"),
        ]


class _Run:
    """One probe of one region. After one call without an answer no other is tried: each would wait as long."""

    def __init__(self, api: Api, region: str) -> None:
        self._api, self._region, self._silent = api, region, False

    def reads(self) -> Iterator[PermissionProbe]:
        for capability, calls in _EC2_READS.items():
            for operation, params in calls:
                yield self._dry(capability, operation, "", **params)
        now = self._api.clock.now().replace(second=0, microsecond=0)
        one = {
            "Id": "probe",
            "MetricStat": {
                "Metric": {"Namespace": "AWS/EC2", "MetricName": "CPUUtilization", "Dimensions": []},
                "Period": 300,
                "Stat": "Maximum",
            },
        }
        last = {"MetricDataQueries": [one], "StartTime": now - timedelta(minutes=5), "EndTime": now}
        yield self._smallest("instances", "autoscaling", "DescribeAutoScalingInstances", MaxRecords=1)
        yield self._smallest("gpu_usage", "cloudwatch", "ListMetrics", Namespace="CWAgent")
        yield self._smallest("cpu_usage", "cloudwatch", "GetMetricData", **last)
        yield self._smallest("quota", "service-quotas", "GetServiceQuota", ServiceCode="ec2", QuotaCode="L-1216C47A")
        yield self._smallest("commands", "ssm", "DescribeInstanceInformation", MaxResults=5)

    def on_candidates(self, candidates: Sequence[Resource]) -> Iterator[PermissionProbe]:
        boxes = [c.ref.id for c in candidates if c.ref.kind is Kind.VM and c.ref.region == self._region]
        for id in boxes[:1]:
            attribute = {"InstanceId": id, "Attribute": "disableApiStop"}
            yield self._dry("instances", "DescribeInstanceAttribute", id, **attribute)
        for id in boxes:
            for capability, operation in _MUTATIONS:
                if capability != "release" or self._api.spec.allow_release:
                    yield self._dry(capability, operation, id, InstanceIds=[id])
            tags = [{"Key": "costguard:probe", "Value": "probe"}]
            yield self._dry("tags", "CreateTags", id, Resources=[id], Tags=tags)
        if self._api.spec.allow_release:
            yield from self._releases([c for c in candidates if c.ref.region == self._region])

    def _releases(self, candidates: Sequence[Resource]) -> Iterator[PermissionProbe]:
        """What releasing asks for besides TerminateInstances. A spot request has tags of its own."""
        for found in candidates:
            request = found.attributes.get("spot_request")
            if request:
                operation = "CancelSpotInstanceRequests"
                yield self._dry("release", operation, request, SpotInstanceRequestIds=[request])
            if found.ref.kind in RELEASE:
                operation, parameter = RELEASE[found.ref.kind]
                yield self._dry("release", operation, found.ref.id, **{parameter: found.ref.id})

    def _dry(self, capability: str, operation: str, subject: str, **params: Any) -> PermissionProbe:
        """DryRun never does it: EC2 answers DryRunOperation where it would have, UnauthorizedOperation where not."""
        return self._ask(capability, "ec2", operation, subject, {"DryRun": True, **params})

    def _smallest(self, capability: str, service: str, operation: str, **params: Any) -> PermissionProbe:
        return self._ask(capability, service, operation, "", params)

    def _ask(
        self, capability: str, service: str, operation: str, subject: str, params: Mapping[str, Any]
    ) -> PermissionProbe:
        permission = self._api.call_of(service, self._region, operation).permission
        if self._silent:
            return PermissionProbe(capability, permission, None, "not tried: there was no answer before")
        try:
            self._api.read(service, self._region, operation, **params)
        except PermissionDenied as error:
            return PermissionProbe(capability, permission, False, subject or error.code)
        except ProviderError as error:
            self._silent = isinstance(error, TimedOut)
            granted = error.code == DRY_RUN_OK or (service != "ec2" and isinstance(error, NotFound))
            why = f"{subject} {error.code or type(error).__name__}".strip()
            return PermissionProbe(capability, permission, True if granted else None, subject if granted else why)
        if params.get("DryRun"):
            return PermissionProbe(capability, permission, None, _IGNORED)
        return PermissionProbe(capability, permission, True)
