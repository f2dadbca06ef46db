"""Listings and live reads against the strict account."""

from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.money import Money
from costguard.domain.resource import INSTEAD, ChargeType, Ends, Kind, State
from costguard.errors import BadResponse, NotFound, PermissionDenied, Unavailable
from costguard.testing.cloud import Calls, Fault
from costguard_aws.connection import AwsConnection
from tests.fakes.aws.server import AwsServer
from tests.unit.aws.helpers import HOME, connect, ref


def refuse(server: AwsServer, operation: str) -> None:
    server.fail(Fault.FORBIDDEN, on=lambda request: operation in (request.form.get("Action"), ""))


def test_one_listing_asks_for_spot_requests_and_types_once(aws: AwsConnection, server: AwsServer) -> None:
    for n in range(600):
        server.ec2.add(HOME, "p3.8xlarge", **({"lifecycle": "spot", "spot_type": "one-time"} if n % 2 else {}))
    assert len(list(aws.list(Kind.VM, HOME))) == 600
    assert server.operations() == [
        "DescribeRegions", "DescribeInstances", "DescribeInstanceTypes", "DescribeCapacityReservations",
        *["DescribeSpotInstanceRequests"] * 2,
        *["DescribeInstances"] * 2,
    ]  # fmt: skip


def test_an_account_without_spot_is_not_asked_for_requests(aws: AwsConnection, server: AwsServer) -> None:
    server.ec2.add(HOME, "c6i.xlarge")
    list(aws.list(Kind.VM, HOME))
    assert "DescribeSpotInstanceRequests" not in server.operations()


def test_one_time_and_persistent_spot_are_told_apart(aws: AwsConnection, server: AwsServer) -> None:
    """C05: only the persistent one can be stopped."""
    once = server.ec2.add(HOME, "c6i.xlarge", lifecycle="spot", spot_type="one-time")
    again = server.ec2.add(HOME, "c6i.xlarge", lifecycle="spot", spot_type="persistent")
    found = {r.ref.id: r for r in aws.list(Kind.VM, HOME)}
    for box, ends in ((once, Ends.NO), (again, Ends.YES)):
        for read in (found[box.id], aws.get(ref(box.id))):
            assert read.charge_type is ChargeType.SPOT
            assert read.spot_cap == Money.of("1.25", "USD")
            assert read.stop_effect is not None
            assert read.stop_effect.compute_billing_ends is ends


def test_spot_requests_that_may_not_be_read_leave_the_effect_unknown(aws: AwsConnection, server: AwsServer) -> None:
    box = server.ec2.add(HOME, "c6i.xlarge", lifecycle="spot", spot_type="persistent")
    refuse(server, "DescribeSpotInstanceRequests")
    for read in (*aws.list(Kind.VM, HOME), aws.get(ref(box.id))):
        assert read.stop_effect is not None
        assert read.stop_effect.compute_billing_ends is Ends.UNKNOWN


def test_types_that_may_not_be_read_are_an_error(aws: AwsConnection, server: AwsServer) -> None:
    """A GPU box must not pass for a CPU box."""
    server.ec2.add(HOME, "p3.8xlarge")
    refuse(server, "DescribeInstanceTypes")
    with pytest.raises(PermissionDenied):
        list(aws.list(Kind.VM, HOME))


def test_the_lookups_of_a_live_read_are_not_made_in_listings(aws: AwsConnection, server: AwsServer) -> None:
    box = server.ec2.add(HOME, "c6i.xlarge", protected=True)
    (listed,) = aws.list(Kind.VM, HOME)
    assert listed.protected is None
    assert "DescribeInstanceAttribute" not in server.operations()
    assert aws.get(ref(box.id)).protected == "disableApiStop"


def test_the_scaling_group_is_asked_for_where_the_tag_is_missing(aws: AwsConnection, server: AwsServer) -> None:
    """C04."""
    box = server.ec2.add(HOME, "c6i.xlarge", group="workers")
    (listed,) = aws.list(Kind.VM, HOME)
    assert listed.group is None
    live = aws.get(ref(box.id))
    assert live.group == "aws:autoscaling:groupName=workers"
    assert f"--instance-id {box.id} " in live.attributes[INSTEAD]


@pytest.mark.parametrize("operation", ["DescribeInstanceAttribute", "DescribeAutoScalingInstances"])
def test_a_live_read_that_cannot_see_protections_fails(aws: AwsConnection, server: AwsServer, operation: str) -> None:
    """Actions fail closed."""
    box = server.ec2.add(HOME, "c6i.xlarge")
    refuse(server, operation)
    with pytest.raises(PermissionDenied):
        aws.get(ref(box.id))


