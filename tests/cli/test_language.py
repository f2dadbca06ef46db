"""What people read in the terminal is in their language; what programs read is as it was."""

import re
from functools import cache
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.cli import Answer, costguard, leaks
from tests.web.stage import OPS_URL, Stage

ENV = {OPS_URL: "http://127.0.0.1:9/none"}
COMMANDS = (
    "replay --since 7d", "backfill --since 1d", "spend --by owner", "spend --by account", "audit --offline",
    "fleet", "fleet --all", "findings", "actions", "ledger", "sources",
    "doctor --metrics", "policies list", "notify dead", "bills list",
    "explain warned", "explain kept", "explain prod-api", "explain at-work", "explain blind", "explain asleep",
)  # fmt: skip


def _run(stage: Stage, command: str, language: str, width: int = 80) -> Answer:
    return costguard(*command.split(), "-c", str(stage.config), "--lang", language, env=ENV, width=width)


# What only looks answers the same to each test that asks.
_look = cache(_run)


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_english_sentence_is_in_a_chinese_terminal(staged: Stage, command: str, width: int) -> None:
    told = _look(staged, command, "zh", width)
    assert leaks(told) == []
    assert re.search(r"[\u4e00-\u9fff]", told.out)


def test_what_an_action_rested_on_is_told_in_chinese(staged: Stage) -> None:
    actions = _run(staged, "actions --json", "zh").document["actions"]
    for action in actions:
        told = _run(staged, f"explain --action {action['id']}", "zh")
        assert told.code == 0
        assert leaks(told) == []


def test_a_run_and_levers_answer_in_chinese(stage: Stage) -> None:
    def pull(command: str) -> str:
        told = _run(stage, command, "zh", 200)
        assert told.code in (0, 3), told.err
        assert leaks(told) == []
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
    told = _look(staged, command, "en")
    assert not re.search(r"[\u3000-\u9fff\uff01-\uff5e]", told.out + told.err)


@pytest.mark.parametrize("command", COMMANDS)
def test_both_languages_end_alike_and_fit(staged: Stage, command: str) -> None:
    zh, en = _look(staged, command, "zh"), _look(staged, command, "en")
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


