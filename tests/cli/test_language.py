"""What people read in the terminal is in their language; what programs read is as it was."""

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.cli import Answer, costguard
from tests.web.stage import HOSTILE, OPS_URL, Stage

ENV = {OPS_URL: "http://127.0.0.1:9/none"}
COMMANDS = (
    "replay --since 7d", "backfill --since 1d", "spend --by owner", "spend --by account", "audit --offline",
    "fleet", "fleet --all", "findings", "actions", "ledger", "sources",
    "doctor --metrics", "policies list", "notify dead", "bills list",
    "explain warned", "explain kept", "explain prod-api", "explain at-work", "explain blind", "explain asleep",
)  # fmt: skip
# Three English words in a row are a sentence, four capitals the head of a column; commands and names are neither, and
# what a person gave as a reason or a provider answered is quoted as it is.
_ENGLISH = re.compile(r"\b[a-z]+ [a-z]+ [a-z]+\b|\b[A-Z]{4,}\b")
_NAMES = re.compile(
    r"`[^`]*`|costguard [a-z]+( [^ ，。；）]+)*|(still )?reading the results|(this |account |pays )+(in arrears)?"
)


def _leaks(told: Answer) -> list[str]:
    """Lines in which something stands that no Chinese sentence has."""
    lines = (told.out + told.err).replace(HOSTILE, "").splitlines()
    return [line for line in lines if _ENGLISH.search(_NAMES.sub("", line))]


def _run(staged: Stage, command: str, language: str, width: int = 80) -> Answer:
    return costguard(*command.split(), "-c", str(staged.config), "--lang", language, env=ENV, width=width)


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_english_sentence_is_in_a_chinese_terminal(staged: Stage, command: str, width: int) -> None:
    told = _run(staged, command, "zh", width)
    assert _leaks(told) == []
    assert re.search(r"[\u4e00-\u9fff]", told.out)


def test_what_an_action_rested_on_is_told_in_chinese(staged: Stage) -> None:
    actions = _run(staged, "actions --json", "zh").document["actions"]
    for action in actions:
        told = _run(staged, f"explain --action {action['id']}", "zh")
        assert told.code == 0
        assert _leaks(told) == []


def test_a_run_and_levers_answer_in_chinese(stage: Stage) -> None:
    def pull(command: str) -> str:
        told = _run(stage, command, "zh", 200)
        assert told.code in (0, 3), told.err
        assert _leaks(told) == []
        return told.out

    once = pull("run --once")
    assert re.search(r"\d+ 项发现，\d+ 个动作，\d+ 条消息，模式：执行", once)
    action = next(
        a["id"]
        for a in _run(stage, "actions --json", "zh").document["actions"]
        if a["subject"]["name"] == "warned" and a["state"] not in ("done", "cancelled", "superseded")
    )
    assert re.match(r"保留到北京时间.* \d\d:\d\d：warned（simulated/sim/", pull("keep warned --for 2h"))
    assert pull("unkeep warned").startswith("不再保留：warned（")
    assert "最晚北京时间" in pull("keep warned --until-idle")
    assert pull("unkeep warned").startswith("不再保留：warned（")
    assert pull("claim warned --owner li").startswith("负责人现在是 li：warned（")
    assert re.match(r"算作在用，到北京时间.* \d\d:\d\d：at-work（", pull("heartbeat at-work --for 30m"))
    assert pull(f"cancel {action}").startswith("已取消：关机 warned（idle-dev，")
    assert pull("pause --reason 搬迁集群").startswith("紧急暂停，有人运行 `costguard resume` 才恢复")
    for command in ("fleet", "run --once"):
        first = pull(command).splitlines()[0]
        assert re.fullmatch(
            r"紧急暂停中：cli:\S+ 暂停，运行 `costguard resume` 才恢复；原因：搬迁集群。期间什么都不会关。", first
        )
    ledger = _run(stage, "ledger --json", "zh").document["entries"]
    assert "没写原因" in [entry["evidence"].get("reason") for entry in ledger]
    assert pull("resume") == "已恢复：所有未完成的动作从头开始，重新预警\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_no_chinese_is_in_an_english_terminal(staged: Stage, command: str) -> None:
    told = _run(staged, command, "en")
    assert not re.search(r"[\u3000-\u9fff\uff01-\uff5e]", told.out + told.err)


@pytest.mark.parametrize("command", COMMANDS)
def test_both_languages_end_alike_and_fit(staged: Stage, command: str) -> None:
    zh, en = _run(staged, command, "zh"), _run(staged, command, "en")
    assert zh.code == en.code
    for told in (zh, en):
        assert "…" not in told.out
        rows = [line.rstrip() for line in told.out.splitlines() if "  " in line.strip()]
        assert command.startswith("doctor") or max(map(cell_len, rows), default=0) <= 80


def test_which_language(staged: Stage, tmp_path: Path) -> None:
    """The option beats COSTGUARD_LANG, that the configuration, that the terminal."""
    chinese = tmp_path / "zh.yaml"
    chinese.write_text(staged.config.read_text("utf-8").replace("language: en", "language: zh"), "utf-8")
    (tmp_path / "policies.yaml").write_text((staged.folder / "policies.yaml").read_text("utf-8"), "utf-8")

    def first(*words: str, **env: str) -> str:
        return costguard(*words, env={**ENV, "LC_ALL": "C.UTF-8", **env}).out.splitlines()[0]

    zh = ("-c", str(chinese), "replay")
    en = ("-c", str(staged.config), "replay")
    assert first(*zh).startswith("最近 30 天")
    assert first(*en, LC_ALL="zh_CN.UTF-8").startswith("the last 30 days")
    assert first(*en, COSTGUARD_LANG="zh").startswith("最近 30 天")
    assert first(*zh, "--lang", "en", COSTGUARD_LANG="zh").startswith("the last 30 days")
    assert first("--lang", "en", *zh).startswith("the last 30 days")
    assert costguard("--lang", "fr", *zh, env=ENV).code == 2
    assert costguard(*zh, env={**ENV, "COSTGUARD_LANG": "fr"}).code == 2


def test_what_a_program_reads_is_the_same_in_both(staged: Stage) -> None:
    def keys(value: object) -> object:
        if isinstance(value, dict):
            return {key: keys(inner) for key, inner in value.items()}
        return [keys(inner) for inner in value[:1]] if isinstance(value, list) else type(value)

    for command in COMMANDS:
        zh, en = (_run(staged, f"{command} --json", language) for language in ("zh", "en"))
        assert keys(zh.document) == keys(en.document)
