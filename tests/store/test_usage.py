"""Usage: what counts in a window, and what does not."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, event, func, select

from costguard.domain.resource import ResourceRef
from costguard.domain.usage import Metric, Series, Statistic, UsageHour, UsageSample, UsageWindow, WindowSpec
from costguard.rules.windows import gap_of
from costguard.store import tables, usage
from costguard.store.database import Database
from tests.store.things import MINUTE, NOW, ref

HOUR = WindowSpec(Metric.GPU_UTIL, timedelta(hours=1))


def one(number: int = 1, gpu: int | None = 0, metric: Metric = Metric.GPU_UTIL, source: str = "cms") -> Series:
    return Series(ref(number), metric, gpu, source, Statistic.MAX)


def samples(series: Series, ages: Iterable[int], value: float = 1.0, period: timedelta = MINUTE) -> list[UsageSample]:
    """Samples that end so many minutes before NOW."""
    return [UsageSample(series, NOW - age * MINUTE, value, period) for age in ages]


def window(
    conn: Connection,
    spec: WindowSpec = HOUR,
    now: datetime = NOW,
    delay: timedelta = timedelta(0),
    started: datetime | None = None,
    refs: Iterable[ResourceRef] = (ref(1),),
) -> tuple[UsageWindow, ...]:
    found = usage.windows(
        conn, {spec}, now, lambda account, metric, source: delay, lambda account, metric: 5 * MINUTE, list(refs),
        dict.fromkeys(refs, started), now,
    )  # fmt: skip
    return tuple(one for by_spec in found.values() for one in by_spec.get(spec, ()))


def test_aggregates(database: Database) -> None:
    """Maximum, mean, the newest value, first and last time, samples and coverage."""
    values = [float(n) for n in range(1, 41)]
    with database.write() as conn:
        usage.append(
            conn, [UsageSample(one(), NOW - (40 - n) * MINUTE, value, MINUTE) for n, value in enumerate(values)]
        )
        (found,) = window(conn)
    assert found == UsageWindow(
        one(), NOW - timedelta(hours=1), NOW, MINUTE, samples=40, expected=60, max=40.0, mean=20.5, last=40.0,
        first_at=NOW - 40 * MINUTE, last_at=NOW - MINUTE,
    )  # fmt: skip
    assert found.coverage == pytest.approx(2 / 3)


def test_a_window_is_open_at_its_start_and_closed_at_its_end(database: Database) -> None:
    """A13: the boundary minute belongs to exactly one of two windows that meet."""
    with database.write() as conn:
        usage.append(conn, samples(one(), range(121)))
        (late,) = window(conn)
        (early,) = window(conn, now=NOW - timedelta(hours=1))
    assert (late.samples, late.first_at, late.last_at) == (60, NOW - 59 * MINUTE, NOW)
    assert (early.samples, early.last_at) == (60, NOW - 60 * MINUTE)


def test_the_delay_of_the_source_moves_the_window(database: Database) -> None:
    with database.write() as conn:
        usage.append(conn, samples(one(), range(3, 64)))
        (found,) = window(conn, delay=3 * MINUTE)
        (early,) = window(conn)
    assert (found.end, found.samples, found.expected) == (NOW - 3 * MINUTE, 60, 60)
    assert early.samples == 57


def test_samples_before_the_start_never_count(database: Database) -> None:
    """A04: the box was stopped on Friday and started ten minutes ago; Friday's samples say nothing."""
    with database.write() as conn:
        usage.append(conn, samples(one(), range(60)))
        (found,) = window(conn, started=NOW - 10 * MINUTE)
        assert (found.samples, found.first_at, found.expected) == (10, NOW - 9 * MINUTE, 60)
        assert window(conn, started=NOW) == ()


