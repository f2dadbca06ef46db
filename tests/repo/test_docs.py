"""The generated pages are fresh, and everything that a person can name is explained."""

import re

import pytest
from ruamel.yaml import YAML

from scripts import docs
from scripts.pages import cases, commands, metrics, models, providers
from tests.repo.checkout import ROOT, python


@pytest.mark.parametrize("name", docs.PAGES)
def test_the_page_is_fresh(name: str) -> None:
    assert (ROOT / "docs" / name).read_text("utf-8") == docs.render(name), "run `make docs`"


def test_every_setting_has_its_sentence() -> None:
    from costguard.config.settings import Settings

    silent = [
        f"{model.__name__}.{field}"
        for model in (Settings, *models.nested(Settings))
        for field, text in models.words(model).items()
        if not text and field != "kind"
    ]
    assert silent == []


def test_every_rule_is_explained_in_both_languages_with_an_example() -> None:
    from costguard.rules.registry import RULES, parse_policy

    text = (ROOT / "docs/policies.md").read_text("utf-8")
    for name, rule in RULES.items():
        assert f"## {name}\n" in text
        assert rule.summary.en.strip()
        assert re.search(r"[\u4e00-\u9fff]", rule.summary.zh), name
        policies = YAML(typ="safe").load(rule.example)["policies"]
        assert name in [parse_policy(policy).rule for policy in policies]
        silent = [field for field, words in models.words(rule.when).items() if not words]
        assert silent == [], name


def test_every_capability_has_a_line() -> None:
    text = (ROOT / "docs/providers.md").read_text("utf-8")
    for manifest in providers.manifests(ROOT):
        missing = [name for name in manifest["capabilities"] if f"| `{name}` |" not in text]
        assert missing == [], manifest["id"]


def test_every_metric_is_named_and_explained() -> None:
    text = (ROOT / "docs/metrics.md").read_text("utf-8")
    for metric in metrics.collectors():
        assert f"`{metric._name}" in text
        assert metric._name.startswith("costguard_")
        assert metric._documentation.endswith(".")


def test_every_command_says_what_it_does() -> None:
    silent = []
    for path, command in commands.commands():
        if not (command.help or "").strip():
            silent.append(path)
        silent += [
            f"{path} {parameter.name}"
            for parameter in command.params
            if parameter.param_type_name == "option" and not (getattr(parameter, "help", None) or "").strip()
        ]
    assert silent == []


def test_every_test_that_claims_a_case_claims_one_that_exists() -> None:
    known, strays = cases.situations(ROOT), []
    for path in python("tests"):
        for line in (ROOT / path).read_text("utf-8").splitlines():
            if first := re.match(r'\s*"""((?:[A-M]\d\d[,: /]+)+)', line):
                strays += [f"{path}: {case}" for case in re.findall(r"[A-M]\d\d", first[1]) if case not in known]
    assert strays == []


def test_each_decision_has_a_number_of_its_own() -> None:
    files = sorted((ROOT / "docs/adr").glob("*.md"))
    assert [int(path.name[:4]) for path in files] == list(range(1, len(files) + 1))
    titles = {path.name: path.read_text("utf-8").splitlines()[0] for path in files}
    assert [name for name, title in titles.items() if not title.startswith(f"# {int(name[:4])}. ")] == []
