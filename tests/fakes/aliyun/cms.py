"""CloudMonitor: rows inside a text, left-open windows, pages, retention, a monthly budget, and errors inside HTTP 200.

A row's timestamp closes its period, which is how the left-open, right-closed window reads. What nobody measured,
a misspelt metric included, is Success with ``"[]"``.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from costguard.testing.clock import FakeClock
from tests.fakes.aliyun.ecs import Fleet
from tests.fakes.aliyun.rpc import Context, Json, Refused, read_time

NAMESPACE = "acs_ecs_dashboard"
USER = "1234567890123456"
FREE_CALLS = 1_000_000
INSTANCES_PER_CALL = 50
_PERIODS = (15, 60, 300, 900, 3_600)
_BASE = 60
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BEIJING = ZoneInfo("Asia/Shanghai")

Key = tuple[str, str, str | None]
Values = float | tuple[float, float, float]


@dataclass(frozen=True)
class Meta:
    unit: str
    dimensions: str
    agent: bool = True


METRICS: Mapping[str, Meta] = {
    **{name: Meta(unit, "userId,instanceId,gpuId") for name, unit in {
        "gpu_gpu_usedutilization": "%", "gpu_memory_usedutilization": "%", "gpu_memory_freeutilization": "%",
        "gpu_memory_usedspace": "Byte", "gpu_memory_freespace": "Byte", "gpu_memory_totalspace": "Byte",
        "gpu_gpu_temperature": "Celsius", "gpu_power_readings_power_draw": "W",
        "gpu_encoder_utilization": "%", "gpu_decoder_utilization": "%",
    }.items()},
    **{name: Meta(unit, "userId,instanceId") for name, unit in {
        "instance_gpu_gpu_usedutilization": "%", "instance_gpu_memory_usedutilization": "%",
        "instance_gpu_power_readings_power_draw": "W", "instance_gpu_gpu_temperature": "Celsius",
    }.items()},
    **{name: Meta(unit, "userId,instanceId", agent=False) for name, unit in {
        "CPUUtilization": "%", "InternetInRate": "bit/s", "InternetOutRate": "bit/s", "IntranetInRate": "bit/s",
        "IntranetOutRate": "bit/s", "DiskReadBPS": "Byte/s", "DiskWriteBPS": "Byte/s",
    }.items()},
}  # fmt: skip


class CloudMonitor:
    """Version 2019-01-01. ``metrics``: (name, instance, gpu) → values by the end of their minute.

    ``broken``: instances whose every query fails, and with it the call they are in; ``as_array``: Datapoints come
    as the documentation's example shows them; ``hidden``: names that the account does not have; ``pay_as_you_go``:
    calls beyond the free million go on; ``calls``: how many of the month ``YYYY-MM`` were counted.
    """

    def __init__(self, clock: FakeClock, fleet: Fleet) -> None:
        self._clock, self._fleet = clock, fleet
        self.metrics: dict[Key, dict[datetime, tuple[float, float, float]]] = {}
        self.broken: set[str] = set()
        self.hidden: set[str] = set()
        self.as_array = False
        self.pay_as_you_go = False
        self.free_calls = FREE_CALLS
        self.calls: dict[str, int] = {}
        self.gpu_id: Callable[[int], str] = str

    def put(self, name: str, instance: str, points: Mapping[datetime, Values], gpu: int | None = None) -> None:
        """Values by the end of their minute: one, or (minimum, average, maximum)."""
        key = (name, instance, None if gpu is None else self.gpu_id(gpu))
        triples = {at: v if isinstance(v, tuple) else (v, v, v) for at, v in points.items()}
        self.metrics.setdefault(key, {}).update(triples)

    def DescribeMetricList(
        self,
        call: Context,
        *,
        Namespace: str,
        MetricName: str,
        Period: str = "60",
        StartTime: str = "",
        EndTime: str = "",
        Dimensions: Json | None = None,
        Length: int = 1_000,
        NextToken: str = "",
        Express: str = "",
    ) -> Mapping[str, Any]:
        period, (start, end) = _period(Period), self._window(StartTime, EndTime)
        self._count()
        rows = self._rows(call.region, Namespace, MetricName, period, start, end, Dimensions)
        if not 1 <= Length <= 1_440:
            raise _soft("400", "Length must be between 1 and 1440")
        first = int(NextToken) if NextToken.isdigit() else 0
        if NextToken and not NextToken.isdigit():
            raise _soft("400", "invalid NextToken")
        more = {"NextToken": str(first + Length)} if first + Length < len(rows) else {}
        return self._told(period, rows[first : first + Length]) | more

    def DescribeMetricLast(
        self,
        call: Context,
        *,
        Namespace: str,
        MetricName: str,
        Period: str = "60",
        StartTime: str = "",
        EndTime: str = "",
        Dimensions: Json | None = None,
        Length: int = 1_000,
        NextToken: str = "",
        Express: str = "",
    ) -> Mapping[str, Any]:
        """The newest row of each series; without times, of the last half hour."""
        period, (start, end) = _period(Period), self._window(StartTime, EndTime, timedelta(minutes=30))
        self._count()
        newest: dict[tuple[str, str | None], dict[str, Any]] = {}
        for row in self._rows(call.region, Namespace, MetricName, period, start, end, Dimensions):
            newest[row["instanceId"], row.get("gpuId")] = row
        rows, first = list(newest.values()), int(NextToken or 0)
        more = {"NextToken": str(first + Length)} if first + Length < len(rows) else {}
        return self._told(period, rows[first : first + Length]) | more

    def DescribeMetricMetaList(
        self,
        call: Context,
        *,
        Namespace: str = "",
        MetricName: str = "",
        Labels: str = "",
        PageNumber: int = 1,
        PageSize: int = 30,
    ) -> Mapping[str, Any]:
        found = [
            {
                "Namespace": NAMESPACE,
                "MetricName": name,
                "Description": name,
                "Unit": meta.unit,
                "Periods": "60,300" if meta.agent else "15,60,300,900,3600",
                "Statistics": "Average,Minimum,Maximum",
                "Dimensions": meta.dimensions,
                "Labels": "[]",
            }
            for name, meta in METRICS.items()
            if name not in self.hidden and MetricName in ("", name) and Namespace in ("", NAMESPACE)
        ]
        page = found[(PageNumber - 1) * PageSize : PageNumber * PageSize]
        return {"Code": "200", "Success": True, "Resources": {"Resource": page}, "TotalCount": str(len(found))}

    def DescribeMonitoringAgentStatuses(
        self, call: Context, *, InstanceIds: str = "", HostAvailabilityTaskId: str = ""
    ) -> Mapping[str, Any]:
        """Ids in one text with commas. A box without an agent is ``not_installed``."""
        wanted = InstanceIds.split(",")
        if len(wanted) > 100:
            raise _soft("400", "too many instances")
        told = [
            {
                "InstanceId": box.id,
                "Status": box.agent or "not_installed",
                "AgentInstallErrorCode": "",
                "AutoInstall": False,
                "OsMonitorStatus": box.agent or "not_installed",
            }
            for box in self._fleet.here(call.region)
            if box.id in wanted
        ]
        return {"Code": "200", "Success": True, "NodeStatusList": {"NodeStatus": told}}

    def _count(self) -> None:
        month = f"{self._clock.now().astimezone(_BEIJING):%Y-%m}"
        self.calls[month] = self.calls.get(month, 0) + 1
        if self.calls[month] > self.free_calls and not self.pay_as_you_go:
            raise Refused("Throttling.User", message="The free quota of this month is used up.")

    def _window(self, start: str, end: str, span: timedelta = timedelta(hours=1)) -> tuple[datetime, datetime]:
        until = _time(end) if end else self._clock.now()
        since = _time(start) if start else until - span
        if since >= until or until - since > timedelta(days=31):
            raise _soft("400", "StartTime and EndTime are not a window of at most 31 days")
        return since, until

    def _rows(
        self, region: str, namespace: str, name: str, period: int, start: datetime, end: datetime, dimensions: Any
    ) -> list[dict[str, Any]]:
        wanted = _dimensions(dimensions)
        if len({d.get("instanceId") for d in wanted}) > INSTANCES_PER_CALL:
            raise _soft("400", "too many dimensions")
        if any(d.get("instanceId") in self.broken for d in wanted):
            raise _soft("500", "InternalError")
        if namespace != NAMESPACE or name not in METRICS or name in self.hidden:
            return []
        here = {box.id: box for box in self._fleet.here(region)}
        now, span = self._clock.now(), timedelta(seconds=period)
        oldest = now - timedelta(days=7 if period < 60 else 31 if period == 60 else 91)
        # What lies further off is in no period of the window.
        first, last = max(oldest, start - span), min(now, end + span)
        rows = []
        for (metric, instance, gpu), points in self.metrics.items():
            box = here.get(instance)
            if metric != name or box is None or not _is_wanted(wanted, instance, gpu):
                continue
            if METRICS[name].agent and box.agent != "running":
                continue
            known = {at: v for at, v in points.items() if first < at <= last}
            for at, (low, mean, high) in sorted(_folded(known, period).items()):
                if start < at <= end:
                    row = {
                        "timestamp": int(at.timestamp() * 1_000), "userId": USER, "instanceId": instance,
                        "Minimum": low, "Average": mean, "Maximum": high,
                    }  # fmt: skip
                    rows.append(row if gpu is None else {**row, "gpuId": gpu})
        return sorted(rows, key=lambda row: row["timestamp"])

    def _told(self, period: int, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        points: Any = list(rows) if self.as_array else json.dumps(rows, separators=(",", ":"))
        return {"Code": "200", "Success": True, "Period": str(period), "Datapoints": points}


def _soft(code: str, message: str) -> Refused:
    """CloudMonitor's own errors: HTTP 200, empty texts where rows would be."""
    return Refused(code, message=message, soft=True, NextToken="", Datapoints="", Period="")


