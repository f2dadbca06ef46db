"""The Usage role: GetMetricData in batches of 500, one look-back per call, one failing resource fails alone."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from costguard.domain.resource import Kind, Resource, ResourceRef
from costguard.domain.time import utc
from costguard.domain.usage import Metric, Series, UsageSample
from costguard.errors import BadResponse, PermissionDenied, ProviderError, Unavailable
from costguard.ports import UsageBatch
from costguard_aws import metrics as table
from costguard_aws.client import Api

PER_CALL = 500
RECENT = timedelta(hours=3)  # what ListMetrics(RecentlyActive=PT3H) covers


@dataclass(frozen=True, slots=True)
class _Query:
    """One MetricDataQuery, the series that it belongs to and its part of it (traffic has two parts to be added)."""

    resource: Resource
    series: Series
    part: int
    parts: int
    metric: table.Found
    piece: table.Piece

    def request(self, id: str) -> dict[str, Any]:
        """As GetMetricData wants it. No Unit: a wrong one silently returns nothing."""
        return {
            "Id": id,
            "MetricStat": {
                "Metric": {
                    "Namespace": self.metric.namespace,
                    "MetricName": self.metric.name,
                    "Dimensions": [{"Name": name, "Value": value} for name, value in self.metric.dimensions],
                },
                "Period": int(self.piece.period.total_seconds()),
                "Stat": table.statistic_of(self.series.metric)[0],
            },
            "ReturnData": True,
        }


@dataclass(slots=True)
class _Tally:
    """What came back so far: (series, period) → period start → part → the highest value."""

    values: dict[tuple[Series, timedelta], dict[datetime, dict[int, float]]] = field(default_factory=dict)
    failed: dict[ResourceRef, ProviderError] = field(default_factory=dict)
    calls: int = 0
    metered: int = 0


class UsageRole:
    """Reads samples of instances from CloudWatch."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def usage(
        self, resources: Sequence[Resource], metrics: frozenset[Metric], since: datetime, until: datetime
    ) -> UsageBatch:
        """Samples with `since` ≤ at ≤ `until` of instances; other kinds have none.

        GPU series exist where the agent runs and appends the InstanceId dimension. When nothing at all could be read,
        the first error is raised, so that the source reads as denied or failed.
        """
        now = self._api.clock.now()
        wanted = [r for r in resources if r.ref.kind is Kind.VM]
        tally = _Tally()
        for region in sorted({r.ref.region for r in wanted}):
            here = {r.ref.id: r for r in wanted if r.ref.region == region}
            queries = self._ec2(here, metrics, since, until, now)
            queries += self._gpu(region, here, metrics, since, until, now, tally)
            for piece in dict.fromkeys(q.piece for q in queries):
                same = [q for q in queries if q.piece == piece]
                for start in range(0, len(same), PER_CALL):
                    self._fetch(region, same[start : start + PER_CALL], tally)
        if wanted and len(tally.failed) == len({r.ref for r in wanted}) and not tally.values:
            raise next(iter(tally.failed.values()))
        samples = [s for s in _samples(tally, {r.ref: r for r in wanted}) if since <= s.at <= until]
        kept = tuple(s for s in samples if s.series.ref not in tally.failed)
        return UsageBatch(kept, tally.failed, tally.calls, tally.metered)

    def _ec2(
        self,
        here: Mapping[str, Resource],
        metrics: frozenset[Metric],
        since: datetime,
        until: datetime,
        now: datetime,
    ) -> list[_Query]:
        found = []
        for piece in table.pieces(since, until, now, table.EC2_PERIOD):
            for metric in sorted(metrics & table.EC2_METRICS.keys()):
                names = table.EC2_METRICS[metric]
                for resource in here.values():
                    statistic = table.statistic_of(metric)[1]
                    series = Series(resource.ref, metric, None, "cloudwatch:AWS/EC2", statistic)
                    for part, name in enumerate(names):
                        exact = table.Found(table.EC2_NAMESPACE, name, (("InstanceId", resource.ref.id),))
                        found.append(_Query(resource, series, part, len(names), exact, piece))
        return found

    def _gpu(
        self,
        region: str,
        here: Mapping[str, Resource],
        metrics: frozenset[Metric],
        since: datetime,
        until: datetime,
        now: datetime,
        tally: _Tally,
    ) -> list[_Query]:
        found = []
        periods = table.pieces(since, until, now, table.GPU_PERIOD)
        for metric in sorted(metrics & table.GPU_METRICS.keys()):
            try:
                listed = self._discover(region, table.GPU_METRICS[metric], recent=since >= now - RECENT, tally=tally)
            except ProviderError as error:
                tally.failed.update((resource.ref, error) for resource in here.values())
                return []
            for (instance, namespace, card), sets in table.narrow(listed, here).items():
                resource = here[instance]
                cards = (resource.gpus.cards if card is None and resource.gpus else None) or 1
                statistic = table.statistic_of(metric)[1]
                series = Series(resource.ref, metric, card, f"cloudwatch:{namespace}", statistic, cards)
                found += [_Query(resource, series, 0, 1, exact, piece) for piece in periods for exact in sets]
        return found

    def _discover(self, region: str, name: str, *, recent: bool, tally: _Tally) -> list[table.Found]:
        only: dict[str, Any] = {"RecentlyActive": "PT3H"} if recent else {}
        found = []
        for page in self._api.pages("cloudwatch", region, "ListMetrics", "Metrics", MetricName=name, **only):
            tally.calls += 1
            found += [table.read_found(item) for item in page]
        return found

    def _fetch(self, region: str, queries: Sequence[_Query], tally: _Tally) -> None:
        """One batch: all its pages, then each query's status. A failing batch fails its own resources only."""
        by_id = {f"q{number}": query for number, query in enumerate(queries)}
        tally.metered += len(queries)
        piece = queries[0].piece
        statuses: dict[str, str] = {}
        points: dict[str, dict[datetime, float]] = {}
        try:
            for page in self._api.pages(
                "cloudwatch",
                region,
                "GetMetricData",
                "MetricDataResults",
                MetricDataQueries=[query.request(id) for id, query in by_id.items()],
                StartTime=piece.start,
                EndTime=piece.end,
                ScanBy="TimestampAscending",
            ):
                tally.calls += 1
                for result in page:
                    id = result.get("Id") or ""
                    statuses[id] = result.get("StatusCode") or "Complete"
                    known = points.setdefault(id, {})
                    for at, value in _points(result):
                        known[at] = max(value, known.get(at, value))
        except ProviderError as error:
            tally.failed.update((query.resource.ref, error) for query in queries)
            return
        for id, query in by_id.items():
            problem = self._problem(statuses.get(id), region)
            if problem is not None:
                tally.failed[query.resource.ref] = problem
                continue
            series = tally.values.setdefault((query.series, query.piece.period), {})
            for at, value in points.get(id, {}).items():
                parts = series.setdefault(at, {})
                parts[query.part] = max(value, parts.get(query.part, value))

    def _problem(self, status: str | None, region: str) -> ProviderError | None:
        if status == "Complete":
            return None
        call = self._api.call_of("cloudwatch", region, "GetMetricData")
        if status is None:
            return call.failed(BadResponse, "a metric that was asked for is not in the answer")
        if status == "Forbidden":
            return call.failed(PermissionDenied, "the metric may not be read", status)
        # PartialData after the last page, InternalError, or a word of the future: what is missing may be the busy part.
        return call.failed(Unavailable, "only a part of the data came", status)


def _points(result: Mapping[str, Any]) -> Iterable[tuple[datetime, float]]:
    times, values = result.get("Timestamps") or (), result.get("Values") or ()
    for at, value in zip(times, values, strict=False):
        if math.isfinite(value) and value >= 0:
            yield utc(at), float(value)


def _samples(tally: _Tally, resources: Mapping[ResourceRef, Resource]) -> Iterable[UsageSample]:
    """In time order per series. Of traffic, only where each part has a value: half a sum would look idle."""
    for (series, period), by_time in sorted(tally.values.items(), key=lambda item: -item[0][1]):
        needed = len(table.EC2_METRICS.get(series.metric, ("",)))
        for at in sorted(by_time):
            parts = by_time[at]
            if len(parts) == needed:
                value = table.convert(series.metric, sum(parts.values()), resources[series.ref], period)
                if value is not None:
                    yield UsageSample(series, at + period, value, period)
