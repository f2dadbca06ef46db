"""Manifests: every fault has its sentence, and only the right words excuse."""

import tomllib
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from costguard.testing.manifest import excuse, load_manifest, manifest_path, problems

GOOD = tomllib.loads((Path(__file__).parent / "packages/costguard_reference/manifest.toml").read_text())

BAD: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no name": (lambda m: m.pop("name"), "name: a text is missing"),
    "empty docs": (lambda m: m.update(docs=" "), "docs: a text is missing"),
    "no table": (lambda m: m.pop("billing"), "[billing] is missing"),
    "id": (lambda m: m.update(id="Ref-1"), "id: lower-case letters, digits and _ only"),
    "docs": (lambda m: m.update(docs="http://x"), "docs: an https:// address"),
    "tier": (lambda m: m.update(tier="gold"), "tier: stable or beta"),
    "currency": (lambda m: m.update(currency="RMB¥"), "currency: an ISO 4217 code"),
    "zone": (lambda m: m.update(billing_timezone="CST"), "billing_timezone: an IANA zone"),
    "kind": (lambda m: m.update(stoppable=["box"]), "stoppable: 'box' is no kind"),
    "tags": (lambda m: m.update(group_tags="x"), "group_tags: a list of texts"),
    "stray key": (lambda m: m.update(colour="red"), "colour: nobody knows this key"),
    "secret": (lambda m: m["credentials"].pop("secret"), "[credentials] secret: a list of texts"),
    "missing capability": (lambda m: m["capabilities"].pop("stop"), "[capabilities] stop: missing"),
    "stray capability": (
        lambda m: m["capabilities"].update(fly="full"),
        "[capabilities] fly: nobody knows this name",
    ),
    "no reason": (
        lambda m: m["capabilities"].update(stop="impossible"),
        "[capabilities] stop: 'impossible' is not one of full|partial: …|impossible: …|not_written|unknown",
    ),
    "boolean": (
        lambda m: m["capabilities"].update(stop=True),
        "[capabilities] stop: True is not one of full|partial: …|impossible: …|not_written|unknown",
    ),
    "missing rule": (lambda m: m["quality"].pop("threads"), "[quality] threads: missing"),
    "exempt": (
        lambda m: m["quality"].update(in_doubt="exempt: hard"),
        "[quality] in_doubt: cannot be exempt",
    ),
    "permission": (lambda m: m["permissions"].update(fly=["x"]), "[permissions] fly: no capability"),
    "permission text": (lambda m: m["permissions"].update(stop="x"), "[permissions] stop: a list of texts"),
    "metric": (
        lambda m: m["metrics"].update(speed={"period": "1m"}),
        "[metrics.speed]: no such metric",
    ),
    "statistic": (
        lambda m: m["metrics"]["gpu_util"].update(statistic="p99"),
        "[metrics.gpu_util] statistic: max, mean or last",
    ),
    "cards": (lambda m: m["metrics"]["gpu_util"].update(cards="all"), "[metrics.gpu_util] cards: each or mean"),
    "no agent": (lambda m: m.update(agent={"note": "x"}), "[agent] install: a command line is missing"),
    "agent's blank": (lambda m: m.update(agent={"install": "x {name}"}), "[agent] install: 'name' is not filled in"),
    "stray agent key": (
        lambda m: m.update(agent={"install": "x {id}", "colour": "red"}),
        "[agent] colour: nobody knows this key",
    ),
    "period": (
        lambda m: m["metrics"]["gpu_util"].update(period="0s"),
        "[metrics.gpu_util] period: longer than nothing",
    ),
    "delay": (
        lambda m: m["metrics"]["gpu_util"].update(delay=120),
        "[metrics.gpu_util] delay: not a duration: '120'; write a number and a unit, like 45m, 8h or 7d",
    ),
}


def test_the_reference_is_right() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize("what", BAD)
def test_each_fault_is_the_only_one_named(what: str) -> None:
    break_it, sentence = BAD[what]
    manifest = deepcopy(GOOD)
    break_it(manifest)
    assert problems(manifest) == [sentence]


@pytest.mark.parametrize(
    ("requirement", "value", "excused"),
    [
        ("stop", "full", False),
        ("stop", "partial: not all", False),
        ("stop", "unknown", False),
        ("stop", "not_written", True),
        ("stop", "impossible: rented by the month", True),
        ("secrets", "done", False),
        ("secrets", "todo: soon", False),
        ("secrets", "exempt: nothing is sent", True),
    ],
)
def test_what_excuses(requirement: str, value: str, excused: bool) -> None:
    manifest = deepcopy(GOOD)
    manifest["capabilities" if requirement == "stop" else "quality"][requirement] = value
    assert (excuse(manifest, requirement) is not None) == excused


def test_a_requirement_is_a_capability_or_an_exemptible_rule() -> None:
    for name in ("threads", "fly"):
        with pytest.raises(ValueError, match=name):
            excuse(GOOD, name)


def test_a_package_without_a_manifest_says_so() -> None:
    for package in ("json", "no_such_package"):
        with pytest.raises(FileNotFoundError, match=package):
            manifest_path(package)


@pytest.mark.parametrize("package", ["costguard_simulated"])
def test_a_manifest_is_read_without_importing_its_package(package: str) -> None:
    assert load_manifest(package)["id"] == package.removeprefix("costguard_")
