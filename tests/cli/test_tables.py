"""Tables on a real database: they fit a terminal, one document with --json, nothing but text in a pipe."""

import json
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from rich.cells import cell_len

from costguard.domain.resource import Ends, StopEffect
from costguard.store import inventory
from tests.cli.cli import costguard, process
from tests.web.stage import HOSTILE, OPS_URL, Stage

ENV = {OPS_URL: "http://127.0.0.1:9/none"}
TABLES = ("fleet", "findings", "actions", "ledger", "sources", "policies list", "notify dead", "explain warned")


@pytest.mark.parametrize("table", TABLES)
def test_a_table_fits_eighty_columns_and_loses_no_name(staged: Stage, table: str) -> None:
    answer = costguard("-c", str(staged.config), *table.split(), env=ENV)
    assert answer.code == 0, answer.err
    assert max(cell_len(line.rstrip()) for line in answer.out.splitlines()) <= 80
    assert "\x1b" not in answer.out
    assert "…" not in answer.out
    if table in ("fleet", "actions", "findings"):
        assert "warned" in answer.out
        assert HOSTILE in "".join(costguard("-c", str(staged.config), table, env=ENV, width=200).out)


@pytest.mark.parametrize("table", ["fleet", "findings", "actions", "ledger", "sources", "explain warned"])
def test_json_is_exactly_one_document(staged: Stage, table: str) -> None:
    answer = costguard(*table.split(), "-c", str(staged.config), "--json", env={**ENV, "COSTGUARD_LOG": "DEBUG"})
    assert answer.document["schema"] == f"costguard.{table.split()[0]}/1"


def test_fleet_says_what_burns_and_what_will_happen(staged: Stage) -> None:
    answer = costguard("fleet", "-c", str(staged.config), env=ENV, width=160)
    rows = {line.split("  ")[0].strip(): line for line in answer.out.splitlines()}
    assert "stop at" in rows["warned"]
    assert "kept until" in rows["kept"]
    assert "by li" in rows["kept"]
    assert "inside the never_stop fence" in rows["prod-api"]
    assert "T4" in rows["at-work"]
    assert "NVIDIA" not in answer.out
    assert "7 running, ¥55.76/h; 4 idle, ¥31.86/h" in answer.out
    assert "more with --all" in answer.out
    everything = costguard("fleet", "--all", "-c", str(staged.config), env=ENV, width=160).out
    assert "8x A100 80G" in everything
    assert "stopped " in next(line for line in everything.splitlines() if line.startswith("forgotten "))


def test_a_fleet_of_which_nothing_is_seen_idle_says_so(stage: Stage) -> None:
    with stage.app() as app, app.database.write() as conn:
        conn.exec_driver_sql("delete from kv where key = 'fleet/activity'")
    words = ("fleet", "-c", str(stage.config))
    assert "7 running, ¥55.76/h; none seen idle" in costguard(*words, env=ENV, width=160).out
    assert "7 台运行，¥55.76/h；没有发现空闲" in costguard(*words, "--lang", "zh", env=ENV, width=160).out


def test_a_box_that_is_off_and_still_charged_is_in_the_fleet(stage: Stage) -> None:
    """Money that nobody sees running; one that is off and costs nothing is not, and has no price."""
    words = ("fleet", "-c", str(stage.config))
    assert "asleep" not in costguard(*words, env=ENV, width=160).out
    asleep = next(r for r in costguard(*words, "--all", env=ENV, width=160).out.splitlines() if r.startswith("asleep "))
    assert "¥" not in asleep
    with stage.app() as app, app.database.write() as conn:
        (asleep_one,) = (r for r in inventory.resources(conn) if r.name == "asleep")
        effect = StopEffect(Ends.NO, ("compute",))
        inventory.record_live(conn, replace(asleep_one, stop_effect=effect), app.clock.now())
    told = costguard(*words, env=ENV, width=160)
    row = next(line for line in told.out.splitlines() if line.startswith("asleep "))
    assert "¥7.97" in row
    assert "off, still charged" in row
    assert "1 off and still charged, ¥7.97/h" in told.out
    rows = costguard(*words, "--json", env=ENV).document["resources"]
    billed = {r["subject"]["name"]: r["billed_per_hour"] for r in rows}
    assert billed["asleep"] == {"amount": "7.966", "currency": "CNY"}
    assert billed["forgotten"]["amount"] == "0"


def test_a_pause_stands_above_the_fleet_until_it_is_over(stage: Stage) -> None:
    """What stands below it will not happen while it is on."""
    words = ("-c", str(stage.config))
    assert costguard("fleet", *words, "--json", env=ENV).document["paused"] is None
    assert "PAUSED" not in costguard("fleet", *words, env=ENV).out
    costguard("pause", *words, "--reason", "moving the cluster", env=ENV)
    first = costguard("fleet", *words, env=ENV, width=200).out.splitlines()[0]
    assert re.fullmatch(
        r"PAUSED by cli:\S+ until somebody runs `costguard resume`: moving the cluster\. Nothing is stopped\.", first
    )
    assert costguard("fleet", *words, "--json", env=ENV).document["paused"]["reason"] == "moving the cluster"
    once = costguard("run", "--once", *words, env=ENV, width=200)
    assert once.out.splitlines()[0] == first
    costguard("resume", *words, env=ENV)
    assert "PAUSED" not in costguard("fleet", *words, env=ENV).out


