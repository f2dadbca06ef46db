"""JSON Schema of costguard.yaml and of policy files, for editors; with the words that the models carry.

Descriptions are the paragraphs that follow a field in the source. They are read from the source when a schema is
asked for, so that loading a configuration does not pay for them.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from textwrap import dedent
from types import ModuleType
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from costguard.config.settings import Settings
from costguard.rules.registry import policy_schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def settings_schema() -> Any:
    """JSON Schema (2020-12) of costguard.yaml."""
    _, schema = models_json_schema([(Settings, "validation")], by_alias=True)
    definitions = schema["$defs"]
    for model in _models(Settings):
        if model.__name__ in definitions:
            _describe(definitions[model.__name__], model)
    root = definitions.pop("Settings")
    whole = {"$schema": DIALECT, "title": "costguard.yaml", **root, "$defs": definitions}
    return _single_or_list(whole)


def policies_schema() -> Any:
    """JSON Schema (2020-12) of a policy file."""
    policy = policy_schema()
    definitions = policy.pop("$defs", {})
    whole = {
        "$schema": DIALECT,
        "title": "costguard policies",
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {"^x-": {}},
        "required": ["policies"],
        "properties": {"policies": {"type": "array", "items": policy}},
        "$defs": definitions,
    }
    return _single_or_list(whole)


def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """Field (by its written name) → its description, or the paragraph after it; its own class before its bases."""
    texts: dict[str, str] = {}
    for base in reversed(model.__mro__):
        module = inspect.getmodule(base)
        if issubclass(base, BaseModel) and base is not BaseModel and module is not None:
            texts |= _paragraphs(module).get(base.__qualname__, {})
    return {field.alias or name: field.description or texts.get(name, "") for name, field in model.model_fields.items()}


def _describe(definition: dict[str, Any], model: type[BaseModel]) -> None:
    for name, text in field_docs(model).items():
        if text and name in definition.get("properties", {}):
            definition["properties"][name].setdefault("description", text)


def _single_or_list(schema: Any) -> Any:
    """A list of texts may be written as one text: said to editors in so many words."""
    if isinstance(schema, list):
        return [_single_or_list(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    known = {key: _single_or_list(value) for key, value in schema.items()}
    items = known.get("items")
    if known.get("type") == "array" and isinstance(items, dict) and items.get("type") == "string":
        outer = {key: known.pop(key) for key in ("title", "description", "default") if key in known}
        return {**outer, "anyOf": [items, known]}
    return known


@cache
def _paragraphs(module: ModuleType) -> Mapping[str, Mapping[str, str]]:
    """Class → field → the string expression that follows the field, one line."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        texts = found.setdefault(node.name, {})
        for field, after in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            ):
                texts[field.target.id] = " ".join(dedent(after.value.value).split())
    return found


def _models(model: type[BaseModel], seen: set[type[BaseModel]] | None = None) -> Iterator[type[BaseModel]]:
    """The model and every model inside it, each once."""
    seen = set() if seen is None else seen
    if model in seen:
        return
    seen.add(model)
    yield model
    for field in model.model_fields.values():
        yield from (inner for found in _inside(field.annotation) for inner in _models(found, seen))


def _inside(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _inside(argument)
