"""Every mistake in a configuration, and every hint, has its Chinese."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import costguard
import costguard_aliyun
import costguard_aws
import costguard_tencent
from costguard.cli.chinese import PAIRS, error, told
from costguard.config import hints, problems, yaml
from costguard.config.channels import CHANNELS
from costguard.config.fleet import Facts
from costguard.config.load import load
from costguard.config.prices import BookPrice
from costguard.config.settings import Settings
from costguard.config.testing import PolicyTest
from costguard.errors import ConfigError, ConfigErrors
from costguard.rules.policy import Rung
from costguard.rules.registry import RULES, policy_model
from scripts.pages.models import nested

CORE = Path(costguard.__file__).parent
SOURCES = [
    *(CORE / "config").glob("*.py"),
    *(CORE / "rules").glob("*.py"),
    *(CORE / "notify").glob("*/*config.py"),
    CORE / "notify/webhook/sign.py",
    CORE / "domain/time.py",
    CORE / "plugins/registry.py",
    CORE / "app/settings.py",
    CORE / "cli/context.py",
    *(Path(one.__file__).parent / "credentials.py" for one in (costguard_aliyun, costguard_aws, costguard_tencent)),
]
_TOLD = {"ValueError", "ConfigError", "error", "fail"}
_NAMED = {"message", "hint", "reason", "problem"}
# Parts of sentences that are read whole below, and what only a programmer hears.
_PARTS = {
    " ({})", ", or say unwarned: true", " of {}", "a dingtalk user id", "a slack member id or an email",
    "no owner has {}, so nobody may press a button or write a command here", "{} destroys", "{} says {}",
    "naive datetime {}: a time needs its zone", "{} lies outside of the calendar", "policy name", "channel or owner",
    "{} belongs to {}", "{}: it will not work in {}",
}  # fmt: skip


def _texts(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in parts)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _texts(child)


def _sentences(path: Path) -> Iterator[str]:
    """What is said of a mistake; ``{}`` stands for values."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _TOLD:
                for part in (*node.args, *(word.value for word in node.keywords if word.arg == "hint")):
                    yield from _texts(part)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in _NAMED:
                yield from _texts(value)


SENTENCES = sorted(
    {text for path in SOURCES for text in _sentences(path) if re.search(r"[a-z]{2,}[:;,]? ", text)} - _PARTS
)
SHAPES = {re.sub(r"\{\w+\}", "{}", english).replace("{{", "{").replace("}}", "}") for english, _ in PAIRS}
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
# Values are quoted as they are, and so are examples.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|[（：].*$")


def untold(text: str) -> bool:
    """Whether a text of a mistake or a hint stays English."""
    return not _CHINESE.search(told(text)) or bool(re.search(r"\b[a-z]+ [a-z]+ [a-z]+\b", _QUOTED.sub("", told(text))))


def test_the_sources_are_read() -> None:
    assert len(SENTENCES) > 170
    assert {"unknown {} {}", "no step {}: when.at has {}"} & set(SENTENCES)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_has_its_chinese(sentence: str) -> None:
    """To refuse something new in a file, write its Chinese into the catalogue."""
    assert sentence in SHAPES or _CHINESE.search(told(sentence))


MODELS = list(
    dict.fromkeys(
        model
        for top in (Settings, *CHANNELS.values(), *map(policy_model, RULES), Rung, BookPrice, PolicyTest, Facts)
        for model in (top, *nested(top))
    )
)
WRONG = (
    "", "~", "7", "-1", "0.5", ".nan", "true", "x y", '""', "[]", "[1, [2]]", "{a: 1}", "[{}]", "1d", "0s", "0%",
    "400%", '"0 CNY"', '"-1 CNY/h"', "x" * 700, "2026-13-01", '"25:00"', "http://", "钉钉", "¥90,000", "30 秒",
    "CST", "RMB",
)  # fmt: skip


def _mistakes(model: type[BaseModel]) -> Iterator[ConfigError]:
    """What is said when one key of a model holds what it must not."""
    for name, field in model.model_fields.items():
        for value in WRONG:
            errors: list[ConfigError] = []
            document = yaml.parse(f"{field.alias or name}: {value}", {}, errors, file="f", folder=Path())
            if document:
                problems.validate(model, document[0], (), errors)
            yield from errors


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_whatever_is_wrong_with_a_value_is_told(model: type[BaseModel]) -> None:
    found = {text for one in _mistakes(model) for text in (one.message, one.hint) if text}
    assert [text for text in sorted(found) if untold(text)] == []


