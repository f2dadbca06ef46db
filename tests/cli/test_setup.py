"""From nothing to a checked configuration: init, check, doctor, policies, help."""

import json
import shutil
from pathlib import Path

import pytest
from rich.cells import cell_len

from costguard.cli.main import app
from tests.cli.cli import ROOT, costguard, leaks
from tests.web.stage import OPS_URL, Stage

ENV = {OPS_URL: "http://127.0.0.1:9/none"}
BAD = sorted((ROOT / "tests/unit/config/bad").glob("*.yaml"))


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_init_then_check(tmp_path: Path, lang: str) -> None:
    made = costguard("init", str(tmp_path / "ops"), "--lang", lang, width=200)
    assert made.code == 0
    following = "下一步：" if lang == "zh" else "next: "
    assert f"{following}costguard check -c {tmp_path}/ops/costguard.yaml" in made.out
    checked = costguard("check", "-c", str(tmp_path / "ops/costguard.yaml"), width=200)
    assert (checked.code, checked.err) == (0, "")
    told = "idle-dev 演练 · 45m 预警、" if lang == "zh" else "idle-dev dry_run · warn at 45m, "
    assert told in checked.out
    later = "看过一次机群之后" if lang == "zh" else "after a first look at the fleet"
    assert later in checked.out.splitlines()[-1], "what they match"
    assert checked.out.endswith(": costguard run --once\n" if lang == "en" else "：costguard run --once\n")
    again = costguard("init", str(tmp_path / "ops"), "--lang", "en", width=200)
    assert again.code == 2
    assert "already there, nothing was written" in again.err


def test_init_names_the_variables_that_it_needs(tmp_path: Path) -> None:
    made = costguard("init", str(tmp_path), "--providers", "aliyun", "--lang", "en", width=200)
    assert "set ALIYUN_AK, ALIYUN_SK in the environment" in made.out
    wrong = costguard("init", str(tmp_path / "x"), "--providers", "azure", width=200)
    assert wrong.code == 2
    assert "aws" in wrong.err
    assert costguard("init", str(tmp_path / "x"), "--lang", "fr").code == 2


@pytest.mark.parametrize("bad", BAD, ids=lambda path: path.stem)
def test_check_tells_every_mistake_at_its_place(tmp_path: Path, bad: Path) -> None:
    """Whatever is wrong is told before anything runs, and nothing is half loaded."""
    name = "costguard.yaml" if bad.stem.startswith("config") else "policies/bad.yaml"
    (tmp_path / "policies").mkdir()
    shutil.copy(bad, tmp_path / name)
    if name != "costguard.yaml":
        text = "version: 1\naccounts: [{name: a, provider: simulated}]\npolicies: [policies]\n"
        (tmp_path / "costguard.yaml").write_text(text, "utf-8")
    answer = costguard("check", "-c", str(tmp_path / "costguard.yaml"), width=400)
    assert answer.code == 78
    assert answer.out == ""
    lines = [line for line in answer.err.splitlines() if ": error: " in line]
    assert lines
    assert all(line.startswith(str(tmp_path)) for line in lines)
    assert "nothing was loaded" in answer.err.splitlines()[-1]
    document = costguard("check", "-c", str(tmp_path / "costguard.yaml"), "--json").document
    assert document["exit_code"] == 78
    assert len(document["errors"]) == len(lines)
    assert all(error["line"] and error["column"] for error in document["errors"])


def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    answer = costguard("check", "-c", str(tmp_path / "none.yaml"), width=200)
    assert answer.code == 78
    assert "none.yaml" in answer.err
    assert "costguard init" in answer.err


def test_check_knows_what_the_policies_would_match(staged: Stage) -> None:
    answer = costguard("check", "-c", str(staged.config), env=ENV)
    assert "idle-dev enforce · matches 7 · warn at 20m, stop at 50m · fenced 1" in answer.out
    assert "first look" not in answer.out
    policies = costguard("check", "-c", str(staged.config), "--json", env=ENV).document["policies"]
    assert {p["policy"]: (p["matches"], p["fenced"]) for p in policies}["idle-dev"] == (7, 1)


@pytest.mark.parametrize(
    ("zone", "told"),
    [("Asia/Shanghai", "at once · holidays of CN"), ("Europe/Berlin", "weekdays alone, no public holidays")],
)
def test_check_says_whose_holidays_a_policy_goes_by(tmp_path: Path, zone: str, told: str) -> None:
    """D13: nobody has to find out on 1 October."""
    night = "{name: n, rule: schedule, match: all, when: {off: [{days: restdays}]}, respond: [{do: notify}]}"
    (tmp_path / "p.yaml").write_text(f"policies: [{night}]\n")
    (tmp_path / "costguard.yaml").write_text(f"version: 1\ntimezone: {zone}\npolicies: [p.yaml]\n")
    assert told in costguard("check", "-c", str(tmp_path / "costguard.yaml"), "--lang", "en").out


