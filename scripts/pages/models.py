"""Tables of pydantic models: keys, types, defaults, and the paragraph that follows each field in the source."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from datetime import time, timedelta
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from costguard.domain.time import format_duration
from scripts.pages.markdown import code, table

Schema = Mapping[str, Any]


def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """Field name → the string literal below it, or the field's description; empty text where there is neither."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        except (OSError, TypeError):  # made by create_model: it has no source of its own
            continue
        assert isinstance(body, ast.ClassDef)
        for node, after in zip(body.body, body.body[1:], strict=False):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                match after:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        found[node.target.id] = " ".join(inspect.cleandoc(text).replace("``", "`").split())
    return {name: found.get(name) or field.description or "" for name, field in model.model_fields.items()}


def summary(model: type[BaseModel]) -> str:
    """The model's own docstring, not an inherited one."""
    text = model.__dict__.get("__doc__") or ""
    return "" if "\nUsage docs: https://docs.pydantic" in text else inspect.cleandoc(text).replace("``", "`")


def model_table(model: type[BaseModel], head: str = "key") -> str:
    """One row per field. Types that are models link to the section of their name."""
    schema = model.model_json_schema(by_alias=True)
    properties, docs, rows = schema.get("properties", {}), field_docs(model), []
    for name, field in model.model_fields.items():
        key = field.alias or name
        rows.append((code(key), _type(properties[key]), _default(field, properties[key]), docs[name]))
    return table([head, "type", "default", "meaning"], rows)


def nested(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The models that a model's fields name, depth first, each once."""
    seen: set[type[BaseModel]] = {model}
    queue = [model]
    while queue:
        current = queue.pop(0)
        inner = [m for field in current.model_fields.values() for m in _models(field.annotation) if m not in seen]
        for found in dict.fromkeys(inner):
            seen.add(found)
            yield found
        queue[:0] = dict.fromkeys(inner)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models(argument)


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return " ".join(code(value) for value in schema["enum"])
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            return " or ".join(dict.fromkeys(_type(part) for part in schema[union] if part.get("type") != "null"))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"map of {_type(inner)}" if isinstance(inner, dict) and inner else "map"
    if schema.get("format") == "password":
        return "secret text"
    if schema.get("examples"):
        return f"text like {code(schema['examples'][0])}"
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` `false`"}
    return names.get(str(schema.get("type")), "anything")


def _default(field: FieldInfo, schema: Schema) -> str:
    if field.is_required():
        return "required"
    return _spelled(field.get_default(call_default_factory=True), schema)


def _spelled(value: object, schema: Schema) -> str:
    """A default as a person would write it into the file."""
    match value:
        case None | "" | () | {}:
            return "–"
        case BaseModel():
            return "see there"
        case SecretStr():
            return code(value.get_secret_value())
        case timedelta():
            return code(format_duration(value))
        case time():
            return code(f'"{value:%H:%M}"')
        case bool():
            return code(str(value).lower())
        case float() if str((schema.get("examples") or [""])[0]).endswith("%"):
            return code(f"{value:g}%")
        case tuple() | list():
            return ", ".join(_spelled(item, schema.get("items", {})) for item in value)
        case _:
            return code(value)
