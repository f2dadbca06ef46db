"""Periods of reports: a month or seven local days, and when the report about them is due. Pure."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from typing import Literal
from zoneinfo import ZoneInfo

from costguard.domain.time import local_midnight, local_time
from costguard.engine.audit import month_before, month_bounds

_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Period:
    """[start, end) in UTC, between local midnights. ``name`` is ``2026-02``, or ``2026-03-02/2026-03-08`` with both
    days inside; ``before`` is where what it is compared with begins."""

    kind: Literal["month", "week"]
    name: str
    start: datetime
    end: datetime
    before: datetime


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When a report is due: ``at`` local time, each month on ``day``, or each week on ``weekday`` (Monday 0)."""

    at: clock_time
    zone: ZoneInfo
    day: int = 1
    weekday: int | None = None

    def last_due(self, now: datetime) -> datetime:
        """The latest due time at or before ``now`` (aware)."""
        due = local_time(self._day_of(now.astimezone(self.zone).date()), self.at, self.zone)
        return due if due <= now else local_time(self._earlier(due), self.at, self.zone)

    def next_due(self, due: datetime) -> datetime:
        """The due time after the due time ``due``."""
        day = due.astimezone(self.zone).date()
        later = (
            day + _WEEK if self.weekday is not None else (day.replace(day=1) + timedelta(days=32)).replace(day=self.day)
        )
        return local_time(later, self.at, self.zone)

    def period(self, due: datetime) -> Period:
        """What the report that is due at ``due`` is about: the month before, or the seven days before."""
        day = due.astimezone(self.zone).date()
        if self.weekday is None:
            name = month_before(day.strftime("%Y-%m"))
            start, end = month_bounds(name, self.zone)
            return Period("month", name, start, end, month_bounds(month_before(name), self.zone)[0])
        first, last = day - _WEEK, day - timedelta(days=1)
        start, end, before = (local_midnight(d, self.zone) for d in (first, day, first - _WEEK))
        return Period("week", f"{first.isoformat()}/{last.isoformat()}", start, end, before)

    def _day_of(self, today: date) -> date:
        """The due day of today's month, or the last one of its weekday up to today."""
        if self.weekday is None:
            return today.replace(day=self.day)
        return today - timedelta(days=(today.weekday() - self.weekday) % 7)

    def _earlier(self, due: datetime) -> date:
        day = due.astimezone(self.zone).date()
        if self.weekday is not None:
            return day - _WEEK
        return (day.replace(day=1) - timedelta(days=1)).replace(day=self.day)
