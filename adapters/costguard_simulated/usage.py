"""Usage: metric samples, drawn minute by minute from the machine's segments, in each cloud's own resolution.

Alibaba-like and rack give each card's maximum, AWS-like too; Tencent-like gives one mean over a machine's cards. A
machine that was not running for a whole minute has no sample for it, and neither has one whose agent is silent.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from zoneinfo import ZoneInfo

from costguard.domain.resource import Kind, Resource, ResourceRef, State
from costguard.domain.usage import Metric, Series, Statistic, UsageSample
from costguard.errors import AuthFailed, PermissionDenied, ProviderError
from costguard.ports import UsageBatch
from costguard_simulated.client import Client
from costguard_simulated.fleet import Machine
from costguard_simulated.inventory import gpu_cards
from costguard_simulated.scenario import Personality
from costguard_simulated.values import host, noise_of, of_one_card
from costguard_simulated.workload import Segment, segments

BATCH = 50
_MINUTE = timedelta(minutes=1)
_COARSE = 5  # minutes of a period once the samples are older than _FINE
_FINE = timedelta(days=15)
_RUNNING = frozenset({State.RUNNING})
_GPU = (Metric.GPU_UTIL, Metric.GPU_MEMORY, Metric.GPU_POWER)
# What the host itself tells; the others come from the agent.
_HOST = (Metric.CPU_CORES, Metric.NETWORK, Metric.DISK)
_SOURCE: dict[Personality, tuple[str, str]] = {
    "alibaba": ("cloudmonitor-agent", "cloudmonitor"),
    "tencent": ("monitor-agent", "monitor"),
    "aws": ("cwagent", "cloudwatch"),
    "rack": ("dcgm", "node"),
}
_DELAY: dict[Personality, timedelta] = {
    "alibaba": timedelta(seconds=60),
    "tencent": timedelta(seconds=90),
    "aws": timedelta(seconds=120),
    "rack": timedelta(seconds=30),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = tuple[int, Segment]


class UsageReader:
    """Reads samples in batches of 50 machines of one region, each a call for each metric."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._personality = client.cloud.personality
        self._zone = ZoneInfo(client.world.scenario.timezone)

    def usage(
        self, resources: Sequence[Resource], metrics: frozenset[Metric], since: datetime, until: datetime
    ) -> UsageBatch:
        """Samples with since ≤ at ≤ until that have arrived by now. A refusal for want of rights or credentials is
        raised; any other failure leaves its machines in ``failed``."""
        samples: list[UsageSample] = []
        failed: dict[ResourceRef, ProviderError] = {}
        calls = 0
        now = self._client.now()
        until = min(until, now - _DELAY[self._personality])
        period = _MINUTE if now - since <= _FINE else _COARSE * _MINUTE
        grid = _Grid(since, until, period)
        for region in sorted({resource.ref.region for resource in resources}):
            here = [resource for resource in resources if resource.ref.region == region]
            for first in range(0, len(here), BATCH):
                batch = here[first : first + BATCH]
                calls += len(metrics)
                try:
                    arrived = self._client.read("usage", region)
                except (AuthFailed, PermissionDenied):
                    raise
                except ProviderError as failure:
                    failed |= {resource.ref: failure for resource in batch}
                    continue
                for resource in batch if arrived else ():
                    machine = self._client.world.machine(self._client.cloud_name, resource.ref.id)
                    if machine is None:
                        continue
                    try:
                        self._client.read("usage", region, machine=machine)
                    except ProviderError as failure:
                        failed[resource.ref] = failure
                        continue
                    self._machine(machine, resource.ref, metrics, grid, samples)
        return UsageBatch(tuple(samples), failed, calls, calls)

    def _machine(
        self, machine: Machine, ref: ResourceRef, metrics: frozenset[Metric], grid: "_Grid", out: list[UsageSample]
    ) -> None:
        given = self._client.world.readings(machine.id)
        if given is not None:
            for (metric, index), points in given.items():
                if metric in metrics:
                    source = _SOURCE[self._personality][0 if metric in _GPU else 1]
                    series = Series(ref, metric, index, source, Statistic.MAX if metric in _GPU else Statistic.MEAN)
                    out += [
                        UsageSample(series, at, value, _MINUTE)
                        for at, value in sorted(points)
                        if grid.since <= at <= grid.until
                    ]
            return
        if machine.spec.silent or not grid.steps:
            return
        timeline = self._client.world.timeline(machine)
        first, last = grid.first, grid.last
        running = timeline.spans(_RUNNING, grid.time(first) - grid.period, grid.time(last))
        if not running:
            return
        parts = list(segments(timeline.plan, machine.seed, self._zone, first - grid.step, last))
        rows: list[Row] = []
        position = 0
        for start, end in running:
            for at in range(max(first - grid.step, ceil_minute(start)) + 1, min(last, floor_minute(end)) + 1):
                while position < len(parts) and parts[position].end < at:
                    position += 1
                if position < len(parts):
                    rows.append((at, parts[position]))
        for metric in sorted(metrics):
            if metric in _GPU:
                self._gpu(machine, ref, metric, rows, grid, out)
            elif metric in _HOST or (metric is Metric.CONNECTIONS and machine.kind is Kind.ENDPOINT):
                self._host(machine, ref, metric, rows, grid, out)

    def _gpu(
        self, machine: Machine, ref: ResourceRef, metric: Metric, rows: "list[Row]", grid: "_Grid",
        out: list[UsageSample],
    ) -> None:  # fmt: skip
        cards = gpu_cards(machine)
        if not cards:
            return
        if machine.agent_until is not None:
            stop = int(machine.agent_until.timestamp()) // 60
            rows = [row for row in rows if row[0] <= stop]
        source = _SOURCE[self._personality][0]
        mean = self._personality == "tencent"
        noises = [noise_of(machine, metric, card) for card in range(cards)]
        if mean:
            whole = Series(ref, metric, None, source, Statistic.MEAN, cards)

            def over_cards(at: int, segment: Segment) -> float:
                values = [of_one_card(metric, segment, card, at, noises[card](at), mean=True) for card in range(cards)]
                return round(sum(values) / cards, 2)

            out += grid.samples(whole, rows, over_cards)
            return
        for card in range(cards):

            def of_card(at: int, segment: Segment, card: int = card) -> float:
                return round(of_one_card(metric, segment, card, at, noises[card](at), mean=False), 1)

            out += grid.samples(Series(ref, metric, card, source, Statistic.MAX), rows, of_card)

    def _host(
        self, machine: Machine, ref: ResourceRef, metric: Metric, rows: "list[Row]", grid: "_Grid",
        out: list[UsageSample],
    ) -> None:  # fmt: skip
        noise = noise_of(machine, metric)

        def value(at: int, segment: Segment) -> float:
            return host(metric, segment, machine.sku.vcpus, noise(at))

        series = Series(ref, metric, None, _SOURCE[self._personality][1], Statistic.MEAN)
        out += grid.samples(series, rows, value)


