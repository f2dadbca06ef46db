"""Samples as a replay reads them: all of them once, in order, in pieces of about the same number."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from costguard.app import samples
from costguard.domain.usage import Metric, Series, Statistic, UsageSample
from costguard.engine.history import Track, micros
from costguard.store import usage
from costguard.store.database import Database
from tests.store.things import NOW, ref

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
