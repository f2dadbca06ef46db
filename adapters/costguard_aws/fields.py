"""DescribeInstances at a fraction of its cost: only the fields that are used are read, as the SDK's own model has them.

An instance comes as some 150 elements, and the SDK's parser visits them all, and every member of the model beside, in
Python: that was most of the CPU of a listing. Transport, signatures, errors and whatever is no good answer stay the
SDK's.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLParser

from botocore.client import BaseClient
from botocore.model import ListShape, Shape, StructureShape
from botocore.utils import parse_timestamp

OPERATION = "DescribeInstances"

# What instances.py, capacity.py, history.py and power.py read of an instance.
INSTANCE = (
    "CapacityBlockId",
    "CapacityReservationId",
    "CapacityReservationSpecification.CapacityReservationPreference",
    "CpuOptions.CoreCount",
    "CpuOptions.ThreadsPerCore",
    "HibernationOptions.Configured",
    "IamInstanceProfile.Arn",
    "ImageId",
    "InstanceId",
    "InstanceLifecycle",
    "InstanceType",
    "LaunchTime",
    "NetworkInterfaces.Association.IpOwnerId",
    "NetworkInterfaces.Attachment.AttachTime",
    "NetworkInterfaces.Attachment.DeviceIndex",
    "NetworkInterfaces.Attachment.NetworkCardIndex",
    "NetworkInterfaces.PrivateIpAddresses.PrivateIpAddress",
    "Operator.Managed",
    "Operator.Principal",
    "OutpostArn",
    "Placement.AvailabilityZone",
    "Placement.GroupName",
    "Placement.Tenancy",
    "PlatformDetails",
    "PrivateDnsName",
    "PrivateIpAddress",
    "PublicIpAddress",
    "RootDeviceType",
    "SpotInstanceRequestId",
    "State.Name",
    "StateReason.Code",
    "StateTransitionReason",
    "Tags.Key",
    "Tags.Value",
)
_ANSWER = ("NextToken", *(f"Reservations.Instances.{field}" for field in INSTANCE))

# Stands for a body that has been read already; the SDK finds nothing in it.
_READ = b"<DescribeInstancesResponse/>"

Read = Callable[[Element], Any]
Wanted = Mapping[str, "Wanted"]


def read_only_these(client: BaseClient) -> None:
    """Makes an EC2 client answer DescribeInstances with these fields alone."""
    client.meta.events.register(f"before-parse.ec2.{OPERATION}", _parse)


def _parse(
    operation_model: Any, response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    if response_dict["status_code"] != 200:
        return
    parser = XMLParser(encoding="utf-8")  # noqa: S314 - the same parser, from the same sender, as the SDK's own
    try:
        parser.feed(response_dict["body"])
        root = parser.close()
    except ParseError:
        return  # the SDK's parser will say so in its own words
    namespace = root.tag[: root.tag.rfind("}") + 1]
    customized_response_dict.update(_reader_of(operation_model.output_shape, namespace)(root))
    response_dict["body"] = _READ


@cache
def _reader_of(shape: StructureShape, namespace: str) -> Read:
    return _reader(shape, _tree(_ANSWER), namespace)


def _tree(paths: Iterable[str]) -> Wanted:
    root: dict[str, Any] = {}
    for path in paths:
        node = root
        for name in path.split("."):
            node = node.setdefault(name, {})
    return root


def _reader(shape: Shape, wanted: Wanted, namespace: str) -> Read:
    """How an element of this shape becomes what the SDK makes of it, less what is not wanted."""
    if isinstance(shape, StructureShape):
        return _structure(
            {
                namespace + shape.members[name].serialization.get("name", name): (
                    name, _reader(shape.members[name], below, namespace),
                )
                for name, below in wanted.items()
            }
        )  # fmt: skip
    if isinstance(shape, ListShape):
        item = _reader(shape.member, wanted, namespace)
        return lambda node: [item(child) for child in node]
    return _SCALARS[shape.type_name]


def _structure(members: Mapping[str, tuple[str, Read]]) -> Read:
    def read(node: Element) -> dict[str, Any]:
        found = {}
        for child in node:
            member = members.get(child.tag)
            if member is not None:
                name, value = member
                found[name] = value(child)
        return found

    return read


def _text(node: Element) -> str:
    return node.text or ""


def _time(node: Element) -> datetime:
    text = node.text or ""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return parse_timestamp(text)


_SCALARS: Mapping[str, Read] = {
    "boolean": lambda node: node.text == "true",
    "integer": lambda node: int(node.text or ""),
    "string": _text,
    "timestamp": _time,
}
