"""Where things lie and how large they are."""

import re
import tomllib

import pytest

from tests.repo.checkout import ROOT, python, tracked

HARD_LIMIT = 450
TEST_LIMIT = 700
PURE = ("domain", "rules", "engine")


def test_no_module_outgrows_its_reader() -> None:
    lengths = {
        str(p): len((ROOT / p).read_text("utf-8").splitlines())
        for p in python("src", "adapters", "scripts", "tests", "bench")
    }
    too_long = {p: n for p, n in lengths.items() if n > (TEST_LIMIT if p.startswith("tests") else HARD_LIMIT)}
    assert too_long == {}, "split these by noun"


def test_unit_tests_mirror_the_source() -> None:
    """tests/unit/a/test_b.py tests b of costguard.a, of the adapter a or of tests/a; test_b_more.py may share it."""
    modules = {(*p.parts[2:-1], p.stem) for p in tracked() if p.parts[0] == "src"}
    modules |= {
        (p.parts[1].removeprefix("costguard_"), *p.parts[2:-1], p.stem) for p in tracked() if p.parts[0] == "adapters"
    }
    modules |= {(*p.parts[1:-1], p.stem) for p in python("tests")}
    strays = []
    for path in python("tests"):
        if path.parts[1] != "unit" or not path.name.startswith("test_"):
            continue
        package, words = path.parts[2:-1], path.stem.removeprefix("test_").split("_")
        nouns = {(*package, "_".join(words[:n])) for n in range(1, len(words) + 1)}
        folders = {(*noun, "__init__") for noun in nouns}
        if not (nouns | folders) & modules:
            strays.append(str(path))
    assert strays == [], "no module of that name"


@pytest.mark.parametrize("package", PURE)
def test_every_module_of_the_pure_core_is_tested(package: str) -> None:
    """A module of the core has a unit test of its own, or one that names it in an import."""
    texts = [(p, (ROOT / p).read_text("utf-8")) for p in python("tests")]
    missing = []
    for path in python("src"):
        if path.parts[2] != package or path.name == "__init__.py":
            continue
        own = any(
            p.parts[:3] == ("tests", "unit", package) and p.stem.startswith(f"test_{path.stem}") for p, _ in texts
        )
        dotted, folder = re.escape(f"costguard.{package}.{path.stem}"), re.escape(f"costguard.{package}")
        imported = re.compile(rf"(from|import) {dotted}\b|from {folder} import [^\n]*\b{re.escape(path.stem)}\b")
        if not own and not any(imported.search(text) for _, text in texts):
            missing.append(str(path))
    assert missing == []


def test_every_module_says_why_it_exists() -> None:
    texts = {str(p): (ROOT / p).read_text("utf-8").strip() for p in python("src", "adapters", "scripts")}
    bare = [path for path, text in texts.items() if text and not text.startswith(('"""', 'r"""'))]
    assert bare == []


def test_adapters_are_registered_shipped_and_fenced() -> None:
    """An adapter's folder is in the entry points, the wheel and every import rule that lists adapters."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    folders = {p.parts[1] for p in python("adapters")}
    points = project["project"]["entry-points"]["costguard.adapters"]
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    linter = project["tool"]["importlinter"]
    assert {f"{folder}:adapter" for folder in folders} == set(points.values())
    assert {f"adapters/{folder}" for folder in folders} <= set(shipped)
    assert folders <= set(linter["root_packages"])
    for contract in linter["contracts"]:
        if contract["name"] == "The core imports no adapter":
            assert set(contract["forbidden_modules"]) == folders
        if contract["name"].startswith(("Adapters never see each other", "Adapters see only domain, errors, ports")):
            assert set(contract.get("modules", contract.get("source_modules"))) == folders


def test_extras_add_up_to_all() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert extras["all"] == [f"costguard[{','.join(name for name in extras if name != 'all')}]"]


def test_the_build_server_runs_what_the_readme_says() -> None:
    """Both READMEs give the two commands; .ci/run takes the test command from the README."""
    for name in ("README.md", "README.zh-CN.md"):
        text = (ROOT / name).read_text("utf-8")
        assert "\nmake demo\n" in text
        assert "\nmake test\n" in text
    assert "README.md" in (ROOT / ".ci/run").read_text("utf-8")


def test_links_between_pages_lead_somewhere() -> None:
    dead = []
    for path in tracked():
        if path.suffix != ".md":
            continue
        for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", (ROOT / path).read_text("utf-8")):
            if "://" not in target and not target.startswith("mailto:") and not (ROOT / path.parent / target).exists():
                dead.append(f"{path}: {target}")
    assert dead == []
