"""Connections to the strict account on loopback, and resources without any account."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from pydantic import SecretStr

from costguard.domain.resource import Kind, Resource, ResourceRef
from costguard.ports import AccountSpec
from costguard.testing.clock import NOON
from costguard_tencent.client import Api
from costguard_tencent.connection import TencentConnection
from costguard_tencent.credentials import TencentCredentials
from costguard_tencent.errors import Call
from costguard_tencent.instances import Beside, read_instance, vm_ref
from tests.fakes.tencent.box import Box
from tests.fakes.tencent.server import SECRET_ID, SECRET_KEY, TencentServer

HOME = "ap-beijing"
EIGHT = "GN10Xp.20XLARGE320"
CPU = "S5.LARGE8"
CALL = Call("prod", "cvm", HOME, "DescribeInstances")
STOP = Call("prod", "cvm", HOME, "StopInstances", mutates=True)


def keys(**fields: Any) -> TencentCredentials:
    known: dict[str, Any] = {"secret_id": SECRET_ID, "secret_key": SecretStr(SECRET_KEY), **fields}
    return TencentCredentials(**known)


def spec(server: TencentServer, **fields: Any) -> AccountSpec:
    """The account `prod` with a key, everything at the server."""
    known = {"credentials": keys(), "endpoint": server.url, "deadline": timedelta(seconds=5), **fields}
    return AccountSpec("prod", **known)


def connect(server: TencentServer, **fields: Any) -> TencentConnection:
    return TencentConnection(spec(server, **fields), server.clock)


def api(server: TencentServer, **fields: Any) -> Api:
    return Api(spec(server, **fields), server.clock)


def ref(id: str, kind: Kind = Kind.VM, region: str = HOME) -> ResourceRef:
    return ResourceRef("tencent", "prod", region, kind, id)


def box(**fields: Any) -> Box:
    """An instance without a server."""
    known = {
        "id": "ins-00000001", "region": HOME, "zone": f"{HOME}-3", "type": EIGHT, "state": "RUNNING", "tags": {},
        "created": NOON - timedelta(days=9), **fields,
    }  # fmt: skip
    return Box(**known)


def resource(of: Box, beside: Beside | None = None, **fields: Any) -> Resource:
    """A box as the adapter reads it, without a call."""
    read = read_instance(of.described(), vm_ref("prod", of.region, of.id), beside or Beside(), NOON)
    return replace(read, **fields)
