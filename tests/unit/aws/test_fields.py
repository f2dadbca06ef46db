"""The cheap reading of DescribeInstances against the SDK's own, of the same bytes."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.model import ListShape, Shape, StructureShape
from botocore.parsers import ResponseParserError, create_parser

from costguard.domain.resource import Kind
from costguard.errors import BadResponse
from costguard_aws.capacity import runs_in
from costguard_aws.connection import AwsConnection
from costguard_aws.fields import INSTANCE, OPERATION
from costguard_aws.instance_types import UNSEEN
from costguard_aws.instances import read_instance
from tests.fakes.aws.codec import encode, model
from tests.fakes.aws.server import AwsServer
from tests.fakes.server import Answer
from tests.unit.aws.helpers import HOME, ref

SHAPE = model("ec2").operation_model(OPERATION).output_shape
AT = datetime(2026, 3, 1, 8, 15, tzinfo=UTC)
HEAD = b'<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'


def filled(shape: Shape, path: str = "") -> Any:
    """Every member of the model with a value of its own, so that whatever is read of an instance is there."""
    if isinstance(shape, StructureShape):
        return {key: filled(member, f"{path}.{key}") for key, member in shape.members.items()}
    if isinstance(shape, ListShape):
        return [filled(shape.member, path)]
    scalars = {"boolean": True, "integer": 1, "long": 1, "double": 1.5, "float": 1.5, "timestamp": AT}
    return scalars.get(shape.type_name, f"{path} & <{shape.name}>")


def instance(**fields: Any) -> dict[str, Any]:
    assert isinstance(SHAPE, StructureShape)
    found: dict[str, Any] = filled(SHAPE)["Reservations"][0]["Instances"][0]
    return {key: value for key, value in (found | fields).items() if value is not None}


def whole() -> dict[str, Any]:
    """Instances of every sort that is told apart, each with every member of the model."""
    first, second = ({"DeviceIndex": 0, "NetworkCardIndex": card, "AttachTime": AT} for card in (0, 1))
    interfaces = [{"Attachment": first}, {"Attachment": {**second, "AttachTime": AT - timedelta(days=9)}}]
    free = {"CapacityBlockId": None, "CapacityReservationId": None, "State": {"Name": "running"}}
    boxes = [
        instance(),
        instance(CapacityBlockId=None),
        instance(State={"Name": "stopped"}, StateTransitionReason="User initiated (2026-03-01 08:15:00 GMT)"),
        instance(NetworkInterfaces=interfaces),
        instance(**free, InstanceLifecycle=None, CapacityReservationSpecification=wish("open")),
        instance(**free, InstanceLifecycle=None, CapacityReservationSpecification=wish("none")),
        instance(**free, InstanceLifecycle="spot", Tags=[], NetworkInterfaces=[]),
        {"InstanceId": "i-1"},
    ]
    return {"Reservations": [{"Instances": boxes}, {"Instances": []}, {"ReservationId": "r-2"}], "NextToken": "more"}


def wish(preference: str) -> dict[str, str]:
    return {"CapacityReservationPreference": preference}


def body(answer: Mapping[str, Any], *, namespace: bool = True) -> bytes:
    said = encode("ec2", OPERATION, answer).body
    return said.replace(b"<DescribeInstancesResponse>", HEAD) if namespace else said


def as_sdk(said: bytes) -> dict[str, Any]:
    """What the SDK's own parser makes of it."""
    answer = {"status_code": 200, "headers": {}, "body": said}
    parsed: dict[str, Any] = create_parser("ec2").parse(answer, SHAPE)
    return parsed


def as_read(server: AwsServer, aws: AwsConnection, said: bytes) -> Mapping[str, Any]:
    """What a client of ours makes of it."""
    server.answer_next(Answer(200, said, {"Content-Type": "text/xml"}))
    return aws.api.read("ec2", HOME, OPERATION)


