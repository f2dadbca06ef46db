"""From pydantic's findings to errors at a place, in words that say how to write it right.

Values are quoted only where they cannot be a secret: a wrong choice from a fixed list, never a text that is merely
too short or of the wrong type.
"""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from costguard.config import hints
from costguard.config.yaml import Document, Loc
from costguard.errors import ConfigError

M = TypeVar("M", bound=BaseModel)

_PLAIN: Mapping[str, str] = {
    "int_type": "a whole number is expected",
    "int_parsing": "a whole number is expected",
    "int_from_float": "a whole number is expected",
    "float_type": "a number is expected",
    "float_parsing": "a number is expected",
    "bool_type": "true or false is expected",
    "bool_parsing": "true or false is expected",
    "list_type": "a list is expected, like [a, b]",
    "tuple_type": "a list is expected, like [a, b]",
    "dict_type": "a mapping is expected, like {key: value}",
    "model_type": "a mapping is expected, like {key: value}",
    "model_attributes_type": "a mapping is expected, like {key: value}",
    "string_too_short": "must not be empty",
    "date_type": "a date is expected, like 2026-01-31",
    "date_parsing": "a date is expected, like 2026-01-31",
    "date_from_datetime_parsing": "a date is expected, like 2026-01-31",
    "date_from_datetime_inexact": "a date is expected, like 2026-01-31",
}


def validate(model: type[M], document: Document, loc: Loc, errors: list[ConfigError], data: Any = None) -> M | None:
    """The model of the value at ``loc``; mistakes are appended to ``errors`` and give None.

    ``data`` replaces the value when it was prepared by the caller; places are still looked up in the document.
    """
    value = document.at(loc) if data is None else data
    try:
        return model.model_validate({} if value is None else value, by_alias=True, by_name=False)
    except ValidationError as failure:
        errors += translate(failure, model, document, loc, value)
        return None


def translate(
    failure: ValidationError, model: type[BaseModel], document: Document, base: Loc, data: Any
) -> list[ConfigError]:
    """One error for each mistake; of a union only the branch that the writer was on."""
    branches: dict[Loc, dict[str, list[tuple[Loc, ErrorDetails]]]] = {}
    for detail in failure.errors(include_url=False):
        if detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]:
            continue  # it is long enough; what is wrong with its elements has been said
        real, fork, label = _real(detail, data)
        group = real if fork is None else real[:fork]
        branches.setdefault((*group, "?") if fork is not None else (*group, "="), {}).setdefault(label, []).append(
            (real, detail)
        )
    found: list[ConfigError] = []
    for key, by_label in branches.items():
        if key[-1] == "=" or len(by_label) == 1:
            for details in by_label.values():
                found += [_error(real, detail, model, document, base) for real, detail in details]
            continue
        deepest = max(len(real) for details in by_label.values() for real, _ in details)
        on = [details for details in by_label.values() if max(len(real) for real, _ in details) == deepest]
        if len(on) == 1 or deepest > len(key) - 1:
            found += [_error(real, detail, model, document, base) for real, detail in on[0]]
        else:
            found.append(_either([details[0] for details in on], document, base))
    return found


def _real(detail: ErrorDetails, data: Any) -> tuple[Loc, int | None, str]:
    """The part of pydantic's location that exists in the document, and where and how a union forked first."""
    parts, value = list(detail["loc"]), data
    real: list[str | int] = []
    fork, label = None, ""
    for index, part in enumerate(parts):
        if _has(value, part):
            value = value[part]
        elif not (index == len(parts) - 1 and detail["type"] == "missing"):
            if fork is None:
                fork, label = len(real), str(part)
            continue
        real.append(part)
    return tuple(real), fork, label


def _has(value: Any, part: str | int) -> bool:
    if isinstance(part, int):
        return isinstance(value, list | tuple) and part < len(value)
    return isinstance(value, Mapping) and part in value


def _error(real: Loc, detail: ErrorDetails, model: type[BaseModel], document: Document, base: Loc) -> ConfigError:
    loc = (*base, *real)
    kind, name = detail["type"], str(real[-1]) if real else ""
    if kind == "extra_forbidden":
        known = list(_keys(model, real[:-1]))
        return document.error(loc, "unknown key", hint=hints.key_hint(name, known), key=True)
    if kind == "missing":
        return document.error(loc, "this key is required", key=True)
    message, hint = _words(real, detail)
    return document.error(loc, message, hint=hint)


