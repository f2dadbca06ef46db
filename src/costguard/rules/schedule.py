"""schedule: a box that still runs when its off time begins, like every night at eight.

What counts is the edge: a box that somebody starts after it may run until the next one. An edge that nobody
was there to see is caught up for a while, and then it has passed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Self
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator

from costguard.domain.finding import EvidenceValue, Judgement, Outcome
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import Calendar, Calendars, TimeRange, format_duration
from costguard.rules.fields import Duration, TimeGrammar
from costguard.rules.kind import RuleKind, Words, judged, not_running, running_since, waste_of
from costguard.rules.policy import StopWhen

_BACK, _AHEAD = 16, 16  # days; no public holiday is longer
_GAP = timedelta(minutes=10)  # what the snapshot calls a gap between cycles
OF_THE_ZONE = "zone"
"""What ``holidays`` is when nobody writes it: those of the time zone in force."""
_NEVER = datetime.min.replace(tzinfo=UTC)

Span = tuple[datetime, datetime]
_Line = tuple[TimeRange, date, Calendar]
"""A line of the policy with the local date of now, and the calendar that tells its workdays."""


class ScheduleWhen(StopWhen):
    """``on`` beats ``off`` where the two overlap."""

    off: tuple[TimeGrammar, ...] = Field(min_length=1, description="when boxes are off: a list of times")
    on: tuple[TimeGrammar, ...] = Field((), description="when they may run although `off` says otherwise")
    holidays: str | None = Field(
        OF_THE_ZONE,
        pattern=rf"^([A-Z]{{2}}|{OF_THE_ZONE})$",
        description="whose public holidays count, as a country code; null for none; zone: CN for lines in a time zone "
        "of mainland China, none for others, and the configuration's `holidays` for those in its own",
    )
    catch_up: Duration = Field(timedelta(minutes=30), description="how late an edge is still caught up after a gap")

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.catch_up < _GAP:
            raise ValueError(f"catch_up is at least {format_duration(_GAP)}: a cycle may be late without being a gap")
        return self


@dataclass(frozen=True, slots=True)
class OffTime:
    """The off time that ``now`` lies in. Aware UTC.

    ``edges`` are the moments in it, up to ``now``, at which a line of ``off`` began or an ``on`` ended; the first is
    its own begin. ``until`` is when it ends, None if not within 16 days.
    """

    edges: tuple[datetime, ...]
    until: datetime | None


def off_time(when: ScheduleWhen, now: datetime, zone: ZoneInfo, calendars: Calendars) -> OffTime | None:
    """The off time at ``now``; None while boxes may run. ``zone`` is for lines without a zone of their own."""
    off, on = (tuple(_line(when, line, now, zone, calendars) for line in lines) for lines in (when.off, when.on))
    marks, stretches = _around(off, on)
    stretch = next((s for s in stretches if s[0] <= now < s[1]), None)
    if stretch is None:
        return None
    begin, end = stretch
    edges = marks[bisect_left(marks, begin) : bisect_right(marks, now)]
    return OffTime(edges, end if end < now + timedelta(days=_AHEAD - 1) else None)


def _line(when: ScheduleWhen, line: TimeGrammar, now: datetime, zone: ZoneInfo, calendars: Calendars) -> _Line:
    times = line.to_range(zone)
    return times, now.astimezone(times.timezone).date(), _calendar(when, times.timezone, calendars)


def _calendar(when: ScheduleWhen, zone: ZoneInfo, calendars: Calendars) -> Calendar:
    return calendars.of(zone) if when.holidays == OF_THE_ZONE else calendars.get(when.holidays)


# A fleet, and a replay all the more, asks the same of one day again and again.
@lru_cache(maxsize=64)
def _around(off: tuple[_Line, ...], on: tuple[_Line, ...]) -> tuple[tuple[datetime, ...], tuple[Span, ...]]:
    """Within the days around each line's date: the moments that count as edges inside an off time, and the off times,
    both in order."""
    offs, ons = (tuple(span for line in lines for span in _spans(*line)) for lines in (off, on))
    stretches = tuple(_without(_merged(offs), _merged(ons)))
    marks = {*(s[0] for s in stretches), *(span[0] for span in offs), *(span[1] for span in ons)}
    return tuple(sorted(marks)), stretches


def _spans(times: TimeRange, today: date, calendar: Calendar) -> Iterator[Span]:
    """Every span that begins within the days around ``today``; a change of the clocks may leave nothing of one."""
    for day in (today + timedelta(days=n) for n in range(-_BACK, _AHEAD)):
        if times.on_day(day, calendar):
            start, end = times.interval(day)
            if start < end:
                yield start, end


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _without(spans: Sequence[Span], holes: Sequence[Span]) -> Iterator[Span]:
    """What is left of ``spans``; both in order and without overlaps."""
    for start, end in spans:
        for low, high in holes:
            if low >= end or high <= start:
                continue
            if start < low:
                yield start, low
            start = high
        if start < end:
            yield start, end


def judge(when: ScheduleWhen, resources: Sequence[Resource], snapshot: Snapshot) -> Iterator[Judgement]:
    now, zone = snapshot.now, ZoneInfo(snapshot.timezone)
    off = off_time(when, now, zone, snapshot.calendars)
    gaps = (*snapshot.gaps, (snapshot.last_run or _NEVER, now))
    seen = () if off is None else tuple(edge for edge in off.edges if not _missed(edge, gaps, when.catch_up))
    zones = {line.timezone or zone for line in (*when.off, *when.on)}
    known = ((now.astimezone(one).year, _calendar(when, one, snapshot.calendars).years) for one in zones)
    uncalendared = any(years and year not in years for year, years in known)
    for resource in resources:
        yield not_running(resource) or _one(resource, snapshot, off, seen, uncalendared)


def _missed(edge: datetime, gaps: Sequence[Span], catch_up: timedelta) -> bool:
    """Whether nobody looked from the edge on until it was too late to act on it."""
    return any(low < edge and edge + catch_up < high for low, high in gaps)


def _one(
    resource: Resource, snapshot: Snapshot, off: OffTime | None, seen: Sequence[datetime], uncalendared: bool
) -> Judgement:
    if off is None:
        return judged(resource, Outcome.CLEAR, "on_time")
    now, started = snapshot.now, running_since(resource, snapshot)
    evidence: dict[str, EvidenceValue] = {"off_since": off.edges[-1], "off_until": off.until, "started_at": started}
    if uncalendared:
        evidence["holidays_unknown"] = True
    if started is None:
        return judged(resource, Outcome.UNKNOWN, "start_unknown", evidence=evidence)
    mine = [edge for edge in seen if started <= edge]
    if not mine:
        reason = "started_after" if started > off.edges[-1] else "edge_missed"
        return judged(resource, Outcome.CLEAR, reason, evidence=evidence)
    evidence["off_since"] = mine[0]
    if resource.price is not None and off.until is not None:
        evidence |= {"price": resource.price, "cost_until_on": resource.price.per_hour_for(off.until - now)}
    return judged(
        resource, Outcome.FIRES, "off_time", since=mine[0], evidence=evidence, waste=waste_of(resource)
    )  # fmt: skip


SCHEDULE = RuleKind(
    name="schedule",
    when=ScheduleWhen,
    judge=judge,
    title=Words("Running after hours", "下班时间仍在运行"),
    summary=Words(
        "A box that still runs when its off time begins. One that is started later may run until the next off time "
        "begins; an edge that nobody saw for longer than catch_up has passed.",
        "到了关机时段仍在运行的机器。时段开始之后才启动的机器可以运行到下一个时段开始；"
        "守护进程停机时错过的时刻，在 catch_up 之内补做，超过则放过。",
    ),
    example="""\
policies:
  - name: night-off
    rule: schedule
    match: {kinds: [vm], tags: {role: [dev]}}
    when:
      off: [{days: workdays, from: "20:00", to: "08:00"}, {days: restdays}]
      holidays: CN
      catch_up: 30m
    respond:
      - {do: warn, to: [owner]}
      - {after: 30m, do: stop}
""",
)