def test_a_short_peak_is_seen(database: Database) -> None:
    """A06: 20 s of work between two polls is in the maximum, whatever the mean says."""
    with database.write() as conn:
        usage.append(conn, [*samples(one(), range(60), 0.0), *samples(one(), [31], 90.0)])
        (found,) = window(conn)
    assert (found.max, found.samples) == (90.0, 60)
    assert found.mean == pytest.approx(1.5)


def test_two_windows_of_one_metric_do_not_mix(database: Database) -> None:
    """A12: 30 minutes and 24 hours in one cycle, each with its own answer."""
    short, long = WindowSpec(Metric.GPU_UTIL, 30 * MINUTE), WindowSpec(Metric.GPU_UTIL, timedelta(hours=24))
    with database.write() as conn:
        usage.append(conn, [*samples(one(), range(30), 1.0), *samples(one(), range(30, 1440), 80.0)])
        found = usage.windows(
            conn, {short, long}, NOW, lambda a, m, s: timedelta(0), lambda a, m: MINUTE, [ref(1)], {}
        )[ref(1)]
    assert {spec.length: spec_windows[0].max for spec, spec_windows in found.items()} == {
        timedelta(minutes=30): 1.0, timedelta(hours=24): 80.0,
    }  # fmt: skip


def test_series_never_mix(database: Database) -> None:
    """A16, M03: two sources, two cards, two statistics and two numbers of cards are different series."""
    many = [
        one(gpu=0),
        one(gpu=1),
        one(gpu=None),
        one(source="dcgm"),
        Series(ref(1), Metric.GPU_UTIL, 0, "cms", Statistic.MEAN),
        Series(ref(1), Metric.GPU_UTIL, None, "cms", Statistic.MAX, cards=8),
    ]
    with database.write() as conn:
        for number, series in enumerate(many):
            usage.append(conn, samples(series, range(5), float(number)))
        usage.append(conn, samples(one(metric=Metric.CPU_CORES), range(5), 99.0))
        usage.append(conn, samples(one(2), range(5), 99.0))
        found = {one.series: one.max for one in window(conn)}
    assert found == {series: float(number) for number, series in enumerate(many)}


def test_nothing_is_not_zero(database: Database) -> None:
    """A10, M14: no sample, no window; one old sample is one sample of many expected."""
    with database.write() as conn:
        usage.append(conn, samples(one(), [90]))
        assert window(conn) == ()
        assert window(conn, refs=[ref(7)]) == ()
        usage.append(conn, samples(one(), [10]))
        (found,) = window(conn, WindowSpec(Metric.GPU_UTIL, timedelta(hours=24)))
    assert (found.samples, found.expected) == (2, 1440)


def test_the_period_is_the_series_own(database: Database) -> None:
    """A15: a source that tells every five minutes is not short of samples; without a period the metric's counts."""
    with database.write() as conn:
        usage.append(conn, samples(one(1), range(0, 60, 5), period=5 * MINUTE))
        usage.append(conn, samples(one(2), range(0, 60, 5), period=timedelta(0)))
        usage.append(conn, samples(one(3), range(30, 60)))
        usage.append(conn, samples(one(3), range(0, 30, 10), period=10 * MINUTE))
        five, unsaid, changed = window(conn, refs=[ref(1), ref(2), ref(3)])
    assert (five.expected, five.coverage) == (12, 1.0)
    assert (unsaid.period, unsaid.coverage) == (5 * MINUTE, 1.0)
    assert (changed.period, changed.expected, changed.samples) == (10 * MINUTE, 60, 33)


@pytest.mark.parametrize(("before", "after"), [(1, 10), (10, 1)])
def test_samples_of_before_a_change_of_the_period_fill_no_gap(database: Database, before: int, after: int) -> None:
    """A15: ten minutes of samples each minute are not the hour that so many samples each ten minutes would be."""
    with database.write() as conn:
        usage.append(conn, samples(one(), range(50, 60, before), period=before * MINUTE))
        usage.append(conn, samples(one(), [0], period=after * MINUTE))
        (found,) = window(conn)
    assert found.coverage < 0.2
    assert gap_of(found, HOUR.length, 90.0) == "low_coverage"


