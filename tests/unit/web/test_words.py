import re

import pytest
from rich.cells import cell_len

from costguard.domain.decision import GuardCode
from costguard.web.words import WORDS, Language, word


@pytest.mark.parametrize("key", WORDS)
def test_both_languages_take_the_same_values(key: str) -> None:
    zh, en = (sorted(re.findall(r"\{(\w+)\}", text)) for text in WORDS[key])
    assert zh == en


def test_every_guard_code_has_words() -> None:
    assert {f"guard.{code.value}" for code in GuardCode} <= WORDS.keys()


def test_chinese_reads_chinese() -> None:
    assert word("burning.sub", "zh", running=3, idle=1) == "3 台运行，其中 1 空闲"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_demo_greets_in_lines_that_fit_a_terminal(language: Language) -> None:
    told = word("demo.page", language, url=f"http://127.0.0.1:8787/?lang={language}")
    assert all(cell_len(line) <= 80 for line in told.splitlines())
