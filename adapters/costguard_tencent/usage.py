"""The Usage role: Cloud Monitor in batches; one destroyed id is bisected out of its batch; silence is unknown.

A million calls a month are free for the whole root account, so every call is counted.
"""

import logging
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from costguard.domain.resource import Kind, Resource, ResourceRef
from costguard.domain.usage import Metric, Series, UsageSample
from costguard.errors import ProviderError
from costguard.ports import UsageBatch
from costguard_tencent import effects
from costguard_tencent import metrics as table
from costguard_tencent.client import Api, bad, divided
from costguard_tencent.errors import of_one_item
from costguard_tencent.fields import BEIJING

log = logging.getLogger("costguard_tencent")

FREE_CALLS = 1_000_000
_ACTION = "GetMonitorData"

Values = dict[datetime, dict[int, float]]
"""End of the period → part of the metric → value."""


@dataclass(slots=True)
class _Tally:
    """What came back so far."""

    values: dict[tuple[Series, timedelta], Values] = field(default_factory=dict)
    failed: dict[ResourceRef, ProviderError] = field(default_factory=dict)
    calls: int = 0


class UsageRole:
    """Reads samples of instances from Cloud Monitor."""

    def __init__(self, api: Api) -> None:
        self._api, self._lock = api, threading.Lock()
        self._spelt: dict[table.Part, str] = {}
        self._month, self._calls = "", 0
        options = api.spec.options
        self._limits = table.Limits(
            instances=_positive(options.get("metric_instances"), table.Limits().instances),
            points=_positive(options.get("metric_points"), table.Limits().points),
        )

    def usage(
        self, resources: Sequence[Resource], metrics: frozenset[Metric], since: datetime, until: datetime
    ) -> UsageBatch:
        """Samples with `since` ≤ at ≤ `until` of instances; other kinds have none.

        GPU series exist where driver and Cloud Monitor agent run in the guest; a value is the mean over the cards. When
        nothing at all could be read, the first error is raised, so that the source reads as denied or failed.
        """
        wanted = [r for r in resources if r.ref.kind is Kind.VM]
        tally, now = _Tally(), self._api.clock.now()
        # A sample at `since` itself is wanted too.
        pieces = table.pieces(since - timedelta(seconds=1), until, now, self._limits)
        for region in sorted({r.ref.region for r in wanted}):
            here = [r for r in wanted if r.ref.region == region]
            for metric in sorted(metrics & table.METRICS.keys()):
                for number in range(len(table.METRICS[metric])):
                    boxes = [r for r in here if r.gpus is not None or metric not in table.GPU_METRICS]
                    for piece in pieces:
                        self._batches(region, metric, number, piece, boxes, tally)
        self._count(tally.calls, now)
        if wanted and len(tally.failed) == len({r.ref for r in wanted}) and not tally.values:
            raise next(iter(tally.failed.values()))
        samples = [s for s in _samples(tally, {r.ref: r for r in wanted}) if since <= s.at <= until]
        kept = tuple(s for s in samples if s.series.ref not in tally.failed)
        return UsageBatch(kept, tally.failed, tally.calls, tally.calls)

    def _batches(
        self,
        region: str,
        metric: Metric,
        number: int,
        piece: table.Piece,
        boxes: Sequence[Resource],
        tally: _Tally,
    ) -> None:
        def fail(box: Resource, error: ProviderError) -> None:
            tally.failed.setdefault(box.ref, error)

        def ask(some: Sequence[Resource]) -> None:
            points = self._points(region, table.METRICS[metric][number], piece, some, tally)
            by_id = {box.ref.id: box for box in some}
            for point in points:
                names = {str(d.get("Name")): str(d.get("Value")) for d in point.get("Dimensions") or ()}
                box = by_id.get(names.get("InstanceId", ""))
                if box is not None:
                    _sort_in(metric, number, piece, box, point, tally)

        # A box that has failed already stays failed, and its id would spoil the next batch as well.
        boxes = [box for box in boxes if box.ref not in tally.failed]
        for first in range(0, len(boxes), self._limits.instances):
            divided(boxes[first : first + self._limits.instances], ask, fail)

    def _points(
        self, region: str, part: table.Part, piece: table.Piece, boxes: Sequence[Resource], tally: _Tally
    ) -> list[Mapping[str, Any]]:
        """Cloud Monitor's data points. Until one spelling has worked, a refusal lets the next one be tried."""
        with self._lock:
            known = self._spelt.get(part)
        names = (known,) if known else part.spellings
        call = self._api.call_of("monitor", region, _ACTION)
        for name in names:
            tally.calls += 1
            try:
                answer = self._api.read(
                    "monitor", _ACTION, region,
                    Namespace=table.NAMESPACE,
                    MetricName=name,
                    Period=int(piece.period.total_seconds()),
                    StartTime=_stamp(piece.start - piece.period),
                    EndTime=_stamp(piece.end - piece.period),
                    Instances=[{"Dimensions": [{"Name": "InstanceId", "Value": box.ref.id}]} for box in boxes],
                )  # fmt: skip
            except ProviderError as error:
                if name == names[-1] or not of_one_item(error):
                    raise
                continue
            points = self._api.items(answer, "DataPoints", call)
            if any(len(point.get("Timestamps") or ()) != len(point.get("Values") or ()) for point in points):
                # Which value is of which time cannot be told any more.
                raise bad(call, "DataPoints", "there are not as many values as times")
            if any(point.get("Timestamps") for point in points):
                with self._lock:
                    self._spelt[part] = name
            return points
        raise AssertionError("a part has spellings")

    def _count(self, calls: int, now: datetime) -> None:
        """Shows the calls of the month, which begins where Tencent Cloud's does: in Beijing."""
        month = f"{now.astimezone(BEIJING):%Y-%m}"
        with self._lock:
            self._calls = calls + (self._calls if month == self._month else 0)
            self._month, total = month, self._calls
        level = logging.WARNING if total > FREE_CALLS * 0.8 else logging.INFO
        free = f"{FREE_CALLS:,}"
        log.log(level, "account %s: %d of %s free GetMonitorData calls of %s", self._api.account, total, free, month)


