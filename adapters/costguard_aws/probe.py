"""The Probe role: every permission proved by EC2's own dry runs or by the smallest read; nothing is ever changed."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from costguard.domain.resource import Kind, Resource
from costguard.errors import NotFound, PermissionDenied, ProviderError
from costguard.ports import PermissionProbe
from costguard_aws.client import Api
from costguard_aws.errors import DRY_RUN_OK

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
        """One line per permission, and per candidate instance one for stop and start (and release, where the account
        allows it): a policy with a tag condition grants one box and not the next."""
        reads = list(self._reads(region))
        if any(p.detail == _IGNORED for p in reads):  # the same call on StopInstances would really stop
            return [*reads, *self._untried()]
        return [*reads, *self._on_candidates(region, candidates), *self._untried()]

    def _reads(self, region: str) -> Iterator[PermissionProbe]:
        api = self._api
        for capability, calls in _EC2_READS.items():
            for operation, params in calls:
                yield self._dry(capability, region, operation, "", **params)
        now = api.clock.now().replace(second=0, microsecond=0)
        one = {
            "Id": "probe",
            "MetricStat": {
                "Metric": {"Namespace": "AWS/EC2", "MetricName": "CPUUtilization", "Dimensions": []},
                "Period": 300,
                "Stat": "Maximum",
            },
        }
        smallest: tuple[tuple[str, str, str, Mapping[str, Any]], ...] = (
            ("instances", "autoscaling", "DescribeAutoScalingInstances", {"MaxRecords": 1}),
            ("gpu_usage", "cloudwatch", "ListMetrics", {"Namespace": "CWAgent"}),
            (
                "cpu_usage",
                "cloudwatch",
                "GetMetricData",
                {"MetricDataQueries": [one], "StartTime": now - timedelta(minutes=5), "EndTime": now},
            ),
            ("quota", "service-quotas", "GetServiceQuota", {"ServiceCode": "ec2", "QuotaCode": "L-1216C47A"}),
            ("hook", "ssm", "DescribeInstanceInformation", {"MaxResults": 5}),
        )
        for capability, service, operation, params in smallest:
            yield self._tried(capability, service, region, operation, params)

    def _on_candidates(self, region: str, candidates: Sequence[Resource]) -> Iterator[PermissionProbe]:
        boxes = [c for c in candidates if c.ref.kind is Kind.VM and c.ref.region == region]
        if boxes:
            yield self._dry(
                "instances", region, "DescribeInstanceAttribute", boxes[0].ref.id,
                InstanceId=boxes[0].ref.id, Attribute="disableApiStop",
            )  # fmt: skip
        for box in boxes:
            for capability, operation in _MUTATIONS:
                if capability != "release" or self._api.spec.allow_release:
                    yield self._dry(capability, region, operation, box.ref.id, InstanceIds=[box.ref.id])
            tags = [{"Key": "costguard:probe", "Value": "probe"}]
            yield self._dry("tags", region, "CreateTags", box.ref.id, Resources=[box.ref.id], Tags=tags)

    def _dry(self, capability: str, region: str, operation: str, subject: str, **params: Any) -> PermissionProbe:
        """DryRun never does it: EC2 answers DryRunOperation where it would have, UnauthorizedOperation where not."""
        permission = self._api.call_of("ec2", region, operation).permission
        try:
            self._api.read("ec2", region, operation, DryRun=True, **params)
        except PermissionDenied as error:
            return PermissionProbe(capability, permission, False, subject or error.code)
        except ProviderError as error:
            granted = True if error.code == DRY_RUN_OK else None
            return PermissionProbe(capability, permission, granted, subject if granted else f"{subject} {error.code}")
        return PermissionProbe(capability, permission, None, _IGNORED)

    def _tried(
        self, capability: str, service: str, region: str, operation: str, params: Mapping[str, Any]
    ) -> PermissionProbe:
        permission = self._api.call_of(service, region, operation).permission
        try:
            self._api.read(service, region, operation, **params)
        except PermissionDenied as error:
            return PermissionProbe(capability, permission, False, error.code)
        except NotFound:
            return PermissionProbe(capability, permission, True)
        except ProviderError as error:
            return PermissionProbe(capability, permission, None, error.code or type(error).__name__)
        return PermissionProbe(capability, permission, True)

    def _untried(self) -> Iterator[PermissionProbe]:
        yield PermissionProbe("charges_daily", "ce:GetCostAndUsage", None, "not tried: each request costs 0.01 USD")
        yield PermissionProbe("hook", "ssm:SendCommand", None, "not tried: it has no dry run")