def test_an_answer_is_as_old_as_its_question(aws: AwsConnection, server: AwsServer) -> None:
    """What a live look sees while a page travels is newer than the page."""
    box = server.ec2.add(HOME, "c6i.xlarge")
    asked, described = server.clock.now(), server.ec2.DescribeInstances

    def slow(*given: Any, **params: Any) -> Any:
        answer = described(*given, **params)
        server.clock.advance(timedelta(seconds=3))
        return answer

    server.ec2.DescribeInstances = slow  # type: ignore[method-assign]
    (listed,) = aws.list(Kind.VM, HOME)
    assert listed.observed_at == asked
    asked = server.clock.now()
    assert aws.get(ref(box.id)).observed_at == asked


def test_terminated_boxes_are_gone(aws: AwsConnection, server: AwsServer) -> None:
    """They stay visible for an hour."""
    box = server.ec2.add(HOME, "c6i.xlarge", state="terminated")
    assert list(aws.list(Kind.VM, HOME)) == []
    with pytest.raises(NotFound):
        aws.get(ref(box.id))


def test_a_box_that_is_being_terminated_is_still_told(aws: AwsConnection, server: AwsServer) -> None:
    server.ec2.add(HOME, "c6i.xlarge", state="shutting-down")
    assert [r.state for r in aws.list(Kind.VM, HOME)] == [State.DELETING]


def test_an_instance_without_an_id_is_a_bad_response(aws: AwsConnection, server: AwsServer) -> None:
    server.ec2.add(HOME, "c6i.xlarge", extra={"InstanceId": None})
    with pytest.raises(BadResponse) as caught:
        list(aws.list(Kind.VM, HOME))
    assert caught.value.where == "InstanceId"


def test_a_failing_page_fails_the_listing(aws: AwsConnection, server: AwsServer) -> None:
    """A part of an account must never pass for the whole."""
    for _ in range(260):
        server.ec2.add(HOME, "c6i.xlarge")
    listing = iter(aws.list(Kind.VM, HOME))
    next(listing)
    server.fail(Fault.SERVER_ERROR, on=server.on(Calls.INVENTORY))
    with pytest.raises(Unavailable):
        list(listing)


def test_regions_are_those_enabled_or_configured(server: AwsServer) -> None:
    assert connect(server).regions() == ("eu-central-1", "us-east-1", "us-west-2")
    assert connect(server, regions=(" us-west-2", "us-west-2")).regions() == ("us-west-2",)


@pytest.mark.parametrize("region", ["us-east-99", "me-south-1"])
def test_a_region_that_is_not_enabled_reads_as_such(server: AwsServer, region: str) -> None:
    """G06: not as a host that cannot be found, nor as an empty region."""
    server.ec2.add(HOME, "c6i.xlarge")
    aws = connect(server, regions=(region, HOME))
    with pytest.raises(NotFound) as caught:
        list(aws.list(Kind.VM, region))
    assert caught.value.code == "RegionNotEnabled"
    assert len(list(aws.list(Kind.VM, HOME))) == 1


def test_regions_that_may_not_be_read_hide_nothing(server: AwsServer) -> None:
    server.ec2.add(HOME, "c6i.xlarge")
    refuse(server, "DescribeRegions")
    assert len(list(connect(server, regions=(HOME,)).list(Kind.VM, HOME))) == 1


def test_disks_snapshots_addresses_gateways_and_reservations(aws: AwsConnection, server: AwsServer) -> None:
    server.ec2.add_thing(HOME, "Volumes", "vol-1", State="available", VolumeType="gp3", Size=500)
    attached = [{"InstanceId": "i-1", "State": "attached"}]
    server.ec2.add_thing(HOME, "Volumes", "vol-2", State="in-use", VolumeType="io2", Size=8, Attachments=attached)
    server.ec2.add_thing(HOME, "Snapshots", "snap-1", State="completed", VolumeSize=100, VolumeId="vol-1")
    server.ec2.add_thing(HOME, "Addresses", "eipalloc-1", PublicIp="203.0.113.7")
    server.ec2.add_thing(HOME, "NatGateways", "nat-1", State="available", VpcId="vpc-1")
    server.ec2.add_thing(HOME, "NatGateways", "nat-2", State="deleted", VpcId="vpc-1")
    server.ec2.add_thing(HOME, "CapacityReservations", "cr-1", State="active", InstanceType="p3.8xlarge")
    server.ec2.add_thing(HOME, "CapacityReservations", "cr-2", State="expired", InstanceType="p3.8xlarge")
    found = {r.ref.id: r for kind in aws.kinds() - {Kind.VM} for r in aws.list(kind, HOME)}
    assert sorted(found) == ["cr-1", "eipalloc-1", "nat-1", "snap-1", "vol-1", "vol-2"]
    assert {id: r.depends_on for id, r in found.items() if r.depends_on} == {"vol-2": "i-1"}
    assert (found["vol-1"].sku, found["vol-1"].size_gib) == ("gp3", 500)
    for resource in found.values():
        live = aws.get(resource.ref)
        assert (live.ref, live.raw_state, live.depends_on) == (resource.ref, resource.raw_state, resource.depends_on)
    with pytest.raises(NotFound):
        aws.get(ref("nat-2", Kind.GATEWAY))
    for gone in (ref("vol-3", Kind.DISK), ref("cr-2", Kind.RESERVATION), ref("cr-3", Kind.RESERVATION)):
        with pytest.raises(NotFound):
            aws.get(gone)


