"""Box: one resource in a replay, with its samples at hand, its run and its open ladders.

It answers when there was work and when there was rest; what follows from that is the replay's business.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, islice, pairwise

from costguard.domain.action import Action
from costguard.domain.copies import copy_with
from costguard.domain.resource import Resource, State
from costguard.domain.snapshot import AccountFacts, PowerEvent
from costguard.domain.usage import Metric, Series, UsageWindow, WindowSpec
from costguard.engine.evaluate import Prepared
from costguard.engine.history import Run, Span, Track, micros
from costguard.rules.idle import IdleWhen
from costguard.rules.kind import ActivityTests

_MICRO = timedelta(microseconds=1)
_NOTHING = timedelta()
_MINUTE = timedelta(minutes=1)
_WINDOW = timedelta(minutes=30) // _MICRO
_FOREVER = 1 << 62

Levels = tuple[tuple[Metric, float], ...]


def levels_of(ready: Prepared) -> Levels | None:
    """The values at which work on any source forbids an idle policy to hold; None where no single one does."""
    when = ready.policy.when
    if not isinstance(when, IdleWhen) or when.cards != "all":
        return None
    asked = (
        (Metric.GPU_UTIL, when.gpu_util_below), (Metric.CPU_CORES, when.cpu_below),
        (Metric.NETWORK, when.network_below), (Metric.GPU_MEMORY, when.gpu_memory_below),
        (Metric.GPU_POWER, when.gpu_power_below),
    )  # fmt: skip
    return tuple((metric, below) for metric, below in asked if below is not None)


class Windows(Mapping[WindowSpec, tuple[UsageWindow, ...]]):
    """The windows of a box at one moment, made when they are asked for: most looks ask for few. Any spec is in it."""

    def __init__(self, box: "Box", at: int) -> None:
        self._box, self._at = box, at
        self._made: dict[WindowSpec, tuple[UsageWindow, ...]] = {}
        self._spans: dict[tuple[int, timedelta], Span] = {}

    def __getitem__(self, spec: WindowSpec) -> tuple[UsageWindow, ...]:
        found = self._made.get(spec)
        if found is None:
            found = self._made[spec] = self._box.window(spec.metric, self._span(spec))
        return found

    def _span(self, spec: WindowSpec) -> Span:
        end = self._at - self._box.delay(spec.metric)
        key = end, spec.length
        if key not in self._spans:
            self._spans[key] = Span(end, spec.length)
        return self._spans[key]

    def __iter__(self) -> Iterator[WindowSpec]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


@dataclass(slots=True)
class Out:
    """A stop in the replay: the box is out from ``at`` until ``back``. ``sought``: up to where work was looked for."""

    at: datetime
    row: Action
    run: Run
    tests: ActivityTests
    sought: int = 0
    back: datetime | None = None


@dataclass(slots=True)
class Box:
    """``resource`` as it is in the replay now. ``rows`` are its open ladders, ``closed`` those that hold their finding.

    ``events`` are the replay's own stops (True) and the starts that answer them (False). ``beat``: it counts as at work
    until then, since a look at it found it so.
    """

    number: int
    resource: Resource
    runs: tuple[Run, ...]
    policies: tuple[str, ...]
    account: AccountFacts
    run: Run | None = None
    next_run: int = 0
    out: Out | None = None
    rows: dict[str, Action] = field(default_factory=dict)
    closed: dict[str, Action] = field(default_factory=dict)
    events: list[tuple[datetime, bool]] = field(default_factory=list)
    tracks: dict[Series, Track] = field(default_factory=dict)
    by_metric: dict[Metric, list[Track]] = field(default_factory=dict)
    beat: datetime | None = None
    seen_use: bool = False
    _busy: dict[Levels, list[int]] = field(default_factory=dict)
    _last: dict[Levels, int] = field(default_factory=dict)

    # --- samples

    def add(self, track: Track) -> None:
        """Takes samples in; a source that tells no period (0) has the metric's own."""
        usual = self.account.metric_period.get(track.series.metric, _MINUTE) // _MICRO
        track.periods = [(at, period or usual) for at, period in track.periods]
        known = self.tracks.get(track.series)
        if known is None:
            known = self.tracks[track.series] = Track(track.series)
            self.by_metric.setdefault(track.series.metric, []).append(known)
        known.extend(track)
        self.seen_use = True
        self._busy.clear()

    def trim(self, before: int) -> None:
        for track in self.tracks.values():
            track.trim(before)
        self._busy.clear()

    def delay(self, metric: Metric) -> int:
        """How late (µs) a metric is told."""
        return self.account.metric_delay.get(metric, _NOTHING) // _MICRO

    @property
    def longest_delay(self) -> timedelta:
        return max(self.account.metric_delay.values(), default=_NOTHING)

    def busy(self, levels: Levels) -> list[int]:
        """When work was known (µs, the source's own delay included), over all samples at hand."""
        levels = tuple(pair for pair in levels if pair[0] in self.by_metric)
        if levels not in self._busy:
            wanted = dict(levels)
            times: set[int] = set()
            for series, track in self.tracks.items():
                if series.metric in wanted and track.at:
                    delay = self.delay(series.metric)
                    found = track.at_work(wanted[series.metric], track.at[0] - 1, track.at[-1])
                    times.update([at + delay for at in found] if delay else found)
            self._busy[levels] = sorted(times)
        return self._busy[levels]

    def rests(self, levels: Levels, length: int, since: int, until: int) -> Iterator[int]:
        """The moments in (since, until] at which there had been no work for ``length`` (µs)."""
        times = self.busy(levels)
        last = self._last.get(levels)
        if last is not None and (not times or last < times[0]):
            times = [last, *times]
        if not times:
            return
        self._last[levels] = times[-1]
        for a, b in pairwise((*times, until + length + 1)):
            if b - a > length and since < a + length <= until:
                yield a + length

    def returns(self, levels: Levels, since: int, length: int) -> Iterator[tuple[int, int]]:
        """From when until when (µs) windows fill up again after missing samples, or after the first ones."""
        wanted = {metric for metric, _ in levels}
        for series, track in self.tracks.items():
            if series.metric not in wanted or not track.at:
                continue
            delay = self.delay(series.metric)
            if track.at[0] > since:
                yield track.at[0] + delay, track.at[0] + delay + length
            for _, end in track.holes(since):
                yield end + delay, end + delay + length

    def quiet(self, levels: Levels, at: int, length: int) -> bool:
        """Whether no work is known in (at − length, at]."""
        times = self.busy(levels)
        index = bisect_right(times, at)
        return index == 0 or times[index - 1] <= at - length

    def may_hold(self, when: IdleWhen, levels: Levels, at: int) -> bool:
        """Whether an idle policy could hold now: the run is old enough, and no work is known in its whole time."""
        started = self.resource.started_at
        if started is not None and micros(started + when.boot_grace + when.length) > at:
            return False
        return self.quiet(levels, at, when.length // _MICRO)

    def may_idle(self, when: IdleWhen, at: int) -> bool:
        """Whether the run that it is in at ``at`` is old enough for an idle policy."""
        young = (when.boot_grace + when.length + self.longest_delay) // _MICRO
        return any(
            micros(run.started) + young <= at and (run.ended is None or at < micros(run.ended)) for run in self.runs
        )

    def next_busy(self, levels: Levels, after: int, until: int) -> int | None:
        """The first moment in (after, until] at which work is known."""
        times = self.busy(levels)
        index = bisect_right(times, after)
        return times[index] if index < len(times) and times[index] <= until else None

    def next_quiet(self, tests: ActivityTests, after: int, until: int) -> int | None:
        """The first moment in (after, until] at which every source had been quiet for half an hour."""
        times = self.busy(tests.levels)
        for a, b in pairwise(chain(islice(times, bisect_right(times, after - _WINDOW), None), (_FOREVER,))):
            if a + _WINDOW > until:
                return None
            if b - a > _WINDOW:
                return a + _WINDOW
        return None

    def next_known(self, tests: ActivityTests, after: int, until: int, step: int) -> int:
        """When, after ``after``, what is unknown for want of samples may be known: a step later while some of the half
        hour are there and some are missing, else with the next sample of a series that had none; at most ``until``."""
        wanted = {metric for metric, _ in tests.levels}
        returns = [until]
        for series, track in self.tracks.items():
            if series.metric not in wanted:
                continue
            now = bisect_right(track.at, after)
            there = now - bisect_right(track.at, after - _WINDOW)
            if there and there * track.period(after) < _WINDOW:
                return after + step
            if not there and now < len(track.at):
                returns.append(track.at[now])
        return min(returns)

    def next_work(self, tests: ActivityTests, after: int, until: int) -> int | None:
        """The end of the first sample in (after, until] that shows work, by the tests of a policy's busy guard."""
        wanted = dict(tests.levels)
        found: int | None = None
        for series, track in self.tracks.items():
            if (level := wanted.get(series.metric)) is not None:
                earlier = track.first_work(level, after, until if found is None else found)
                found = found if earlier is None else earlier
        return found

    def windows(self, now: datetime) -> "Windows":
        """The windows of every series, as the snapshot of a cycle has them."""
        return Windows(self, micros(now))

    def window(self, metric: Metric, span: Span) -> tuple[UsageWindow, ...]:
        """Those of one metric over ``span``; samples from before the start do not count."""
        started = self.resource.started_at
        begun = micros(started) if started is not None else 0
        return tuple(
            window
            for track in self.by_metric.get(metric, ())
            if (window := track.window(span, begun)) is not None
        )  # fmt: skip

    # --- power

    def start(self, at: datetime) -> None:
        self.resource = copy_with(
            self.resource, state=State.RUNNING, raw_state="running", started_at=at, stopped_at=None
        )  # fmt: skip
        self.closed.clear()

    def stop(self, at: datetime) -> None:
        self.resource = copy_with(self.resource, state=State.STOPPED, raw_state="stopped", stopped_at=at)
        self.rows.clear()

    def seen(self, now: datetime) -> Resource:
        """As a listing at ``now`` would tell it, at the price of that time."""
        price = self.run.rate(now) if self.run is not None and self.run.rates else self.resource.price
        return copy_with(self.resource, observed_at=now, price=price)

    def power_events(self, since: datetime) -> tuple[PowerEvent, ...]:
        """Those since ``since``; the older ones are forgotten."""
        ref = self.resource.ref
        self.events = [event for event in self.events if event[0] >= since]
        return tuple(PowerEvent(ref, at, "stop" if ours else "start", ours) for at, ours in self.events)
