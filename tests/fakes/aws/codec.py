"""AWS's wire protocols from the server's side, driven by AWS's own service models: ec2, query, json.

A parameter that the operation does not have, a missing required one or one of the wrong type is refused; a response
that the model does not allow is a mistake of the fake and raises.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any
from xml.sax.saxutils import escape

import botocore.session
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.validate import ParamValidator

from tests.fakes.server import Answer, Request

# Signing name → the name of the service's model.
MODELS = {
    "ec2": "ec2",
    "sts": "sts",
    "monitoring": "cloudwatch",
    "autoscaling": "autoscaling",
    "ce": "ce",
    "budgets": "budgets",
    "pricing": "pricing",
    "servicequotas": "service-quotas",
    "ssm": "ssm",
    "cloudtrail": "cloudtrail",
}
_VALIDATOR = ParamValidator()


class Refused(Exception):
    """An error of the service's own: code, HTTP status."""

    def __init__(self, code: str, status: int = 400) -> None:
        self.code, self.status = code, status
        super().__init__(code)


@cache
def model(signing_name: str) -> ServiceModel:
    session = botocore.session.Session()
    return session.get_service_model(MODELS[signing_name])


def operation_of(service: str, request: Request) -> str:
    """The name of the operation that a request asks for, whether or not its parameters are right."""
    if _protocol(service) == "json":
        return request.headers.get("x-amz-target", "").rpartition(".")[2]
    return request.form.get("Action", "")


def decode(service: str, request: Request) -> tuple[str, dict[str, Any]]:
    """Operation and parameters. Raises Refused as the services do for what they do not know."""
    operation, raw = _raw(service, request)
    known = model(service)
    if operation not in known.operation_names:
        raise Refused("InvalidAction")
    shape = known.operation_model(operation).input_shape
    if _protocol(service) in {"ec2", "query"}:
        form = {k: v for k, v in raw.items() if k not in {"Action", "Version"}}
        params = _from_form(shape, "", form, _protocol(service)) if shape else {}
        if form:
            raise Refused("UnknownParameter")
    else:
        params = _checked(shape, raw)
    if shape is not None and _VALIDATOR.validate(params, shape).has_errors():
        raise Refused("ValidationError")
    return operation, params


def encode(service: str, operation: str, answer: Mapping[str, Any]) -> Answer:
    """Raises AssertionError for an answer that AWS's model does not allow."""
    shape = model(service).operation_model(operation).output_shape
    if shape is not None:
        report = _VALIDATOR.validate(dict(answer), shape)
        assert not report.has_errors(), f"{operation}: {report.generate_report()}"
    protocol = _protocol(service)
    if protocol == "json":
        body = json.dumps(answer, default=lambda at: at.timestamp())
        return Answer(200, body.encode(), {"Content-Type": "application/x-amz-json-1.1"})
    inner = _to_xml(shape, answer, protocol) if shape else ""
    if protocol == "ec2":
        body = f"<{operation}Response><requestId>{_ID}</requestId>{inner}</{operation}Response>"
    else:
        result = _wrapper(model(service).operation_model(operation))
        body = (
            f"<{operation}Response><{result}>{inner}</{result}>"
            f"<ResponseMetadata><RequestId>{_ID}</RequestId></ResponseMetadata></{operation}Response>"
        )
    return Answer(200, _XML_HEAD + body.encode(), {"Content-Type": "text/xml;charset=UTF-8"})


def encode_error(service: str, code: str, status: int) -> Answer:
    """The service's own shape of an error. The message holds what must never be logged."""
    message = "You are not authorized. Encoded authorization failure message: s3cr3t"
    protocol = _protocol(service)
    if protocol == "ec2":
        body = (
            f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
            f"<RequestID>{_ID}</RequestID></Response>"
        )
        return Answer(status, _XML_HEAD + body.encode(), {"Content-Type": "text/xml;charset=UTF-8"})
    if protocol == "query":
        body = (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
            f"<RequestId>{_ID}</RequestId></ErrorResponse>"
        )
        return Answer(status, _XML_HEAD + body.encode(), {"Content-Type": "text/xml"})
    headers = {"Content-Type": "application/x-amz-json-1.1"}
    if service == "monitoring":  # once a query service: the code of those days comes along
        headers["x-amzn-query-error"] = f"{code};Sender"
    return Answer(status, json.dumps({"__type": code, "message": message}).encode(), headers)