REFUSED = {
    "fleet --bogus": "没有这个选项：--bogus",
    "fleet --jso": "没有这个选项：--jso（是不是想写 --json？）",
    "--bogus": "没有这个选项：--bogus",
    "fle": "没有这个命令：'fle'（是不是想写 'fleet'？）",
    "bills xyz": "没有这个命令：'xyz'",
    "keep": "缺少参数：资源",
    "dispute 1": "缺少选项 '--reason' / '-r'",
    "ledger --limit x": "'--limit' / '-n' 的值不对：要写整数",
    "ledger --limit 0": "'--limit' / '-n' 的值不对：最小是 1",
    "demo --speed 601": "'--speed' 的值不对：最大是 600",
    "demo --speed x": "'--speed' 的值不对：要写数字",
    "db restore /nowhere": "文件的值不对：'/nowhere' 不存在",
    "findings 1 2": "多余的参数：1 2",
    "explain": "错误：explain 要写资源（可加 --at），或 --action 编号",
    "keep x": "错误：--for 4h、--until 时间、--until-idle 三者写一个",
    "fleet --server x": "错误：--server 要写网址，如 http://127.0.0.1:8787，不能是 'x'",
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_line_that_cannot_be_understood_is_refused_in_the_language(line: str) -> None:
    """Before there is a configuration it is the option's, COSTGUARD_LANG's, the terminal's."""
    for words, env in (
        (["--lang", "zh", *line.split()], {}),
        (line.split(), {"COSTGUARD_LANG": "zh"}),
        (line.split(), {"LC_ALL": "zh_CN.UTF-8"}),
    ):
        told = costguard(*words, env=env)
        assert (told.code, told.out) == (2, "")
        assert REFUSED[line] in told.err
        assert leaks(told) == []
    for words, env in ((line.split(), {}), (["--lang", "en", *line.split()], {"LC_ALL": "zh_CN.UTF-8"})):
        assert not re.search(r"[\u3000-\u9fff]", costguard(*words, env=env).err)


def test_an_option_without_its_value() -> None:
    assert "选项 '--for' 要带一个值" in costguard("--lang", "zh", "keep", "x", "--for").err


def test_a_program_reads_english() -> None:
    told = costguard("ledger", "--limit", "x", "--json", "--lang", "zh")
    assert (told.code, told.err) == (2, "")
    assert told.document["errors"][0]["message"].startswith("Invalid value for '--limit'")
    assert costguard("explain", "--json", "--lang", "zh").document["errors"][0]["message"].startswith("explain needs")


def test_the_language_of_a_group_can_follow_it() -> None:
    assert "用法：" in costguard("bills", "--lang", "zh", "--help").out


def test_what_the_configuration_says_holds_for_what_follows_it(staged: Stage, tmp_path: Path) -> None:
    """Once it is read, errors are in its language; --lang and COSTGUARD_LANG beat it, a terminal does not."""
    chinese = tmp_path / "zh.yaml"
    chinese.write_text(staged.config.read_text("utf-8").replace("language: en", "language: zh"), "utf-8")
    (tmp_path / "policies.yaml").write_text((staged.folder / "policies.yaml").read_text("utf-8"), "utf-8")
    for config, zh in ((chinese, True), (staged.config, False)):
        told = costguard("doctor", "--account", "none", "-c", str(config), env=ENV | {"LC_ALL": "zh_CN"})
        assert told.err.startswith("错误：没有账号 'none'" if zh else "error: no account 'none'")
    assert costguard("spend", "--month", "x", "-c", str(chinese), "--lang", "en", env=ENV).err.startswith("error: ")


BROKEN = """version: 1
LANGUAGE
mode: enforced
zone: Asia/Shanghai
notify: {group_wait: 30 秒, default: [opps]}
channels: [{name: ops, kind: slack, url: "http://example.com/x"}]
"""


@pytest.mark.parametrize(
    ("written", "words", "env", "zh"),
    [
        ("language: zh", "", {}, True),
        ("language: en", "", {"LC_ALL": "zh_CN.UTF-8"}, False),
        ("language: zh", "--lang en", {}, False),
        ("language: en", "", {"COSTGUARD_LANG": "zh"}, True),
        ("language: cn", "", {"LC_ALL": "zh_CN.UTF-8"}, True),
        ("", "", {"LC_ALL": "zh_CN.UTF-8"}, True),
        ("", "", {}, False),
        ("- [", "", {"LC_ALL": "zh_CN.UTF-8"}, True),
    ],
)
def test_mistakes_are_told_in_the_language_that_the_file_asks_for(
    written: str, words: str, env: dict[str, str], zh: bool, tmp_path: Path
) -> None:
    """What is written counts although the rest cannot be loaded; of a file that is no YAML the terminal's counts."""
    path = tmp_path / "costguard.yaml"
    path.write_text(BROKEN.replace("LANGUAGE", written), "utf-8")
    told = costguard("check", "-c", str(path), *words.split(), env=env, width=200)
    assert (told.code, told.out) == (78, "")
    first, *_, last = told.err.splitlines()
    assert first.startswith(f"{path}:")
    assert ("错误：" in first) is zh
    assert last.endswith("什么都没有加载" if zh else "nothing was loaded")
    document = costguard("check", "-c", str(path), "--json", *words.split(), env=env).document
    assert not any(re.search(r"[\u4e00-\u9fff]", one["message"].replace("秒", "")) for one in document["errors"])


def test_how_mistakes_read(tmp_path: Path) -> None:
    path = tmp_path / "costguard.yaml"
    path.write_text(BROKEN.replace("LANGUAGE", "language: zh"), "utf-8")
    assert costguard("check", "-c", str(path), width=200).err.replace(str(tmp_path), "") == (
        "/costguard.yaml:3:7: 错误：mode：不能写 'enforced'，可选：dry_run、enforce（是不是想写 enforce？）\n"
        "/costguard.yaml:4:1: 错误：zone：没有这个键（应写 timezone）\n"
        "/costguard.yaml:5:22: 错误：notify.group_wait：'30 秒' 不是时长，要写数字加单位，如 45m、8h、7d（应写 30s）\n"
        "/costguard.yaml:5:38: 错误：notify.default[0]：没有渠道 'opps'（是不是想写 ops？）\n"
        "4 个错误，什么都没有加载\n"
    )
    path.write_text("version: 1\naccounts: [{name: s, provider: simulated}]\npolicies: []\nmode: enforce\n", "utf-8")
    told = costguard("check", "-c", str(path), width=200)
    assert told.err == f"注意：{path}:4:7: mode：什么都不会执行：enforce_accounts 是空的\n"
    assert told.out == "1 个账号，0 个渠道，0 条策略\n"


def test_a_database_of_another_version_is_told_in_the_language(tmp_path: Path) -> None:
    (tmp_path / "costguard.yaml").write_text("version: 1\naccounts: []\npolicies: []\n", "utf-8")
    for words in (("db", "check"), ("check",)):
        (tmp_path / "costguard.db").touch()
        told = costguard(*words, "-c", str(tmp_path / "costguard.yaml"), "--lang", "zh", width=200)
        assert "数据库的表结构是" in told.err
        assert leaks(told) == []


@pytest.mark.parametrize("line", ["costguard ", "costguard db ", "costguard spend --"])
def test_completion_speaks_the_terminals_language(line: str) -> None:
    """zsh and fish show what each choice does beside it."""
    ask = {
        "_COSTGUARD_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": line,
    }
    chinese, english = (costguard(env={**ask, "LC_ALL": locale}) for locale in ("zh_CN.UTF-8", "C.UTF-8"))
    choices, plain = ([row.split("\t") for row in told.out.splitlines()] for told in (chinese, english))
    assert len(choices) > 3
    assert [choice for choice, text in choices if not re.search(r"[\u4e00-\u9fff]", text)] == []
    assert [choice for choice, _ in choices] == [choice for choice, _ in plain], "no text takes two lines"
    assert not re.search(r"[\u4e00-\u9fff]", english.out)
