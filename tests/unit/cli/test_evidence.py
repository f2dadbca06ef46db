"""What an action rested on reads as names and units; keys and raw values are for the JSON document."""

import ast
import re
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from costguard import rules
from costguard.cli.evidence import _NAMES, _TOLD, lines
from costguard.domain.codec import encode
from costguard.rules.reasons import METRIC_NAMES
from costguard.testing.builders import HOUR, NOW, cny
from costguard.web.words import Language

ZONE = ZoneInfo("Asia/Shanghai")
# Keys of what is no evidence: JSON schemas, levels, words of policies.
_OTHERS = {"anyOf", "examples", "high", "low", "medium", "no", "pattern", "type", "yes"}


def _keys() -> set[str]:
    """Every key of evidence that a rule writes."""
    found: set[str] = set()
    for path in Path(rules.__file__).parent.glob("*.py"):
        if path.stem in {"fields", "reasons", "registry", "schema"}:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Dict(keys=keys):
                    found |= {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
                case ast.Subscript(value=ast.Name("evidence"), slice=ast.Constant(value=str(key)), ctx=ast.Store()):
                    found.add(key)
    return {key for key in found if re.fullmatch(r"[a-z_]+", key)} - _OTHERS


def test_every_key_of_a_rule_has_its_name() -> None:
    """To keep a new value, name it in both languages."""
    keys = _keys()
    assert len(keys) > 60
    metrics = {f"{metric}_{what}" for metric in METRIC_NAMES for what in ("max", "mean", "below", "above")}
    assert sorted(keys - metrics - _NAMES.keys() - _TOLD) == []


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "en",
            [
                ("GPU use", "max 0.4%, mean 0.0%, limit 5.0%"), ("network traffic", "max 39.6 KB/s, limit 1.0 MB/s"),
                ("each card at most", "0: 0.4%, 1: 0.0%"), ("idle cards", "2"), ("coverage", "98%"),
                ("window", "45 min"), ("newest sample", "20:00 UTC+8"), ("holidays unknown", "yes"),
                ("step", "forecast 100%"), ("most of it", "train ¥3.00"), ("price", "¥5.38/h"), ("their own key", "7"),
            ],
        ),
        (
            "zh",
            [
                ("GPU 利用率", "最高 0.4%、平均 0.0%、阈值 5.0%"), ("网络流量", "最高 39.6 KB/s、阈值 1.0 MB/s"),
                ("每张卡最高", "0: 0.4%、1: 0.0%"), ("空闲卡数", "2"), ("覆盖率", "98%"),
                ("时间窗", "45 分钟"), ("最新采样", "北京时间 20:00"), ("缺节假日数据", "是"),
                ("这一档", "预测 100%"), ("花费最多", "train ¥3.00"), ("单价", "¥5.38/h"), ("their own key", "7"),
            ],
        ),
    ],
)  # fmt: skip
def test_values_have_a_name_and_a_unit(language: Language, told: list[tuple[str, str]]) -> None:
    evidence = {
        "gpu_util_max": 0.4, "gpu_util_mean": 0.0, "gpu_util_below": 5.0, "network_max": 39598.25,
        "network_below": 1e6, "cards": ((0, 0.4), (1, 0.0)), "cards_idle": 2, "coverage": 0.98,
        "window": timedelta(minutes=45), "last_at": NOW, "holidays_unknown": True, "threshold": "forecast:100%",
        "drivers": (("train", cny("3")),), "price": cny("5.38"), "gone_at": None, "advice": "smaller",
        "their_own_key": 7,
    }  # fmt: skip
    assert list(lines(encode(evidence), language, NOW + HOUR, ZONE)) == told  # type: ignore[arg-type]
