"""Metering: what state intervals cost, exactly, cut at local midnights.

Pure: intervals and prices in, spend rows out. Touching and overlapping pieces at one price are joined before they are
priced, so the same intervals in any order, cut anywhere or told twice give the same money to the nano.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.domain.budget import Interval, Spend
from costguard.domain.money import Money
from costguard.domain.resource import Kind, ResourceRef, State
from costguard.domain.time import midnight_after

COMPUTE, STORAGE, NETWORK = "compute", "storage", "network"
_SERVICE = {
    Kind.VM: COMPUTE,
    Kind.NOTEBOOK: COMPUTE,
    Kind.JOB: COMPUTE,
    Kind.ENDPOINT: COMPUTE,
    Kind.DISK: STORAGE,
    Kind.SNAPSHOT: STORAGE,
    Kind.BUCKET: STORAGE,
    Kind.ADDRESS: NETWORK,
    Kind.GATEWAY: NETWORK,
    Kind.RESERVATION: COMPUTE,
}
# Two polls of the default five minutes: an open interval that was looked at since is seen, not assumed.
SEEN_WITHIN = timedelta(minutes=10)

_Run = tuple[ResourceRef, Money, str | None, str | None, str | None, bool]


def spend(
    intervals: Iterable[Interval],
    start: datetime,
    end: datetime,
    zone: ZoneInfo,
    services: Mapping[ResourceRef, str] | None = None,
) -> Iterator[Spend]:
    """Spend rows of [start, end), one per contiguous stretch and local day; open intervals run to ``end``.

    ``services`` is what the bill calls the service of a resource. Intervals without a price give no row:
    :func:`unpriced` counts them.
    """
    runs: dict[_Run, list[tuple[datetime, datetime]]] = {}
    for interval in intervals:
        low, high = max(interval.started, start), min(interval.ended or end, end)
        if interval.per_hour and low < high:
            run = (interval.ref, interval.per_hour, interval.owner, interval.team, interval.project, interval.assumed)
            runs.setdefault(run, []).append((low, high))
    for (ref, per_hour, owner, team, project, assumed), pieces in runs.items():
        for low, high in _joined(pieces):
            for day_low, day_high in _days(low, high, zone):
                if money := per_hour.per_hour_for(day_high - day_low):
                    yield Spend(
                        account=ref.account,
                        ref=ref,
                        service=(services or {}).get(ref) or _SERVICE[ref.kind],
                        start=day_low,
                        end=day_high,
                        money=money,
                        estimated=True,
                        owner=owner,
                        team=team,
                        assumed=assumed,
                        project=project,
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


def priced_later(intervals: Iterable[Interval], prices: Mapping[ResourceRef, Money]) -> list[Interval]:
    """Running intervals that were seen before their price was known, at the price known since, as assumed."""
    return [
        replace(i, per_hour=prices[i.ref], assumed=True)
        if i.per_hour is None and i.state is State.RUNNING and i.ref in prices
        else i
        for i in intervals
    ]


def not_seen(intervals: Iterable[Interval], seen: Mapping[ResourceRef, datetime], now: datetime) -> list[Interval]:
    """Open intervals cut at the last look: what lies more than two polls after it is assumed to have gone on."""
    found: list[Interval] = []
    for interval in intervals:
        last = seen.get(interval.ref)
        if interval.ended is not None or interval.assumed or last is None or now - last <= SEEN_WITHIN:
            found.append(interval)
        elif last <= interval.started:
            found.append(replace(interval, assumed=True))
        else:
            found += [replace(interval, ended=last), replace(interval, started=last, assumed=True)]
    return found


def _joined(pieces: Iterable[tuple[datetime, datetime]]) -> Iterator[tuple[datetime, datetime]]:
    """Pieces in order of time, those that touch or overlap as one."""
    low = high = None
    for first, last in sorted(pieces):
        if low is None or high is None or first > high:
            if low is not None and high is not None:
                yield low, high
            low, high = first, last
        else:
            high = max(high, last)
    if low is not None and high is not None:
        yield low, high


def _days(low: datetime, high: datetime, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
    """[low, high) cut at the local midnights of ``zone``."""
    while low < high:
        midnight = midnight_after(low, zone)
        yield low, min(midnight, high)
        low = midnight
