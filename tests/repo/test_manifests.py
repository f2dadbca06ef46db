"""What adapters claim, and that nobody skips the tests of what they claim."""

import ast
import tomllib
from functools import cache

import pytest

from costguard.testing.adapter_contract import AdapterContract
from costguard.testing.contract import contract_tests
from costguard.testing.manifest import problems
from tests.repo.checkout import ROOT, python

ADAPTERS = sorted({path.parts[1] for path in python("adapters")})
MARKS = {"skip", "skipif", "xfail"}


@cache
def _contract_classes() -> dict[str, list[tuple[str, ast.ClassDef]]]:
    """Adapter package → the classes in tests/ that inherit the contract and import that package."""
    found: dict[str, list[tuple[str, ast.ClassDef]]] = {}
    for path in python("tests"):
        text = (ROOT / path).read_text("utf-8")
        if "AdapterContract" not in text:
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and any("AdapterContract" in ast.unparse(base) for base in node.bases):
                for adapter in ADAPTERS:
                    if adapter in text:
                        found.setdefault(adapter, []).append((str(path), node))
    return found


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_manifest_is_right_and_every_quality_rule_is_settled(adapter: str) -> None:
    """Each rule is done, exempt with a reason, or to do with a note; every other table has its shape."""
    manifest = tomllib.loads((ROOT / "adapters" / adapter / "manifest.toml").read_text("utf-8"))
    assert problems(manifest) == []
    assert adapter == f"costguard_{manifest['id']}"


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_contract_runs_whole(adapter: str) -> None:
    """The contract is inherited; none of its tests is replaced, skipped or expected to fail: the manifest excuses."""
    classes = _contract_classes().get(adapter, [])
    assert classes, f"no class in tests/ inherits AdapterContract for {adapter}"
    contract = {*contract_tests(AdapterContract), "_skip_what_is_not_claimed", "manifest"}
    cheats = []
    for path, node in classes:
        cheats += [f"{path}: {node.name} is marked {mark}" for mark in _marks(node.decorator_list)]
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef) and inner.name in contract:
                cheats.append(f"{path}: {node.name} replaces {inner.name}")
            if isinstance(inner, ast.Assign):
                set_here = {ast.unparse(target) for target in inner.targets}
                cheats += [f"{path}: {node.name} sets {name}" for name in set_here & {*contract, "pytestmark"}]
        cheats += [
            f"{path}: the module sets pytestmark"
            for outer in ast.parse((ROOT / path).read_text("utf-8")).body
            if isinstance(outer, ast.Assign) and "pytestmark" in ast.unparse(outer) and _marks([outer.value])
        ]
    assert cheats == []


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_permissions_are_in_the_rights_that_are_shipped(adapter: str) -> None:
    """Each permission of the manifest stands in a file of deploy/iam for that provider."""
    manifest = tomllib.loads((ROOT / "adapters" / adapter / "manifest.toml").read_text("utf-8"))
    if manifest["id"] == "simulated":  # nobody grants anything there
        return
    needed = {right for rights in manifest["permissions"].values() for right in rights}
    texts = [path.read_text("utf-8") for path in (ROOT / "deploy/iam").glob(f"{manifest['id']}-*.json")]
    granted = "\n".join(texts)
    assert {right for right in needed if f'"{right}"' not in granted} == set()


def _marks(decorators: list[ast.expr]) -> list[str]:
    names = {node.attr for decorator in decorators for node in ast.walk(decorator) if isinstance(node, ast.Attribute)}
    return sorted(names & MARKS)
