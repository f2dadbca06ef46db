"""run --once, audit, notify and db: exit codes, documents, and what stands on stderr."""

import csv
import io
import os
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from costguard.app.app import App
from costguard.cli.errors import worst
from costguard.net.clock import SystemClock
from tests.cli.cli import costguard
from tests.fakes.dingtalk import SECRET, DingTalkServer
from tests.fakes.slack import SlackServer
from tests.web.stage import OPS_URL, Stage


def test_of_several_exit_codes_the_contracts_first_wins() -> None:
    for codes in ([1, 69], [69, 3], [3, 75], [75, 78], [1, 69, 3, 75, 78]):
        assert worst(codes) == codes[-1]
        assert worst(reversed(codes)) == codes[-1]
    assert worst([]) == 0


def test_once_polls_decides_and_tells(stage: Stage) -> None:
    with SlackServer() as slack:
        answer = costguard("run", "--once", "-c", str(stage.config), "--json", env={OPS_URL: slack.webhook_url})
        assert answer.code == 0, answer.err
        assert answer.document["schema"] == "costguard.cycle/1"
        assert {d["subject"]["name"] for d in answer.document["decisions"]} >= {"warned", "prod-api"}
        words = costguard("run", "--once", "-c", str(stage.config), env={OPS_URL: slack.webhook_url})
        rows = [" ".join(line.split()) for line in words.out.splitlines()]
        assert "no stop idle-dev prod-api never_stop fences the name" in rows
        assert max(map(cell_len, words.out.splitlines())) <= 80
        assert "mode enforce" in words.out
        found = costguard(
            "run", "--once", "--fail-on-findings", "-c", str(stage.config), env={OPS_URL: slack.webhook_url}
        )
        assert found.code == 1


def test_a_dry_run_announces_no_stop_however_often_it_looks(stage: Stage) -> None:
    """The second look changes no row; what it tells of each is the same."""
    stage.config.write_text(stage.config.read_text("utf-8").replace("mode: enforce", "mode: dry_run"), "utf-8")
    with SlackServer() as slack:
        words = ("run", "--once", "--lang", "en", "-c", str(stage.config))
        for _ in range(2):
            told = costguard(*words, env={OPS_URL: slack.webhook_url}).out
            assert "would stop" in told
            assert "stop later" not in told


def test_once_beside_a_live_daemon_is_temporary(stage: Stage) -> None:
    """One of them acts, the other says so and goes."""
    app = App.open(stage.load(), SystemClock(), threads=1)
    assert app.lead.round()
    try:
        answer = costguard("run", "--once", "-c", str(stage.config), env={OPS_URL: "http://127.0.0.1:9/"})
        assert answer.code == 75
        assert "daemon" in answer.err
        document = costguard("run", "--once", "--json", "-c", str(stage.config), env={OPS_URL: "http://127.0.0.1:9/"})
        assert (document.code, document.document["exit_code"]) == (75, 75)
    finally:
        app.close()


@pytest.fixture
def env() -> dict[str, str]:
    return {OPS_URL: "http://127.0.0.1:9/none"}


def test_audit_in_every_format(stage: Stage, env: dict[str, str], tmp_path: Path) -> None:
    def run(*words: str) -> str:
        answer = costguard("audit", "--offline", "-c", str(stage.config), *words, env=env)
        assert answer.code == 0, answer.err
        return answer.out

    table = run()
    assert "spent so far" in table
    assert max(len(line) for line in table.splitlines() if not line.startswith(("To decide", "warning"))) <= 90
    document = costguard("audit", "--offline", "--json", "-c", str(stage.config), env=env).document
    assert document["schema"] == "costguard.audit/1"
    assert document.keys() >= {
        "month", "stage", "currency", "spend", "payments", "drivers", "forecast", "resources", "findings", "would_have",
        "savings", "false_stops", "decisions_needed", "sources", "warnings",
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(run("--format", "csv"))))
    assert {"name", "estimated", "currency", "owner"} <= rows[0].keys()
    assert len(rows) == len(document["resources"])
    assert run("--format", "markdown").startswith("# ")
    file = tmp_path / "report.md"
    told = costguard("audit", "--offline", "-c", str(stage.config), "-f", "markdown", "-o", str(file), env=env)
    assert (told.out, file.read_text("utf-8")[:2]) == ("", "# ")
    assert "wrote" in told.err
    assert os.listdir(tmp_path).count("report.md.part") == 0


def test_audit_refuses_what_it_cannot_mean(stage: Stage, env: dict[str, str]) -> None:
    for words in (("--month", "2099-01"), ("--month", "March"), ("--format", "pdf")):
        answer = costguard("audit", "--offline", "-c", str(stage.config), *words, env=env)
        assert answer.code == 2
        assert answer.err.startswith("error: ")


