"""CloudWatch: exact dimension sets, aligned periods, pages that cut a series in two, and a list that repeats itself."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.aws.codec import Refused

POINTS_PER_PAGE = 150
LISTED_PER_PAGE = 50
# Period → how long points of at least this period are kept.
_KEPT = {1: timedelta(hours=3), 60: timedelta(days=15), 300: timedelta(days=63), 3_600: timedelta(days=455)}
_ID = re.compile(r"[a-z][a-zA-Z0-9_]*")
_STATISTICS = {"Maximum", "Sum", "Average"}

Key = tuple[str, str, frozenset[tuple[str, str]]]


class CloudWatch:
    """Values by the start of their period; `broken` and `forbidden` are instance ids whose queries fail.

    `region_of` tells where an instance is: its metrics are there and nowhere else.
    """

    def __init__(self, clock: FakeClock, region_of: Callable[[str], str | None] = lambda _id: None) -> None:
        self._clock, self._region_of = clock, region_of
        self.metrics: dict[Key, dict[datetime, float]] = {}
        self.broken: set[str] = set()
        self.forbidden: set[str] = set()
        self.page_size = POINTS_PER_PAGE

    def put(self, namespace: str, name: str, dimensions: Mapping[str, str], points: Mapping[datetime, float]) -> None:
        key = (namespace, name, frozenset(dimensions.items()))
        self.metrics.setdefault(key, {}).update(points)

    def ListMetrics(
        self,
        region: str,
        MetricName: str | None = None,
        Namespace: str | None = None,
        RecentlyActive: str | None = None,
        Dimensions: Sequence[Mapping[str, str]] = (),
        NextToken: str = "",
        paging: object = None,
    ) -> Mapping[str, Any]:
        if RecentlyActive not in (None, "PT3H"):
            raise Refused("InvalidParameterValue")
        since = self._clock.now() - (timedelta(hours=3) if RecentlyActive else timedelta(days=14))
        found = [
            {"Namespace": ns, "MetricName": name, "Dimensions": [{"Name": k, "Value": v} for k, v in sorted(dims)]}
            for (ns, name, dims), points in self.metrics.items()
            if MetricName in (None, name)
            and Namespace in (None, ns)
            and self._is_in(region, dims)
            and all(any(d["Name"] == k and d.get("Value", v) == v for k, v in dims) for d in Dimensions)
            and any(at >= since for at in points)
        ]
        found = [item for item in found for _ in range(2)]  # duplicates, as seen in the field
        start = int(NextToken or 0)
        end = start + LISTED_PER_PAGE
        return {"Metrics": found[start:end], **({"NextToken": str(end)} if end < len(found) else {})}

    def GetMetricData(
        self,
        region: str,
        MetricDataQueries: Sequence[Mapping[str, Any]],
        StartTime: datetime,
        EndTime: datetime,
        ScanBy: str = "TimestampDescending",
        MaxDatapoints: int = 100_800,
        NextToken: str = "",
        paging: object = None,
    ) -> Mapping[str, Any]:
        ids = [query["Id"] for query in MetricDataQueries]
        if not 1 <= len(ids) <= 500 or StartTime >= EndTime:
            raise Refused("ValidationError")
        if len(set(ids)) < len(ids) or not all(_ID.fullmatch(id) for id in ids):
            raise Refused("ValidationError")
        rows: list[tuple[str, str, datetime | None, float]] = []
        for query in MetricDataQueries:
            rows += self._rows(region, query, StartTime, EndTime, ScanBy)
        start = int(NextToken or 0)
        end = start + min(self.page_size, MaxDatapoints)
        results: dict[str, dict[str, Any]] = {}
        for id, status, at, value in rows[start:end]:
            result = results.setdefault(
                id, {"Id": id, "Label": id, "Timestamps": [], "Values": [], "StatusCode": status}
            )
            if at is not None:
                result["Timestamps"].append(at)
                result["Values"].append(value)
        if end < len(rows) and rows[end][0] in results and results[rows[end][0]]["StatusCode"] == "Complete":
            results[rows[end][0]]["StatusCode"] = "PartialData"
        return {"MetricDataResults": list(results.values()), **({"NextToken": str(end)} if end < len(rows) else {})}

    def _rows(
        self, region: str, query: Mapping[str, Any], start: datetime, end: datetime, scan_by: str
    ) -> list[tuple[str, str, datetime | None, float]]:
        stat = query["MetricStat"]
        period = stat["Period"]
        if period not in (1, 5, 10, 20, 30) and (period < 60 or period % 60):
            raise Refused("ValidationError")
        if (
            stat["Stat"] not in _STATISTICS
            or "Unit" in stat
            or (start.timestamp() % period or end.timestamp() % period)
        ):
            raise Refused("ValidationError")  # unaligned times are legal but give shifted periods: refused here
        dims = {d["Name"]: d["Value"] for d in stat["Metric"].get("Dimensions", ())}
        if dims.get("InstanceId") in self.broken:
            return [(query["Id"], "InternalError", None, 0.0)]
        if dims.get("InstanceId") in self.forbidden:
            return [(query["Id"], "Forbidden", None, 0.0)]
        points = self.metrics.get(
            (stat["Metric"]["Namespace"], stat["Metric"]["MetricName"], frozenset(dims.items())), {}
        )
        oldest = self._clock.now() - max(age for finest, age in _KEPT.items() if period >= finest)
        here = self._is_in(region, dims.items())
        buckets: dict[datetime, list[float]] = {}
        for at, value in points.items():
            if here and start <= at < end and at >= oldest:
                bucket = at - timedelta(seconds=at.timestamp() % period)
                buckets.setdefault(bucket, []).append(value)
        fold = {"Maximum": max, "Sum": sum, "Average": lambda v: sum(v) / len(v)}[stat["Stat"]]
        rows: list[tuple[str, str, datetime | None, float]] = [
            (query["Id"], "Complete", at, float(fold(values)))  # type: ignore[operator]
            for at, values in sorted(buckets.items(), reverse=scan_by == "TimestampDescending")
        ]
        return rows or [(query["Id"], "Complete", None, 0.0)]

    def _is_in(self, region: str, dimensions: Iterable[tuple[str, str]]) -> bool:
        return self._region_of(dict(dimensions).get("InstanceId", "")) in (None, region)
