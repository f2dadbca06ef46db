"""What doctor tells of channels and permissions has its Chinese, whoever found it out."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import costguard
import costguard_aliyun
import costguard_aws
import costguard_tencent
from costguard.app.said import spoken
from costguard.notify.dingtalk import apicodes
from costguard.notify.words import doctor_zh
from costguard.plugins import registry

CHANNELS = [Path(costguard.__file__).parent / "notify" / name / "probe.py" for name in ("slack", "dingtalk")]
ADAPTERS = [Path(one.__file__).parent / "probe.py" for one in (costguard_aliyun, costguard_aws, costguard_tencent)]
_CHINESE, _VALUE = re.compile(r"[\u4e00-\u9fff]"), "VALUE"


def _texts(path: Path) -> Iterator[str]:
    """Every text of three words that is no docstring; ``VALUE`` stands for values."""
    tree = ast.parse(path.read_text("utf-8"))
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values=parts):
                yield "".join(str(p.value) if isinstance(p, ast.Constant) else _VALUE for p in parts)
            case ast.Constant(value=str(text)) if id(node) not in inside and not text.rstrip().endswith("."):
                yield text


# Begin a sentence, or end one.
_PARTS = {
    "the Stream cannot be opened, so no buttons and commands", "no access token",
    f"{_VALUE} could not be checked: {_VALUE}",
    f"; {_VALUE} of {_VALUE} boxes carry the tag {_VALUE}={_VALUE}",
    f"{_VALUE}, or give each owner their member id (slack: U…)",
}  # fmt: skip
SENTENCES = sorted(
    {text for path in (*CHANNELS, *ADAPTERS) for text in _texts(path) if re.search(r"[a-z]+ [a-z]+ [a-z]+", text)}
    - _PARTS
)


def test_the_sources_are_read() -> None:
    assert len(SENTENCES) > 20
    assert {"not tried: it has no dry run", "client_id and client_secret are good"} <= set(SENTENCES)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_has_its_chinese(sentence: str) -> None:
    assert _CHINESE.search(spoken(sentence.replace(f"{_VALUE}: {_VALUE} ", "cards: X "), "zh"))


@pytest.mark.parametrize("pair", doctor_zh.PAIRS, ids=lambda pair: pair[0][:60])
def test_both_of_a_pair_carry_the_same_values(pair: tuple[str, str]) -> None:
    english, chinese = (sorted(name for _, name, *_ in Formatter().parse(text) if name) for text in pair)
    assert english == chinese
    assert not re.search(r"[,;()?!] |[。.]$", pair[1]), "Chinese has its own marks, and a sentence no full stop"


def test_refusals_of_the_platforms_have_theirs() -> None:
    meanings = [*apicodes.CODES.values(), *(apicodes.meaning(status, "?") for status in (429, 403, 404, 500, 400))]
    texts = {text for one in meanings for text in (one.detail, one.hint) if text}
    assert [text for text in sorted(texts) if not _CHINESE.search(spoken(text, "zh"))] == []


def test_notes_of_agents_have_theirs() -> None:
    notes = [manifest.agent.note for manifest in registry.available().values() if manifest.agent]
    assert len(notes) == 3
    assert [note for note in notes if not _CHINESE.search(spoken(note, "zh"))] == []


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("the token: invalid_auth: Slack refused the token", "token：invalid_auth：Slack 不接受这个 token"),
        ("the token could not be checked: POST slack.com: cannot connect", "没能检查 token：POST slack.com：连不上"),
        (
            "cards: Card.Instance.Write is missing: X.Y: the application lacks a permission (a, b)",
            "卡片：缺少 Card.Instance.Write：X.Y：应用缺少权限（a、b）",
        ),
        (
            "not tried: CVM has no dry run; 1 of 3 boxes carry the tag costguard=managed",
            "没有试：CVM 不支持试运行；3 台里有 1 台带标签 costguard=managed",
        ),
        (
            "the Stream cannot be opened, so no buttons and commands: nodns.com: cannot connect",
            "Stream 打不开，收不到按钮和命令：nodns.com：连不上",
        ),
        ("the bot costguard of the workspace example", "工作区 example 的机器人 costguard"),
    ],
)
def test_sentences(english: str, chinese: str) -> None:
    assert spoken(english, "zh") == chinese