def test_the_same_sample_twice_is_one_and_a_correction_holds(database: Database) -> None:
    with database.write() as conn:
        batch = samples(one(), range(10))
        assert usage.append(conn, batch) == 10
        assert usage.append(conn, [*batch, *batch]) == 10
        usage.append(conn, samples(one(), [3], 55.5))
        found = usage.series(conn, ref(1), Metric.GPU_UTIL, NOW - 9 * MINUTE, NOW)
    assert [sample.at for sample in found] == [NOW - age * MINUTE for age in range(9, -1, -1)]
    assert [sample.value for sample in found if sample.at == NOW - 3 * MINUTE] == [55.5]
    assert found[0] == batch[9]


EXAMPLES = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@EXAMPLES
@given(st.lists(st.tuples(st.integers(0, 130), st.floats(0, 100)), max_size=150, unique_by=lambda pair: pair[0]))
def test_sql_agrees_with_the_definition(database: Database, pairs: list[tuple[int, float]]) -> None:
    """The aggregates of any samples are those of the plain definition."""
    with database.write() as conn:
        conn.execute(delete(tables.usage))
        usage.append(conn, [UsageSample(one(), NOW - age * MINUTE, value, MINUTE) for age, value in pairs])
        found = window(conn, delay=5 * MINUTE)
    inside = sorted(value for age, value in pairs if age < 65)
    if not inside:
        assert found == ()
        return
    assert found[0].samples == sum(5 <= age < 65 for age, _ in pairs)
    assert found[0].max == inside[-1]
    assert found[0].mean == pytest.approx(sum(inside) / len(inside))
    ages = [age for age, _ in pairs if age < 65]
    assert (found[0].first_at, found[0].last_at) == (NOW - max(ages) * MINUTE, NOW - min(ages) * MINUTE)
    assert found[0].last == dict(pairs)[min(ages)]


def test_a_large_fleet_takes_two_queries_a_spec(database: Database) -> None:
    """The number of statements does not grow with the fleet: 1 for the series, 1 for all their windows."""
    many = [one(number, gpu) for number in range(600) for gpu in range(2)]
    with database.write(durable=False) as conn:
        usage.append(conn, [sample for series in many for sample in samples(series, range(4))])
    statements: list[str] = []
    with database.read() as conn:
        event.listen(conn, "before_cursor_execute", lambda *given_: statements.append(given_[2]))
        found = window(conn, refs=[ref(number) for number in range(600)])
    assert len(found) == 1200
    assert {window.samples for window in found} == {4}
    assert len(statements) == 2


def test_where_the_next_poll_goes_on(database: Database) -> None:
    with database.write() as conn:
        usage.append(conn, [*samples(one(gpu=0), [5, 9]), *samples(one(gpu=1), [7]), *samples(one(2), [1])])
        assert usage.newest(conn, "prod") == {
            (ref(1), Metric.GPU_UTIL): NOW - 7 * MINUTE,
            (ref(2), Metric.GPU_UTIL): NOW - MINUTE,
        }
        assert usage.newest(conn, "nobody") == {}


def test_a_metrics_source_has_its_own_place_to_go_on(database: Database) -> None:
    """One that is silent for hours makes no other one look back."""
    with database.write() as conn:
        mine = [one(source="prometheus:dcgm"), one(source="prometheus:dcgm/prof"), one(source="prometheus:dcgm2")]
        usage.append(conn, [*samples(one(), [2]), *(s for n, m in enumerate(mine) for s in samples(m, [100 + n]))])
        key = (ref(1), Metric.GPU_UTIL)
        assert usage.newest(conn, "prod") == {key: NOW - 2 * MINUTE}
        assert usage.newest(conn, "prod", "dcgm") == {key: NOW - 101 * MINUTE}
        assert usage.newest(conn, "prod", "dcgm2") == {key: NOW - 102 * MINUTE}
        assert usage.newest(conn, "prod", "telegraf") == {}


