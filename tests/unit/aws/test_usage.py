"""CloudWatch against the strict account: discovery, exact dimensions, pages, status codes, costs."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from costguard.domain.resource import Resource
from costguard.domain.usage import Metric, Statistic
from costguard.errors import AuthFailed, PermissionDenied, Unavailable
from costguard.testing.clock import NOON
from costguard.testing.cloud import Calls, Fault
from costguard_aws.connection import AwsConnection
from tests.fakes.aws.server import AwsServer
from tests.unit.aws.helpers import HOME, resource

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
UTIL = frozenset({Metric.GPU_UTIL})


def gpu_box(server: AwsServer, region: str = HOME) -> Resource:
    return resource(server.ec2.add(region, "p3.8xlarge"))


def put(
    server: AwsServer, box: Resource, points: Mapping[datetime, float], namespace: str = "CWAgent", **dimensions: str
) -> None:
    known = {"InstanceId": box.ref.id, **dimensions}
    server.cloudwatch.put(namespace, "nvidia_smi_utilization_gpu", known, points)


def test_metrics_are_found_whatever_the_namespace(aws: AwsConnection, server: AwsServer) -> None:
    box = gpu_box(server)
    put(server, box, {NOON - 2 * MINUTE: 7.0}, "Training/GPU", index="0", name="Tesla V100", host="h", arch="Volta")
    (sample,) = aws.usage([box], UTIL, NOON - HOUR, NOON).samples
    assert (sample.value, sample.at, sample.period) == (7.0, NOON - MINUTE, MINUTE)
    assert sample.series.source == "cloudwatch:Training/GPU"
    assert (sample.series.gpu_index, sample.series.statistic, sample.series.cards) == (0, Statistic.MAX, 1)


def test_a_burst_inside_a_period_is_seen(aws: AwsConnection, server: AwsServer) -> None:
    """A06: the maximum of the period, not the mean nor the last value."""
    box = gpu_box(server)
    start = NOON - 2 * MINUTE
    put(server, box, {start: 0.0, start + timedelta(seconds=20): 90.0, start + timedelta(seconds=40): 0.0}, index="0")
    (sample,) = aws.usage([box], UTIL, NOON - HOUR, NOON).samples
    assert sample.value == 90.0


def test_a_new_host_name_goes_on_with_the_same_card(aws: AwsConnection, server: AwsServer) -> None:
    """Both series of the card are read, and where both have a value the higher counts."""
    box = gpu_box(server)
    put(server, box, {NOON - 3 * MINUTE: 1.0, NOON - 2 * MINUTE: 80.0}, index="0", host="old")
    put(server, box, {NOON - 2 * MINUTE: 2.0, NOON - MINUTE: 3.0}, index="0", host="new")
    batch = aws.usage([box], UTIL, NOON - HOUR, NOON)
    assert [s.value for s in batch.samples] == [1.0, 80.0, 3.0]
    assert len({s.series for s in batch.samples}) == 1


def test_an_aggregation_covers_all_cards(aws: AwsConnection, server: AwsServer) -> None:
    """A30: it says so."""
    box = gpu_box(server)
    put(server, box, {NOON - 2 * MINUTE: 5.0})
    (sample,) = aws.usage([box], UTIL, NOON - HOUR, NOON).samples
    assert (sample.series.gpu_index, sample.series.cards, sample.series.statistic) == (None, 4, Statistic.MAX)


def test_pages_that_cut_a_series_are_put_together(aws: AwsConnection, server: AwsServer) -> None:
    """PartialData with a next page is no failure."""
    box = gpu_box(server)
    server.cloudwatch.page_size = 7
    put(server, box, {NOON - n * MINUTE: float(n) for n in range(1, 31)}, index="0")
    batch = aws.usage([box], UTIL, NOON - HOUR, NOON)
    assert len(batch.samples) == 30
    assert batch.failed == {}


def test_data_that_stays_partial_is_a_failure(aws: AwsConnection, server: AwsServer) -> None:
    """What is missing may be the busy part."""
    lucky, unlucky = gpu_box(server), gpu_box(server)
    for box in (lucky, unlucky):
        put(server, box, {NOON - 2 * MINUTE: 5.0}, index="0")
    server.cloudwatch.broken.add(unlucky.ref.id)
    batch = aws.usage([lucky, unlucky], UTIL, NOON - HOUR, NOON)
    assert {s.series.ref for s in batch.samples} == {lucky.ref}
    assert isinstance(batch.failed[unlucky.ref], Unavailable)


def test_a_forbidden_metric_is_a_missing_permission(aws: AwsConnection, server: AwsServer) -> None:
    lucky, unlucky = gpu_box(server), gpu_box(server)
    for box in (lucky, unlucky):
        put(server, box, {NOON - 2 * MINUTE: 5.0}, index="0")
    server.cloudwatch.forbidden.add(unlucky.ref.id)
    batch = aws.usage([lucky, unlucky], UTIL, NOON - HOUR, NOON)
    assert {type(error) for error in batch.failed.values()} == {PermissionDenied}


def test_five_hundred_metrics_go_in_one_call(aws: AwsConnection, server: AwsServer) -> None:
    """G10, and the account's own spend is told: one metric each."""
    server.cloudwatch.page_size = 100_000
    boxes = [gpu_box(server) for _ in range(201)]
    for box in boxes:
        for card in range(4):
            put(server, box, {NOON - 2 * MINUTE: 5.0}, index=str(card))
    batch = aws.usage(boxes, UTIL, NOON - HOUR, NOON)
    asked = [len(c.params["MetricDataQueries"]) for c in server.calls if c.operation == "GetMetricData"]
    assert asked == [500, 304]
    assert batch.metered == 804
    assert batch.calls == len(server.calls)
    assert len(batch.samples) == 804


