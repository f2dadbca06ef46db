"""API 3.0's wire: JSON in, JSON out, errors inside HTTP 200 with the codes that are published.

An operation is a method whose keyword parameters are the API's own, so that what it does not declare is refused.
"""

import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypedDict

from costguard.testing.cloud import Fault
from tests.fakes.server import Answer

BEIJING = timezone(timedelta(hours=8))


class Filter(TypedDict):
    Name: str
    Values: list[str]


class Refused(Exception):
    """An error answer: HTTP 200, ``Response.Error``."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(code)
        self.code, self.message = code, message or f"The request was refused: {code}."


@dataclass(frozen=True)
class Context:
    """Where and how an operation was called. ``pretends``: answer well and change nothing."""

    region: str
    action: str
    request_id: str
    paging: Fault | None = None
    pretends: bool = False


def to_z(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def to_beijing(at: datetime) -> str:
    """``YYYY-MM-DD hh:mm:ss`` of UTC+8 and no word of it."""
    return f"{at.astimezone(BEIJING):%Y-%m-%d %H:%M:%S}"


def read_z(text: str) -> datetime:
    """``YYYY-MM-DDThh:mm:ssZ``. Raises ValueError."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def read_zoned(text: str) -> datetime:
    """ISO 8601 with seconds and a zone. Raises ValueError."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)", text):
        raise ValueError(text)
    return datetime.fromisoformat(text).astimezone(UTC)


def answer(request_id: str, body: Mapping[str, Any], content_type: str) -> Answer:
    text = json.dumps({"Response": {**body, "RequestId": request_id}}, ensure_ascii=False)
    return Answer(200, text.encode(), {"Content-Type": content_type})


def answer_error(request_id: str, error: Refused, content_type: str) -> Answer:
    return answer(request_id, {"Error": {"Code": error.code, "Message": error.message}}, content_type)


def read_body(body: bytes) -> dict[str, Any]:
    """Raises Refused unless it is one JSON object."""
    try:
        given = json.loads(body or b"{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise Refused("InvalidParameter", "The request body is not a JSON object.")
    return given


def bind(handler: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of ``handler``. Raises Refused for what it does not know, lacks, or has of another type."""
    parameters = inspect.signature(handler).parameters
    declared = {name: p for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
    for name, value in given.items():
        if name not in declared:
            raise Refused("UnknownParameter", f"The parameter `{name}` is not recognized.")
        _check(declared[name].annotation, value, name)
    for name, parameter in declared.items():
        if parameter.default is inspect.Parameter.empty and given.get(name) in (None, []):
            raise Refused("MissingParameter", f"The request is missing a required parameter `{name}`.")
    return dict(given)


def _check(wanted: Any, value: Any, path: str) -> None:
    if typing.get_origin(wanted) in (types.UnionType, typing.Union):
        wanted = next(part for part in typing.get_args(wanted) if part is not types.NoneType)
    if typing.get_origin(wanted) in (Sequence, list):
        if not isinstance(value, list):
            raise _mistyped(path)
        for number, item in enumerate(value):
            _check(typing.get_args(wanted)[0], item, f"{path}.{number}")
    elif typing.is_typeddict(wanted):
        _check_members(wanted, value, path)
    elif wanted is int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _mistyped(path)
    elif not isinstance(value, wanted):
        raise _mistyped(path)


def _check_members(wanted: Any, value: Any, path: str) -> None:
    if not isinstance(value, dict):
        raise _mistyped(path)
    hints = typing.get_type_hints(wanted)
    for name, member in value.items():
        if name not in hints:
            raise Refused("UnknownParameter", f"The parameter `{path}.{name}` is not recognized.")
        _check(hints[name], member, f"{path}.{name}")
    for name in wanted.__required_keys__ - set(value):
        raise Refused("MissingParameter", f"The request is missing a required parameter `{path}.{name}`.")


def _mistyped(path: str) -> Refused:
    return Refused("InvalidParameter", f"The value type of parameter `{path}` is not valid.")


def page(items: Sequence[Any], offset: int, limit: int, most: int = 100, fault: Fault | None = None) -> list[Any]:
    """One page. An offset beyond the end is an empty one; a limit beyond ``most`` is refused.

    Offsets have no token: a repeated one is the first page again, whatever was asked for.
    """
    if offset < 0 or not 1 <= limit <= most:
        code = "InvalidParameterValue.LimitExceeded" if limit > most else "InvalidParameterValue"
        raise Refused(code, f"The value `{limit}` of parameter `Limit` is not valid.")
    if fault is Fault.REPEATED_TOKEN:
        return list(items[:limit])
    first = max(0, offset - 1) if fault is Fault.DUPLICATED_ITEM else offset
    return list(items[first : offset + limit])


def read_filters(
    filters: Sequence[Filter], known: Sequence[str], most: int = 10, values: int = 5
) -> dict[str, list[str]]:
    """Values by name. Names ending in ``:`` are prefixes. Raises Refused."""
    if len(filters) > most or any(len(f["Values"]) > values for f in filters):
        raise Refused("InvalidFilterValue.LimitExceeded", "The number of Filters or of their Values is exceeded.")
    for name in (f["Name"] for f in filters):
        if name not in known and not any(name.startswith(k) and len(name) > len(k) for k in known if k.endswith(":")):
            raise Refused("InvalidFilter", f"The filter `{name}` is not supported.")
    return {f["Name"]: f["Values"] for f in filters}


def one_of(ids: Sequence[str], filters: Sequence[Filter], name: str) -> None:
    """Ids and Filters exclude each other."""
    if ids and filters:
        raise Refused("InvalidParameter", f"`{name}` and `Filters` cannot be given together.")
    if len(ids) > 100:
        raise Refused("InvalidParameterValue.LimitExceeded", f"`{name}` has more than 100 values.")