def test_doctor_proves_what_it_can(stage: Stage) -> None:
    answer = costguard("doctor", "-c", str(stage.config), "--metrics", env=ENV, width=300)
    assert answer.code == 0, answer.out
    for words in ("of account 1", "r1: granted: ", "GPU use seen of 6 of 7", "no GPU use of blind", "0 faults, "):
        assert words in answer.out
    document = costguard("doctor", "-c", str(stage.config), "--account", "sim", "--json", env=ENV).document
    assert document["schema"] == "costguard.doctor/1"
    assert document["ok"] is True
    assert costguard("doctor", "-c", str(stage.config), "--account", "sima", env=ENV).code == 2


def test_doctor_finds_a_fault(stage: Stage) -> None:
    """K01: credentials of another account than the configured one."""
    text = stage.config.read_text("utf-8").replace('account_id: "1"', 'account_id: "2"')
    stage.config.write_text(text, "utf-8")
    answer = costguard("doctor", "-c", str(stage.config), env=ENV, width=300)
    assert answer.code == 1
    assert "FAULT" in answer.out
    assert "configured as 2" in answer.out


def test_policies_test_list_and_schema(staged: Stage, tmp_path: Path) -> None:
    passed = costguard("policies", "test", str(ROOT / "policies"))
    assert passed.code == 0
    assert ", 0 failed" in passed.out
    assert costguard("policies", "test", str(ROOT / "policies"), "--json").document["ok"] is True
    listed = costguard("policies", "list", "-c", str(staged.config), "--json", env=ENV).document
    assert [p["policy"] for p in listed["policies"]] == ["idle-dev", "untagged"]
    for words in (("policies", "schema"), ("policies", "schema", "--config-file")):
        assert "json-schema.org" in json.dumps(costguard(*words).document)


def test_a_failing_policy_test_is_exit_1_and_says_what_was_got(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "policies", tmp_path / "policies", ignore=shutil.ignore_patterns("examples"))
    test = tmp_path / "policies/tests/idle.yaml"
    test.write_text(test.read_text("utf-8").replace("    fresh: warn\n", "    fresh: stop\n", 1), "utf-8")
    answer = costguard("policies", "test", str(tmp_path / "policies"), width=200)
    assert answer.code == 1
    assert "FAIL  fresh: expected stop; got warn" in answer.out
    assert "1 failed" in answer.out


def test_policy_tests_that_are_not_there_are_told(tmp_path: Path) -> None:
    missing = costguard("policies", "test", str(tmp_path / "polices"), width=200)
    assert missing.code == 2
    assert "no such file or folder" in missing.err
    (tmp_path / "policies").mkdir()
    empty = costguard("policies", "test", str(tmp_path / "policies"), width=200)
    assert empty.code == 0
    assert "no tests were found" in empty.err


def test_a_share_above_the_whole_is_refused(stage: Stage) -> None:
    text = stage.config.read_text("utf-8").replace("share: 100%", "share: 250%")
    stage.config.write_text(text, "utf-8")
    answer = costguard("check", "-c", str(stage.config), env=ENV, width=200)
    assert answer.code == 78
    assert "limits.share" in answer.err
    assert "100" in answer.err


def _commands() -> list[tuple[str, ...]]:
    import typer

    found: list[tuple[str, ...]] = []

    def walk(command: object, path: tuple[str, ...]) -> None:
        found.append(path)
        for name, sub in getattr(command, "commands", {}).items():
            walk(sub, (*path, name))

    walk(typer.main.get_command(app), ())
    return found


@pytest.mark.parametrize("path", _commands(), ids=lambda path: " ".join(path) or "costguard")
def test_help_says_what_a_command_does(path: tuple[str, ...]) -> None:
    answer = costguard(*path, "--help")
    assert answer.code == 0
    assert "Usage: " in answer.out
    told = [line.strip() for line in answer.out.splitlines() if line.strip() and "Usage: " not in line]
    assert len(told[0]) > 10
    assert told[0][0].isupper()
    assert max(len(line.rstrip()) for line in answer.out.splitlines()) <= 80
    assert "\x1b" not in answer.out
    assert "bool" not in answer.out.lower()


@pytest.mark.parametrize("path", _commands(), ids=lambda path: " ".join(path) or "costguard")
def test_help_is_in_the_language_of_the_terminal(path: tuple[str, ...]) -> None:
    """No sentence of it is English, and its lines fit: a Chinese character takes two cells."""
    told = costguard(*path, "--help", env={"LC_ALL": "zh_CN.UTF-8"})
    assert (told.code, told.err) == (0, "")
    assert "用法：" in told.out
    assert leaks(told) == []
    assert max(cell_len(line.rstrip()) for line in told.out.splitlines()) <= 80
    assert costguard(*path, "--help", "--lang", "zh").out == told.out


@pytest.mark.parametrize("path", ["keep", "heartbeat", "audit", "explain", "run", "init", "demo", "claim", "pause"])
def test_help_of_what_people_type_has_an_example(path: str) -> None:
    assert "Example" in costguard(path, "--help").out


def test_the_version_and_nothing_at_all() -> None:
    assert costguard("--version").out.startswith("costguard ")
    bare = costguard()
    assert "COMMAND" in bare.out
