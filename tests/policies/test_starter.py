"""The starter pack: every policy is tested by a YAML test, and every test passes."""

from pathlib import Path

import pytest

from costguard import assets
from costguard.config.policies import Findings, read_file
from costguard.config.testing import Report, failures, run

FOLDERS = [assets.policies(), assets.policies() / "examples"]


@pytest.fixture(scope="module")
def report() -> Report:
    return run([folder for folder in FOLDERS if folder.is_dir()], {})


def names(folder: Path) -> list[str]:
    found = Findings([], [])
    policies = [one.policy for path in sorted(folder.glob("*.yaml")) for one in read_file(path, {}, found)[1]]
    assert [str(error) for error in found.errors] == []
    return [policy.name for policy in policies]


def test_every_test_passes(report: Report) -> None:
    """A01, A06, A10, A24, A29, A30, C04, C07, C19, C21, C24, M03, M14: the starter policies on described fleets."""
    assert failures(report) == []
    assert sum(len(result.rows) for result in report.results) > 40


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_policy_has_a_test(folder: Path, report: Report) -> None:
    assert set(names(folder)) - {result.policy for result in report.results} == set()


def test_what_can_stop_leaves_serving_boxes_alone() -> None:
    found = Findings([], [])
    for path in sorted(assets.policies().glob("idle*.yaml")):
        for one in read_file(path, {}, found)[1]:
            if "serving" in one.policy.name:
                assert not any(rung.do.acts for rung in one.policy.respond)
