"""One instance of DescribeInstances into a resource."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from costguard.domain.money import Money
from costguard.domain.resource import INSTEAD, UNKNOWN_GPUS, ChargeType, State
from costguard.testing.clock import NOON
from costguard_aws.instance_types import UNSEEN
from costguard_aws.instances import (
    GROUP_TAGS,
    created_at,
    group_of,
    read_instance,
    read_spot_request,
    transition_at,
)
from tests.fakes.aws.ec2 import Box
from tests.unit.aws.helpers import HOME, ref, resource


def box(**fields: Any) -> Box:
    known: dict[str, Any] = {"tags": {}, "created": NOON, "launched": NOON, "state": "running", **fields}
    return Box("i-00000000000000001", HOME, "g4dn.12xlarge", **known)


def test_created_is_the_first_start_and_started_the_last() -> None:
    """A04: LaunchTime restarts at every start; the primary interface stays attached since the first."""
    found = resource(box(created=NOON - timedelta(days=30), launched=NOON))
    assert found.created_at == NOON - timedelta(days=30)
    assert found.started_at == NOON


def test_only_the_primary_interface_tells_the_age() -> None:
    """A second interface may be older than the box or younger."""
    interfaces = [
        {"Attachment": {"DeviceIndex": 1, "AttachTime": NOON - timedelta(days=99)}},
        {"Attachment": {"DeviceIndex": 0, "NetworkCardIndex": 1, "AttachTime": NOON - timedelta(days=98)}},
        {"Attachment": {"DeviceIndex": 0, "AttachTime": NOON}},
        {"Attachment": None},
    ]
    assert created_at({"NetworkInterfaces": interfaces}) == NOON
    assert created_at({"NetworkInterfaces": interfaces[:2]}) is None


@pytest.mark.parametrize(
    ("reason", "at"),
    [
        ("User initiated (2026-11-30 08:15:00 GMT)", datetime(2026, 11, 30, 8, 15, tzinfo=UTC)),
        ("User initiated (2026-11-30 08:15:00 UTC)", datetime(2026, 11, 30, 8, 15, tzinfo=UTC)),
        ("User initiated shutdown", None),
        ("", None),
        (None, None),
    ],
)
def test_the_stamp_of_the_last_transition(reason: str | None, at: datetime | None) -> None:
    assert transition_at({"StateTransitionReason": reason}) == at


def test_stopped_at_is_told_of_stopped_boxes_alone() -> None:
    reason = "User initiated (2026-11-30 08:15:00 GMT)"
    assert resource(box(state="stopped", reason=reason)).stopped_at == datetime(2026, 11, 30, 8, 15, tzinfo=UTC)
    assert resource(box(state="running", reason=reason)).stopped_at is None


@pytest.mark.parametrize(
    ("lifecycle", "charge"),
    [
        (None, ChargeType.ON_DEMAND),
        ("spot", ChargeType.SPOT),
        ("scheduled", ChargeType.RESERVED),
        ("capacity-block", ChargeType.RESERVED),
        ("interruptible-capacity-reservation", ChargeType.UNKNOWN),
        ("lifecycle-of-2027", ChargeType.UNKNOWN),
    ],
)
def test_a_lifecycle_that_nobody_knows_is_no_on_demand(lifecycle: str | None, charge: ChargeType) -> None:
    assert resource(box(lifecycle=lifecycle)).charge_type is charge


@pytest.mark.parametrize(
    ("tags", "group"),
    [
        ({}, None),
        ({"Name": "a", "team": "x"}, None),
        ({"aws:autoscaling:groupName": "workers"}, "aws:autoscaling:groupName=workers"),
        (
            {"eks:cluster-name": "prod", "aws:autoscaling:groupName": "ng-1"},
            "aws:autoscaling:groupName=ng-1",
        ),
        ({"eks:cluster-name": "prod"}, "eks:cluster-name=prod"),
        ({"kubernetes.io/cluster/prod": "owned"}, "kubernetes.io/cluster/prod"),
        ({"AmazonECSManaged": ""}, "AmazonECSManaged"),
        ({"AWSBatchServiceTag": "batch"}, "AWSBatchServiceTag=batch"),
        ({"parallelcluster:cluster-name": "hpc"}, "parallelcluster:cluster-name=hpc"),
    ],
)
def test_the_tags_of_groups(tags: dict[str, str], group: str | None) -> None:
    """C04."""
    assert group_of(tags) == group


@pytest.mark.parametrize("key", [*GROUP_TAGS, "kubernetes.io/cluster/prod"])
def test_each_sort_of_group_says_what_to_do_instead(key: str) -> None:
    """C04: a stop is never the answer, so something else has to be."""
    found = resource(box(tags={key: "x"}))
    assert found.group is not None
    assert len(found.attributes[INSTEAD]) > 20


def test_a_member_of_a_scaling_group_comes_with_the_command() -> None:
    found = resource(box(tags={"aws:autoscaling:groupName": "workers"}))
    assert found.attributes[INSTEAD].endswith(
        "terminate-instance-in-auto-scaling-group --region us-east-1 --instance-id i-00000000000000001 "
        "--should-decrement-desired-capacity"
    )
    assert INSTEAD not in resource(box()).attributes


def test_an_operator_protects() -> None:
    found = resource(box(extra={"Operator": {"Managed": True, "Principal": "eks.amazonaws.com"}}))
    assert found.protected == "managed by eks.amazonaws.com"
    assert resource(box(extra={"Operator": {"Managed": False}})).protected is None


def test_cores_that_were_switched_off_do_not_count() -> None:
    assert resource(box()).vcpus == 48
    assert resource(box(extra={"CpuOptions": {"CoreCount": 24, "ThreadsPerCore": 1}})).vcpus == 24


@pytest.mark.parametrize(
    ("association", "expected"),
    [({"IpOwnerId": "amazon"}, "ephemeral"), ({"IpOwnerId": "123456789012"}, "elastic"), (None, None)],
)
def test_a_public_ip_is_elastic_or_lost(association: dict[str, str] | None, expected: str | None) -> None:
    interface = {"Attachment": {"DeviceIndex": 0, "AttachTime": NOON}, "Association": association}
    found = resource(box(extra={"NetworkInterfaces": [interface]}))
    assert found.attributes.get("public_ip") == expected


def test_the_addresses_and_names_by_which_a_metric_may_call_it() -> None:
    interfaces = [
        {"Attachment": {"DeviceIndex": n, "AttachTime": NOON}, "PrivateIpAddresses": [{"PrivateIpAddress": ip}]}
        for n, ip in enumerate(("10.0.0.5", "10.0.9.5"))
    ]
    named = {"PrivateIpAddress": "10.0.0.5", "PrivateDnsName": "ip-10-0-0-5.ec2.internal"}
    facts = resource(box(extra={**named, "NetworkInterfaces": interfaces})).attributes
    assert facts["private_ip"] == "10.0.0.5,10.0.9.5"
    assert facts["hostname"] == "ip-10-0-0-5.ec2.internal,ip-10-0-0-5"
    assert not {"private_ip", "hostname"} & resource(box()).attributes.keys()


@pytest.mark.parametrize(
    ("text", "cap"), [("1.250000", Money.of("1.25", "USD")), ("0", None), ("", None), (None, None), ("nan", None)]
)
def test_a_spot_cap_of_zero_is_unknown(text: str | None, cap: Money | None) -> None:
    """H01."""
    assert read_spot_request({"SpotPrice": text}, "USD").max_price == cap


def test_tags_that_are_absent_are_none_set_and_not_unreadable() -> None:
    assert resource(box(extra={"Tags": None})).tags == {}


@pytest.mark.parametrize("field", box(spot_type="persistent", lifecycle="spot", reason_code="x").described())
def test_any_field_may_be_missing(field: str) -> None:
    """G09, C19: one field at a time, absent and null; unknown is said and never guessed."""
    whole = box(spot_type="persistent", lifecycle="spot", reason_code="x").described()
    for item in ({**whole, field: None}, {key: value for key, value in whole.items() if key != field}):
        found = read_instance(item, ref("i-00000000000000001"), UNSEEN, None, NOON)
        assert found.stop_effect is not None
        assert found.gpus == UNKNOWN_GPUS
        if field == "State":
            assert found.state is State.UNKNOWN
        if field == "LaunchTime":
            assert found.started_at is None
        if field == "NetworkInterfaces":
            assert found.created_at is None