@pytest.mark.parametrize("words", [("audit", "--format", "json"), ("replay", "--format", "html")])
def test_a_report_that_cannot_be_written_is_a_clear_error(
    staged: Stage, tmp_path: Path, words: tuple[str, ...]
) -> None:
    target = tmp_path / "nowhere" / "report"
    answer = costguard(*words, "-c", str(staged.config), "-o", str(target), env=ENV, width=200)
    assert answer.code == 2
    assert "cannot be written: No such file or directory" in answer.err
    assert "Traceback" not in answer.err


def test_backfill_prints_one_document(staged: Stage) -> None:
    answer = costguard("backfill", "-c", str(staged.config), "--json", env=ENV)
    assert json.loads(answer.out)["schema"] == "costguard.backfill/1"


def test_the_ledger_can_be_short(staged: Stage) -> None:
    long, short = (costguard("ledger", "-c", str(staged.config), "-n", n, env=ENV, width=200).out for n in ("20", "2"))
    assert len(short.splitlines()) == 3
    assert len(long.splitlines()) > 10


def test_explain_answers_in_a_persons_words(staged: Stage) -> None:
    answer = costguard("explain", "warned", "-c", str(staged.config), env=ENV)
    for words in (
        "owner wang",
        "every source was quiet",
        "0.0%",
        "cores",
        "KB/s",
        "the grace",
        "costguard keep i-",
        "costguard cancel ",
        "idle-dev (idle, enforce)",
    ):
        assert words in answer.out


@pytest.mark.parametrize(
    ("name", "first", "then"),
    [
        (
            "warned",
            r"will be stopped at (\d\d-\d\d )?\d\d:\d\d, in \d+m",
            ["why idle-dev: GPU idle for 20 min", "now the grace has not"],
        ),
        (
            "kept",
            "is not stopped, although idle-dev wants it( at .*)?",
            ["why kept by li", "changes the keep tag, keep or lock is"],
        ),
        (
            "prod-api",
            "is not stopped, although idle-dev wants it( at .*)?",
            ["why never_stop fences the name prod-api"],
        ),
        ("at-work", "stays on; nothing is planned", ["why no policy that could stop it matches it"]),
        ("blind", "stays on; nothing is planned", ["activity unknown: no samples of GPU use arrive"]),
        ("asleep", "is stopped; nothing is planned", ["box stopped, not charged while off, owner wang"]),
    ],
)
def test_explain_says_first_what_happens_when_why_and_what_would_change_it(
    staged: Stage, name: str, first: str, then: list[str]
) -> None:
    """As somebody reads it who was woken: no code of a program, eighty columns."""
    answer = costguard("explain", name, "-c", str(staged.config), env=ENV)
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert re.fullmatch(f"{name}: {first}", lines[0])
    for words in then:
        assert any(line.startswith(words) for line in lines[1:10]), lines[:10]
    head = answer.out.partition("\nsignals")[0].replace("wang", "")
    assert not re.search(r"\b(not_due|not_warned|gpu_util|cpu_cores|no_samples)\b", answer.out)
    assert "None" not in head
    assert max(cell_len(line) for line in answer.out.splitlines()) <= 80


def test_explain_asks_which_of_two_is_meant(staged: Stage) -> None:
    twin = costguard("explain", "twin", "-c", str(staged.config), env=ENV)
    assert twin.code == 2
    assert twin.err.count("twin") == 3
    assert "costguard fleet" in costguard("explain", "nobody", "-c", str(staged.config), env=ENV).err


def test_sources_that_cannot_be_read_are_exit_69(stage: Stage) -> None:
    with stage.app() as app, app.database.write() as conn:
        conn.exec_driver_sql(
            "update source_status set state = 'denied', error = 'no right to look' where source = 'usage'"
        )
    answer = costguard("sources", "-c", str(stage.config), env=ENV)
    assert answer.code == 69
    assert "no right to look" in " ".join(answer.out.split())
    assert costguard("sources", "-c", str(stage.config), "--json", env=ENV).code == 69


def test_a_closed_pipe_is_no_error(staged: Stage) -> None:
    answer = process("fleet", "--json", "-c", f'"{staged.config}"', cwd=staged.folder, env=ENV, shell="| head -1")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.strip() == "{"


