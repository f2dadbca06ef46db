"""Hints: what people meant."""

import pytest

from costguard.config import hints
from costguard.config.settings import Settings
from costguard.rules.policy import Match, Rung


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("¥90,000", 'write "90000 CNY"'),
        ("¥1,234.50/时", 'write "1234.50 CNY/h"'),
        ("90,000元", 'write "90000 CNY"'),
        ("9万元", 'write "90000 CNY"'),
        ("1.5 万元", 'write "15000 CNY"'),
        ("12元/小时", 'write "12 CNY/h"'),
        ("$3.5/hour", 'write "3.5 USD/h"'),
        ("200 rmb/天", 'write "200 CNY/day"'),
        ("HK$5", 'write "5 HKD"'),
        ("45 minutes", "write 45m"),
        ("2小时", "write 2h"),
        ("3 个小时", "write 3h"),
        ("30 秒", "write 30s"),
        ("1 week", "write 1w"),
        ("90000 CNY", None),
        ("soon", None),
        ("¥5 per GPU", None),
    ],
)
def test_amounts_and_durations_written_another_way(text: str, hint: str | None) -> None:
    assert hints.text_hint(text) == hint


@pytest.mark.parametrize(
    ("field", "value", "hint"),
    [
        ("kinds", "ECS", "write kinds: [vm]"),
        ("kinds", "cvm", "write kinds: [vm]"),
        ("charge", "按量", "write charge: [on_demand]"),
        ("charge", "postpaid", "write charge: [on_demand]"),
        ("charge", "包年包月", "write charge: [prepaid]"),
        ("charge", "抢占式", "write charge: [spot]"),
        ("provider", "阿里云", "write provider: aliyun"),
        ("do", "关机", "write do: stop"),
        ("mode", "enforec", "did you mean enforce?"),
        ("mode", "xyz", None),
    ],
)
def test_words_from_consoles_and_other_tools(field: str, value: str, hint: str | None) -> None:
    known = {"mode": ["dry_run", "enforce"]}.get(field, [])
    assert hints.value_hint(field, value, known) == hint


def test_a_hint_never_names_a_key_that_does_not_exist_there() -> None:
    top, match, rung = (
        [field.alias or name for name, field in model.model_fields.items()] for model in (Settings, Match, Rung)
    )
    assert hints.key_hint("zone", top) == "write timezone"
    assert hints.key_hint("instance_types", match) == "write skus"
    assert hints.key_hint("instance_types", top) is None
    assert hints.key_hint("grace", rung) == "write after: 30m on the rung that stops"
    assert hints.key_hint("grace", top) is None


def test_the_nearest_name_ignores_case_and_dashes() -> None:
    assert hints.near("Shanghai-Prod", ["shanghai-prod", "beijing"]) == "did you mean shanghai-prod?"
    assert hints.near("x", ["shanghai"]) is None
    assert hints.near("x", []) is None
