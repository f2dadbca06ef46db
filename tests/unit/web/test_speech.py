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
