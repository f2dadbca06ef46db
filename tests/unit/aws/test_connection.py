"""The whole connection: its roles, the requests it sends, and a fleet on a bad day."""

import random
from datetime import timedelta
from typing import Any

import pytest

from costguard import ports
from costguard.domain.resource import Kind, Resource, State
from costguard.domain.usage import Metric
from costguard.errors import PermissionDenied, Throttled, Unavailable
from costguard.testing.clock import NOON
from costguard.testing.cloud import Fault
from costguard_aws.connection import AwsConnection
from tests.fakes.aws.codec import decode
from tests.fakes.aws.server import AwsServer
from tests.fakes.server import Request
from tests.unit.aws.helpers import HOME, connect, ref

ROLES = (
    ports.Connection, ports.Inventory, ports.Usage, ports.Prices, ports.SpotPrices, ports.Billing, ports.Budgets,
    ports.Quotas, ports.Power, ports.History, ports.Release, ports.Tagging, ports.Commands, ports.Probe,
)  # fmt: skip


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.__name__)
def test_every_role_is_there(aws: AwsConnection, role: type) -> None:
    assert isinstance(aws, role)


def test_there_is_no_prepaid_balance(aws: AwsConnection) -> None:
    assert not isinstance(aws, ports.Balances)


def test_connecting_calls_nothing_out(aws: AwsConnection, server: AwsServer) -> None:
    assert aws.endpoints().keys() == {f"sts.{HOME}", f"ec2.{HOME}", f"cloudwatch.{HOME}"}
    assert server.request_count() == 0


def test_the_requests_of_a_day(aws: AwsConnection, server: AwsServer) -> None:
    """The wire: exactly these calls with exactly these parameters."""
    box = server.ec2.add(HOME, "p3.8xlarge", lifecycle="spot", spot_type="persistent")
    server.cloudwatch.put(
        "CWAgent",
        "nvidia_smi_utilization_gpu",
        {"InstanceId": box.id, "index": "0"},
        {NOON - timedelta(minutes=9): 1.0},
    )
    aws.identity()
    aws.regions()
    boxes = list(aws.list(Kind.VM, HOME))
    aws.usage(boxes, frozenset({Metric.GPU_UTIL, Metric.NETWORK}), NOON - timedelta(minutes=10), NOON)
    aws.get(ref(box.id))
    aws.stop(ref(box.id), "token-1")

    def query(id: str, namespace: str, name: str, period: int, stat: str, **dimensions: str) -> dict[str, Any]:
        metric = {
            "Namespace": namespace,
            "MetricName": name,
            "Dimensions": [{"Name": k, "Value": v} for k, v in dimensions.items()],
        }
        return {"Id": id, "MetricStat": {"Metric": metric, "Period": period, "Stat": stat}, "ReturnData": True}

    traffic = [
        query("q0", "AWS/EC2", "NetworkIn", 300, "Sum", InstanceId=box.id),
        query("q1", "AWS/EC2", "NetworkOut", 300, "Sum", InstanceId=box.id),
    ]
    cards = [query("q0", "CWAgent", "nvidia_smi_utilization_gpu", 60, "Maximum", InstanceId=box.id, index="0")]
    minutes = timedelta(minutes=1)
    assert [(call.service, call.operation, dict(call.params)) for call in server.calls] == [
        ("sts", "GetCallerIdentity", {}),
        ("ec2", "DescribeRegions", {"AllRegions": False}),
        ("ec2", "DescribeInstances", {"MaxResults": 1000}),
        (
            "ec2",
            "DescribeInstanceTypes",
            {"Filters": [{"Name": "instance-type", "Values": ["p3.8xlarge"]}], "MaxResults": 100},
        ),
        ("ec2", "DescribeSpotInstanceRequests", {"MaxResults": 1000}),
        ("monitoring", "ListMetrics", {"MetricName": "nvidia_smi_utilization_gpu", "RecentlyActive": "PT3H"}),
        (
            "monitoring",
            "GetMetricData",
            {
                "MetricDataQueries": traffic,
                "StartTime": NOON - 15 * minutes,
                "EndTime": NOON,
                "ScanBy": "TimestampAscending",
            },
        ),
        (
            "monitoring",
            "GetMetricData",
            {
                "MetricDataQueries": cards,
                "StartTime": NOON - 11 * minutes,
                "EndTime": NOON,
                "ScanBy": "TimestampAscending",
            },
        ),
        ("ec2", "DescribeInstances", {"InstanceIds": [box.id]}),
        ("ec2", "DescribeSpotInstanceRequests", {"SpotInstanceRequestIds": [box.request]}),
        ("autoscaling", "DescribeAutoScalingInstances", {"InstanceIds": [box.id]}),
        ("ec2", "DescribeInstanceAttribute", {"InstanceId": box.id, "Attribute": "disableApiStop"}),
        ("ec2", "StopInstances", {"InstanceIds": [box.id]}),
    ]


def test_a_fleet_on_a_bad_day(server: AwsServer) -> None:
    """M16, C11: a region denied, 5 % throttles, 5 % lost answers: each box seen once, each stop done once."""
    aws = connect(server, deadline=timedelta(seconds=60))
    here, there, denied = server.regions
    for n in range(250):
        server.ec2.add((here, there, denied)[n % 3], "c6i.xlarge", tags={"Name": f"box-{n}"})
    server.denied.add(denied)
    chance = random.Random(7)

    def unlucky(_: Request) -> bool:
        return chance.random() < 0.05

    server.fail(Fault.THROTTLED, on=unlucky)
    server.fail(Fault.LOST_ANSWER, on=unlucky)
    found: list[Resource] = []
    for region in (here, there):
        found += aws.list(Kind.VM, region)
    assert len(found) == len({r.ref for r in found}) == 167
    with pytest.raises(PermissionDenied):
        list(aws.list(Kind.VM, denied))

    in_doubt = 0
    for resource in found:
        try:
            aws.stop(resource.ref, f"token-{resource.ref.id}")
        except (Throttled, Unavailable):
            in_doubt += 1
            if aws.get(resource.ref).state is State.RUNNING:  # look first: a throttle did nothing, so once more
                server.heal()
                aws.stop(resource.ref, f"token-{resource.ref.id}-2")
                server.fail(Fault.THROTTLED, on=unlucky)
                server.fail(Fault.LOST_ANSWER, on=unlucky)
    assert in_doubt > 5
    server.ec2.settle()
    assert {box.state for box in server.ec2.boxes.values() if box.region != denied} == {"stopped"}
    assert {box.state for box in server.ec2.boxes.values() if box.region == denied} == {"running"}
    # Nobody stopped a box that was already stopping: what was lost was looked at, not sent again.
    done = [c.params["InstanceIds"][0] for c in server.calls if c.operation == "StopInstances"]
    assert len(done) == len(set(done))


def test_watching_changes_nothing(aws: AwsConnection, server: AwsServer) -> None:
    for n in range(20):
        server.ec2.add(HOME, "p3.8xlarge", tags={"Name": f"box-{n}"})
    boxes = list(aws.list(Kind.VM, HOME))
    aws.usage(boxes, frozenset(Metric), NOON - timedelta(hours=1), NOON)
    for box in boxes:
        aws.get(box.ref)
        aws.power_events(box.ref, NOON - timedelta(days=1))
    aws.probe(HOME, boxes)
    assert server.mutations() == []
    assert {decode("ec2", r)[0] for r in server.requests if b"Version=2016-11-15" in r.body} >= {"DescribeInstances"}
