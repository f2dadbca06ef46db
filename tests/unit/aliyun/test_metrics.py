"""Names, periods, units."""

from datetime import timedelta

import pytest

from costguard.domain.usage import Metric
from costguard.testing.clock import NOON
from costguard_aliyun.metrics import METRICS, Chosen, Meta, Piece, choose, convert, indexes, pieces, read_meta
from tests.unit.aliyun.helpers import box, resource

DAY = timedelta(days=1)
MINUTE, FIVE, HOUR = timedelta(seconds=60), timedelta(seconds=300), timedelta(seconds=3600)
OFFERED = (15, 60, 300, 900, 3600)


def listed(*names: str) -> dict[str, Meta]:
    return {name: Meta(name, (60, 300)) for name in names}


def test_meta_is_read_from_texts() -> None:
    assert read_meta({"MetricName": "x", "Periods": "300,60"}) == Meta("x", (60, 300))
    assert read_meta({}) == Meta("", ())


def test_a_name_per_card_comes_first() -> None:
    """A30."""
    names = listed("instance_gpu_gpu_usedutilization", "gpu_gpu_usedutilization")
    assert choose(Metric.GPU_UTIL, names) == [Chosen(Metric.GPU_UTIL, 0, "gpu_gpu_usedutilization", True, (60, 300))]
    over = choose(Metric.GPU_UTIL, listed("instance_gpu_gpu_usedutilization"))
    assert [(c.name, c.cards) for c in over] == [("instance_gpu_gpu_usedutilization", False)]


def test_a_name_that_is_not_listed_is_not_asked_for() -> None:
    """The documentation misspells some; a wrong one answers with nothing, as if nobody measured."""
    assert choose(Metric.GPU_UTIL, listed("CPUUtilization")) == []
    assert [c.name for c in choose(Metric.GPU_MEMORY, listed("gpu_memory_useutilization"))] == [
        "gpu_memory_useutilization"
    ]


def test_a_configured_name_is_taken_as_it_is() -> None:
    found = choose(Metric.GPU_UTIL, listed("gpu_gpu_usedutilization"), "my_gpu")
    assert [(c.name, c.cards, c.periods) for c in found] == [("my_gpu", True, (60,))]
    assert not choose(Metric.GPU_UTIL, {}, "instance_mine")[0].cards


def test_traffic_has_its_parts() -> None:
    found = choose(Metric.NETWORK, listed("IntranetInRate", "IntranetOutRate"))
    assert [c.part for c in found] == [0, 1]
    assert METRICS[Metric.NETWORK].needed == 2


def test_what_is_recent_is_one_piece() -> None:
    assert pieces(NOON - HOUR, NOON, NOON, OFFERED) == [Piece(NOON - HOUR, NOON, MINUTE)]
    assert pieces(NOON, NOON, NOON, OFFERED) == []


def test_what_is_older_is_read_coarsely() -> None:
    """Every page counts against the free calls."""
    assert pieces(NOON - 30 * DAY, NOON, NOON, OFFERED) == [
        Piece(NOON - DAY, NOON, MINUTE),
        Piece(NOON - 7 * DAY, NOON - DAY, FIVE),
        Piece(NOON - 30 * DAY, NOON - 7 * DAY, HOUR),
    ]


def test_periods_are_those_on_offer() -> None:
    assert {p.period for p in pieces(NOON - 30 * DAY, NOON, NOON, (60, 300))} == {MINUTE, FIVE}
    assert {p.period for p in pieces(NOON - 30 * DAY, NOON, NOON, (60,))} == {MINUTE}


def test_a_window_is_at_most_thirty_days_and_ninety_one_old() -> None:
    found = pieces(NOON - 400 * DAY, NOON, NOON, OFFERED)
    assert max(p.end - p.start for p in found) <= 30 * DAY
    assert found[-1].start == NOON - 91 * DAY
    assert [p.start for p in found[:-1]] == [p.end for p in found[1:]]


def test_pieces_meet_at_whole_hours() -> None:
    odd = NOON + timedelta(minutes=7, seconds=3)
    edges = [p.start for p in pieces(odd - 30 * DAY, odd, odd, OFFERED)][:-1]
    assert {(edge.minute, edge.second) for edge in edges} == {(0, 0)}


@pytest.mark.parametrize(
    ("metric", "value", "expected"),
    [
        (Metric.GPU_UTIL, 37.5, 37.5),
        (Metric.GPU_MEMORY, 80.0, 80.0),
        (Metric.GPU_POWER, 35.0, 50.0),
        (Metric.CPU_CORES, 50.0, 24.0),
        (Metric.NETWORK, 8_000.0, 1_000.0),
    ],
)
def test_units(metric: Metric, value: float, expected: float) -> None:
    assert convert(metric, value, resource(box())) == pytest.approx(expected)


def test_what_cannot_be_converted_is_unknown() -> None:
    """H02 for usage: a limit that nobody knows is no percent."""
    bare = resource(box(type="ecs.new.large"), gpus=None, vcpus=None)
    assert convert(Metric.GPU_POWER, 35.0, bare) is None
    assert convert(Metric.CPU_CORES, 50.0, bare) is None


def test_cards_are_numbered_by_their_id() -> None:
    """M03."""
    assert indexes(["1", "0", "1"], 2) == {"0": 0, "1": 1}
    assert indexes(["GPU-b", "GPU-a"], 2) == {"GPU-a": 0, "GPU-b": 1}
    assert indexes(["GPU-b"], 2) == {}
    assert indexes([], 2) == {}
