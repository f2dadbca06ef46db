"""Monitor: one metric a call, batches that fail whole, metered calls, stamps where there is data and none elsewhere.

A stamp opens its period, as the window is aligned by rounding down. ``stamp_ends_period`` turns that round.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

from costguard.testing.clock import FakeClock
from tests.fakes.tencent.cvm import Fleet
from tests.fakes.tencent.wire import BEIJING, Context, Refused, read_zoned

FREE_CALLS = 1_000_000
# metric → whether the host measures it; the others need an agent in the guest
METRICS: Mapping[str, bool] = {
    **dict.fromkeys(
        (
            "GpuUtil", "GpuMemUsage", "GpuMemUsed", "GpuMemTotal", "GpuTemp", "GpuPowDraw", "GpuPowLimit",
            "GpuPowUsage", "GpuEncUtil", "GpuDecUtil", "CPUUsage", "CPULoadAvg", "MemUsage", "MemUsed", "TcpCurrEstab",
        ),
        False,
    ),
    **dict.fromkeys(("BaseCpuUsage", "LanIntraffic", "LanOuttraffic", "WanIntraffic", "WanOuttraffic"), True),
}  # fmt: skip
_PERIODS = (10, 60, 300, 3_600, 86_400)


class Dimension(TypedDict):
    Name: str
    Value: str


class Instance(TypedDict):
    Dimensions: list[Dimension]


class Monitor:
    """Version 2018-07-24. ``samples``: (metric, instance, card) → values by the moment they were taken; a
    card of its own is what the catalogue knows and the documentation does not.

    ``destroyed``: ids that fail the call they are in though they are listed; ``chinese``: the metrics' spelling of the
    Chinese page; ``calls``: how many of the month ``YYYY-MM`` were metered; ``open``: whether more than the free ones
    may be had; ``torn``: a time is missing beside its value; ``instances_per_call`` and ``points_per_call``: the older
    limits, which always hold.
    """

    def __init__(self, clock: FakeClock, fleet: Fleet) -> None:
        self._clock, self._fleet = clock, fleet
        self.samples: dict[tuple[str, str, int | None], dict[datetime, float]] = {}
        self.destroyed: set[str] = set()
        self.chinese = False
        self.free_calls = FREE_CALLS
        self.open = False
        self.owed = False
        self.calls: dict[str, int] = {}
        self.instances_per_call = 10
        self.points_per_call = 1_440
        self.stamp_ends_period = False
        self.torn = False

    def put(self, metric: str, instance: str, values: Mapping[datetime, float], card: int | None = None) -> None:
        """Values by the end of the moment that they are about: ``at`` belongs to the period that ends there."""
        assert metric in METRICS, metric
        self.samples.setdefault((metric, instance, card), {}).update(values)

    def GetMonitorData(
        self,
        call: Context,
        *,
        Namespace: str,
        MetricName: str,
        Instances: Sequence[Instance],
        Period: int = 300,
        StartTime: str = "",
        EndTime: str = "",
        SpecifyStatistics: int = 0,
    ) -> Mapping[str, Any]:
        self._meter()
        if Namespace != "QCE/CVM":
            raise Refused("InvalidParameterValue", f"The namespace `{Namespace}` is not known.")
        metric = self._metric(MetricName)
        if Period not in _PERIODS:
            raise Refused("InvalidParameterValue", f"The period {Period} is not supported by the metric.")
        if not 0 <= SpecifyStatistics <= 7:
            raise Refused("InvalidParameterValue", "The value of parameter `SpecifyStatistics` is not valid.")
        ids = [_instance(item) for item in Instances]
        start, end = self._window(Period, StartTime, EndTime)
        points = int((end - start).total_seconds()) // Period + 1
        if len(ids) > self.instances_per_call:
            raise Refused("InvalidParameterValue", f"More than {self.instances_per_call} instances.")
        if points * len(ids) > self.points_per_call:
            raise Refused("InvalidParameterValue", f"More than {self.points_per_call} data points.")
        here = {box.id: box for box in self._fleet.here(call.region)}
        if any(id not in here or id in self.destroyed for id in ids):
            raise Refused("InvalidParameterValue", "Unauthorized operation or the instance has been destroyed")
        cards: dict[str, list[int]] = {}
        for name, box, number in self.samples:
            if name == metric and number is not None:
                cards.setdefault(box, []).append(number)
        told = []
        for id in ids:
            measured = METRICS[metric] or here[id].agent
            for card in sorted(cards.get(id, ())) or (None,):
                series = self._folded((metric, id, card), Period, start, end) if measured else {}
                told.append(_point(id, series, SpecifyStatistics, card))
        for point in told if self.torn else ():
            del point["Timestamps"][:1]
        return {
            "StartTime": _local(start), "EndTime": _local(end), "Period": Period, "MetricName": MetricName,
            "DataPoints": told, "Msg": "succ",
        }  # fmt: skip

    def _meter(self) -> None:
        month = f"{self._clock.now().astimezone(BEIJING):%Y-%m}"
        self.calls[month] = self.calls.get(month, 0) + 1
        if self.owed:
            raise Refused("FailedOperation.ErrOwed", "The account is in arrears.")
        if self.calls[month] > self.free_calls and not self.open:
            raise Refused("FailedOperation.ErrNotOpen", "The free quota of this month is used up.")

    def _metric(self, name: str) -> str:
        """The GPU metrics have two spellings, of which an account knows one."""
        names = {_spelt(metric) if self.chinese else metric: metric for metric in METRICS}
        if name not in names:
            raise Refused("InvalidParameterValue", f"The metric `{name}` is not found in the namespace QCE/CVM.")
        return names[name]

    def _window(self, period: int, start: str, end: str) -> tuple[datetime, datetime]:
        try:
            until = read_zoned(end) if end else self._clock.now()
            since = read_zoned(start) if start else until - timedelta(minutes=5)
        except ValueError:
            raise Refused("InvalidParameterValue", "StartTime or EndTime is not ISO 8601 with a zone.") from None
        if until < since:
            raise Refused("InvalidParameterValue", "EndTime is before StartTime.")
        return _floor(since, period), _floor(until, period)

    def _folded(
        self, key: tuple[str, str, int | None], period: int, start: datetime, end: datetime
    ) -> dict[datetime, list[float]]:
        """Values by stamp, as far as they are kept and arrived."""
        now, metric = self._clock.now(), key[0]
        days = 15 if period < 60 or (period == 60 and metric.startswith("Gpu")) else {60: 31, 300: 31}.get(period, 93)
        series: dict[datetime, list[float]] = {}
        span = timedelta(seconds=period)
        # What lies further off is in no period of the window.
        first, last = max(now - timedelta(days=days), start - span), min(now, end + span)
        for at, value in sorted((at, value) for at, value in self.samples.get(key, {}).items() if first <= at <= last):
            opens = _floor(at - timedelta(microseconds=1), period)
            stamp = opens + span if self.stamp_ends_period else opens
            if start <= stamp <= end:
                series.setdefault(stamp, []).append(value)
        return series


def _instance(item: Instance) -> str:
    """InstanceId is the only dimension that is told to the public."""
    names = [dimension["Name"] for dimension in item["Dimensions"]]
    if names != ["InstanceId"]:
        raise Refused("InvalidParameterValue", f"The dimensions {names} are not those of the metric.")
    return item["Dimensions"][0]["Value"]


def _point(
    id: str, series: Mapping[datetime, Sequence[float]], statistics: int, card: int | None = None
) -> dict[str, Any]:
    """Without a wish ``Values`` is the mean; with one the lists of that wish are there beside it."""
    lists = {
        "AvgValues": (1, [sum(values) / len(values) for values in series.values()]),
        "MaxValues": (2, [max(values) for values in series.values()]),
        "MinValues": (4, [min(values) for values in series.values()]),
    }
    return {
        "Dimensions": [
            {"Name": "InstanceId", "Value": id},
            *([] if card is None else [{"Name": "minorNumber", "Value": str(card)}]),
        ],
        "Timestamps": [stamp.timestamp() for stamp in series],
        "Values": lists["AvgValues"][1],
        **{name: values if statistics & bit else None for name, (bit, values) in lists.items()},
    }


def _spelt(metric: str) -> str:
    return metric.capitalize() if metric.startswith("Gpu") else metric


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _floor(at: datetime, period: int) -> datetime:
    return at - (at - _EPOCH) % timedelta(seconds=period)


def _local(at: datetime) -> str:
    return at.astimezone(BEIJING).isoformat(timespec="seconds")