def items(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [item for reservation in answer["Reservations"] for item in reservation.get("Instances") or ()]


def only(value: Any, paths: list[list[str]]) -> Any:
    """The value with only what some path leads to."""
    if isinstance(value, list):
        return [only(item, paths) for item in value]
    if not isinstance(value, dict):
        return value
    below: dict[str, list[list[str]]] = {}
    for first, *rest in (path for path in paths if path):
        below.setdefault(first, []).append(rest)
    return {name: only(value[name], below[name]) for name in value if name in below}


@pytest.mark.parametrize("namespace", [True, False])
def test_what_is_read_is_what_the_sdk_reads(server: AwsServer, aws: AwsConnection, namespace: bool) -> None:
    said = body(whole(), namespace=namespace)
    read = as_read(server, aws, said)
    assert read["NextToken"] == "more"
    assert items(read) == only(items(as_sdk(said)), [path.split(".") for path in INSTANCE])


def test_nothing_that_is_used_is_missing(server: AwsServer, aws: AwsConnection) -> None:
    """Whoever reads another field of an instance must name it in INSTANCE: all that is made of it is compared."""
    said = body(whole())
    read, told = items(as_read(server, aws, said)), items(as_sdk(said))
    # One that would take the box for each fact that it is compared by, and one that would take any.
    free = {"State": "active", "InstanceMatchCriteria": "open", "AvailableInstanceCount": 1}
    box = instance()
    here, place = {**free, "OutpostArn": box["OutpostArn"]}, box["Placement"]
    reservations = [
        {**here, "InstanceType": box["InstanceType"]},
        {**here, "AvailabilityZone": place["AvailabilityZone"]},
        {**here, "InstancePlatform": box["PlatformDetails"]},
        {**here, "Tenancy": place["Tenancy"]},
        {**here, "PlacementGroupArn": f"arn:aws:ec2:us-east-1:1:placement-group/{place['GroupName']}"},
        free,
    ]
    for number, one in enumerate(reservations):
        one["CapacityReservationId"] = f"cr-{number}"
    for mine, theirs in zip(read, told, strict=True):
        id = ref(theirs["InstanceId"])
        for hibernate in (False, True):
            assert read_instance(mine, id, UNSEEN, None, AT, reservations, hibernate=hibernate) == read_instance(
                theirs, id, UNSEEN, None, AT, reservations, hibernate=hibernate
            )
        assert [runs_in(mine, [one]) for one in reservations] == [runs_in(theirs, [one]) for one in reservations]


@pytest.mark.parametrize(
    "text", ["2026-03-01T08:15:00.000Z", "2026-03-01T08:15:00Z", "1772352900", "2026-03-01 08:15 UTC"]
)
def test_times_in_every_form_that_the_sdk_takes(server: AwsServer, aws: AwsConnection, text: str) -> None:
    said = body({"Reservations": [{"Instances": [{"InstanceId": "i-1", "LaunchTime": AT}]}]})
    read = as_read(server, aws, said.replace(b"2026-03-01T08:15:00.000Z", text.encode()))
    assert items(read)[0]["LaunchTime"] == AT


@pytest.mark.parametrize(
    "said",
    [
        b"", b"<html><body>Sign in to the hotel's network", b'{"Reservations": []}', HEAD + b"<reservationSet><item>",
        HEAD + b"<reservationSet><item><instancesSet><item><cpuOptions><coreCount>two</coreCount></cpuOptions></item>"
        b"</instancesSet></item></reservationSet></DescribeInstancesResponse>",
        HEAD + b"<reservationSet><item><instancesSet><item><launchTime>soon</launchTime></item>"
        b"</instancesSet></item></reservationSet></DescribeInstancesResponse>",
    ],
)  # fmt: skip
def test_what_the_sdk_cannot_read_is_a_bad_response(server: AwsServer, aws: AwsConnection, said: bytes) -> None:
    with pytest.raises((ResponseParserError, ValueError)):
        as_sdk(said)
    with pytest.raises(BadResponse):
        as_read(server, aws, said)


@pytest.mark.parametrize("said", [b"<html><body>down</body></html>", HEAD + b"</DescribeInstancesResponse>"])
def test_xml_of_another_kind_is_no_empty_account(server: AwsServer, aws: AwsConnection, said: bytes) -> None:
    read = as_read(server, aws, said)
    assert "Reservations" not in read
    assert "Reservations" not in as_sdk(said)
    list(aws.list(Kind.VM, HOME))  # the region is known from here on, so that the next call is the listing
    server.answer_next(Answer(200, said, {}))
    with pytest.raises(BadResponse, match="Reservations"):
        list(aws.list(Kind.VM, HOME))
