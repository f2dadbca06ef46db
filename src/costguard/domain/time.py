"""Time: aware UTC datetimes, durations with a unit, and the one grammar for times of the week.

Nothing here reads a clock. A naive datetime is a bug and raises where it enters.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from typing import Literal
from zoneinfo import ZoneInfo

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(?:\d+[smhdw])+")
_PART = re.compile(r"(\d+)([smhdw])")
# Any moment of today plus or minus this is still a date.
_LONGEST = timedelta(days=36_500)

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DayKind = Literal["workdays", "restdays", "daily"]


def utc(value: datetime) -> datetime:
    """The same instant in UTC. Raises ValueError for a naive datetime, and for one that no date in UTC can say."""
    if value.tzinfo is UTC:
        return value
    if value.tzinfo is None or value.utcoffset() is None:
        raise ValueError(f"naive datetime {value.isoformat()}: a time needs its zone")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{value.isoformat()} lies outside of the calendar") from None


def parse_duration(text: str) -> timedelta:
    """``45m``, ``8h``, ``7d``, ``1h30m``. Raises ValueError without a unit, for zero parts, and above 100 years."""
    if not _DURATION.fullmatch(text.strip()):
        raise ValueError(f"not a duration: {text!r}; write a number and a unit, like 45m, 8h or 7d")
    seconds = sum(int(n) * _UNITS[u] for n, u in _PART.findall(text))
    if seconds > _LONGEST.total_seconds():
        raise ValueError(f"{text} is more than 100 years")
    return timedelta(seconds=seconds)


def format_duration(span: timedelta) -> str:
    """The inverse of :func:`parse_duration`, at most two units: ``2h30m``; negative becomes 0s."""
    seconds = max(0, int(span.total_seconds()))
    parts: list[str] = []
    for unit in ("d", "h", "m", "s"):
        count, seconds = divmod(seconds, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
        elif parts:
            break
    return "".join(parts[:2]) or "0s"


@dataclass(frozen=True, slots=True)
class Calendar:
    """Which local dates are off or worked against the weekday (public holidays, make-up days).

    ``off`` and ``work`` hold local dates; ``years`` the years that the data covers. A date in a year
    that is not covered falls back to the weekday.
    """

    off: frozenset[date] = frozenset()
    work: frozenset[date] = frozenset()
    years: frozenset[int] = frozenset()

    def is_workday(self, day: date) -> bool:
        if day in self.work:
            return True
        if day in self.off:
            return False
        return day.weekday() < 5


@dataclass(frozen=True, slots=True)
class TimeRange:
    """One line of the time grammar: ``{days, from, to, timezone?}``.

    ``days`` is a day kind or a set of weekday numbers (Monday 0). ``start`` and ``end`` are local
    wall-clock times; both None is the whole day; ``end`` ≤ ``start`` runs over midnight and belongs
    to the day on which it began. Equal ends are refused at load.
    """

    days: DayKind | frozenset[int]
    start: clock_time | None
    end: clock_time | None
    timezone: ZoneInfo

    def on_day(self, day: date, calendar: Calendar) -> bool:
        """Whether a range begins on this local date."""
        if self.days == "daily":
            return True
        if self.days == "workdays":
            return calendar.is_workday(day)
        if self.days == "restdays":
            return not calendar.is_workday(day)
        return day.weekday() in self.days

    def interval(self, day: date) -> tuple[datetime, datetime]:
        """The UTC interval [start, end) of the range that begins on local date ``day``.

        A wall-clock time that a DST change skips takes the first instant after the gap; one that
        occurs twice takes the first occurrence.
        """
        if self.start is None and self.end is None:
            return local_time(day, clock_time(), self.timezone), local_time(
                day + timedelta(days=1), clock_time(), self.timezone
            )
        start = self.start or clock_time()
        end = self.end or clock_time()
        end_day = day if end > start else day + timedelta(days=1)
        return local_time(day, start, self.timezone), local_time(end_day, end, self.timezone)

    def covers(self, at: datetime, calendar: Calendar) -> bool:
        """Whether the instant ``at`` (aware) lies in a range that began today or yesterday."""
        local = at.astimezone(self.timezone).date()
        for day in (local, local - timedelta(days=1)):
            if self.on_day(day, calendar):
                start, end = self.interval(day)
                if start <= at < end:
                    return True
        return False


def local_time(day: date, wall: clock_time, zone: ZoneInfo) -> datetime:
    """A wall-clock time of a local date, in UTC; one that a DST change skips is the first instant after the gap."""
    at = datetime.combine(day, wall, tzinfo=zone).astimezone(UTC)
    local = at.astimezone(zone)
    if local.time() != wall or local.date() != day:
        # The clock skips this time (spring forward). PEP 495 lands as far behind the gap as the time
        # lies inside it; people mean the first instant after the gap.
        offset = local.utcoffset()
        while (at - timedelta(minutes=1)).astimezone(zone).utcoffset() == offset:
            at -= timedelta(minutes=1)
    return at


def local_midnight(day: date, zone: ZoneInfo) -> datetime:
    """The start of a local date, in UTC."""
    return local_time(day, clock_time(), zone)


def day_mostly(low: datetime, high: datetime, zone: ZoneInfo) -> date:
    """The local date that has most of [low, high), of its first 24 hours: as a day of another zone is told of."""
    return (low + min(high - low, timedelta(days=1)) / 2).astimezone(zone).date()


def midnight_after(at: datetime, zone: ZoneInfo) -> datetime:
    """The first local midnight of ``zone`` strictly after ``at``, in UTC."""
    return local_midnight(at.astimezone(zone).date() + timedelta(days=1), zone)


def next_opening(ranges: Iterable[tuple[TimeRange, Calendar]], now: datetime) -> datetime | None:
    """When one of ``ranges``, each by its calendar, is next open: ``now``, or its next start within 30 days."""
    ranges = tuple(ranges)
    if any(r.covers(now, calendar) for r, calendar in ranges):
        return now
    starts: list[datetime] = []
    for r, calendar in ranges:
        local = now.astimezone(r.timezone).date()
        for offset in range(31):
            day = local + timedelta(days=offset)
            if r.on_day(day, calendar):
                start, _ = r.interval(day)
                if start > now:
                    starts.append(start)
                    break
    return min(starts, default=None)


@dataclass(frozen=True, slots=True)
class Calendars:
    """Calendars by ISO 3166 country code; an unknown code is the plain weekday rule.

    ``country`` is whose holidays hold in the time zone ``home``, the configuration's.
    """

    by_country: Mapping[str, Calendar] = field(default_factory=dict)
    home: str = ""
    country: str | None = None

    def of(self, zone: ZoneInfo) -> Calendar:
        """Of those who go by the clocks of ``zone``."""
        return self.get(self.country_in(zone))

    def country_in(self, zone: ZoneInfo) -> str | None:
        """Whose public holidays hold in ``zone``: the configured country's at home, elsewhere as ``country_of``."""
        return self.country if zone.key == self.home else country_of(zone)

    def get(self, country: str | None) -> Calendar:
        return self.by_country.get(country or "", _PLAIN)


_PLAIN = Calendar()
_CHINA = frozenset({"Asia/Shanghai", "Asia/Chongqing", "Asia/Chungking", "Asia/Harbin", "Asia/Urumqi", "PRC"})


def country_of(zone: ZoneInfo) -> str | None:
    """Whose public holidays a time zone tells: CN in mainland China's. Of others None, as it names no country."""
    return "CN" if zone.key in _CHINA else None
