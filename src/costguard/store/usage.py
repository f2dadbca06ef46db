"""Usage: samples in, windows out. Aggregation happens in SQL; only one row per series and window comes back.

Two sources, two statistics or two numbers of cards are two series and are never mixed (cases A12, A16).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Dialect,
    Select,
    String,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    select,
    type_coerce,
)

from costguard.domain.resource import ResourceRef
from costguard.domain.usage import Metric, Series, UsageHour, UsageSample, UsageWindow, WindowSpec, monitor_of
from costguard.engine.history import Track
from costguard.store import kv
from costguard.store.sql import insert, numbers, upsert_plain
from costguard.store.tables import series as series_table
from costguard.store.tables import usage as table
from costguard.store.tables import usage_hour
from costguard.store.tables.usage import WHOLE_BOX
from costguard.store.types import from_micros, to_micros

_EPOCH = from_micros(0)
_MICRO = timedelta(microseconds=1)
_ALL = to_micros(datetime.max.replace(tzinfo=UTC))
_HOUR = 3_600_000_000
_ROLLED = "usage.rolled_up_until"
_APPENDED = "usage.appended/"
# A provider may deliver or correct a sample this late; those hours are rolled up again.
_LATE = timedelta(hours=6)
_IN_LIST = 500

DelayOf = Callable[[str, Metric, str], timedelta]
PeriodOf = Callable[[str, Metric], timedelta]


def append(conn: Connection, samples: Iterable[UsageSample]) -> int:
    """Stores samples, at best in the order of their series, and returns how many different ones were given.

    A sample is one series at one time: the same one again changes nothing, a corrected value replaces the old one.
    """
    by_series: dict[Series, dict[datetime, UsageSample]] = {}
    current: Series | None = None
    batch: dict[datetime, UsageSample] = {}
    for sample in samples:
        # Samples come series by series; hashing a series for each of them would cost more than storing them.
        if sample.series is not current:
            current = sample.series
            batch = by_series.setdefault(current, {})
        batch[sample.at] = sample
    ids = _ids(conn, by_series)
    # Series share their times: each is translated once, and nothing is left for the column types to do.
    micros: dict[datetime, int] = {}
    rows: list[tuple[int, int, float, int]] = []
    for series, batch in by_series.items():
        series_id = ids[series]
        for at, sample in batch.items():
            when = micros.get(at)
            if when is None:
                when = micros[at] = to_micros(at)
            rows.append((series_id, when, sample.value, sample.period // _MICRO))
    upsert_plain(conn, table, ("series_id", "at", "value", "period"), rows, ("series_id", "at"))
    newest_at: dict[str, datetime] = {}
    for series, batch in by_series.items():
        newest_at[series.ref.account] = max(newest_at.get(series.ref.account, _EPOCH), *batch)
    for account, at in newest_at.items():
        kv.put(conn, f"{_APPENDED}{account}", {"edition": uuid4().hex}, at)
    return len(rows)


def editions(conn: Connection) -> Mapping[str, str]:
    """A word for each account that is another one after every append to its samples."""
    return {key.removeprefix(_APPENDED): value["edition"] for key, value in kv.by_prefix(conn, _APPENDED).items()}


def windows(
    conn: Connection,
    specs: Collection[WindowSpec],
    now: datetime,
    delay_of: DelayOf,
    period_of: PeriodOf,
    refs: Collection[ResourceRef],
    started_at: Mapping[ResourceRef, datetime | None],
    known_until: datetime | None = None,
) -> Mapping[ResourceRef, Mapping[WindowSpec, tuple[UsageWindow, ...]]]:
    """The windows (now − delay − length, now − delay] of every series of ``refs``, in one query for all.

    ``delay_of(account, metric, source)`` is how late a source tells; samples at or before ``started_at`` never count.
    What has arrived sooner, up to ``known_until`` (None: whatever is there), is no part of ``samples``, so that it
    fills no gap, and counts in all else: work that is known is work.
    ``period`` is that of the series' newest sample in the window; ``expected`` the length over its finest, so that fine
    samples of before its source told coarser ones fill no gap among these. A source that tells none (0) has
    ``period_of(account, metric)``. A series without a sample has no window.
    """
    wanted = list(specs)
    known = _series_of(conn, {spec.metric for spec in wanted}, refs)
    by_metric: dict[Metric, list[tuple[int, Series]]] = defaultdict(list)
    for series_id, one in known.items():
        by_metric[one.metric].append((series_id, one))
    begun = {ref: None if at is None else to_micros(at) for ref, at in started_at.items()}
    ends = {
        (account, metric, source): now - delay_of(account, metric, source)
        for account, metric, source in {(one.ref.account, one.metric, one.source) for one in known.values()}
    }
    micros = {key: to_micros(end) for key, end in ends.items()}
    newest = _ALL if known_until is None else to_micros(known_until)
    bounds = []
    for number, spec in enumerate(wanted):
        length = spec.length // _MICRO
        for series_id, one in by_metric[spec.metric]:
            high = micros[one.ref.account, spec.metric, one.source]
            low, start = high - length, begun.get(one.ref)
            low = low if start is None or start < low else start
            bounds.append((series_id, number, low, high, max(high, newest)))
    found: dict[ResourceRef, dict[WindowSpec, tuple[UsageWindow, ...]]] = defaultdict(dict)
    for row in conn.execute(_aggregate(conn, bounds)) if bounds else ():
        one, spec = known[row.i], wanted[row.k]
        end = ends[one.ref.account, spec.metric, one.source]
        period, finest = (span or period_of(one.ref.account, spec.metric) for span in (row.period, row.finest))
        window = UsageWindow(
            series=one,
            start=end - spec.length,
            end=end,
            period=period,
            samples=row.samples,
            expected=max(1, spec.length // finest),
            max=row.max,
            mean=row.mean,
            last=row.last,
            first_at=from_micros(row.first_at),
            last_at=from_micros(row.last_at),
        )
        found[one.ref][spec] = (*found[one.ref].get(spec, ()), window)
    return dict(found)


def series(
    conn: Connection, ref: ResourceRef, metric: Metric, since: datetime, until: datetime
) -> tuple[UsageSample, ...]:
    """The raw samples of one resource with ``since`` ≤ at ≤ ``until``, series by series, in time order."""
    known = _series_of(conn, {metric}, [ref])
    query = (
        select(table)
        .where(table.c.series_id.in_(known), table.c.at >= since, table.c.at <= until)
        .order_by(table.c.series_id, table.c.at)
    )
    return tuple(UsageSample(known[row.series_id], row.at, row.value, row.period) for row in conn.execute(query))


def hours(
    conn: Connection, ref: ResourceRef, metric: Metric, since: datetime, until: datetime
) -> tuple[UsageHour, ...]:
    """The rolled-up hours of one resource that begin in [since, until), series by series, in time order."""
    known = _series_of(conn, {metric}, [ref])
    query = (
        select(usage_hour)
        .where(usage_hour.c.series_id.in_(known), usage_hour.c.hour >= since, usage_hour.c.hour < until)
        .order_by(usage_hour.c.series_id, usage_hour.c.hour)
    )
    return tuple(
        UsageHour(known[row.series_id], row.hour, row.samples, row.max, row.min, row.mean)
        for row in conn.execute(query)
    )


def tracks(conn: Connection, known: Mapping[int, Series], since: datetime, until: datetime) -> Iterator[Track]:
    """The samples with ``since`` < at ≤ ``until`` of series by their numbers, one track for each that has some.

    One range of the clustered key each; values come as the database holds them, by the driver's own cursor: a replay
    asks tens of thousands of times for tens of millions of rows.
    """
    asked = {"low": to_micros(since), "high": to_micros(until)}
    text, places = _track_sql(conn.dialect)
    cursor: Any = conn.connection.cursor()
    try:
        for series_id, one in known.items():
            asked["series"] = series_id
            cursor.execute(text, asked if places is None else tuple(asked[name] for name in places))
            if (track := Track.of(one, cursor)).at:
                yield track
    finally:
        cursor.close()


def series_of(conn: Connection, metrics: Collection[Metric], refs: Collection[ResourceRef]) -> Mapping[int, Series]:
    """Every series that the resources have of these metrics, by its number."""
    return _series_of(conn, metrics, refs)


def oldest(conn: Connection, known: Collection[int]) -> datetime | None:
    """When the first sample of these series ends."""
    first: list[int | None] = [conn.execute(_FIRST, {"series": one}).scalar_one() for one in known]
    return min((from_micros(at) for at in first if at is not None), default=None)


def newest(conn: Connection, account: str, monitor: str | None = None) -> Mapping[tuple[ResourceRef, Metric], datetime]:
    """When the newest sample of each resource and metric of an account ends: where the next poll goes on.

    Of several series of one metric (cards) the one that is furthest behind counts. What the provider told, or, with
    ``monitor``, what that metrics source told: a source that is silent makes no other one look behind.
    """
    last = select(func.max(table.c.at)).where(table.c.series_id == series_table.c.id).scalar_subquery()
    columns = series_table.c
    # A part of a card is told of only while the whole of it is not.
    query = select(columns.ref, columns.metric, columns.source, last.label("last")).where(
        columns.account == account, columns.cards > 0
    )
    found: dict[tuple[ResourceRef, Metric], datetime] = {}
    for ref, metric, source, at in conn.execute(query):
        if monitor_of(source) != monitor:
            continue
        if at is not None:
            key = (ref, metric)
            found[key] = min(found.get(key, at), at)
    return found


def forget(conn: Connection, monitor: str, since: datetime) -> int:
    """Deletes what a metrics source told of the time after ``since``; returns how many samples."""
    sources = conn.execute(select(series_table.c.source).distinct()).scalars().all()
    told = select(series_table.c.id).where(series_table.c.source.in_([s for s in sources if monitor_of(s) == monitor]))
    return conn.execute(delete(table).where(table.c.series_id.in_(told), table.c.at > since)).rowcount


def roll_up(conn: Connection, now: datetime) -> int:
    """Aggregates the hours that have ended, those of late samples again; returns how many hours were written."""
    mark = kv.get(conn, _ROLLED)
    first = to_micros(datetime.fromisoformat(mark["until"]) - _LATE) if mark else None
    last = to_micros(now) // _HOUR * _HOUR
    # A sample covers the time before it: the one at 10:00:00 belongs to the hour that began at 9.
    hour = ((_micros() - 1) // _HOUR * _HOUR).label("hour")
    # Joined from the series' side, so that each series is one range of the clustered key and not a scan of all.
    spread = (
        select(
            table.c.series_id,
            hour,
            func.count(),
            func.max(table.c.value),
            func.min(table.c.value),
            func.avg(table.c.value),
        )
        .select_from(series_table.join(table, table.c.series_id == series_table.c.id))
        .where(_micros() <= last)
        .group_by(table.c.series_id, hour)
    )
    if first is not None:
        spread = spread.where(_micros() > first // _HOUR * _HOUR)
    statement = insert(conn, usage_hour).from_select(["series_id", "hour", "samples", "max", "min", "mean"], spread)
    change = {name: statement.excluded[name] for name in ("samples", "max", "min", "mean")}
    statement = statement.on_conflict_do_update(index_elements=["series_id", "hour"], set_=change)
    written = conn.execute(statement.execution_options(preserve_rowcount=True)).rowcount
    kv.put(conn, _ROLLED, {"until": from_micros(last).isoformat()}, now)
    return written


def prune(conn: Connection, before: datetime, max_series: int = 200) -> int:
    """Deletes the raw samples before ``before`` of up to ``max_series`` series; call it until it returns 0.

    Small bites, because every deletion holds the write lock.
    """
    return _prune(conn, table, table.c.at, before, max_series)


def prune_hours(conn: Connection, before: datetime, max_series: int = 200) -> int:
    """The same for rolled-up hours."""
    return _prune(conn, usage_hour, usage_hour.c.hour, before, max_series)


def _aggregate(conn: Connection, bounds: Sequence[tuple[int, ...]]) -> Select[*tuple[Any, ...]]:
    """One row per (series, window, from, end, newest] in ``bounds`` that has samples: aggregates, its newest sample.

    Only the number of samples ends with the window's end.
    """
    asked = numbers(conn, bounds, ("i", "k", "lo", "hi", "newest"))
    at = _micros()
    inside = and_(table.c.series_id == asked.c.i, at > asked.c.lo, at <= asked.c.newest)
    found = (
        select(
            asked.c.i,
            asked.c.k,
            func.count().filter(at <= asked.c.hi).label("samples"),
            func.max(table.c.value).label("max"),
            func.avg(table.c.value).label("mean"),
            func.min(at).label("first_at"),
            func.max(at).label("last_at"),
            func.min(table.c.period).label("finest"),
        )
        .select_from(asked.join(table, inside))
        .group_by(asked.c.i, asked.c.k)
        .cte("found")
    )
    newest = table.alias("newest")
    is_newest = and_(newest.c.series_id == found.c.i, type_coerce(newest.c.at, BigInteger) == found.c.last_at)
    query = select(found, newest.c.value.label("last"), newest.c.period).select_from(found.join(newest, is_newest))
    return query.order_by(found.c.i)


def _ids(conn: Connection, wanted: Collection[Series]) -> dict[Series, int]:
    """The numbers of series; new ones are given one."""
    found: dict[Series, int] = {}
    missing = set(wanted)
    for _ in range(2):
        for series_id, one in _series_of(conn, {one.metric for one in missing}, {one.ref for one in missing}).items():
            if one in missing:
                found[one] = series_id
        missing -= found.keys()
        if not missing:
            break
        rows = [
            {
                "ref": one.ref, "account": one.ref.account, "metric": one.metric, "source": one.source,
                "gpu_index": WHOLE_BOX if one.gpu_index is None else one.gpu_index,
                "statistic": one.statistic, "cards": one.cards,
            }
            for one in missing
        ]  # fmt: skip
        conn.execute(insert(conn, series_table).on_conflict_do_nothing(), rows)
    return found


def _series_of(conn: Connection, metrics: Collection[Metric], refs: Collection[ResourceRef]) -> dict[int, Series]:
    """The series that the resources have of these metrics, by number, in a stable order."""
    names = {str(ref): ref for ref in refs}
    columns = series_table.c
    query = select(
        columns.id,
        type_coerce(columns.ref, String),
        columns.metric,
        columns.gpu_index,
        columns.source,
        columns.statistic,
        columns.cards,
    ).where(columns.metric.in_(metrics))
    if len(names) <= _IN_LIST:
        query = query.where(columns.ref.in_(list(names.values())))
    else:
        query = query.where(columns.account.in_({ref.account for ref in names.values()}))
    return {
        series_id: Series(names[ref], metric, None if gpu_index == WHOLE_BOX else gpu_index, source, statistic, cards)
        for series_id, ref, metric, gpu_index, source, statistic, cards in conn.execute(query.order_by(columns.id))
        if ref in names
    }


def _prune(conn: Connection, where: Table[Any], at: ColumnElement[datetime], before: datetime, max_series: int) -> int:
    old = exists().where(where.c.series_id == series_table.c.id, at < before)
    ids = conn.execute(select(series_table.c.id).where(old).limit(max_series)).scalars().all()
    return sum(
        conn.execute(delete(where).where(where.c.series_id == series_id, at < before)).rowcount for series_id in ids
    )


def _micros() -> ColumnElement[int]:
    """The time of a sample as the integer that it is."""
    return type_coerce(table.c.at, BigInteger)


_TRACK = (
    select(_micros(), table.c.value, type_coerce(table.c.period, BigInteger))
    .where(
        table.c.series_id == bindparam("series"),
        _micros() > bindparam("low", type_=BigInteger),
        _micros() <= bindparam("high", type_=BigInteger),
    )
    .order_by(table.c.at)
)


@lru_cache(maxsize=4)
def _track_sql(dialect: Dialect) -> tuple[str, tuple[str, ...] | None]:
    """The statement in the driver's own words, and the order of its parameters where they have no names."""
    compiled = _TRACK.compile(dialect=dialect)
    return str(compiled), None if compiled.positiontup is None else tuple(compiled.positiontup)


_FIRST = select(func.min(_micros())).where(table.c.series_id == bindparam("series"))
