"""The Usage role: CloudMonitor in batches of 50 instances; a failing batch fails alone; silence is unknown.

A million calls a month are free for the whole account and further ones may fail, so every call is counted.
"""

import json
import logging
import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from costguard.domain.resource import Kind, Resource, ResourceRef
from costguard.domain.usage import Metric, Series, UsageSample
from costguard.errors import ProviderError
from costguard.ports import UsageBatch
from costguard_aliyun import metrics as table
from costguard_aliyun.client import Api, bad
from costguard_aliyun.errors import Call
from costguard_aliyun.fields import millis

log = logging.getLogger("costguard_aliyun")

PER_CALL = 50
FREE_CALLS = 1_000_000
_ROWS = 1_440
_META_PAGE = 1_000
_ACTION = "DescribeMetricList"


@dataclass(slots=True)
class _Tally:
    """What came back so far: (series, period) → end of period → part → value."""

    values: dict[tuple[Series, timedelta], dict[datetime, dict[int, float]]] = field(default_factory=dict)
    failed: dict[ResourceRef, ProviderError] = field(default_factory=dict)
    calls: int = 0


class UsageRole:
    """Reads samples of instances from CloudMonitor."""

    def __init__(self, api: Api) -> None:
        self._api, self._lock = api, threading.Lock()
        self._listed: Mapping[str, table.Meta] | None = None
        self._month, self._calls = "", 0

    def usage(
        self, resources: Sequence[Resource], metrics: frozenset[Metric], since: datetime, until: datetime
    ) -> UsageBatch:
        """Samples with `since` ≤ at ≤ `until` of instances; other kinds have none.

        GPU series exist where driver and CloudMonitor agent run in the guest. When nothing at all could be read, the
        first error is raised, so that the source reads as denied or failed.
        """
        wanted = [r for r in resources if r.ref.kind is Kind.VM]
        tally, now = _Tally(), self._api.clock.now()
        for region in sorted({r.ref.region for r in wanted}):
            here = [r for r in wanted if r.ref.region == region]
            for chosen in self._chosen(region, metrics):
                boxes = [r for r in here if r.gpus is not None] if chosen.metric in table.GPU_METRICS else here
                for piece in table.pieces(since - timedelta(milliseconds=1), until, now, chosen.periods):
                    for first in range(0, len(boxes), PER_CALL):
                        self._fetch(region, chosen, piece, boxes[first : first + PER_CALL], tally)
        self._count(tally.calls, now)
        if wanted and len(tally.failed) == len({r.ref for r in wanted}) and not tally.values:
            raise next(iter(tally.failed.values()))
        samples = [s for s in _samples(tally, {r.ref: r for r in wanted}) if since <= s.at <= until]
        kept = tuple(s for s in samples if s.series.ref not in tally.failed)
        return UsageBatch(kept, tally.failed, tally.calls, tally.calls)

    def _chosen(self, region: str, metrics: frozenset[Metric]) -> list[table.Chosen]:
        """The names that this account has for `metrics`, or those that it is told to use (`options.metric_names`)."""
        if not metrics & table.METRICS.keys():
            return []
        listed = self._meta(region)
        options = self._api.spec.options.get("metric_names")
        configured = options if isinstance(options, Mapping) else {}
        found = []
        for metric in sorted(metrics & table.METRICS.keys()):
            names = table.choose(metric, listed, configured.get(metric.value))
            if not names:
                log.warning("account %s: CloudMonitor lists no metric for %s", self._api.account, metric.value)
            found += names
        return found

    def _meta(self, region: str) -> Mapping[str, table.Meta]:
        with self._lock:
            listed = self._listed
        if listed is None:
            asked: dict[str, Any] = {"size": _META_PAGE, "Namespace": table.NAMESPACE}
            pages = self._api.numbered_pages("cms", "DescribeMetricMetaList", region, "Resources.Resource", **asked)
            metas = [table.read_meta(item) for page in pages for item in page]
            listed = {meta.name: meta for meta in metas}
            with self._lock:
                self._listed = listed
        return listed

    def _fetch(
        self, region: str, chosen: table.Chosen, piece: table.Piece, boxes: Sequence[Resource], tally: _Tally
    ) -> None:
        try:
            rows = list(self._rows(region, chosen, piece, [box.ref.id for box in boxes], tally))
        except ProviderError as error:
            tally.failed.update((box.ref, error) for box in boxes)
            return
        by_box: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            by_box.setdefault(str(row.get("instanceId")), []).append(row)
        for box in boxes:
            self._sort_in(chosen, piece, box, by_box.get(box.ref.id, ()), tally)

    def _rows(
        self, region: str, chosen: table.Chosen, piece: table.Piece, ids: Sequence[str], tally: _Tally
    ) -> Iterator[Mapping[str, Any]]:
        """Every page. `Datapoints` is a JSON text, or the array itself."""
        api = self._api
        call = api.call_of("cms", region, _ACTION)
        params: dict[str, Any] = {
            "Namespace": table.NAMESPACE,
            "MetricName": chosen.name,
            "Period": int(piece.period.total_seconds()),
            "StartTime": millis(piece.start),
            "EndTime": millis(piece.end),
            "Dimensions": json.dumps([{"instanceId": id} for id in ids], separators=(",", ":")),
            "Length": _ROWS,
        }
        seen: set[str] = set()
        while True:
            tally.calls += 1
            answer = api.read("cms", _ACTION, region, **params)
            yield from _datapoints(api.required(answer, "Datapoints", call), call)
            token = str(answer.get("NextToken") or "")
            if not token:
                return
            if token in seen:
                raise bad(call, "NextToken", "the same paging token came twice")
            seen.add(token)
            params["NextToken"] = token

    def _sort_in(
        self,
        chosen: table.Chosen,
        piece: table.Piece,
        box: Resource,
        rows: Iterable[Mapping[str, Any]],
        tally: _Tally,
    ) -> None:
        how = table.METRICS[chosen.metric]
        rows = list(rows)
        cards = (box.gpus.cards if box.gpus else None) or 1
        numbers = table.indexes((str(row.get("gpuId")) for row in rows), cards) if chosen.cards else {}
        for row in rows:
            card = numbers.get(str(row.get("gpuId"))) if chosen.cards else None
            value = _number(row.get(how.column))
            at = row.get("timestamp")
            if value is None or not isinstance(at, int) or (chosen.cards and card is None):
                continue
            over = cards if chosen.metric in table.GPU_METRICS and not chosen.cards else 1
            series = Series(box.ref, chosen.metric, card, table.SOURCE, how.statistic, over)
            end = datetime.fromtimestamp(at / 1000, UTC)
            parts = tally.values.setdefault((series, piece.period), {}).setdefault(end, {})
            # Of several rows of one time the highest counts: the others may be of cards that rest.
            parts[chosen.part] = max(value, parts.get(chosen.part, value))

    def _count(self, calls: int, now: datetime) -> None:
        """Shows the calls of the month, which begins where Alibaba Cloud's does: in UTC+8."""
        month = f"{now + timedelta(hours=8):%Y-%m}"
        with self._lock:
            self._calls = calls + (self._calls if month == self._month else 0)
            self._month, total = month, self._calls
        level = logging.WARNING if total > FREE_CALLS * 0.8 else logging.INFO
        free = f"{FREE_CALLS:,}"
        log.log(level, "account %s: %d of %s free CloudMonitor calls of %s", self._api.account, total, free, month)


def _datapoints(points: Any, call: Call) -> list[Mapping[str, Any]]:
    if isinstance(points, str):
        try:
            points = json.loads(points or "[]")
        except ValueError:
            raise bad(call, "Datapoints", "the data points are no JSON") from None
    if not isinstance(points, list):
        raise bad(call, "Datapoints", "the data points are no list")
    return [row for row in points if isinstance(row, Mapping)]


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _samples(tally: _Tally, resources: Mapping[ResourceRef, Resource]) -> Iterator[UsageSample]:
    """In time order per series. Of traffic, only where the needed parts have a value: half a sum looks idle."""
    for (series, period), by_time in sorted(tally.values.items(), key=lambda item: -item[0][1]):
        needed = range(table.METRICS[series.metric].needed)
        for at in sorted(by_time):
            parts = by_time[at]
            if all(part in parts for part in needed):
                value = table.convert(series.metric, sum(parts.values()), resources[series.ref])
                if value is not None:
                    yield UsageSample(series, at, value, period)