@pytest.mark.parametrize("words", [("fleet",), ("fleet", "--json"), ("policies", "list")])
def test_a_pipe_that_is_closed_before_anything_is_read_is_no_error(staged: Stage, words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "costguard", *words, "-c", str(staged.config)]
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, env={**os.environ, **ENV}, timeout=60, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_that_lacks_a_character_gets_another_and_no_traceback(staged: Stage) -> None:
    env = {**os.environ, **ENV, "PYTHONIOENCODING": "gbk", "COSTGUARD_LANG": "zh"}
    command = [sys.executable, "-m", "costguard", "fleet", "-c", str(staged.config)]
    done = subprocess.run(command, capture_output=True, env=env, timeout=60, check=False)
    assert done.returncode == 0
    assert "单价/小时" in done.stdout.decode("gbk"), "and ¥, which GBK has not, is told as something else"


def test_a_pipe_has_no_escape_codes_and_logs_stay_on_stderr(staged: Stage) -> None:
    answer = process("fleet", "-c", f'"{staged.config}"', cwd=staged.folder, env={**ENV, "COSTGUARD_LOG": "DEBUG"})
    assert answer.code == 0
    assert "\x1b" not in answer.out + answer.err


@pytest.mark.parametrize(("plain", "coloured"), [("1", False), ("", True)])
def test_no_color_on_a_terminal(staged: Stage, plain: str, coloured: bool) -> None:
    ours, theirs = pty.openpty()
    env = {**os.environ, **ENV, "NO_COLOR": plain, "TERM": "xterm-256color", "COSTGUARD_LOG": "ERROR", "COLUMNS": "80"}
    command = [sys.executable, "-m", "costguard", "findings", "-c", str(staged.config)]
    subprocess.run(command, stdout=theirs, stderr=theirs, env=env, timeout=60, check=True)
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 65536):
            text += part
    except OSError:
        pass  # Linux tells the end of a terminal as an error.
    finally:
        os.close(ours)
    assert ("\x1b[" in text.decode()) is coloured


def test_check_is_quick_to_start(staged: Stage) -> None:
    """What `check` imports is counted, not timed: no SDK, no web server, none of the words and guards of the daemon."""
    probe = (
        "import sys; sys.argv = ['costguard', 'check', '-c', sys.argv[1]]\n"
        "from costguard.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    folder = staged.folder.parent / "quick"
    folder.mkdir(exist_ok=True)
    text = "version: 1\naccounts: [{name: s, provider: simulated}]\npolicies: []\n"
    (folder / "costguard.yaml").write_text(text, "utf-8")
    command = [sys.executable, "-c", probe, str(folder / "costguard.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ))
    heavy = {"boto3", "uvicorn", "starlette", "sqlalchemy", "alembic", "apscheduler", "httpx", "jinja2", "babel", "ssl"}
    heavy |= {
        f"costguard.{n}"
        for n in ("cli.tables", "cli.chinese", "engine.guard", "notify.dingtalk.card", "notify.words.en")
    }
    assert heavy & set(done.stderr.split()) == set()
    assert json.dumps(done.stdout)


def test_a_replay_fits_eighty_columns_with_every_number_that_counts(staged: Stage) -> None:
    answer = costguard("replay", "--since", "7d", "-c", str(staged.config), env=ENV)
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert "the last 7 days" in lines[0] or "最近 7 天" in lines[0]
    head = next(line for line in lines if line.startswith("POLICY"))
    assert head.split()[-6:] == ["TOLD", "WARNED", "STOPPED", "<1h", "<24h", "SAVED"]
    table = lines[lines.index(head) : next(n for n, line in enumerate(lines) if line.startswith("all "))]
    assert max(cell_len(line.rstrip()) for line in table) <= 80
    assert "…" not in answer.out


def test_a_replay_of_nothing_says_how_to_get_the_past(tmp_path: Path) -> None:
    (tmp_path / "costguard.yaml").write_text(
        "version: 1\nlanguage: en\naccounts: [{name: prod, provider: simulated, account_id: '1298345600017701', "
        "options: {cloud: alibaba}}]\npolicies: [p.yaml]\n",
        "utf-8",
    )
    (tmp_path / "p.yaml").write_text(
        "policies:\n- {name: idle, rule: idle, match: all, when: {for: 2h}, respond: [{do: notify}]}\n", "utf-8"
    )
    answer = costguard("replay", "-c", str(tmp_path / "costguard.yaml"))
    assert answer.code == 0, answer.err
    assert "`costguard backfill --since 30d`" in answer.err
    assert "no use of any box is recorded" in answer.out.splitlines()[0]
    assert "could have been saved" not in answer.out


def test_explain_of_an_earlier_moment_is_told_as_of_then(staged: Stage) -> None:
    at = staged.ended - timedelta(minutes=2)
    answer = costguard("explain", "warned", "--at", at.isoformat(), "-c", str(staged.config), env=ENV)
    first, rest = answer.out.split("\n", 1)
    assert re.match(r"warned at (\d\d-\d\d )?\d\d:\d\d: (will be|is not|was to be) stopped", first)
    assert "costguard keep" not in rest, "nobody can do anything about it any more"
    future = costguard("explain", "warned", "--at", "2099-01-01T00:00:00Z", "-c", str(staged.config), env=ENV)
    assert (future.code, "still to come" in future.err) == (2, True)