def test_each_source_has_windows_of_its_own_that_end_where_it_tells(database: Database) -> None:
    """A12, A16: two sources of one metric, each late in its own way; neither is read as the other."""
    late = {"cms": 3 * MINUTE, "prometheus:dcgm": timedelta(0)}
    with database.write() as conn:
        usage.append(conn, samples(one(), range(3, 63), 95.0))
        usage.append(conn, samples(one(source="prometheus:dcgm"), range(60), 12.0))
        found = usage.windows(conn, {HOUR}, NOW, lambda a, m, s: late[s], lambda a, m: MINUTE, [ref(1)], {})[ref(1)]
    told = {w.series.source: (w.end, w.max, w.samples, w.expected, w.last_at) for w in found[HOUR]}
    assert told == {
        "cms": (NOW - 3 * MINUTE, 95.0, 60, 60, NOW - 3 * MINUTE), "prometheus:dcgm": (NOW, 12.0, 60, 60, NOW),
    }  # fmt: skip


def test_what_is_told_sooner_than_it_has_to_be_is_known_and_fills_no_gap(database: Database) -> None:
    """A source may be ten minutes late. Work that it has told already is work; what is missing stays so."""
    with database.write() as conn:
        usage.append(conn, [*samples(one(), range(10, 40), 1.0), *samples(one(), range(3, 10), 95.0)])
        (found,) = window(conn, delay=10 * MINUTE)
        assert (found.end, found.last_at, found.max, found.last) == (NOW - 10 * MINUTE, NOW - 3 * MINUTE, 95.0, 95.0)
        assert (found.samples, found.expected) == (30, 60)
        (earlier,) = window(conn, now=NOW - 10 * MINUTE, delay=10 * MINUTE)
        assert (earlier.max, earlier.samples) == (1.0, 20), "a look of before knows nothing of it"
        usage.append(conn, samples(one(2), [4], 80.0))
        (young,) = window(conn, delay=10 * MINUTE, refs=[ref(2)])
    assert (young.max, young.samples, young.coverage) == (80.0, 0, 0.0)


def test_hours(database: Database) -> None:
    """An hour has the samples whose periods ended in it, 10:00:00 belongs to nine; late samples are added later."""
    with database.write() as conn:
        usage.append(conn, [*samples(one(), range(60), 10.0), *samples(one(), [0], 40.0), *samples(one(), [-1], 99.0)])
        assert usage.roll_up(conn, NOW + 30 * MINUTE) == 1
        (hour,) = usage.hours(conn, ref(1), Metric.GPU_UTIL, NOW - timedelta(days=1), NOW)
        assert hour == UsageHour(one(), NOW - timedelta(hours=1), 60, 40.0, 10.0, pytest.approx(10.5))
        usage.append(conn, samples(one(2), [30], 5.0))
        usage.roll_up(conn, NOW + 2 * timedelta(hours=1))
        (late,) = usage.hours(conn, ref(2), Metric.GPU_UTIL, NOW - timedelta(days=1), NOW)
        assert late.samples == 1
        assert usage.hours(conn, ref(1), Metric.GPU_UTIL, NOW, NOW + timedelta(hours=1))[0].max == 99.0


def test_pruning_takes_small_bites_until_nothing_is_left(database: Database) -> None:
    with database.write() as conn:
        for number in range(5):
            usage.append(conn, samples(one(number), [10, 100, 1000]))
        usage.roll_up(conn, NOW)
        bites = []
        while bite := usage.prune(conn, NOW - 50 * MINUTE, max_series=2):
            bites.append(bite)
        assert bites == [4, 4, 2]
        assert conn.execute(select(func.count()).select_from(tables.usage)).scalar_one() == 5
        assert usage.prune_hours(conn, NOW - timedelta(hours=3)) == 5
        assert usage.prune_hours(conn, NOW - timedelta(hours=3)) == 0
