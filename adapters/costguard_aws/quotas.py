"""The Quotas role: EC2's vCPU quotas by class of instance, with the use that CloudWatch keeps for them."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from costguard.errors import NotFound, PermissionDenied
from costguard.ports import Quota
from costguard_aws.client import Api

# vCPU quotas of running instances by class; the codes are AWS's own and the same in every account.
CODES = {
    "L-1216C47A": "standard on-demand",
    "L-DB2E81BA": "G and VT on-demand",
    "L-417A185B": "P on-demand",
    "L-1945791B": "Inf on-demand",
    "L-2C3B7624": "Trn on-demand",
    "L-34B43A08": "standard spot",
    "L-3819A6DF": "G and VT spot",
    "L-7212CCBC": "P spot",
}
_LOOK_BACK = timedelta(hours=1)


class QuotasRole:
    """Quotas of one account in one region."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def quotas(self, region: str) -> Sequence[Quota]:
        """`used` is None where it cannot be told, which is not zero."""
        found = []
        for code, name in CODES.items():
            try:
                answer = self._api.read("service-quotas", region, "GetServiceQuota", ServiceCode="ec2", QuotaCode=code)
            except NotFound:  # the region does not rent out this class
                continue
            quota = self._api.required(answer, "Quota", self._api.call_of("service-quotas", region, "GetServiceQuota"))
            if quota.get("Value") is not None:
                used = self._used(region, quota.get("UsageMetric") or {})
                found.append(Quota(name, region, float(quota["Value"]), used, "vCPU"))
        return found

    def _used(self, region: str, metric: Mapping[str, Any]) -> float | None:
        """The newest value of the metric that the quota itself names (namespace AWS/Usage)."""
        if not metric.get("MetricNamespace"):
            return None
        now = self._api.clock.now().replace(second=0, microsecond=0)
        query = {
            "Id": "used",
            "MetricStat": {
                "Metric": {
                    "Namespace": metric["MetricNamespace"],
                    "MetricName": metric["MetricName"],
                    "Dimensions": [{"Name": k, "Value": v} for k, v in (metric.get("MetricDimensions") or {}).items()],
                },
                "Period": 300,
                "Stat": metric.get("MetricStatisticRecommendation") or "Maximum",
            },
        }
        try:
            answer = self._api.read(
                "cloudwatch",
                region,
                "GetMetricData",
                MetricDataQueries=[query],
                StartTime=now - _LOOK_BACK,
                EndTime=now,
                ScanBy="TimestampDescending",
            )
        except PermissionDenied:
            return None
        values = [value for result in answer.get("MetricDataResults") or () for value in result.get("Values") or ()]
        return float(values[0]) if values else None
