"""Rules of shared costs as people write them."""

from fractions import Fraction
from pathlib import Path

import pytest

from costguard.app.settings import shared_costs
from costguard.config.load import load
from costguard.engine.sharing import SharedCost
from costguard.errors import ConfigErrors

BASE = """\
version: 1
accounts: [{name: prod, provider: simulated, project: base}]
policies: []
"""


def loaded(folder: Path, text: str) -> tuple[SharedCost, ...]:
    path = folder / "costguard.yaml"
    path.write_text(BASE + text, "utf-8")
    return shared_costs(load(path, {}))


def test_rules_as_reports_apply_them(tmp_path: Path) -> None:
    rules = loaded(
        tmp_path,
        """\
shared:
  - {name: gateway, match: {names: ["gw-*"], tags: {shared: [yes, "1"]}}, split: even, among: [nlp, vision]}
  - {name: support, match: {services: ["*support*"]}, split: {nlp: 33.3%, vision: 60%}}
  - {name: rest, match: {unallocated: true}, to: owner}
""",
    )
    assert rules == (
        SharedCost("gateway", names=("gw-*",), tags={"shared": ("yes", "1")}, among=("nlp", "vision")),
        SharedCost("support", services=("*support*",), shares={"nlp": Fraction(333, 1000), "vision": Fraction(3, 5)}),
        SharedCost("rest", unallocated=True, to="owner", by_cost=True),
    )


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{name: a, match: {}}", r"costguard\.yaml:5:.*shared\[0\]\.match: says nothing: give accounts"),
        ("{name: a, match: {names: [x]}, split: {}}", r"shared\[0\]\.split.*divides nothing"),
        ("{name: a, match: {names: [x]}, split: {nlp: 60%, cv: 41%}}", r"shared\[0\]\.split.*101% of the whole"),
        ("{name: a, match: {names: [x]}, split: {nlp: 60}}", r"shared\[0\]\.split"),
        ("{name: a, match: {names: [x]}, split: fair}", r"shared\[0\]\.split"),
        ("{name: a, match: {names: [x]}, split: {nlp: 60%}, among: [cv]}", r"among goes with even and by_cost"),
        ("{name: a, match: {name: [x]}}", r"shared\[0\]\.match\.name: unknown key"),
        ("{name: a, match: {names: [x]}, to: cluster}", r"shared\[0\]\.to"),
        ("{name: a, match: {names: [x]}}\n  - {name: a, match: {names: [y]}}", r"shared\[1\]\.name"),
    ],
)
def test_mistakes_are_told_at_their_place(tmp_path: Path, rule: str, message: str) -> None:
    with pytest.raises(ConfigErrors, match=message):
        loaded(tmp_path, f"shared:\n  - {rule}\n")
