"""docs/cases.md: situations that broke tools of this kind, and the tests that name them in their docstrings."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.pages.markdown import code, table

_ID = re.compile(r"\b([A-M]\d\d)\b(?!\s*(?:GPU|card|box|×|x\d))")


def situations(root: Path) -> Mapping[str, Mapping[str, str]]:
    """Case id → priority, situation, right; in the order of docs/situations.toml."""
    cases: Mapping[str, Mapping[str, str]] = _load(root)["cases"]
    return cases


def claims(root: Path) -> dict[str, list[str]]:
    """Case id → tests (`path::name`) whose docstring, or whose class' or module's docstring, names it."""
    known, found = situations(root), defaultdict(list)
    for path in sorted((root / "tests").rglob("*.py")):
        if "repo" in path.parts:
            continue
        for name, docstring in _docstrings(ast.parse(path.read_text("utf-8"))):
            for case in dict.fromkeys(_ID.findall(docstring)):
                if case in known:
                    found[case].append("::".join(filter(None, (path.relative_to(root / "tests").as_posix(), name))))
    return found


def page(root: Path) -> str:
    """The page."""
    cases, tests, areas = situations(root), claims(root), _load(root)["areas"]
    covered = sum(1 for case in cases if tests.get(case))
    parts = [
        "# Situations and their tests",
        "Situations seen in public reports about tools of this kind, and the tests that hold costguard to the right "
        "behaviour. P0 kills work, loses data or acts on the wrong thing · P1 money leaks or an alert is lost · P2 a "
        f"wrong number or noise. Paths are below `tests/`. {covered} of {len(cases)} have a test that names them.",
    ]
    for area, texts in areas.items():
        parts.append(f"## {area}. {texts['name']}")
        rows = [
            (case, text["priority"], text["situation"], text["right"], "<br>".join(map(code, tests.get(case, ["–"]))))
            for case, text in cases.items()
            if case.startswith(area)
        ]
        parts.append(table(["id", "", "situation", "right", "tests"], rows))
    return "\n\n".join(parts)


def _load(root: Path) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    return tomllib.loads((root / "docs" / "situations.toml").read_text("utf-8"))


def _docstrings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    yield "", ast.get_docstring(tree) or ""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name, ast.get_docstring(node) or ""
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}::{inner.name}", ast.get_docstring(inner) or ""
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, ast.get_docstring(node) or ""