BAD = sorted((Path(__file__).parents[2] / "config/bad").glob("*.yaml"))


@pytest.mark.parametrize("bad", BAD, ids=lambda path: path.stem)
def test_bad_files_are_told_in_chinese(bad: Path, tmp_path: Path) -> None:
    name = "costguard.yaml" if bad.stem.startswith("config") else "bad.yaml"
    good = "version: 1\nlanguage: zh\naccounts: [{name: a, provider: simulated}]\npolicies: [bad.yaml]\n"
    (tmp_path / "costguard.yaml").write_text(good, "utf-8")
    (tmp_path / name).write_text(bad.read_text("utf-8"), "utf-8")
    with pytest.raises(ConfigErrors) as caught:
        load(tmp_path / "costguard.yaml", {})
    texts = [text for one in caught.value.errors for text in (one.message, one.hint) if text]
    assert [text for text in texts if untold(text)] == []
    assert all(one.path in error(one) for one in caught.value.errors)


def test_every_key_that_means_another_is_told() -> None:
    """What stands in the table is what to write: words in it are told, keys and values are not."""
    meant = {f"write {text}" for text in hints._KEYS.values()}
    assert [text for text in sorted(meant) if untold(text)] == []


def texts_of(*pairs: tuple[str, str]) -> Any:
    return pytest.mark.parametrize(("english", "chinese"), pairs)


@texts_of(
    ("unknown key", "没有这个键"),
    ("write kinds: [one]", "应写 kinds: [one]"),
    ("did you mean regions?", "是不是想写 regions？"),
    ("unknown owner 'wang'", "没有负责人 'wang'"),
    ("unknown channel or owner 'opps'", "没有渠道或负责人 'opps'"),
    ("duplicate policy name 'same'", "策略名 'same' 重复"),
    ("first on line 2 of a.yaml", "第一次出现在 a.yaml 第 2 行"),
    ("known: a, b, c", "已有：a、b、c"),
    ("'cn' is not one of zh, en", "不能写 'cn'，可选：zh、en"),
    ("expected here: a mapping, like {key: value}, or all", "这里要写映射（如 {key: value}），或 all"),
    (
        "expected here: workdays or restdays, or text, or a list, like [a, b]",
        "这里要写 workdays、restdays，或文字，或列表（如 [a, b]）",
    ),
    ("a percentage needs its sign: write 25% or 0.25%", "百分比要有百分号：写 25% 或 0.25%"),
    ("not an amount: '¥90,000'; write it like \"12.50 CNY\"", "'¥90,000' 不是金额，要写成 \"12.50 CNY\" 这样"),
    ("must be at most 1 day", "不能大于 1 天"),
    ("nobody is warned before this stop", "关机之前没有预警"),
    ("this stop comes 5m after the warning, and people need at least 10m", "预警后 5 分钟就关机，而人至少需要 10 分钟"),
    ("unwarned belongs to do: stop or do: release", "unwarned 只用于 do: stop 或 do: release"),
    (
        "policy timer needs set_release_time; aws says impossible: EC2 has no timer that releases",
        "策略 timer 需要 set_release_time，而 aws 不支持：EC2 没有定时释放",
    ),
    (
        "policy p needs balance; aws says impossible: AWS bills in arrears, x says not_written: it will not work in a",
        "策略 p 需要 balance，而 aws 不支持：AWS 先用后付；x 的这一项 costguard 还没有支持：在 a 里不起作用",
    ),
    ("${X} is not a reference", "${X} 不是引用"),
    ("write ${env:X}, or $${X} as text", "应写 ${env:X}；若就是这几个字，写 $${X}"),
    ("file /nowhere/secret: No such file or directory", "文件 /nowhere/secret：没有这个文件或目录"),
    (
        "provider 'aws' needs boto3: pip install 'costguard[aws]'",
        "云厂商 'aws' 需要 boto3：pip install 'costguard[aws]'",
    ),
)
def test_sentences(english: str, chinese: str) -> None:
    assert told(english) == chinese
