"""Permissions proved without side effects."""

from costguard.domain.resource import Kind
from costguard.testing.cloud import Calls, Fault
from costguard_aws.connection import AwsConnection
from tests.fakes.aws.server import ACCOUNT, AwsServer
from tests.unit.aws.helpers import HOME, connect


def test_every_permission_is_told_and_nothing_changes(aws: AwsConnection, server: AwsServer) -> None:
    """C32."""
    boxes = [server.ec2.add(HOME, "c6i.xlarge") for _ in range(2)]
    answers = aws.probe(HOME, list(aws.list(Kind.VM, HOME)))
    assert {a.permission for a in answers if a.granted} == {
        "ec2:DescribeRegions", "ec2:DescribeInstances", "ec2:DescribeSpotInstanceRequests", "ec2:DescribeVolumes",
        "ec2:DescribeSnapshots", "ec2:DescribeAddresses", "ec2:DescribeNatGateways", "ec2:DescribeInstanceTypes",
        "ec2:DescribeCapacityReservations",
        "ec2:DescribeSpotPriceHistory", "ec2:DescribeInstanceAttribute", "ec2:StopInstances", "ec2:StartInstances",
        "ec2:CreateTags", "autoscaling:DescribeAutoScalingInstances", "cloudwatch:ListMetrics",
        "cloudwatch:GetMetricData", "servicequotas:GetServiceQuota", "ssm:DescribeInstanceInformation",
    }  # fmt: skip
    assert {a.permission for a in answers if a.granted is None} == {"ce:GetCostAndUsage", "ssm:SendCommand"}
    assert [a.detail for a in answers if a.capability == "stop"] == [box.id for box in boxes]
    assert server.mutations() == []
    assert {box.state for box in boxes} == {"running"}


def test_release_is_probed_only_where_it_is_allowed(server: AwsServer) -> None:
    server.ec2.add(HOME, "c6i.xlarge")
    for allowed in (False, True):
        aws = connect(server, allow_release=allowed)
        answers = aws.probe(HOME, list(aws.list(Kind.VM, HOME)))
        assert any(a.capability == "release" for a in answers) is allowed


def test_every_way_of_releasing_is_probed(server: AwsServer) -> None:
    """A disk, a snapshot, an address, a gateway, and the request behind a spot box: each has a right of its own."""
    box = server.ec2.add(HOME, "c6i.xlarge", lifecycle="spot", spot_type="persistent")
    server.ec2.add_thing(HOME, "Volumes", "vol-00000000000000001", State="available")
    server.ec2.add_thing(HOME, "Snapshots", "snap-0000000000000001", OwnerId=ACCOUNT, State="completed")
    server.ec2.add_thing(HOME, "Addresses", "eipalloc-0000000000001")
    server.ec2.add_thing(HOME, "NatGateways", "nat-00000000000000001", State="available")
    aws = connect(server, allow_release=True)
    kinds = (Kind.VM, Kind.DISK, Kind.SNAPSHOT, Kind.ADDRESS, Kind.GATEWAY)
    answers = aws.probe(HOME, [found for kind in kinds for found in aws.list(kind, HOME)])
    assert {(a.permission, a.detail, a.granted) for a in answers if a.capability == "release"} == {
        ("ec2:TerminateInstances", box.id, True),
        ("ec2:CancelSpotInstanceRequests", box.request, True),
        ("ec2:DeleteVolume", "vol-00000000000000001", True),
        ("ec2:DeleteSnapshot", "snap-0000000000000001", True),
        ("ec2:ReleaseAddress", "eipalloc-0000000000001", True),
        ("ec2:DeleteNatGateway", "nat-00000000000000001", True),
    }
    assert server.mutations() == []
    assert (box.state, box.spot_state) == ("running", "active")
    assert sum(map(len, server.ec2.things.values())) == 4


def test_an_endpoint_that_ignores_dry_run_is_not_asked_to_stop(aws: AwsConnection, server: AwsServer) -> None:
    """Some emulators do: there the probe of StopInstances would stop."""
    box = server.ec2.add(HOME, "c6i.xlarge")
    resources = list(aws.list(Kind.VM, HOME))
    server.honours_dry_run = False
    answers = aws.probe(HOME, resources)
    assert box.state == "running"
    assert "StopInstances" not in server.operations()
    assert {a.granted for a in answers if a.permission == "ec2:DescribeInstances"} == {None}


def test_what_is_denied_is_told(aws: AwsConnection, server: AwsServer) -> None:
    server.ec2.add(HOME, "c6i.xlarge")
    resources = list(aws.list(Kind.VM, HOME))
    server.fail(Fault.FORBIDDEN, on=server.on(Calls.MUTATION))
    denied = {a.permission for a in aws.probe(HOME, resources) if a.granted is False}
    assert denied == {"ec2:StopInstances", "ec2:StartInstances", "ec2:CreateTags"}


def test_a_box_of_another_region_is_not_asked_for_here(aws: AwsConnection, server: AwsServer) -> None:
    server.ec2.add("us-west-2", "c6i.xlarge")
    answers = aws.probe(HOME, list(aws.list(Kind.VM, "us-west-2")))
    assert not [a for a in answers if a.capability == "stop"]


def test_one_silence_is_enough(server: AwsServer) -> None:
    """Every other call would wait as long."""
    aws = connect(server)
    server.fail(Fault.SILENT)
    answers = aws.probe(HOME, [])
    assert {a.granted for a in answers} == {None}
    assert len({request.form.get("Action") for request in server.requests}) == 1
