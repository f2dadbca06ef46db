"""The RPC wire: flat parameters in, JSON or XML out, refusals with the codes and statuses that are published.

An operation is a method whose keyword parameters are the API's own, so that what it does not declare is refused.
"""

import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from xml.sax.saxutils import escape

from costguard.testing.cloud import Fault
from tests.fakes.server import Answer

REQUEST_ID = "473469C7-AA6F-4DC5-B3DB-A3DC0DE3C83E"
HOST = "ecs.aliyuncs.com"

# A list or object sent as JSON text in one parameter.
Json = Annotated[Any, "json"]

# code → HTTP status, as the products' error tables have them.
STATUSES: Mapping[str, int] = {
    "Throttling": 400, "Throttling.User": 400, "Throttling.Api": 400,
    "ServiceUnavailable": 503, "InternalError": 500,
    "SignatureDoesNotMatch": 400, "IncompleteSignature": 400, "SignatureNonceUsed": 400,
    "InvalidTimeStamp.Format": 400, "InvalidTimeStamp.Expired": 400,
    "InvalidAccessKeyId.NotFound": 404, "InvalidAccessKeyId.Inactive": 400, "InvalidSecurityToken.Expired": 400,
    "Forbidden.RAM": 403, "NoPermission": 403, "NotAuthorized": 400,
    "IncorrectInstanceStatus": 403, "IncorrectInstanceStatus.Initializing": 403, "InvalidInstanceId.NotFound": 404,
    "ChargeTypeViolation": 403, "InvalidOperation.DeletionProtection": 403,
    "InstanceLockedForSecurity": 403, "InstanceExpiredOrInArrears": 403, "InvalidInstanceId.NotSupport": 403,
    "OperationDenied.NoStock": 403,
    "InvalidAutoReleaseTime.Malformed": 400, "DryRunOperation": 400, "DRYRUN.SUCCESS": 400,
    "InvalidStatus.NotFound": 404, "InvalidInstanceChargeType.NotFound": 404, "InvalidRegionId.NotFound": 404,
    "InvalidParameter": 400, "MissingParameter": 400, "UnsupportedParameter": 400,
    "InvalidInstance.NotFound": 404, "InvalidInstance.NotMatch": 403, "InvalidCmdType.NotFound": 403,
    "InvalidTagKey.Malformed": 400, "NumberExceed.Tags": 400, "Duplicate.TagKey": 400,
    "InvalidResourceId.NotFound": 404, "IdempotentParameterMismatch": 400,
    "InvalidInstanceIds.Malformed": 400, "InvalidInstanceType.ValueNotSupported": 400,
    "InvalidAction.NotFound": 404, "InvalidVersion": 400,
    "InvalidDiskId.NotFound": 404, "IncorrectDiskStatus": 403, "InvalidSnapshotId.NotFound": 404,
    "InvalidAllocationId.NotFound": 404, "IncorrectEipStatus": 400,
}  # fmt: skip


class Refused(Exception):
    """An error answer. ``soft``: the products that say HTTP 200 and ``"Success": false``."""

    def __init__(self, code: str, status: int | None = None, message: str = "", soft: bool = False, **extra: Any):
        super().__init__(code)
        self.code, self.message, self.soft, self.extra = (
            code,
            message or f"The specified call failed: {code}.",
            soft,
            extra,
        )
        self.status = 200 if soft else (status or STATUSES[code])


@dataclass(frozen=True)
class Context:
    """Where and how an operation was called."""

    region: str
    action: str
    paging: Fault | None = None


def read_time(text: str) -> datetime:
    """``yyyy-MM-ddTHH:mm:ssZ`` or without seconds. Raises ValueError."""
    form = "%Y-%m-%dT%H:%M:%SZ" if text.count(":") == 2 else "%Y-%m-%dT%H:%MZ"
    return datetime.strptime(text, form).replace(tzinfo=UTC)