def _words(real: Loc, detail: ErrorDetails) -> tuple[str, str | None]:
    kind, value, context = detail["type"], detail.get("input"), detail.get("ctx", {})
    field = next((str(part) for part in reversed(real) if not isinstance(part, int)), "")
    shown = value if isinstance(value, str) and len(value) <= 60 else None
    if kind in ("literal_error", "enum"):
        known = _expected(detail)
        text = f"{shown!r} is not one of" if shown else "this must be one of"
        return f"{text} {', '.join(known)}", hints.value_hint(field, shown, known) if shown else None
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = str(context.get("tag", ""))
        known = [word.strip().strip("'") for word in str(context.get("expected_tags", "")).split(",") if word.strip()]
        name = str(context["discriminator"]).strip("'")
        if not tag:
            return f"the key {name} is required", None
        return f"{name} {tag!r} is not one of {', '.join(known)}", hints.value_hint(name, tag, known)
    if kind == "value_error":
        days = value.get("days") if isinstance(value, dict) else None
        if isinstance(days, str):
            return str(context["error"]), hints.value_hint("days", days, ())
        return str(context["error"]), hints.text_hint(shown) if shown else None
    if kind in ("greater_than_equal", "greater_than", "less_than_equal", "less_than"):
        limit = next(iter(context.values()))
        words = {"greater_than_equal": "at least", "greater_than": "more than", "less_than_equal": "at most"}
        return f"must be {words.get(kind, 'less than')} {limit}", None
    if kind == "too_short":
        return f"at least {context['min_length']} is needed here", None
    if kind == "string_pattern_mismatch":
        if field == "name":
            return "may hold only letters, digits, - _ and . (at most 64), and starts with a letter or digit", None
        return f"does not have the form {context.get('pattern')}", None
    if kind == "string_type":
        return _text_expected(value), None
    return _PLAIN.get(kind, detail["msg"][:1].lower() + detail["msg"][1:]), None


def _text_expected(value: object) -> str:
    if value is None:
        return "a value is missing here"
    if isinstance(value, bool | int | float):
        return "text is expected here: put it in quotes"
    return "text is expected here, not a list or a mapping"


def _either(on: list[tuple[Loc, ErrorDetails]], document: Document, base: Loc) -> ConfigError:
    """Every branch refused the value as a whole: say what each would take."""
    loc = (*base, *on[0][0])
    wanted: list[str] = []
    hint: str | None = None
    for real, detail in on:
        message, more = _words(real, detail)
        if detail["type"] == "value_error":
            return document.error(loc, message, hint=more)
        hint = hint or more
        literal = detail["type"] in ("literal_error", "enum")
        text = "text" if detail["type"] == "string_type" else message.replace(" is expected", "")
        words = " or ".join(_expected(detail)) if literal else text
        if words not in wanted:
            wanted.append(words)
    return document.error(loc, f"expected here: {', or '.join(wanted)}", hint=hint)


def _expected(detail: ErrorDetails) -> list[str]:
    """The choices of a literal or an enum."""
    text = str(detail.get("ctx", {})["expected"]).replace(" or ", ", ")
    return [word.strip().strip("'") for word in text.split(",")]


def _keys(model: Any, loc: Loc) -> Iterator[str]:
    """The keys that exist in the mapping at ``loc``."""
    annotations: list[Any] = [model]
    for part in loc:
        annotations = [child for annotation in annotations for child in _children(annotation, part)]
    for annotation in annotations:
        for choice in _choices(annotation):
            if isinstance(choice, type) and issubclass(choice, BaseModel):
                yield from (field.alias or name for name, field in choice.model_fields.items())


def _children(annotation: Any, part: str | int) -> Iterator[Any]:
    for choice in _choices(annotation):
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            for name, field in choice.model_fields.items():
                if part == (field.alias or name):
                    yield field.annotation
        elif (arguments := get_args(choice)) and choice is not SecretStr:
            yield arguments[-1] if get_origin(choice) is dict else arguments[0]


def _choices(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _choices(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for argument in get_args(annotation):
            yield from _choices(argument)
    else:
        yield annotation