class _Grid:
    """The ends of periods in [since, until], in minutes from the epoch; times are made once and shared."""

    def __init__(self, since: datetime, until: datetime, period: timedelta) -> None:
        self.since, self.until, self.period = since, until, period
        self.step = int(period / _MINUTE)
        self.first = -(-ceil_minute(since) // self.step) * self.step
        self.last = floor_minute(until) // self.step * self.step
        self.steps = max(0, (self.last - self.first) // self.step + 1)
        self._times: dict[int, datetime] = {}

    def samples(
        self, series: Series, rows: "list[Row]", value: Callable[[int, Segment], float]
    ) -> Iterator[UsageSample]:
        """One sample for each whole period: the maximum or the mean of its minutes, as the series says."""
        if self.step == 1:
            for at, segment in rows:
                yield UsageSample(series, self.time(at), value(at, segment), self.period)
            return
        for at, minutes in groupby(rows, lambda row: -(-row[0] // self.step) * self.step):
            values = [value(minute, segment) for minute, segment in minutes]
            if len(values) == self.step:
                whole = max(values) if series.statistic is Statistic.MAX else round(sum(values) / self.step, 2)
                yield UsageSample(series, self.time(at), whole, self.period)

    def time(self, minute: int) -> datetime:
        found = self._times.get(minute)
        if found is None:
            found = self._times[minute] = datetime.fromtimestamp(minute * 60, UTC)
        return found


def floor_minute(at: datetime) -> int:
    return (at - _EPOCH) // _MINUTE


def ceil_minute(at: datetime) -> int:
    return -((_EPOCH - at) // _MINUTE)
