"""deploy/: what its files name exists, and whoever reads them for a living accepts them."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from costguard.config.load import load
from scripts.pages import commands, metrics
from tests.repo.checkout import ROOT, tracked

DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "systemd/costguard.service"
COMPOSE = ("compose.yaml", "postgres.yaml")
# The most that the unit may be exposed, as systemd-analyze counts (0 is best, 10 is worst).
EXPOSED = 2.0


def text(path: str) -> str:
    return (DEPLOY / path).read_text("utf-8")


def yaml(path: str) -> Any:
    return YAML(typ="safe").load(text(path))


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed here")
    return found


def accepted(*words: str | Path) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def entries(section: str) -> dict[str, list[str]]:
    """The unit's lines of a section by key."""
    found: dict[str, list[str]] = {}
    inside = ""
    for line in UNIT.read_text("utf-8").splitlines():
        if line.startswith("["):
            inside = line.strip("[]")
        elif inside == section and "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def known(words: list[str]) -> None:
    """Raises AssertionError for a command or an option that costguard does not have."""
    leaves = dict(commands.commands())
    shared = {"--config", "-c"}
    rest = list(words)
    while rest and rest[0] in shared:
        del rest[:2]
    plain = [word for word in rest if not word.startswith("-")]
    (command,) = [leaf for path, leaf in leaves.items() if path.split()[1:] == plain[: len(path.split()) - 1]]
    options = {option for parameter in command.params for option in parameter.opts} | shared
    assert {word for word in rest if word.startswith("-")} <= options, words


# systemd


def test_the_unit_starts_a_command_that_there_is() -> None:
    (start,) = entries("Service")["ExecStart"]
    program, *words = shlex.split(start)
    assert Path(program).name == "costguard"
    known(words)
    assert words[-1] == "run"


def test_the_unit_says_what_the_product_promises() -> None:
    """It ends within 30 s of SIGTERM, takes SIGHUP, comes back after a crash, and fits a machine with 1 GB."""
    service = {key: values[-1] for key, values in entries("Service").items()}
    assert (service["Restart"], service["RestartPreventExitStatus"]) == ("always", "78")
    assert int(service["TimeoutStopSec"]) > 30
    assert "-HUP" in service["ExecReload"]
    assert service["StateDirectory"] == "costguard"
    assert int(service["MemoryMax"].removesuffix("M")) <= 800


def test_systemd_accepts_the_unit_and_its_secrets(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text("utf-8").replace("/opt/costguard/bin/costguard", sys.executable), "utf-8")
    more = tmp_path / f"{UNIT.name}.d"
    more.mkdir()
    shutil.copy(DEPLOY / "systemd/secrets.conf", more)
    assert accepted(analyze, "verify", "--man=no", unit) == ""
    accepted(analyze, "security", "--no-pager", "--offline=yes", f"--threshold={EXPOSED * 10:.0f}", unit)


# Docker and compose


def copied() -> Iterator[str]:
    for line in text("docker/Dockerfile").splitlines():
        if line.startswith("COPY ") and "--from=" not in line:
            yield from line.split()[1:-1]


def test_the_image_is_made_of_files_that_there_are() -> None:
    files = {str(path) for path in tracked()} | {
        str(path.parents[n]) for path in tracked() for n in range(len(path.parents))
    }
    assert set(copied()) <= files
    assert {"src", "adapters", "policies", "migrations", "uv.lock"} <= set(copied())
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    assert let_in == set(copied())


