"""Everything that ends a command with a sentence has that sentence in Chinese, and it is Chinese."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import costguard
from costguard.cli.chinese import PAIRS, error, told
from costguard.errors import BillError, ConfigError, NotFound, UsageError

CORE = Path(costguard.__file__).parent
_RAISED = {"UsageError", "StoreError", "SchemaBehind", "LeaseLost", "AddressTaken", "BillError"}
# Sentences that hold others, which are read where they are made; the API's own, of bodies that the command line does
# not send; and what only a programmer's mistake can raise.
_OTHERS = {
    "{}: {}", "--since: {}",
    "{} is true or false", "a keep has one of: for, until, until_idle", "unknown key {}; known are {}",
    "spend needs the daemon", "explain needs the daemon", "for is needed, like 30m", "the body is too large",
    "the body is not JSON", "the body is a JSON object", "a network call inside a write transaction",
    "a write transaction inside a write transaction", "the lease changed hands between the commit and the call",
    "this process does not lead (any more)", "another process leads", "{} no longer holds the lease {}",
}  # fmt: skip
PATHS = [
    path for folder in ("cli", "app", "daemon", "web", "store", "config") for path in (CORE / folder).rglob("*.py")
]


def _raised(tree: ast.AST) -> Iterator[str]:
    """The sentences of our errors; ``{}`` stands for values."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _RAISED and node.args:
            yield from _text(node.args[0])


def _text(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in parts)


SENTENCES = sorted({text for path in PATHS for text in _raised(ast.parse(path.read_text("utf-8")))} - _OTHERS)


def test_the_sources_are_read() -> None:
    assert len(SENTENCES) > 90
    assert {"no account {}", "{} is damaged", "is no FOCUS bill: it has no column {}"} <= set(SENTENCES)


SHAPES = {re.sub(r"\{\w+\}", "{}", english) for english, _ in PAIRS}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_has_its_chinese(sentence: str) -> None:
    """To refuse something new, write its Chinese into the catalogue."""
    assert sentence in SHAPES or re.search(r"[\u4e00-\u9fff]", told(sentence))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0][:60])
def test_both_of_a_pair_carry_the_same_values(pair: tuple[str, str]) -> None:
    english, chinese = ({name for _, name, *_ in Formatter().parse(text) if name} for text in pair)
    assert english == chinese
    plain = re.sub(r"`[^`]*`|\{\w+\}", "", pair[1])
    assert not re.search(r"[\u4e00-\u9fff][,;!?]|[,;!?][\u4e00-\u9fff]", plain), "Chinese has its own marks"
    assert not re.search(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]", plain), (
        "a space beside Latin letters"
    )


def test_no_sentence_has_two_translations() -> None:
    assert [english for english, count in Counter(english for english, _ in PAIRS).items() if count > 1] == []


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("No such option: --bogus", "没有这个选项：--bogus"),
        ("No such option: --jso (Possible options: --json)", "没有这个选项：--jso（是不是想写 --json？）"),
        ("No such command 'fle'. Did you mean 'fleet'?", "没有这个命令：'fle'（是不是想写 'fleet'？）"),
        ("Missing argument 'FILE...'.", "缺少参数：文件..."),
        ("Missing option '--reason' / '-r'.", "缺少选项 '--reason' / '-r'"),
        (
            "Invalid value for '--limit' / '-n': Input should be less than or equal to 500",
            "'--limit' / '-n' 的值不对：最大是 500",
        ),
        ("Invalid value for 'FILE': file '/nope' does not exist.", "文件的值不对：文件 '/nope' 不存在"),
        ("Option '--for' requires an argument.", "选项 '--for' 要带一个值"),
        ("Got unexpected extra argument(s) (a b)", "多余的参数：a b"),
        (
            "no resource is called 'trian'; did you mean train? `costguard fleet` lists what is known",
            "没有名为 'trian' 的资源；是不是想写 train？用 `costguard fleet` 看已知的资源",
        ),
        (
            "no resource is called 'x'; `costguard fleet` lists what is known",
            "没有名为 'x' 的资源；用 `costguard fleet` 看已知的资源",
        ),
        ("no channel 'opps' (did you mean ops?); channels:", "没有渠道 'opps'（是不是想写 ops？）。已有的渠道："),
        ("action a1 is cancelled; there is nothing to cancel", "动作 a1 已取消，没有什么可取消"),
        ("at most 7d at a time (notify.keep_max)", "一次最多保留 7 天（notify.keep_max）"),
        (
            "for: not a duration: '3'; write a number and a unit, like 45m, 8h or 7d",
            "for：'3' 不是时长，要写数字加单位，如 45m、8h、7d",
        ),
        (
            "--since: not a duration: '3'; write a number and a unit, like 45m, 8h or 7d",
            "--since：'3' 不是时长，要写数字加单位，如 45m、8h、7d",
        ),
        ("/x/y cannot be written: Permission denied", "/x/y 写不了：没有权限"),
    ],
)
def test_sentences(english: str, chinese: str) -> None:
    assert told(english) == chinese


def test_errors_with_a_place() -> None:
    assert (
        error(BillError("is empty", file="a.csv", row=17, column="BilledCost")) == "a.csv：第 17 行，BilledCost：是空的"
    )
    assert error(UsageError("nothing is paused")) == "现在没有紧急暂停"
    assert error(ConfigError("no", path="mode", hint="did you mean enforce?")) == "mode：no（是不是想写 enforce？）"
    gone = NotFound("the resource is gone", provider="aws", account="prod", operation="StopInstances", code="X")
    assert error(gone) == "aws/prod: StopInstances X: 资源已不存在"
