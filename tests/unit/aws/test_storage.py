"""Volumes, snapshots, addresses and gateways into resources."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import pytest
from botocore.model import StringShape

from costguard.domain.resource import ChargeType, Ends, Kind, Resource, ResourceRef, State
from costguard.testing.clock import NOON
from costguard_aws.storage import (
    RESERVATION_STATES,
    read_address,
    read_gateway,
    read_reservation,
    read_snapshot,
    read_volume,
)
from tests.fakes.aws.codec import model
from tests.unit.aws.helpers import ref

Read = Callable[[Mapping[str, Any], ResourceRef, datetime], Resource]
ITEMS: list[tuple[Read, Kind, dict[str, Any]]] = [
    (
        read_volume, Kind.DISK,
        {
            "State": "in-use", "VolumeType": "gp3", "Size": 500, "CreateTime": NOON, "AvailabilityZone": "us-east-1a",
            "Iops": 3000, "Throughput": 125, "SnapshotId": "snap-1", "Attachments": [{"InstanceId": "i-1"}],
            "Tags": [{"Key": "Name", "Value": "data"}, {"Key": "aws:createdBy", "Value": "IAMUser:x"}],
            "Operator": {"Managed": True, "Principal": "eks"},
        },
    ),
    (
        read_snapshot, Kind.SNAPSHOT,
        {
            "State": "completed", "VolumeSize": 100, "VolumeId": "vol-1", "StartTime": NOON, "StorageTier": "archive",
            "Description": "before upgrade", "FullSnapshotSizeInBytes": 10**9, "Tags": [],
        },
    ),
    (
        read_address, Kind.ADDRESS,
        {"PublicIp": "203.0.113.7", "InstanceId": "i-1", "AssociationId": "eipassoc-1", "Tags": None},
    ),
    (
        read_gateway, Kind.GATEWAY,
        {"State": "available", "CreateTime": NOON, "VpcId": "vpc-1", "SubnetId": "s-1", "ConnectivityType": "public"},
    ),
    (
        read_reservation, Kind.RESERVATION,
        {
            "State": "active", "ReservationType": "default", "InstanceType": "p5.48xlarge", "CreateDate": NOON,
            "StartDate": NOON, "EndDate": NOON, "AvailabilityZone": "us-east-1a", "InstancePlatform": "Linux/UNIX",
            "Tenancy": "default", "TotalInstanceCount": 4, "AvailableInstanceCount": 0, "InstanceMatchCriteria": "open",
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("read", "kind", "item"), ITEMS)
def test_any_field_may_be_missing(read: Read, kind: Kind, item: dict[str, Any]) -> None:
    """G09: one field at a time, absent and null."""
    assert read(item, ref("x", kind), NOON).state is State.RUNNING
    for field in item:
        for less in ({**item, field: None}, {key: value for key, value in item.items() if key != field}):
            found = read(less, ref("x", kind), NOON)
            assert found.stop_effect is not None
            assert found.stop_effect.compute_billing_ends is Ends.NO
            if field == "State":
                assert found.state is State.UNKNOWN


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("creating", State.PENDING),
        ("available", State.RUNNING),
        ("in-use", State.RUNNING),
        ("deleting", State.DELETING),
        ("deleted", State.GONE),
        ("error", State.UNKNOWN),
    ],
)
def test_states_of_volumes(word: str, state: State) -> None:
    found = read_volume({"State": word}, ref("vol-1", Kind.DISK), NOON)
    assert (found.state, found.raw_state) == (state, word)


@pytest.mark.parametrize(
    ("item", "hangs_on"),
    [
        ({}, None),
        ({"InstanceId": "i-1", "NetworkInterfaceId": "eni-1", "AssociationId": "a-1"}, "i-1"),
        ({"NetworkInterfaceId": "eni-1", "AssociationId": "a-1"}, "eni-1"),
        ({"InstanceId": ""}, None),
    ],
)
def test_an_address_hangs_on_something_or_is_idle(item: dict[str, str], hangs_on: str | None) -> None:
    """B04."""
    assert read_address(item, ref("eipalloc-1", Kind.ADDRESS), NOON).depends_on == hangs_on


def test_facts_of_a_volume() -> None:
    found = read_volume(ITEMS[0][2], ref("vol-1", Kind.DISK), NOON)
    assert (found.name, found.creator, found.protected) == ("data", "IAMUser:x", "managed by eks")
    assert (found.created_at, found.depends_on, found.size_gib) == (NOON, "i-1", 500)
    assert found.attributes["iops"] == "3000"


def test_a_reservation_tells_its_places_and_has_no_price_of_one_instance() -> None:
    """Its instances are priced already: a price by instance type would count them twice."""
    found = read_reservation({**ITEMS[4][2], "CapacityReservationId": "cr-1"}, ref("cr-1", Kind.RESERVATION), NOON)
    assert (found.charge_type, found.sku) == (ChargeType.RESERVED, "capacity-reservation")
    assert (found.started_at, found.expires_at) == (NOON, NOON)
    assert (found.attributes["type"], found.attributes["places"], found.attributes["free_places"]) == (
        "p5.48xlarge", "4", "0",
    )  # fmt: skip
    assert found.stop_effect is not None
    assert found.stop_effect.still_billed == ("reservation",)


def test_a_capacity_block_is_paid_in_advance() -> None:
    item = {**ITEMS[4][2], "ReservationType": "capacity-block", "CapacityBlockId": "cb-1"}
    found = read_reservation(item, ref("cr-1", Kind.RESERVATION), NOON)
    assert (found.charge_type, found.sku, found.attributes["block"]) == (ChargeType.PREPAID, "capacity-block", "cb-1")


def test_every_state_of_a_reservation_in_the_sdks_model_is_known_but_one() -> None:
    """`unavailable` is not explained: unknown, so that nothing is concluded from it."""
    shape = model("ec2").shape_for("CapacityReservationState")
    assert isinstance(shape, StringShape)
    assert set(shape.enum) - RESERVATION_STATES.keys() == {"unavailable"}
