"""Tables of pydantic models: keys, types, defaults, and the paragraph that follows each field in the source."""

import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, SecretStr, TypeAdapter
from pydantic.fields import FieldInfo

from costguard.config.schema import field_docs
from scripts.pages.markdown import code, table

Schema = Mapping[str, Any]


def words(model: type[BaseModel]) -> dict[str, str]:
    """Key → what it means, in one line of Markdown."""
    return {key: " ".join(text.replace("``", "`").split()) for key, text in field_docs(model).items()}


def summary(model: type[BaseModel]) -> str:
    """The model's own docstring, not an inherited one."""
    text = model.__dict__.get("__doc__") or ""
    return "" if "\nUsage docs: https://docs.pydantic" in text else inspect.cleandoc(text).replace("``", "`")


def model_table(model: type[BaseModel], head: str = "key") -> str:
    """One row per field. Types that are models link to the section of their name."""
    whole = model.model_json_schema(by_alias=True)
    schema = whole["$defs"][whole["$ref"].rpartition("/")[2]] if "$ref" in whole else whole  # it names itself
    properties, texts, rows = schema.get("properties", {}), words(model), []
    definitions = whole.get("$defs", {})
    for name, field in model.model_fields.items():
        key = field.alias or name
        rows.append((code(key), _type(properties[key], definitions), _default(field), texts[key]))
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


def _type(schema: Schema, definitions: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _type(definitions[name], definitions) if "enum" in definitions[name] else f"[{name}](#{name.lower()})"
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return " ".join(code(value) for value in schema["enum"])
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            parts = [_type(part, definitions) for part in schema[union] if part.get("type") != "null"]
            return " or ".join(dict.fromkeys(parts))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}), definitions)}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"map of {_type(inner, definitions)}" if isinstance(inner, dict) and inner else "map"
    if schema.get("format") == "password":
        return "secret text"
    if schema.get("examples"):
        return f"text like {code(schema['examples'][0])}"
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` `false`"}
    return names.get(str(schema.get("type")), "anything")


def _default(field: FieldInfo) -> str:
    """The default as a person would write it into the file."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    match value:
        case None | "" | ():
            return "–"
        case BaseModel():
            return "see there"
        case SecretStr():
            return code(value.get_secret_value())
    annotation: Any = Annotated[field.annotation, *field.metadata, None]
    written = TypeAdapter(annotation).dump_python(value, mode="json")
    if written in ([], {}):
        return "–"
    return code(json.dumps(written, ensure_ascii=False) if isinstance(written, list | bool) else written)
