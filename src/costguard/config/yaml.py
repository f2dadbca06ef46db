"""YAML 1.2 documents in which everything has a place.

A file becomes plain values plus a way to say where each of them stands, so that whoever finds a mistake later can
report it as ``file:line:column``. The composed nodes keep the marks; they are cheaper than a full round trip with
comments, and nothing here writes YAML. Substitutions happen here and nowhere else. Knows no setting and no model.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from costguard.errors import ConfigError

Loc = tuple[str | int, ...]

_TAG = "tag:yaml.org,2002:"
_REFERENCE = re.compile(r"\$\$\{|\$\{(env|file):([^{}]*)\}|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MAX_NODES = 200_000
_MAX_DEPTH = 60


class Written(float):
    """A number with a point, as a file has it: fields with units tell it from a value that was already read."""


def path_text(loc: Loc) -> str:
    """``accounts[0].credentials.token`` for a location; empty for the whole document."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(slots=True)
class Document:
    """One YAML document: its plain values and their places.

    ``data`` holds dicts with text keys, lists, str, int, float, bool and None; dates stay text. Values that came
    from the environment or a file are in ``data`` as they are; ``error`` never shows them.
    """

    file: str
    folder: Path
    data: Any = field(repr=False)
    root: Node | None = field(repr=False)
    substituted: dict[int, list[tuple[str, str]]] = field(repr=False)

    def at(self, loc: Loc) -> Any:
        """The value at a location. Raises KeyError or IndexError when there is none."""
        value = self.data
        for part in loc:
            value = value[part]
        return value

    def place(self, loc: Loc, *, key: bool = False) -> tuple[int, int]:
        """Line and column (from 1) of the value at ``loc``, or of its key; the nearest parent when it is absent."""
        node, found = self._walk(loc)
        chosen = found if key and found is not None else node
        mark = chosen.start_mark if chosen is not None else None
        return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)

    def error(self, loc: Loc, message: str, *, hint: str | None = None, key: bool = False) -> ConfigError:
        """A mistake at a place; substituted values in the texts are replaced by the reference that gave them."""
        line, column = self.place(loc, key=key)
        node, _ = self._walk(loc)
        for value, reference in self._substitutions(node):
            for shown in (value, repr(value)[1:-1]):
                message = message.replace(shown, reference)
                hint = hint.replace(shown, reference) if hint else hint
        return ConfigError(message, file=self.file, line=line, column=column, path=path_text(loc), hint=hint)

    def _walk(self, loc: Loc) -> tuple[Node | None, Node | None]:
        """The deepest existing node along ``loc``, and the key node that led to it."""
        node, key = self.root, None
        for part in loc:
            if isinstance(node, SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
                node, key = node.value[part], None
            elif isinstance(node, MappingNode):
                step = next(((k, v) for k, v in _items(node) if k.value == str(part)), None)
                if step is None:
                    break
                key, node = step
            else:
                break
        return node, key

    def _substitutions(self, node: Node | None, depth: int = 0) -> list[tuple[str, str]]:
        if not self.substituted or node is None or depth > _MAX_DEPTH:
            return []
        found = list(self.substituted.get(id(node), ()))
        if isinstance(node, SequenceNode):
            for item in node.value:
                found += self._substitutions(item, depth + 1)
        elif isinstance(node, MappingNode):
            for _, value in _items(node):
                found += self._substitutions(value, depth + 1)
        return sorted(found, key=lambda pair: -len(pair[0]))


def read(
    path: Path,
    env: Mapping[str, str],
    errors: list[ConfigError],
    *,
    label: str | None = None,
    strict_references: bool = False,
) -> Document | None:
    """The one document of a file; see :func:`read_all`. None when the file holds no YAML that can be used."""
    documents = read_all(path, env, errors, label=label, strict_references=strict_references)
    for extra in documents[1:2]:
        errors.append(extra.error((), "one document is expected in this file"))
    return documents[0] if documents else None


def read_all(
    path: Path,
    env: Mapping[str, str],
    errors: list[ConfigError],
    *,
    label: str | None = None,
    strict_references: bool = False,
) -> list[Document]:
    """Every document of a file (an empty file is one document with None); none when it is not YAML.

    Mistakes are appended to ``errors``. A value that could not be read (a variable that is not set, a duplicate key)
    is in the document all the same, so that everything else in it can be checked in the same run.
    ``strict_references`` refuses ``${X}``, which is nearly always meant as ``${env:X}``; policies do not set it, as a
    hook's shell line may hold one.
    """
    name = label or str(path)
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        errors.append(ConfigError(f"not UTF-8 text (byte {error.start})", file=name, line=1, column=1))
        return []
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        errors.append(ConfigError(reason, file=name, line=1, column=1))
        return []
    return parse(text, env, errors, file=name, folder=path.parent, strict_references=strict_references)


def parse(
    text: str,
    env: Mapping[str, str],
    errors: list[ConfigError],
    *,
    file: str,
    folder: Path,
    strict_references: bool = False,
) -> list[Document]:
    """Documents of a text; ``file`` is only a name for errors, ``folder`` is where ``${file:P}`` starts."""
    try:
        roots = list(YAML(typ="safe", pure=True).compose_all(text))
    except MarkedYAMLError as error:
        errors.append(_syntax(error, file))
        return []
    except YAMLError as error:
        errors.append(ConfigError(str(error).split("\n")[0], file=file, line=1, column=1))
        return []
    documents: list[Document] = []
    for root in roots or [None]:
        document = Document(file, folder, None, root, {})
        reader = _Reader(document, env, strict_references, errors)
        document.data = reader.value(root, ()) if root is not None else None
        documents.append(document)
    return documents


class _Reader:
    """Turns nodes into values, collecting every mistake on the way."""

    def __init__(
        self, document: Document, env: Mapping[str, str], strict_references: bool, errors: list[ConfigError]
    ) -> None:
        self.document, self.env, self.strict_references = document, env, strict_references
        self.errors = errors
        self.nodes = 0

    def fail(self, node: Node, loc: Loc, message: str, hint: str | None = None) -> None:
        mark = node.start_mark
        self.errors.append(
            ConfigError(
                message,
                file=self.document.file,
                line=mark.line + 1,
                column=mark.column + 1,
                path=path_text(loc),
                hint=hint,
            )
        )

    def value(self, node: Node, loc: Loc) -> Any:
        self.nodes += 1
        if self.nodes == _MAX_NODES or len(loc) > _MAX_DEPTH:
            self.fail(node, (), "too large or too deeply nested; aliases may repeat without end")
        if self.nodes >= _MAX_NODES or len(loc) > _MAX_DEPTH:
            return None
        if isinstance(node, ScalarNode):
            return self.scalar(node, loc)
        if isinstance(node, SequenceNode):
            return [self.value(item, (*loc, index)) for index, item in enumerate(node.value)]
        assert isinstance(node, MappingNode)
        return self.mapping(node, loc)

    def mapping(self, node: MappingNode, loc: Loc) -> dict[str, Any]:
        first: dict[str, Node] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self.fail(key, loc, "a key must be plain text")
            elif key.tag == f"{_TAG}merge":
                if not all(isinstance(part, MappingNode) for part in _merged(value)):
                    self.fail(value, loc, "<< takes a mapping or a list of mappings")
            elif key.value in first:
                line = first[key.value].start_mark.line + 1
                self.fail(key, (*loc, key.value), "duplicate key", f"first on line {line}")
            else:
                first[key.value] = key
        return {key.value: self.value(value, (*loc, key.value)) for key, value in _items(node)}

    def scalar(self, node: ScalarNode, loc: Loc) -> Any:
        tag, text = str(node.tag), node.value
        kind = tag.removeprefix(_TAG)
        match kind:
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                digits = text.replace("_", "")
                return int(digits, 0) if digits.lstrip("+-")[:2].lower() in ("0x", "0o", "0b") else int(digits)
            case "float":
                return Written(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
            case "str" | "timestamp":
                return self.text(node, text, loc)
        self.fail(node, loc, f"YAML tags like {tag.replace(_TAG, '!!')} are not used here")
        return None

    def text(self, node: ScalarNode, text: str, loc: Loc) -> str:
        if "${" not in text:
            return text
        used: list[tuple[str, str]] = []

        def replace(match: re.Match[str]) -> str:
            kind, name, bare = match.groups()
            if bare and self.strict_references:
                self.fail(
                    node, loc, f"${{{bare}}} is not a reference", f"write ${{env:{bare}}}, or $${{{bare}}} as text"
                )
            if kind is None:
                return "${" if match[0] == "$${" else match[0]
            found = self.variable(node, name, loc) if kind == "env" else self.file(node, name, loc)
            if found:
                used.append((found, match[0]))
            return found

        result = _REFERENCE.sub(replace, text)
        if used:
            self.document.substituted[id(node)] = used
        return result

    def variable(self, node: Node, name: str, loc: Loc) -> str:
        if name not in self.env:
            self.fail(node, loc, f"environment variable {name} is not set")
        return self.env.get(name, "")

    def file(self, node: Node, name: str, loc: Loc) -> str:
        try:
            text = (self.document.folder / name).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            self.fail(node, loc, f"file {name}: {reason}")
            return ""
        return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def _items(node: MappingNode) -> Iterator[tuple[ScalarNode, Node]]:
    """Key and value nodes, own keys before merged ones, each key once (its first)."""
    seen: set[str] = set()
    merges: list[Node] = []
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            continue
        if key.tag == f"{_TAG}merge":
            merges += _merged(value)
        elif key.value not in seen:
            seen.add(key.value)
            yield key, value
    for merged in merges:
        if isinstance(merged, MappingNode) and merged is not node:
            for key, value in _items(merged):
                if key.value not in seen:
                    seen.add(key.value)
                    yield key, value


def _merged(value: Node) -> list[Node]:
    return list(value.value) if isinstance(value, SequenceNode) else [value]


def _syntax(error: MarkedYAMLError, file: str) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    problem = (error.problem or error.context or "not YAML").strip()
    hint = None
    source = getattr(mark, "buffer", None) or ""
    around = source.rstrip("\0").split("\n")[max(0, line - 2) : line]
    if "'\\t'" in problem:
        problem, hint = "a tab cannot indent YAML", "use spaces"
    elif any("：" in text for text in around):
        hint = "a full-width colon ： is not a colon; write : and a space"
    elif "'%'" in problem or "'@'" in problem or "'`'" in problem:
        hint = "put the text in quotes"
    elif "${" in "".join(around) and "{" in problem + "".join(around):
        hint = 'a reference inside {…} needs quotes: "${env:X}"'
    return ConfigError(problem, file=file, line=line, column=column, hint=hint)
