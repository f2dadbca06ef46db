"""Names, units, and how a span is cut into calls."""

import itertools
from datetime import timedelta

import pytest

from costguard.domain.usage import Metric
from costguard.testing.clock import NOON
from costguard_tencent.metrics import METRICS, SETTLE, Limits, convert, pieces
from tests.fakes.tencent.monitor import METRICS as PLAYED
from tests.unit.tencent.helpers import box, resource

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def test_every_name_is_a_published_one() -> None:
    assert {part.spellings[0] for parts in METRICS.values() for part in parts} <= set(PLAYED)


def test_the_newest_minutes_are_left_for_the_next_call() -> None:
    (piece,) = pieces(NOON - HOUR, NOON, NOON, Limits())
    assert (piece.start, piece.end, piece.period) == (NOON - HOUR, NOON - SETTLE, MINUTE)
    assert pieces(NOON - MINUTE, NOON, NOON, Limits()) == []


@pytest.mark.parametrize("limits", [Limits(), Limits(50, 7_200), Limits(1, 100), Limits(10, 20)])
@pytest.mark.parametrize("back", [timedelta(hours=3), timedelta(days=3), timedelta(days=40), timedelta(days=200)])
def test_pieces_join_and_fit_into_a_call(limits: Limits, back: timedelta) -> None:
    """A13."""
    found = pieces(NOON - back, NOON, NOON, limits)
    assert found[0].end == NOON - SETTLE
    assert all(newer.start == older.end for newer, older in itertools.pairwise(found))
    assert found[-1].start == max(NOON - back, NOON - timedelta(days=93))
    for piece in found:
        points = (piece.end - piece.start) // piece.period + 2
        assert points * limits.instances <= max(limits.points, 3 * limits.instances)


def test_what_is_older_is_read_coarsely() -> None:
    found = pieces(NOON - timedelta(days=60), NOON, NOON, Limits())
    by_age = {(NOON - piece.start) <= timedelta(days=1): piece.period for piece in found if NOON - piece.end < 2 * HOUR}
    assert by_age == {True: MINUTE}
    assert {piece.period for piece in found} == {MINUTE, 5 * MINUTE, HOUR}
    assert all(piece.period == HOUR for piece in found if piece.end < NOON - timedelta(days=31))


def test_units() -> None:
    found = resource(box())
    assert convert(Metric.CPU_CORES, 50.0, found) == 40.0
    assert convert(Metric.NETWORK, 8.0, found) == 1_000_000.0
    assert convert(Metric.GPU_UTIL, 12.5, found) == 12.5
    assert convert(Metric.CPU_CORES, 50.0, resource(box(), vcpus=None)) is None
