"""Connections to the strict account on loopback, and resources without any account."""

import json
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from pydantic import SecretStr

from costguard.domain.resource import Kind, Resource, ResourceRef
from costguard.ports import AccountSpec
from costguard.testing.clock import NOON
from costguard_aliyun.client import Api
from costguard_aliyun.connection import AliyunConnection
from costguard_aliyun.credentials import AliyunCredentials
from costguard_aliyun.errors import Call
from costguard_aliyun.instance_types import read_type
from costguard_aliyun.instances import read_instance, vm_ref
from tests.fakes.aliyun.box import Box
from tests.fakes.aliyun.server import KEY_ID, SECRET, AliyunServer
from tests.fakes.aliyun.types import TYPES, describe

HOME = "cn-beijing"
CALL = Call("prod", "ecs", HOME, "DescribeInstances")
STOP = Call("prod", "ecs", HOME, "StopInstance", mutates=True)


def keys(**fields: Any) -> AliyunCredentials:
    known: dict[str, Any] = {"access_key_id": KEY_ID, "access_key_secret": SecretStr(SECRET), **fields}
    return AliyunCredentials(**known)


def spec(server: AliyunServer, **fields: Any) -> AccountSpec:
    """The account `prod` with a key, everything at the server."""
    known = {"credentials": keys(), "endpoint": server.url, "deadline": timedelta(seconds=5), **fields}
    return AccountSpec("prod", **known)


def connect(server: AliyunServer, **fields: Any) -> AliyunConnection:
    return AliyunConnection(spec(server, **fields), server.clock)


def api(server: AliyunServer, **fields: Any) -> Api:
    return Api(spec(server, **fields), server.clock)


def ref(id: str, kind: Kind = Kind.VM, region: str = HOME) -> ResourceRef:
    return ResourceRef("aliyun", "prod", region, kind, id)


def box(**fields: Any) -> Box:
    """An instance without a server."""
    known = {
        "id": "i-bp1", "region": HOME, "type": "ecs.gn6i-c48g1.12xlarge", "state": "Running", "tags": {},
        "created": NOON - timedelta(days=9), "started": NOON - timedelta(hours=5), **fields,
    }  # fmt: skip
    return Box(**known)


def resource(of: Box, **fields: Any) -> Resource:
    """A box as the adapter reads it, without a call."""
    told = json.loads(json.dumps(of.described()), parse_float=Decimal)
    kind = read_type(describe(of.type)) if of.type in TYPES else None
    return replace(read_instance(told, vm_ref("prod", of.region, of.id), kind, "CNY", NOON), **fields)