def test_everything_that_the_wheel_is_built_from_is_in_the_image() -> None:
    """hatchling fails, or leaves out, what pyproject.toml names and the image lacks."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    named = {*wheel["only-include"], *wheel["force-include"], project["project"]["readme"],
             *project["project"]["license-files"]}  # fmt: skip
    assert {name.split("/")[0] for name in named} <= set(copied())


def test_the_image_runs_as_nobody_in_particular_and_tells_its_health() -> None:
    final = text("docker/Dockerfile").rpartition("\nFROM ")[2]
    assert re.search(r"(?m)^USER costguard$", final)
    (check,) = re.findall(r"(?m)^HEALTHCHECK .*\n +CMD (\[.*\])$", final)
    (script,) = json.loads(check)[2:]
    compile(script, "HEALTHCHECK", "exec")
    assert "/healthz" in script
    (command,) = re.findall(r"(?m)^CMD (\[.*\])$", final)
    known(json.loads(command))


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_names_what_there_is(name: str) -> None:
    document = yaml(f"compose/{name}")
    ours = {key: one for key, one in document["services"].items() if one["image"] == "costguard"}
    assert ours
    for service in ours.values():
        folder = (DEPLOY / "compose" / service["build"]["context"]).resolve()
        assert folder == ROOT
        assert (folder / service["build"]["dockerfile"]).is_file()
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert (DEPLOY / "compose" / source).exists() if source.startswith(".") else source in document["volumes"]
        assert set(service["secrets"]) == set(document["secrets"])
        known(service.get("command", ["run"]))


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_mounts_a_configuration_that_is_right(name: str, tmp_path: Path) -> None:
    """With the variables and secrets that the file hands over, as they are in the container, the policies included."""
    document = yaml(f"compose/{name}")
    service = next(one for one in document["services"].values() if one["image"] == "costguard")
    config = text("compose/costguard.yaml")
    for secret in document["secrets"]:
        assert f"/run/secrets/{secret}" in config
        (tmp_path / secret).write_text(f"a secret for {secret}\n", "utf-8")
    (tmp_path / "costguard.yaml").write_text(config.replace("/run/secrets", str(tmp_path)), "utf-8")
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    env = {key: re.sub(r"\$\{\w+:\?[^}]*\}", "value", value) for key, value in service["environment"].items()}
    loaded = load(tmp_path / "costguard.yaml", env)
    assert loaded.settings.web.port == 8787
    assert loaded.settings.mode == "dry_run"
    assert {policy.name for policy in loaded.policies} >= {"idle-dev", "still-billed"}


# Prometheus and Grafana


def expressions() -> dict[str, str]:
    """Every query of the alert rules and of the dashboard, by its name."""
    found = {
        rule["alert"]: rule["expr"]
        for group in yaml("prometheus/costguard.rules.yml")["groups"]
        for rule in group["rules"]
    }
    for panel in json.loads(text("grafana/costguard.json"))["panels"]:
        found |= {f"{panel['title']} {target['refId']}": target["expr"] for target in panel["targets"]}
    return found


def test_alerts_and_dashboard_ask_for_metrics_and_labels_that_there_are() -> None:
    """By the metric objects, and so by docs/metrics.md, which is made from them."""
    labels: dict[str, set[str]] = {}
    for metric in metrics.collectors():
        name = metrics._name(metric)
        suffixes = ("_bucket", "_sum", "_count") if metric._type == "histogram" else ("",)
        labels |= {name + suffix: {*metric._labelnames, "instance", "job", "le"} for suffix in suffixes}
    asked = expressions()
    for title, query in asked.items():
        names = re.findall(r"\bcostguard_\w+", query)
        assert set(names) <= set(labels), title
        for name, chosen in re.findall(r"\b(costguard_\w+)\{([^}]*)\}", query):
            assert set(re.findall(r"(\w+)\s*(?:=|!=|=~|!~)\"", chosen)) <= labels[name], title
        for group in re.findall(r"\bby \(([^)]*)\)", query):
            used = {label.strip() for label in group.split(",")}
            assert all(used <= labels[name] for name in names), title


def test_alerts_name_commands_that_there_are() -> None:
    for path in ("prometheus/costguard.rules.yml", "prometheus/costguard.test.yml"):
        for command in re.findall(r"`costguard ([^`]+)`", text(path)):
            known(re.sub(r"\{\{.*?\}\}", "x", command).split())


def test_every_alert_speaks_both_languages() -> None:
    for group in yaml("prometheus/costguard.rules.yml")["groups"]:
        for rule in group["rules"]:
            assert rule["annotations"]["summary"].isascii()
            assert re.search(r"[\u4e00-\u9fff]", rule["annotations"]["summary_zh"]), rule["alert"]


def test_no_panel_lies_on_another() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in json.loads(text("grafana/costguard.json"))["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
            assert taken.setdefault(cell, panel["title"]) == panel["title"]


def test_promtool_accepts_scraping_alerts_and_queries_and_the_alerts_fire(tmp_path: Path) -> None:
    promtool, folder = tool("promtool"), DEPLOY / "prometheus"
    accepted(promtool, "check", "config", "--syntax-only", folder / "prometheus.yml")
    accepted(promtool, "check", "rules", folder / "costguard.rules.yml")
    accepted(promtool, "test", "rules", folder / "costguard.test.yml")
    rules = [{"record": f"query:{n}", "expr": query} for n, query in enumerate(expressions().values())]
    (tmp_path / "queries.yml").write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}), "utf-8")
    accepted(promtool, "check", "rules", tmp_path / "queries.yml")