_ID = "59dbff89-35bd-4eac-99ed-be587EXAMPLE"
_XML_HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n'


def _protocol(service: str) -> str:
    return {"ec2": "ec2", "sts": "query", "autoscaling": "query"}.get(service, "json")


def _raw(service: str, request: Request) -> tuple[str, dict[str, Any]]:
    protocol = _protocol(service)
    if protocol == "json":
        prefix = request.headers.get("x-amz-target", "").rpartition(".")[0]
        if prefix != model(service).metadata["targetPrefix"]:
            raise Refused("UnknownOperationException")
        return operation_of(service, request), json.loads(request.body or b"{}")
    form = request.form
    if form.get("Version") != model(service).api_version:
        raise Refused("InvalidParameterValue")
    return operation_of(service, request), dict(form)


def _checked(shape: Shape | None, value: Any) -> Any:
    """Structures with no unknown members; numbers of seconds as times."""
    if isinstance(shape, StructureShape):
        unknown = value.keys() - shape.members.keys()
        if unknown:
            raise Refused("ValidationException")
        return {name: _checked(shape.members[name], item) for name, item in value.items()}
    if isinstance(shape, ListShape):
        return [_checked(shape.member, item) for item in value]
    if shape is not None and shape.type_name == "timestamp" and isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    return value


def _from_form(shape: Shape, prefix: str, form: dict[str, str], protocol: str) -> Any:
    """Takes what belongs to `shape` out of `form`; None when nothing does."""
    if isinstance(shape, StructureShape):
        found = {}
        for name, member in shape.members.items():
            value = _from_form(
                member, f"{prefix}{'.' if prefix else ''}{_name(member, name, protocol)}", form, protocol
            )
            if value is not None:
                found[name] = value
        return found if found or not prefix else None
    if isinstance(shape, ListShape):
        items = []
        for number in range(1, 10_000):
            between = "." if protocol == "ec2" or shape.serialization.get("flattened") else ".member."
            item = _from_form(shape.member, f"{prefix}{between}{number}", form, protocol)
            if item is None:
                break
            items.append(item)
        return items or None
    text = form.pop(prefix, None)
    if text is None:
        return None
    if shape.type_name in {"integer", "long"}:
        return int(text)
    if shape.type_name in {"float", "double"}:
        return float(text)
    if shape.type_name == "boolean":
        return {"true": True, "false": False}[text]
    if shape.type_name == "timestamp":
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    return text


def _name(member: Shape, name: str, protocol: str) -> str:
    if protocol == "ec2":
        given = member.serialization.get("queryName")
        other = member.serialization.get("name", name)
        return given or other[0].upper() + other[1:]
    return str(member.serialization.get("name", name))


def _to_xml(shape: Shape, value: Any, protocol: str) -> str:
    if isinstance(shape, StructureShape):
        parts = []
        for name, item in value.items():
            if item is not None:
                member = shape.members[name]
                tag = member.serialization.get("name", name)
                parts.append(f"<{tag}>{_to_xml(member, item, protocol)}</{tag}>")
        return "".join(parts)
    if isinstance(shape, ListShape):
        tag = shape.member.serialization.get("name", "member")
        return "".join(f"<{tag}>{_to_xml(shape.member, item, protocol)}</{tag}>" for item in value)
    if isinstance(shape, MapShape):
        raise NotImplementedError(shape.name)
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    if isinstance(value, bool):
        return str(value).lower()
    return escape(str(value))


def _wrapper(operation: OperationModel) -> str:
    shape = operation.output_shape
    return str(shape.serialization.get("resultWrapper", f"{operation.name}Result")) if shape else ""
