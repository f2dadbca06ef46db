from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.finding import Subject, SubjectType
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.rules.currency import Rates
from costguard.testing.builders import NOW
from costguard.web.settings import PageSettings
from costguard.web.speech import Speech
from costguard.web.words import Language

BOX = LedgerEntry(NOW, LedgerKind.SUPERSEDED, Subject(SubjectType.RESOURCE, "i-1"), "the situation changed")
PAGE = PageSettings(ZoneInfo("Asia/Shanghai"), "CNY", "enforce", Rates("CNY", {}), ())


@pytest.mark.parametrize(
    ("language", "box", "budget"),
    [
        ("zh", "情况变了，不再关机", "已经过去，不再提醒"),
        ("en", "the situation changed; no stop", "it is over; nothing more is sent"),
    ],
)
def test_only_of_a_resource_is_said_that_it_is_not_stopped(language: Language, box: str, budget: str) -> None:
    speech = Speech(PAGE, NOW, language)
    assert speech.told(BOX) == box
    assert speech.told(replace(BOX, subject=Subject(SubjectType.BUDGET, "2026-11-12"))) == budget


@pytest.mark.parametrize(
    ("text", "zh", "en"),
    [
        ("would stop", "演练：本应关机（idle）", "dry run: would have stopped (idle)"),
        ("would notify", "演练：本应提醒（idle）", "dry run: would have told people (idle)"),
        ("would warn: stop in 30m", "演练：本应预警（idle）", "dry run: would have warned (idle)"),
        ("would warn again", "演练：本应预警（idle）", "dry run: would have warned (idle)"),
        (
            "would advise: a stop does not end its bill",
            "演练：本应提醒，关不了（idle）",
            "dry run: would have told that no stop is possible (idle)",
        ),
    ],
)
def test_a_dry_run_says_what_it_would_have_done(text: str, zh: str, en: str) -> None:
    entry = replace(BOX, kind=LedgerKind.RECORDED, policy="idle", text=text)
    assert Speech(PAGE, NOW, "zh").told(entry) == zh
    assert Speech(PAGE, NOW, "en").told(entry) == en


@pytest.mark.parametrize(
    ("kind", "text", "zh", "en"),
    [
        (
            LedgerKind.REFUSED, "stopped and started again 2 times in 24 h, by li",
            "不动它：24 小时内关机后被 li 重新启动 2 次",
            "left alone: stopped and started again 2 times in 24 h, by li",
        ),
        (LedgerKind.DEFERRED, "limit reached: per_hour of idle-dev is 3",
         "推迟：达到单次上限：idle-dev 的 per_hour 是 3", "put off: limit reached: per_hour of idle-dev is 3"),
        (LedgerKind.FAILED, "the hook failed: exit code 3",
         "关机失败：脚本失败：退出码 3", "stop failed: the hook failed: exit code 3"),
        (LedgerKind.SYSTEM, "its owner is now li, who was not warned yet: it starts again",
         "负责人换成了 li，还没有预警过：重新开始", "its owner is now li, who was not warned yet: it starts again"),
    ],
)  # fmt: skip
def test_a_reason_is_told_in_full_in_the_language_of_the_page(kind: LedgerKind, text: str, zh: str, en: str) -> None:
    entry = replace(BOX, kind=kind, text=text, code="limit")
    assert Speech(PAGE, NOW, "zh").told(entry) == zh
    assert Speech(PAGE, NOW, "en").told(entry) == en
