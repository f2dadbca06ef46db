"""Cost Explorer, Budgets, the price list, Service Quotas and CloudTrail."""

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from tests.fakes.aws.codec import Refused

DAYS_PER_PAGE = 3
BUDGETS_PER_PAGE = 2


class CostExplorer:
    """`lines`: (day, service, record type, unblended, amortized), decimal strings. `endless`: pages never end."""

    def __init__(self) -> None:
        self.lines: list[tuple[date, str, str, str, str]] = []
        self.open_from = date(2026, 3, 1)
        self.young = False
        self.endless = False

    def GetCostAndUsage(
        self,
        region: str,
        TimePeriod: Mapping[str, str],
        Granularity: str,
        Metrics: Sequence[str],
        GroupBy: Sequence[Mapping[str, str]],
        NextPageToken: str = "",
        **_: Any,
    ) -> Mapping[str, Any]:
        keys = [group["Key"] for group in GroupBy]
        if region != "us-east-1" or Granularity != "DAILY" or keys != ["SERVICE", "RECORD_TYPE"]:
            raise Refused("ValidationException")
        start, end = date.fromisoformat(TimePeriod["Start"]), date.fromisoformat(TimePeriod["End"])
        if start >= end:
            raise Refused("ValidationException")
        if self.young:
            raise Refused("DataUnavailableException")
        days = [start + timedelta(days=n) for n in range((end - start).days)]
        first = int(NextPageToken or 0)
        last = first + (0 if self.endless else DAYS_PER_PAGE)
        more = {"NextPageToken": str(last if not self.endless else first + 1)}
        more = more if self.endless or last < len(days) else {}
        return {
            "GroupDefinitions": list(GroupBy),
            "ResultsByTime": [self._day(day, Metrics) for day in days[first:last]],
            **more,
        }

    def _day(self, day: date, metrics: Sequence[str]) -> Mapping[str, Any]:
        groups = []
        for on, service, record_type, unblended, amortized in self.lines:
            if on == day:
                amounts = {"UnblendedCost": unblended, "AmortizedCost": amortized}
                groups.append(
                    {
                        "Keys": [service, record_type],
                        "Metrics": {name: {"Amount": amounts[name], "Unit": "USD"} for name in metrics},
                    }
                )
        return {
            "TimePeriod": {"Start": day.isoformat(), "End": (day + timedelta(days=1)).isoformat()},
            "Total": {},
            "Groups": groups,
            "Estimated": day >= self.open_from,
        }


class Budgets:
    """`made`: budgets as AWS describes them. An account without any answers without a list."""

    def __init__(self, account: str) -> None:
        self.made: list[dict[str, Any]] = []
        self._account = account

    def DescribeBudgets(
        self, region: str, AccountId: str, MaxResults: int = 100, NextToken: str = "", **_: Any
    ) -> Mapping[str, Any]:
        if region != "us-east-1" or AccountId != self._account:
            raise Refused("AccessDeniedException")
        if not 1 <= MaxResults <= 1_000:
            raise Refused("InvalidParameterException")
        first = int(NextToken or 0)
        last = first + min(MaxResults, BUDGETS_PER_PAGE)
        more = {"NextToken": str(last)} if last < len(self.made) else {}
        return {**({"Budgets": self.made[first:last]} if self.made else {}), **more}


class Pricing:
    """`offers`: (region, type) → (price per hour, effective date) of Linux on-demand; a list for more than one."""

    def __init__(self) -> None:
        self.offers: dict[tuple[str, str], list[tuple[str, str]]] = {}

    def GetProducts(
        self, region: str, ServiceCode: str, Filters: Sequence[Mapping[str, str]], **_: Any
    ) -> Mapping[str, Any]:
        wanted = {f["Field"]: f["Value"] for f in Filters}
        fixed = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}
        if region != "us-east-1" or ServiceCode != "AmazonEC2" or not fixed.items() <= wanted.items():
            raise Refused("InvalidParameterException")
        offers = self.offers.get((wanted["regionCode"], wanted["instanceType"]), [])
        return {"PriceList": [_product(wanted, price, since) for price, since in offers], "FormatVersion": "aws_v1"}


def _product(wanted: Mapping[str, str], price: str, since: str) -> str:
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": price}, "description": f"${price} per On Demand Linux"}
    term = {"effectiveDate": since, "priceDimensions": {"ABC.JRTCKXETXF.6YS6EN2CT7": dimension}}
    return json.dumps(
        {"product": {"sku": "ABC", "attributes": dict(wanted)}, "terms": {"OnDemand": {"ABC.JRTCKXETXF": term}}}
    )


class Quotas:
    """`values`: code → vCPUs; a class that the region does not rent out has no quota."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def GetServiceQuota(self, region: str, ServiceCode: str, QuotaCode: str, **_: Any) -> Mapping[str, Any]:
        if ServiceCode != "ec2" or QuotaCode not in self.values:
            raise Refused("NoSuchResourceException")
        usage = {
            "MetricNamespace": "AWS/Usage",
            "MetricName": "ResourceCount",
            "MetricDimensions": {"Type": "Resource", "Resource": "vCPU", "Service": "EC2", "Class": QuotaCode},
            "MetricStatisticRecommendation": "Maximum",
        }
        quota = {"QuotaCode": QuotaCode, "QuotaName": "vCPUs", "Value": self.values[QuotaCode], "UsageMetric": usage}
        return {"Quota": quota}


class CloudTrail:
    """`events`: (instance id, event name, time, user)."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, datetime, str]] = []
        self.denied = False

    def LookupEvents(
        self,
        region: str,
        LookupAttributes: Sequence[Mapping[str, str]],
        StartTime: datetime,
        EndTime: datetime,
        **_: Any,
    ) -> Mapping[str, Any]:
        if self.denied:
            raise Refused("AccessDeniedException")
        (wanted,) = LookupAttributes
        found = [
            {"EventName": name, "EventTime": at, "Username": user}
            for id, name, at, user in self.events
            if wanted == {"AttributeKey": "ResourceName", "AttributeValue": id} and StartTime <= at <= EndTime
        ]
        return {"Events": found[::-1]}