def test_regions_are_asked_apart_and_fail_apart(aws: AwsConnection, server: AwsServer) -> None:
    """M02."""
    here, there = gpu_box(server), gpu_box(server, "us-west-2")
    for box in (here, there):
        put(server, box, {NOON - 2 * MINUTE: 5.0}, index="0")
    server.denied.add("us-west-2")
    batch = aws.usage([here, there], UTIL, NOON - HOUR, NOON)
    assert {s.series.ref for s in batch.samples} == {here.ref}
    assert isinstance(batch.failed[there.ref], PermissionDenied)


def test_half_of_the_traffic_is_not_the_traffic(aws: AwsConnection, server: AwsServer) -> None:
    box = gpu_box(server)
    five = timedelta(minutes=5)
    server.cloudwatch.put("AWS/EC2", "NetworkIn", {"InstanceId": box.ref.id}, {NOON - 2 * five: 3e8, NOON - five: 3e8})
    server.cloudwatch.put("AWS/EC2", "NetworkOut", {"InstanceId": box.ref.id}, {NOON - five: 3e8})
    (sample,) = aws.usage([box], frozenset({Metric.NETWORK}), NOON - HOUR, NOON).samples
    assert (sample.at, sample.value, sample.series.statistic) == (NOON, 2e6, Statistic.MEAN)


def test_a_box_without_an_agent_is_neither_idle_nor_failed(aws: AwsConnection, server: AwsServer) -> None:
    """A10."""
    batch = aws.usage([gpu_box(server)], UTIL, NOON - HOUR, NOON)
    assert (batch.samples, batch.failed) == ((), {})
    assert "GetMetricData" not in server.operations()


def test_only_active_metrics_are_listed_unless_the_look_back_is_long(aws: AwsConnection, server: AwsServer) -> None:
    box = gpu_box(server)
    aws.usage([box], UTIL, NOON - HOUR, NOON)
    aws.usage([box], UTIL, NOON - timedelta(days=2), NOON)
    assert [call.params.get("RecentlyActive") for call in server.calls] == ["PT3H", None]


def test_old_samples_come_with_their_coarser_period(aws: AwsConnection, server: AwsServer) -> None:
    """A13."""
    box = gpu_box(server)
    put(server, box, {NOON - timedelta(days=20): 50.0, NOON - timedelta(days=1): 60.0}, index="0")
    # The list tells what was active in the last two weeks.
    batch = aws.usage([box], UTIL, NOON - timedelta(days=21), NOON)
    assert [(s.value, s.period) for s in batch.samples] == [(50.0, 5 * MINUTE), (60.0, MINUTE)]


@pytest.mark.parametrize("fault", [Fault.FORBIDDEN, Fault.UNAUTHENTICATED])
def test_when_nothing_can_be_read_the_error_is_raised(aws: AwsConnection, server: AwsServer, fault: Fault) -> None:
    """M01."""
    server.fail(fault, on=server.on(Calls.USAGE))
    with pytest.raises((PermissionDenied, AuthFailed)):
        aws.usage([gpu_box(server)], frozenset({Metric.CPU_CORES}), NOON - HOUR, NOON)


def test_no_boxes_no_calls(aws: AwsConnection, server: AwsServer) -> None:
    assert aws.usage([], frozenset(Metric), NOON - HOUR, NOON).samples == ()
    assert server.calls == []
