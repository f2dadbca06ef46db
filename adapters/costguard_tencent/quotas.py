"""The Quotas role: how many instances, and spot vCPUs, the account may have in each zone, and has."""

from collections.abc import Sequence
from typing import Any

from costguard.ports import Quota
from costguard_tencent.client import Api

# Set of AccountQuota → ours for people, and its unit.
SETS = {
    "PostPaidQuotaSet": ("pay-as-you-go instances", "instances"),
    "SpotPaidQuotaSet": ("spot vCPUs", "vCPU"),
}


class QuotasRole:
    """Quotas of one account in one region."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def quotas(self, region: str) -> Sequence[Quota]:
        """One per zone. `used` is None where it is not told, which is not zero."""
        action = "DescribeAccountQuota"
        call = self._api.call_of("cvm", region, action)
        filters = [{"Name": "quota-type", "Values": list(SETS)}]
        answer = self._api.read("cvm", action, region, Filters=filters)
        told = self._api.required(answer, "AccountQuotaOverview.AccountQuota", call)
        found = []
        for name, (words, unit) in SETS.items():
            for item in told.get(name) or ():
                limit = _number(item.get("TotalQuota"))
                if limit is not None:
                    zone = item.get("Zone")
                    found.append(Quota(f"{words} in {zone}", region, limit, _number(item.get("UsedQuota")), unit))
        return found


def _number(value: Any) -> float | None:
    return float(value) if value is not None else None
