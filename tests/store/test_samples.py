"""Samples as a replay reads them: all of them once, in order, in pieces of about the same number."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from costguard.app import samples
from costguard.domain.usage import Metric, Series, Statistic, UsageSample, WindowSpec
from costguard.engine.box import Box
from costguard.engine.history import Track, micros
from costguard.store import tables, usage
from costguard.store.database import Database
from costguard.testing.builders import make_account, make_resource
from tests.store.things import MINUTE, NOW, ref

PERIOD = timedelta(minutes=5)
START = NOW - timedelta(days=5)
ASKED = (Metric.CPU_CORES, Metric.NETWORK)
KNOWN = [Series(ref(number), metric, None, "cms", Statistic.MAX) for number in (1, 2) for metric in ASKED]
STEPS = timedelta(days=5) // PERIOD


def fill(database: Database) -> None:
    """Five days of four series; the last of them is silent for the first half."""
    for number, one in enumerate(KNOWN):
        steps = range(STEPS // 2 if number == len(KNOWN) - 1 else 1, STEPS + 1)
        with database.write(durable=False) as conn:
            usage.append(conn, [UsageSample(one, START + step * PERIOD, step + number / 8, PERIOD) for step in steps])


def read(database: Database) -> tuple[list[tuple[datetime, list[Track]]], list[str]]:
    dates: list[str] = []
    with database.read() as conn:
        known = usage.series_of(conn, ASKED, [ref(1), ref(2)])
        return [(until, list(found)) for until, found in samples.pieces(conn, known, NOW, dates.append, START)], dates


def test_every_sample_comes_once_and_in_order(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_PIECE", 600)
    fill(database)
    found, dates = read(database)
    ends = [until for until, _ in found]
    assert ends[-1] == NOW
    assert len(dates) == len(found) > 5
    values: dict[Series, list[tuple[int, float]]] = {}
    for (low, high), (_, tracks) in zip(pairwise([START, *ends]), found, strict=True):
        assert low < high
        assert len({track.series for track in tracks}) == len(tracks)
        for track in tracks:
            assert micros(low) < track.at[0] <= track.at[-1] <= micros(high)
            values.setdefault(track.series, []).extend(zip(track.at, track.values, strict=True))
    for number, one in enumerate(KNOWN):
        steps = range(STEPS // 2 if number == len(KNOWN) - 1 else 1, STEPS + 1)
        assert values[one] == [(micros(START + step * PERIOD), step + number / 8) for step in steps]


def test_pieces_hold_about_as_many_samples(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A series that begins to tell makes one piece larger than what was asked for."""
    monkeypatch.setattr(samples, "_PIECE", 600)
    fill(database)
    found, _ = read(database)
    sizes = [sum(len(track.at) for track in tracks) for _, tracks in found]
    assert all(400 <= size <= 800 for size in sizes[1:-1])


def test_a_past_without_samples_has_its_end(database: Database) -> None:
    found, _ = read(database)
    assert found[-1] == (NOW, [])


AGES = st.integers(0, 130)
SPANS = st.sampled_from([timedelta(), MINUTE, PERIOD, timedelta(hours=1)])
LENGTH = timedelta(hours=1)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(AGES, st.tuples(st.floats(0, 100), SPANS), max_size=60), AGES)
def test_a_window_of_a_replay_is_that_of_a_cycle(
    database: Database, ages: dict[int, tuple[float, timedelta]], started: int
) -> None:
    """Of samples of any periods, those that their source tells none of included."""
    one = KNOWN[0]
    begun = NOW - started * MINUTE
    with database.write() as conn:
        conn.execute(delete(tables.usage))
        usage.append(conn, [UsageSample(one, NOW - a * MINUTE, value, span) for a, (value, span) in ages.items()])
        found = usage.windows(
            conn, {WindowSpec(one.metric, LENGTH)}, NOW, lambda *_: timedelta(), lambda *_: MINUTE, [one.ref],
            {one.ref: begun}, NOW,
        )  # fmt: skip
        ids = usage.series_of(conn, ASKED, [one.ref])
        tracks = list(usage.tracks(conn, ids, NOW - timedelta(days=1), NOW))
    resource = make_resource(started_at=begun)
    account = make_account(metric_delay={}, metric_period={one.metric: MINUTE})
    box = Box(number=0, resource=resource, runs=(), policies=(), account=account)
    for track in tracks:
        box.add(track)
    (expected,) = [windows for specs in found.values() for windows in specs.values()] or [()]
    got = box.windows(NOW)[WindowSpec(one.metric, LENGTH)]
    assert [replace(w, mean=0.0) for w in got] == [replace(w, mean=0.0) for w in expected]
    assert [w.mean for w in got] == pytest.approx([w.mean for w in expected])
