"""Metering for every zone and calendar: no order and no cut changes a nano."""

import itertools
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.budget import Interval, Spend
from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, State
from costguard.domain.time import local_midnight, midnight_after
from costguard.engine.audit import month_bounds
from costguard.engine.meter import not_seen, priced_later, spend
from costguard.testing.builders import cny, make_ref

START, END = datetime(2024, 1, 1, tzinfo=UTC), datetime(2033, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@cache
def zones() -> tuple[ZoneInfo, ...]:
    """One zone for each way in which clocks run in these years."""
    probes = [START + timedelta(days=n) for n in range(0, 3288, 5)]
    kinds: dict[tuple[timedelta | None, ...], ZoneInfo] = {}
    for name in sorted(available_timezones() - {"localtime"}):
        zone = ZoneInfo(name)
        kinds.setdefault(tuple(at.astimezone(zone).utcoffset() for at in probes), zone)
    return tuple(kinds.values())


def interval(low: datetime, high: datetime | None, price: Money | None, box: str = "i-1") -> Interval:
    return Interval(make_ref(box), State.RUNNING, ChargeType.ON_DEMAND, low, high, price)


seconds = st.integers(0, 86_400 * 60)
moments = st.integers(0, int((END - START).total_seconds()) - 86_400 * 120).map(lambda s: START + timedelta(seconds=s))
prices = st.integers(1, 10**12).map(lambda nanos: Money(nanos, "CNY"))
lives = st.lists(st.tuples(seconds, st.integers(1, 86_400 * 40), prices, st.sampled_from("ab")), min_size=1, max_size=4)


@given(moments, lives, st.data())
def test_any_order_any_cut_and_twice_told_give_the_same_money(
    base: datetime, lives: list[tuple[int, int, Money, str]], data: st.DataObject
) -> None:
    """I20: what a stretch costs does not depend on how it was seen."""
    zone = data.draw(st.sampled_from(zones()))
    whole, pieces = [], []
    for low, length, price, box in lives:
        started = base + timedelta(seconds=low)
        ended = started + timedelta(seconds=length)
        whole.append(interval(started, ended, price, box))
        cuts = data.draw(st.lists(st.integers(0, length), max_size=4))
        edges = sorted({started, ended, *(started + timedelta(seconds=cut) for cut in cuts)})
        pieces += [interval(a, b, price, box) for a, b in itertools.pairwise(edges)]
    told = data.draw(st.permutations([*pieces, pieces[0]]))

    def key(row: Spend) -> tuple[str, datetime, datetime, int]:
        return str(row.ref), row.start, row.end, row.money.nanos

    assert sorted(map(key, spend(whole, START, END, zone))) == sorted(map(key, spend(told, START, END, zone)))


def test_every_month_of_every_zone_is_whole() -> None:
    """D04 I07: months tile time, and a box that runs all month costs exactly its hours, 743 and 745 included."""
    price = cny("1")
    for zone in zones():
        at = month_bounds("2024-01", zone)[0]
        for year in range(2024, 2033):
            for month in range(1, 13):
                start, end = month_bounds(f"{year}-{month:02}", zone)
                assert start == at, zone
                at = end
            edge = month_bounds(f"{year}-{1 + year % 12:02}", zone)
            rows = list(spend([interval(START - HOUR, None, price)], *edge, zone))
            assert rows[0].start == edge[0]
            assert rows[-1].end == edge[1]
            hours = (edge[1] - edge[0]) / HOUR
            assert sum(row.money.nanos for row in rows) == round(hours * 10**9), (zone, edge)


@given(st.data(), st.dates(date(2024, 1, 1), date(2032, 12, 31)))
def test_rows_are_local_days_and_tile_them(data: st.DataObject, day: date) -> None:
    zone = data.draw(st.sampled_from(zones()))
    low = local_midnight(day, zone)
    high = local_midnight(day + timedelta(days=3), zone)
    rows = list(spend([interval(low - HOUR, high + HOUR, cny("3.6"))], low, high, zone))
    assert [row.start for row in rows] == [low, *(row.end for row in rows[:-1])]
    assert rows[-1].end == high
    for row in rows:
        assert row.end == midnight_after(row.start, zone)
        assert row.money.nanos == (row.end - row.start) // timedelta(seconds=1) * 10**6


def test_a_price_that_changes_in_between_counts_from_its_moment() -> None:
    """H01: an unknown price is no money, never zero money; a change of price is a new stretch."""
    noon = datetime(2026, 6, 1, 4, tzinfo=UTC)
    parts = [interval(noon, noon + HOUR, cny("10")), interval(noon + HOUR, None, cny("4"))]
    rows = list(spend(parts, noon, noon + 3 * HOUR, ZoneInfo("Asia/Shanghai")))
    assert [row.money for row in rows] == [cny("10"), cny("8")]
    parts = [interval(noon, noon + HOUR, None), interval(noon + HOUR, None, cny("4"))]
    assert [row.money for row in spend(parts, noon, noon + 2 * HOUR, ZoneInfo("Asia/Shanghai"))] == [cny("4")]


def test_a_price_that_is_learned_later_is_assumed_for_before() -> None:
    noon = datetime(2026, 6, 1, 4, tzinfo=UTC)
    early, stopped = interval(noon, noon + HOUR, None), interval(noon, None, None, "b")
    stopped = Interval(stopped.ref, State.STOPPED, stopped.charge_type, noon, None, None)
    found = priced_later([early, stopped], {early.ref: cny("10"), stopped.ref: cny("10")})
    assert (found[0].per_hour, found[0].assumed) == (cny("10"), True)
    assert found[1] is stopped, "what a stopped box costs is not its price"


def test_what_nobody_has_looked_at_since_is_assumed() -> None:
    """E01: the poll died at three; what runs on since then is said to be assumed, and its money is the same."""
    noon = datetime(2026, 6, 1, 4, tzinfo=UTC)
    running = interval(noon, None, cny("10"))
    now = noon + 9 * HOUR
    cut = not_seen([running], {running.ref: noon + 3 * HOUR}, now)
    assert [(one.started, one.ended, one.assumed) for one in cut] == [
        (noon, noon + 3 * HOUR, False),
        (noon + 3 * HOUR, None, True),
    ]
    zone = ZoneInfo("Asia/Shanghai")
    rows = list(spend(cut, noon, now, zone))
    assert sum(row.money.nanos for row in rows) == sum(r.money.nanos for r in spend([running], noon, now, zone))
    assert sum(row.money.nanos for row in rows if row.assumed) == cny("60").nanos
    assert not_seen([running], {running.ref: now - timedelta(minutes=5)}, now) == [running]


def test_a_clock_that_went_back_costs_nothing_twice() -> None:
    """After a step back of the clock an interval may end before it began; it is no time and no money."""
    noon = datetime(2026, 6, 1, 4, tzinfo=UTC)
    parts = [interval(noon, noon - HOUR, cny("10")), interval(noon - HOUR, noon + HOUR, cny("10"))]
    rows = list(spend(parts, noon - 2 * HOUR, noon + 2 * HOUR, ZoneInfo("Asia/Shanghai")))
    assert [row.money for row in rows] == [cny("20")]