def to_seconds(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def to_minutes(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%MZ}"


def unflatten(flat: Mapping[str, str]) -> dict[str, Any]:
    """``A.1.B`` → ``{"A": [{"B": …}]}``, ``A.B`` → ``{"A": {"B": …}}``. Lists have no holes."""
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *parents, leaf = name.split(".")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
            if not isinstance(node, dict):
                raise Refused("InvalidParameter", message=f"{name} is a value and a list.")
        node[leaf] = value
    return {name: _gather(name, value) for name, value in tree.items()}


def _gather(name: str, node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    members = {key: _gather(name, value) for key, value in node.items()}
    if not all(key.isdigit() for key in members):
        return members
    if set(members) != {str(n + 1) for n in range(len(members))}:
        raise Refused("InvalidParameter", message=f"The list {name} is not numbered from 1.")
    return [members[str(n + 1)] for n in range(len(members))]


def bind(handler: Callable[..., Any], flat: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of ``handler``. Raises Refused for what it does not know, lacks, or cannot read."""
    known = inspect.signature(handler).parameters
    declared = {name: p for name, p in known.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
    arguments: dict[str, Any] = {}
    for name, value in unflatten(flat).items():
        if name not in declared:
            raise Refused("UnsupportedParameter", message=f"The parameter {name} is not supported.")
        try:
            arguments[name] = _convert(declared[name].annotation, value)
        except (ValueError, TypeError):
            raise Refused("InvalidParameter", message=f"The parameter {name} is not valid.") from None
    for name, parameter in declared.items():
        if parameter.default is inspect.Parameter.empty and arguments.get(name) in (None, "", []):
            raise Refused(f"Missing{name}", 400, f"{name} is mandatory for this action.")
    return arguments


def _convert(wanted: Any, value: Any) -> Any:
    if typing.get_origin(wanted) in (types.UnionType, typing.Union):
        wanted = next(part for part in typing.get_args(wanted) if part is not types.NoneType)
    if wanted is Json:
        return json.loads(value)
    if wanted is bool:
        return (
            {"true": True, "false": False}[_text(value).lower()] if _text(value).lower() in ("true", "false") else _no()
        )
    if wanted is datetime:
        return read_time(_text(value))
    if wanted in (int, float, str):
        return wanted(_text(value))
    if typing.get_origin(wanted) in (Sequence, list) and not isinstance(value, list):
        return _no()
    if typing.get_origin(wanted) is Mapping and not isinstance(value, dict):
        return _no()
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(_no())


def _no() -> Any:
    raise ValueError


def answer(action: str, form: str, body: Mapping[str, Any]) -> Answer:
    """XML unless JSON is asked for, as the gateway does."""
    return _write(f"{action}Response", form, 200, {"RequestId": REQUEST_ID, **body})


def answer_error(form: str, error: Refused) -> Answer:
    body: dict[str, Any] = {"RequestId": REQUEST_ID, "Code": error.code, "Message": error.message}
    if error.soft:
        return _write("Error", form, 200, {**body, "Success": False, **error.extra})
    recommend = f"https://api.aliyun.com/troubleshoot?q={error.code}"
    return _write("Error", form, error.status, {**body, "HostId": HOST, "Recommend": recommend, **error.extra})


def _write(root: str, form: str, status: int, body: Mapping[str, Any]) -> Answer:
    if form.upper() == "JSON":
        return Answer(
            status, json.dumps(body, ensure_ascii=False).encode(), {"Content-Type": "application/json;charset=utf-8"}
        )
    text = f"<?xml version='1.0' encoding='UTF-8'?><{root}>{_xml(body)}</{root}>"
    return Answer(status, text.encode(), {"Content-Type": "text/xml;charset=utf-8"})


def _xml(body: Mapping[str, Any]) -> str:
    parts = []
    for name, value in body.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Mapping):
                inner = _xml(item)
            else:
                inner = escape(str(item).lower() if isinstance(item, bool) else str(item))
            parts.append(f"<{name}>{inner}</{name}>")
    return "".join(parts)


def by_token(
    items: Sequence[Any], token: str, size: int, fault: Fault | None = None, short: int | None = None
) -> tuple[list[Any], str]:
    """One page and the token of the next, ``""`` at the end. ``short``: pages hold at most so many."""
    if token and not (token.startswith("AAAAA") and token[5:].isdigit()):
        raise Refused("InvalidParameter", message="The specified NextToken is invalid.")
    size = min(size, short or size)
    start = int(token[5:]) if token else 0
    if fault is Fault.REPEATED_TOKEN:
        return list(items[:size]), f"AAAAA{size}"
    end = start + size
    first = max(0, start - 1) if fault is Fault.DUPLICATED_ITEM else start
    return list(items[first:end]), f"AAAAA{end}" if end < len(items) else ""


def by_number(items: Sequence[Any], number: int, size: int, most: int) -> list[Any]:
    """One page of the older sort; a size beyond ``most`` is refused."""
    if not (1 <= size <= most and number >= 1):
        raise Refused("InvalidParameter", message="PageNumber or PageSize is out of range.")
    return list(items[(number - 1) * size : number * size])
