import re
from datetime import timedelta

import pytest

from costguard.cli.words import WORDS, say, span, step
from costguard.web.words import WORDS as PAGES


@pytest.mark.parametrize("key", WORDS)
def test_both_languages_say_it_and_take_the_same_values(key: str) -> None:
    zh, en = WORDS[key]
    assert zh
    assert en
    assert set(re.findall(r"\{(\w+)", zh)) == set(re.findall(r"\{(\w+)", en))
    assert not re.search(r"[\u3000-\u9fff\uff01-\uff5e]", en)


@pytest.mark.parametrize("key", WORDS)
def test_chinese_is_written_as_chinese(key: str) -> None:
    """Chinese characters, full-width punctuation between them, and a space beside what is not Chinese."""
    zh = re.sub(r"\{\w+\}", "", re.sub(r"`[^`]*`|costguard [a-z -]+", "", WORDS[key][0]))
    assert re.search(r"[\u4e00-\u9fff]", zh) or not re.search("[A-Za-z]", zh)
    assert not re.search(r"[\u4e00-\u9fff][,;:!?()]|[,;:!?()][\u4e00-\u9fff]", zh)
    assert not re.search(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]", zh)


def test_nothing_is_said_twice() -> None:
    pages = {pair for pair in PAGES.values() if len(pair[1]) > 12}
    assert not pages & set(WORDS.values()), "the pages have it"


def test_spans() -> None:
    length = timedelta(hours=2, minutes=30, seconds=50)
    assert (span(length, "zh"), span(length, "en")) == ("2 小时 30 分钟", "2h30m")
    assert (span(timedelta(seconds=42), "zh"), span(timedelta(seconds=42), "en")) == ("42 秒", "42s")
    assert (span(timedelta(seconds=-1), "zh"), span(timedelta(seconds=-1), "en")) == ("0 秒", "0s")
    assert say("wrote", "zh", path="a") == "已写入 a"


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("stop at 2h30m", "2h30m 关机"),
        ("notify at once", "立即提醒"),
        ("warn at 50%/80% + 1h", "50%/80% + 1h 预警"),
        ("set release time at 24h", "24h 设置定时释放"),
        ("stop at 30m after a look at the box after a hook", "30m 关机（先到机器上看一眼）（先运行脚本）"),
        ("stop at 30m after a hook once approved", "30m 关机（先运行脚本）（要批准）"),
    ],
)
def test_a_step_of_a_policy(english: str, chinese: str) -> None:
    assert step(english, "zh") == chinese
    assert step(english, "en") == english