def _needed(box: Resource, metric: Metric) -> list[int]:
    """Parts without which there is no value. Public traffic is silent where the box has no public address."""
    public = effects.PUBLIC_IP in box.attributes or effects.EIP in box.attributes
    return [number for number, part in enumerate(table.METRICS[metric]) if public or not part.public]


def _sort_in(
    metric: Metric, number: int, piece: table.Piece, box: Resource, point: Mapping[str, Any], tally: _Tally
) -> None:
    """Missing stamps are missing samples. A stamp opens its period, as windows are aligned by rounding down.

    Of several values of one time the highest counts: the others may be of cards that rest.
    """
    cards = (box.gpus.cards if box.gpus and metric in table.GPU_METRICS else None) or 1
    series = Series(box.ref, metric, None, table.SOURCE, table.STATISTIC, cards)
    values = tally.values.setdefault((series, piece.period), {})
    for stamp, value in zip(point.get("Timestamps") or (), point.get("Values") or (), strict=False):
        amount, seconds = _number(value), _number(stamp)
        if amount is not None and seconds is not None:
            end = datetime.fromtimestamp(int(seconds), UTC) + piece.period
            parts = values.setdefault(end, {})
            parts[number] = max(amount, parts.get(number, amount))


def _samples(tally: _Tally, resources: Mapping[ResourceRef, Resource]) -> Iterator[UsageSample]:
    """In time order per series. Of traffic, only where the needed parts have a value: half a sum looks idle."""
    for (series, period), by_time in sorted(tally.values.items(), key=lambda item: -item[0][1]):
        box = resources[series.ref]
        needed = _needed(box, series.metric)
        for at in sorted(by_time):
            parts = by_time[at]
            if all(part in parts for part in needed):
                value = table.convert(series.metric, sum(parts.values()), box)
                if value is not None:
                    yield UsageSample(series, at, value, period)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _stamp(at: datetime) -> str:
    return at.astimezone(BEIJING).replace(microsecond=0).isoformat()


def _positive(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default