def test_audit_without_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first thing that somebody tries: ambient credentials, nothing written, nothing changed."""
    monkeypatch.chdir(tmp_path)
    answer = costguard("audit", "--provider", "simulated", "--json")
    assert answer.code == 0, answer.err
    assert {r["subject"]["provider"] for r in answer.document["resources"]} == {"simulated"}
    assert os.listdir(tmp_path) == []
    assert answer.document["budgets"] == [], "the starter's amounts are nobody's budget"
    assert any("no budget is set" in warning for warning in answer.document["warnings"])
    for terminal, title in (("en_US.UTF-8", "# Audit"), ("zh_CN.UTF-8", "# 费用审计")):
        written = costguard("audit", "--provider", "simulated", "--format", "markdown", env={"LC_ALL": terminal})
        assert written.out.startswith(title), "without a configuration it speaks the terminal's language"
    assert costguard("audit", "--provider", "nosuch").code == 2


def test_notify_test_and_what_a_refusal_means(stage: Stage) -> None:
    with SlackServer() as slack:
        words = ("notify", "test", "--channel", "ops", "-c", str(stage.config))
        sent = costguard(*words, env={OPS_URL: slack.webhook_url})
        assert sent.code == 0, sent.err
        assert "accepted" in sent.out
        assert len(slack.posted) == 1
        slack.hook_state = "channel_is_archived"
        gone = costguard(*words, env={OPS_URL: slack.webhook_url}, width=200)
        assert gone.code == 3
        assert "archived" in gone.err
        assert "->" in gone.err
        assert "kJ8sLm2nPqRsTuVwXyZ01234" not in gone.err + gone.out, "the webhook's secret path"


@pytest.mark.parametrize(("secret", "code"), [(SECRET, 0), ("SECwrong", 3)])
def test_notify_test_to_a_signed_dingtalk_robot(stage: Stage, secret: str, code: int) -> None:
    with DingTalkServer() as ding:
        text = stage.config.read_text("utf-8")
        text = text.replace("kind: slack, url", f"kind: dingtalk, secret: {secret}, url")
        stage.config.write_text(text, "utf-8")
        ding.clock.advance(SystemClock().now() - ding.clock.now())
        answer = costguard(
            "notify", "test", "--channel", "ops", "-c", str(stage.config), env={OPS_URL: ding.robot_url}, width=200
        )
    assert answer.code == code, answer.err
    assert secret not in answer.out + answer.err
    if code:
        assert "->" in answer.err


def test_notify_to_a_channel_that_is_not_there(stage: Stage, env: dict[str, str]) -> None:
    answer = costguard("notify", "test", "--channel", "opps", "-c", str(stage.config), env=env)
    assert (answer.code, answer.err.splitlines()[-1].strip()) == (2, "ops")
    assert "no channel 'opps' (did you mean ops?); channels:" in answer.err


def test_notify_dead_and_replay(stage: Stage, env: dict[str, str]) -> None:
    """J19: what was given up is listed with its reason, and sent again when somebody says so."""
    assert "No dead messages" in costguard("notify", "dead", "-c", str(stage.config), env=env).out
    assert "nothing to send again" in costguard("notify", "replay", "-c", str(stage.config), env=env).out
    with stage.app() as app, app.database.write() as conn:
        conn.exec_driver_sql("update notice set state = 'dead', last_error = 'no_service' where kind = 'warn'")
    dead = costguard("notify", "dead", "-c", str(stage.config), env=env)
    assert "no_service" in dead.out
    count = len(costguard("notify", "dead", "--json", "-c", str(stage.config), env=env).document["notices"])
    assert f"{count} message" in costguard("notify", "replay", "-c", str(stage.config), env=env).out
    assert "No dead messages" in costguard("notify", "dead", "-c", str(stage.config), env=env).out


def test_db_upgrade_check_backup_and_restore(stage: Stage, env: dict[str, str], tmp_path: Path) -> None:
    def db(*words: str) -> tuple[int, str]:
        answer = costguard("db", *words, "-c", str(stage.config), env=env, width=200)
        return answer.code, answer.out + answer.err

    assert db("check")[0] == 0
    assert db("upgrade")[0] == 0
    assert db("backup", str(tmp_path / "copy.db"))[0] == 0
    (tmp_path / "mine.txt").write_text("precious")
    code, text = db("backup", str(tmp_path / "mine.txt"))
    assert code == 2
    assert "exists: name another file, or say --force" in text
    assert (tmp_path / "mine.txt").read_text() == "precious"
    assert db("backup", str(tmp_path / "copy.db"), "--force")[0] == 0
    code, text = db("restore", str(tmp_path / "copy.db"))
    assert code == 0
    assert "costguard resume" in text
    assert re.search(r"kept as (\S+\.before-restore); to go back: `costguard db restore \1`", text)
    actions = costguard("actions", "--json", "-c", str(stage.config), env=env).document["actions"]
    assert {a["state"] for a in actions} <= {"cancelled", "done", "superseded", "failed"}
    assert costguard("resume", "-c", str(stage.config), env=env).code == 0
    with stage.app() as app, app.database.write() as conn:
        conn.exec_driver_sql("update alembic_version set version_num = '9999'")
    code, text = db("check")
    assert code == 1
    assert "a newer costguard" in text
    assert costguard("fleet", "-c", str(stage.config), env=env).code == 78