def test_a_kind_that_aws_does_not_have_here_is_not_found(aws: AwsConnection) -> None:
    with pytest.raises(NotFound):
        aws.get(ref("nb-1", Kind.NOTEBOOK))


def reserve(server: AwsServer, id: str, **fields: object) -> None:
    known: dict[str, object] = {
        "State": "active", "InstanceMatchCriteria": "open", "ReservationType": "default", "InstanceType": "p3.8xlarge",
        "InstancePlatform": "Linux/UNIX", "AvailabilityZone": f"{HOME}a", "Tenancy": "default",
        "TotalInstanceCount": 2, "AvailableInstanceCount": 1,
    }  # fmt: skip
    server.ec2.add_thing(HOME, "CapacityReservations", id, **{**known, **fields})


def ends(aws: AwsConnection, box_id: str) -> set[Ends]:
    """What a stop does to the bill, by the listing and by the live read."""
    reads = [r for r in aws.list(Kind.VM, HOME) if r.ref.id == box_id] + [aws.get(ref(box_id))]
    return {r.stop_effect.compute_billing_ends for r in reads if r.stop_effect is not None}


def test_stopping_what_an_open_reservation_takes_saves_nothing(aws: AwsConnection, server: AwsServer) -> None:
    """C06: EC2 names the reservation a moment later; until then its free place tells."""
    box = server.ec2.add(HOME, "p3.8xlarge")
    other = server.ec2.add(HOME, "c6i.xlarge")
    assert ends(aws, box.id) == {Ends.YES}
    reserve(server, "cr-open")
    assert ends(aws, box.id) == {Ends.NO}
    assert ends(aws, other.id) == {Ends.YES}
    assert aws.get(ref(box.id)).attributes["capacity_reservation"] == "cr-open"
    server.ec2.things["CapacityReservations"]["cr-open"]["AvailableInstanceCount"] = 0
    assert ends(aws, box.id) == {Ends.YES}, "full of others"
    box.extra["CapacityReservationId"] = "cr-open"
    assert ends(aws, box.id) == {Ends.NO}, "it is one of those inside"


def test_reservations_that_may_not_be_read_hide_no_instance(aws: AwsConnection, server: AwsServer) -> None:
    """What DescribeInstances names itself still counts, and the listing of reservations says that it is denied."""
    box = server.ec2.add(HOME, "p3.8xlarge")
    inside = server.ec2.add(HOME, "p3.8xlarge", extra={"CapacityReservationId": "cr-1"})
    reserve(server, "cr-1")
    refuse(server, "DescribeCapacityReservations")
    assert ends(aws, box.id) == {Ends.YES}
    assert ends(aws, inside.id) == {Ends.NO}
    with pytest.raises(PermissionDenied):
        list(aws.list(Kind.RESERVATION, HOME))


def test_reservations_are_not_asked_for_where_none_could_matter(aws: AwsConnection, server: AwsServer) -> None:
    server.ec2.add(HOME, "p3.8xlarge", state="stopped")
    server.ec2.add(HOME, "p3.8xlarge", lifecycle="spot", spot_type="one-time")
    preference = {"CapacityReservationPreference": "none"}
    server.ec2.add(HOME, "p3.8xlarge", extra={"CapacityReservationSpecification": preference})
    list(aws.list(Kind.VM, HOME))
    assert "DescribeCapacityReservations" not in server.operations()


def test_three_hundred_reservations_come_in_pages(aws: AwsConnection, server: AwsServer) -> None:
    for n in range(300):
        reserve(server, f"cr-{n:03}", InstanceMatchCriteria="targeted" if n else "open", AvailableInstanceCount=n)
    assert len(list(aws.list(Kind.RESERVATION, HOME))) == 300
