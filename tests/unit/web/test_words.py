import re

import pytest

from costguard.domain.decision import GuardCode
from costguard.web.words import WORDS, word


@pytest.mark.parametrize("key", WORDS)
def test_both_languages_take_the_same_values(key: str) -> None:
    zh, en = (sorted(re.findall(r"\{(\w+)\}", text)) for text in WORDS[key])
    assert zh == en


def test_every_guard_code_has_words() -> None:
    assert {f"guard.{code.value}" for code in GuardCode} <= WORDS.keys()


def test_chinese_reads_chinese() -> None:
    assert word("burning.sub", "zh", running=3, idle=1) == "3 台运行，其中 1 空闲"
