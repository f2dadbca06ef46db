"""Remarks: both languages say the same things."""

import string

import pytest

from costguard.engine.remarks import _TEXTS, remark
from costguard.testing.builders import cny


@pytest.mark.parametrize("code", sorted(_TEXTS))
def test_both_languages_have_the_same_facts(code: str) -> None:
    en, zh = (sorted(name for _, name, _, _ in string.Formatter().parse(text) if name) for text in _TEXTS[code])
    assert en == zh
    assert any("\u4e00" <= letter <= "\u9fff" for letter in _TEXTS[code][1]) or code == "source"


def test_a_remark_is_in_the_reports_language() -> None:
    assert remark("en", "no_owner", count=2) == "2 running resources have no owner: tag or claim them"
    assert remark("zh", "no_rate", currency="EUR", amount=cny("1")) == "没有 EUR 的汇率：¥1.00 未计入合计"
