"""Connections to the strict account on loopback, and resources without any account."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from pydantic import SecretStr

from costguard.domain.resource import Kind, Resource, ResourceRef
from costguard.ports import AccountSpec
from costguard_aws.connection import AwsConnection
from costguard_aws.credentials import AwsCredentials
from costguard_aws.errors import Call
from costguard_aws.instance_types import InstanceType, read_type
from costguard_aws.instances import SpotRequest, read_instance, vm_ref
from tests.fakes.aws.ec2 import Box
from tests.fakes.aws.server import KEY_ID, SECRET, AwsServer
from tests.fakes.aws.types import describe

HOME = "us-east-1"
CALL = Call("prod", "ec2", HOME, "DescribeInstances")
STOP = Call("prod", "ec2", HOME, "StopInstances", mutates=True)


def spec(server: AwsServer, **fields: Any) -> AccountSpec:
    """The account `prod` with static keys, everything at the server."""
    keys = AwsCredentials(access_key_id=KEY_ID, secret_access_key=SecretStr(SECRET))
    known: dict[str, Any] = {"credentials": keys, "endpoint": server.url, "deadline": timedelta(seconds=5), **fields}
    return AccountSpec("prod", **known)


def connect(server: AwsServer, **fields: Any) -> AwsConnection:
    return AwsConnection(spec(server, **fields), server.clock)


def ref(id: str, kind: Kind = Kind.VM, region: str = HOME) -> ResourceRef:
    return ResourceRef("aws", "prod", region, kind, id)


def resource(box: Box, spot: SpotRequest | None = None, kind: InstanceType | None = None, **fields: Any) -> Resource:
    """A box as the adapter reads it, without a call."""
    kind = kind or read_type(describe(box.type))
    read = read_instance(box.described(), vm_ref("prod", box.region, box.id), kind, spot, box.launched)
    return replace(read, **fields)
