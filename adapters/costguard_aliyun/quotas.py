"""The Quotas role: how many vCPUs the account may run in a region, and runs."""

from collections.abc import Sequence
from typing import Any

from costguard.ports import Quota
from costguard_aliyun.client import Api

# Attribute names without `max-` and `used-`, and ours for people.
NAMES = {
    "postpaid-instance-vcpu-count": "pay-as-you-go vCPUs",
    "spot-instance-vcpu-count": "spot vCPUs",
}


class QuotasRole:
    """Quotas of one account in one region."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def quotas(self, region: str) -> Sequence[Quota]:
        """`used` is None where it is not told, which is not zero."""
        asked = [f"{sort}-{name}" for name in NAMES for sort in ("max", "used")]
        answer = self._api.read("ecs", "DescribeAccountAttributes", region, AttributeName=asked)
        call = self._api.call_of("ecs", region, "DescribeAccountAttributes")
        told = {
            str(item.get("AttributeName")): _value(item)
            for item in self._api.items(answer, "AccountAttributeItems.AccountAttributeItem", call)
        }
        found = []
        for name, words in NAMES.items():
            limit = told.get(f"max-{name}")
            if limit is not None:
                found.append(Quota(words, region, limit, told.get(f"used-{name}"), "vCPU"))
        return found


def _value(item: Any) -> float | None:
    values: Sequence[Any] = (item.get("AttributeValues") or {}).get("ValueItem") or ()
    try:
        return float(values[0]["Value"])
    except (IndexError, KeyError, TypeError, ValueError):
        return None
