"""Which instance takes a place in which reservation."""

from typing import Any

import pytest

from costguard_aws.capacity import may_be_open, runs_in

ITEM: dict[str, Any] = {
    "InstanceId": "i-1",
    "InstanceType": "p5.48xlarge",
    "State": {"Name": "running"},
    "PlatformDetails": "Linux/UNIX",
    "Placement": {"AvailabilityZone": "us-east-1a", "Tenancy": "default", "GroupName": "ring"},
}
OPEN: dict[str, Any] = {
    "CapacityReservationId": "cr-1",
    "State": "active",
    "InstanceMatchCriteria": "open",
    "ReservationType": "default",
    "InstanceType": "p5.48xlarge",
    "InstancePlatform": "Linux/UNIX",
    "AvailabilityZone": "us-east-1a",
    "Tenancy": "default",
    "AvailableInstanceCount": 1,
}


def test_an_open_reservation_takes_what_has_its_attributes() -> None:
    """C06."""
    assert runs_in(ITEM, [OPEN]) == "cr-1"
    assert runs_in(ITEM, []) is None


@pytest.mark.parametrize(
    "change",
    [
        {"State": "pending"},
        {"State": "expired"},
        {"InstanceMatchCriteria": "targeted"},
        {"ReservationType": "capacity-block"},
        {"InstanceType": "p5e.48xlarge"},
        {"InstancePlatform": "Windows"},
        {"AvailabilityZone": "us-east-1b"},
        {"Tenancy": "dedicated"},
        {"AvailableInstanceCount": 0},
        {"AvailableInstanceCount": None},
        {"OutpostArn": "arn:aws:outposts:us-east-1:123456789012:outpost/op-1"},
        {"PlacementGroupArn": "arn:aws:ec2:us-east-1:123456789012:placement-group/other"},
        {"CapacityReservationId": None},
    ],
)
def test_another_reservation_does_not(change: dict[str, Any]) -> None:
    assert runs_in(ITEM, [{**OPEN, **change}]) is None


def test_one_of_its_placement_group_does() -> None:
    arn = "arn:aws:ec2:us-east-1:123456789012:placement-group/ring"
    assert runs_in(ITEM, [{**OPEN, "PlacementGroupArn": arn}]) == "cr-1"


def test_what_ec2_does_not_tell_counts_as_matching() -> None:
    """A stop that saves nothing is the worse mistake."""
    assert runs_in({**ITEM, "Placement": None, "PlatformDetails": None}, [OPEN]) == "cr-1"


@pytest.mark.parametrize(
    "change",
    [
        {"State": {"Name": "stopped"}},
        {"State": None},
        {"InstanceLifecycle": "spot"},
        {"CapacityReservationSpecification": {"CapacityReservationPreference": "none"}},
        {"CapacityReservationSpecification": {"CapacityReservationPreference": "capacity-reservations-only"}},
    ],
)
def test_an_instance_that_is_not_taken(change: dict[str, Any]) -> None:
    assert not may_be_open({**ITEM, **change})
    assert runs_in({**ITEM, **change}, [OPEN]) is None


@pytest.mark.parametrize(
    ("change", "id"),
    [
        ({"CapacityReservationId": "cr-9"}, "cr-9"),
        ({"CapacityReservationId": "cr-9", "CapacityBlockId": "cb-1", "InstanceLifecycle": "capacity-block"}, "cb-1"),
    ],
)
def test_what_ec2_names_counts(change: dict[str, Any], id: str) -> None:
    assert runs_in({**ITEM, **change}, [OPEN]) == id
