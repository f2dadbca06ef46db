"""Periods by age, dimension sets, units: pure."""

import itertools
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from costguard.domain.resource import Gpus, Resource, State
from costguard.domain.usage import Metric
from costguard.testing.clock import NOON
from costguard_aws.metrics import (
    EC2_PERIOD,
    GPU_PERIOD,
    RETENTION,
    Found,
    convert,
    narrow,
    pieces,
    read_found,
)
from tests.unit.aws.helpers import ref

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def box(gpus: Gpus | None = None, vcpus: int | None = 4) -> Resource:
    return Resource(ref("i-1"), "box", State.RUNNING, "running", NOON, gpus=gpus, vcpus=vcpus)


def test_a_recent_window_is_one_piece() -> None:
    (piece,) = pieces(NOON - HOUR, NOON, NOON, GPU_PERIOD)
    assert (piece.start, piece.end, piece.period) == (NOON - HOUR - MINUTE, NOON, MINUTE)


def test_periods_that_are_not_over_are_left_out() -> None:
    """A sample's time is the end of its period."""
    (piece,) = pieces(NOON - HOUR, NOON + timedelta(seconds=59), NOON + timedelta(seconds=59), GPU_PERIOD)
    assert piece.end == NOON
    assert pieces(NOON, NOON + timedelta(seconds=30), NOON + timedelta(seconds=30), EC2_PERIOD)[0].end == NOON


@pytest.mark.parametrize("since", [NOON - timedelta(seconds=s) for s in (1, 59, 60, 61, 299, 300, 301)])
def test_pieces_are_aligned_and_hold_what_was_asked(since: datetime) -> None:
    for finest in (GPU_PERIOD, EC2_PERIOD):
        for piece in pieces(since, NOON, NOON, finest):
            assert piece.start.timestamp() % piece.period.total_seconds() == 0
            assert piece.end.timestamp() % piece.period.total_seconds() == 0
            assert piece.start + piece.period >= since
            assert piece.end <= NOON


@pytest.mark.parametrize(("kept", "period"), RETENTION)
@pytest.mark.parametrize("offset", [-MINUTE, timedelta(0), MINUTE])
def test_no_period_is_asked_for_longer_than_it_is_kept(kept: timedelta, period: timedelta, offset: timedelta) -> None:
    """A13: at the boundary, one minute before and one after."""
    for piece in pieces(NOON - kept - offset, NOON, NOON, GPU_PERIOD):
        allowed = {p: k for k, p in RETENTION}[piece.period]
        assert NOON - piece.start < allowed


@pytest.mark.parametrize(("finest", "periods"), [(GPU_PERIOD, [60, 300, 3600]), (EC2_PERIOD, [300, 3600])])
def test_a_long_window_is_split_without_a_gap(finest: timedelta, periods: list[int]) -> None:
    """A13: a year and more, each part with the finest period that is still kept, and nothing beyond 455 days."""
    found = pieces(NOON - 500 * DAY, NOON + 7 * MINUTE, NOON + 7 * MINUTE, finest)
    assert [piece.period.total_seconds() for piece in found] == periods
    for newer, older in itertools.pairwise(found):
        assert older.end == newer.start
    assert NOON - found[-1].start < 455 * DAY


@pytest.mark.parametrize("until", [NOON, NOON - DAY])
def test_an_empty_or_inverted_window_asks_for_nothing(until: datetime) -> None:
    """I23."""
    assert pieces(NOON + HOUR, until, NOON, GPU_PERIOD) == ()


def found(instance: str = "i-1", namespace: str = "CWAgent", **dimensions: str) -> Found:
    known = {"InstanceId": instance, **dimensions}
    return read_found(
        {
            "Namespace": namespace,
            "MetricName": "nvidia_smi_utilization_gpu",
            "Dimensions": [{"Name": name, "Value": value} for name, value in known.items()],
        }
    )


def test_duplicates_of_the_list_are_one() -> None:
    assert narrow([found(index="0"), found(index="0")], {"i-1": box()}) == {("i-1", "CWAgent", 0): [found(index="0")]}


def test_a_card_that_changed_its_host_name_keeps_both_series() -> None:
    """A resize or a new image gives a new set of dimensions; the card is the same."""
    old, new = found(index="0", host="ip-10-0-0-1"), found(index="0", host="ip-10-0-0-2")
    assert narrow([old, new], {"i-1": box()}) == {("i-1", "CWAgent", 0): [old, new]}


def test_an_aggregation_over_cards_is_left_out_where_cards_are_told() -> None:
    assert narrow([found(), found(index="1")], {"i-1": box()}).keys() == {("i-1", "CWAgent", 1)}
    assert narrow([found()], {"i-1": box()}).keys() == {("i-1", "CWAgent", None)}


def test_other_boxes_and_boxes_without_an_id_are_left_out() -> None:
    strange = read_found({"Namespace": "CWAgent", "MetricName": "m", "Dimensions": [{"Name": "host", "Value": "h"}]})
    assert narrow([found("i-2"), strange, read_found({})], {"i-1": box()}) == {}


def test_namespaces_are_never_mixed() -> None:
    """A16."""
    keys = narrow([found(namespace="A", index="0"), found(namespace="B", index="0")], {"i-1": box()}).keys()
    assert keys == {("i-1", "A", 0), ("i-1", "B", 0)}


@pytest.mark.parametrize(("dimensions", "index"), [({"GPUNumber": "3"}, 3), ({"index": "x"}, None), ({}, None)])
def test_the_card_is_told_by_its_number(dimensions: dict[str, str], index: int | None) -> None:
    assert found(**dimensions).gpu_index == index


T4 = Gpus("T4", Decimal(1), 16_384)


@pytest.mark.parametrize(
    ("metric", "raw", "resource", "value"),
    [
        (Metric.GPU_UTIL, 39.0, box(), 39.0),
        (Metric.GPU_MEMORY, 8_192.0, box(T4), 50.0),
        (Metric.GPU_MEMORY, 20_000.0, box(T4), 100.0),
        (Metric.GPU_MEMORY, 8_192.0, box(), None),
        (Metric.GPU_POWER, 35.0, box(T4), 50.0),
        (Metric.GPU_POWER, 35.0, box(Gpus("card of 2027", Decimal(1))), None),
        (Metric.GPU_POWER, 35.0, box(), None),
        (Metric.CPU_CORES, 50.0, box(vcpus=8), 4.0),
        (Metric.CPU_CORES, 50.0, box(vcpus=None), None),
        (Metric.NETWORK, 300_000.0, box(), 1_000.0),
    ],
)
def test_values_in_our_units(metric: Metric, raw: float, resource: Resource, value: float | None) -> None:
    """A28: without the facts that it takes there is no value."""
    assert convert(metric, raw, resource, EC2_PERIOD) == value
