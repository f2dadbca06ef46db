"""Metering: what state intervals cost, exactly, cut at local midnights.

Pure: intervals and prices in, spend rows out. The same intervals in any order, or cut anywhere, give the
same money (each piece is rounded at the nano, so a cut can move one nano at most).
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from costguard.domain.budget import Interval, Spend
from costguard.domain.resource import Kind, State
from costguard.domain.time import midnight_after

_SERVICE = {
    Kind.VM: "compute",
    Kind.NOTEBOOK: "compute",
    Kind.JOB: "compute",
    Kind.ENDPOINT: "compute",
    Kind.DISK: "storage",
    Kind.SNAPSHOT: "storage",
    Kind.BUCKET: "storage",
    Kind.ADDRESS: "network",
    Kind.GATEWAY: "network",
    Kind.RESERVATION: "compute",
}


def spend(
    intervals: Iterable[Interval],
    start: datetime,
    end: datetime,
    zone: ZoneInfo,
) -> Iterator[Spend]:
    """Spend rows of [start, end), one per interval and local day; open intervals run to ``end``.

    Intervals without a price give no row: :func:`unpriced` counts them.
    """
    for interval in intervals:
        if interval.per_hour is None:
            continue
        low, high = max(interval.started, start), min(interval.ended or end, end)
        for day_low, day_high in _days(low, high, zone):
            money = interval.per_hour.per_hour_for(day_high - day_low)
            if money:
                yield Spend(
                    account=interval.ref.account,
                    ref=interval.ref,
                    service=_SERVICE[interval.ref.kind],
                    start=day_low,
                    end=day_high,
                    money=money,
                    estimated=True,
                    owner=interval.owner,
                    team=interval.team,
                )


def unpriced(intervals: Iterable[Interval], start: datetime, end: datetime) -> int:
    """How many running resources have time in [start, end) that no price covers."""
    return len(
        {
            i.ref
            for i in intervals
            if i.per_hour is None and i.state is State.RUNNING and i.started < end and (i.ended or end) > start
        }
    )


def _days(low: datetime, high: datetime, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
    """[low, high) cut at the local midnights of ``zone``."""
    while low < high:
        midnight = midnight_after(low, zone)
        yield low, min(midnight, high)
        low = midnight