def _period(text: str) -> int:
    if not text.isdigit() or int(text) not in _PERIODS:
        raise _soft("400", f"invalid period({text})")
    return int(text)


def _time(text: str) -> datetime:
    if text.isdigit():
        return _EPOCH + timedelta(milliseconds=int(text))
    try:
        return read_time(text)
    except ValueError:
        # The text form's zone is unclear in the documentation, so nobody should send it.
        raise _soft("400", f"invalid time({text})") from None


def _dimensions(given: Any) -> list[dict[str, str]]:
    wanted = [given] if isinstance(given, dict) else given or []
    if not isinstance(wanted, list) or not all(isinstance(d, dict) for d in wanted):
        raise _soft("400", f"parse param dimensions error({given})")
    if any(set(d) - {"userId", "instanceId", "gpuId"} for d in wanted):
        raise _soft("400", f"parse param dimensions error({given})")
    return wanted


def _is_wanted(wanted: Sequence[Mapping[str, str]], instance: str, gpu: str | None) -> bool:
    return not wanted or any(
        d.get("instanceId", instance) == instance and d.get("gpuId", gpu) == gpu and d.get("userId", USER) == USER
        for d in wanted
    )


def _folded(
    points: Mapping[datetime, tuple[float, float, float]], period: int
) -> dict[datetime, tuple[float, float, float]]:
    """Minutes gathered into aligned periods, each named by its end."""
    if period <= _BASE:
        return dict(points)
    gathered: dict[datetime, list[tuple[float, float, float]]] = {}
    for at, values in points.items():
        late = -(at - _EPOCH).total_seconds() % period
        gathered.setdefault(at + timedelta(seconds=late), []).append(values)
    return {
        at: (min(v[0] for v in some), sum(v[1] for v in some) / len(some), max(v[2] for v in some))
        for at, some in gathered.items()
    }
