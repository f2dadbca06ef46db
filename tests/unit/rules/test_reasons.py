"""Reasons: every code that a rule gives has a sentence, and the sentence has the numbers."""

import ast
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

import costguard.rules
from costguard.rules.reasons import METRICS, sentence

RULES = Path(costguard.rules.__file__).parent


def _codes() -> Iterator[str]:
    """Every text that stands beside an outcome in a rule, or is returned as why something is not known."""
    for path in RULES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            listed = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple) else []
            for first, second in pairwise(listed):
                if _names_an_outcome(first):
                    yield from _texts(second)


def _names_an_outcome(node: ast.expr) -> bool:
    inside = [n for n in ast.walk(node) if isinstance(n, ast.Attribute | ast.Name)]
    words = {n.value.id for n in inside if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
    return not isinstance(node, ast.Call | ast.Compare) and ("Outcome" in words or "outcome" in {*_ids(inside)})


def _ids(nodes: list[ast.Attribute | ast.Name]) -> Iterator[str]:
    return (node.id for node in nodes if isinstance(node, ast.Name))


def _texts(node: ast.expr) -> Iterator[str]:
    """The constants that the expression may be; of one that is put together nothing."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=other):
            yield from (*_texts(body), *_texts(other))
        case ast.BoolOp(values=values):
            for value in values:
                yield from _texts(value)


CODES = sorted(set(_codes()))
# What rules pass through a variable, or put together.
_GAPS = ("no_samples", "short_window", "stale_samples", "low_coverage", "busy")
PASSED = [
    "no_rate", "no_spend", "spend_stale", "day_quarantined", "step_reached", "tags_unreadable", "ttl_malformed",
    "no_ttl", "amount_low", "days_low", "started_after", "edge_missed", "limit_passed", "on_demand_limit_passed",
    "market_price_unknown", "gpus_unknown", "cap_unknown", "on_demand_price_unknown", "unattached", "orphan", "stopped",
    "no_requests", "some_cards_unseen", "unseen", "just_started", "start_unknown", "gpu_util_card_without_samples",
    "gpu_util_mean_over_cards", "gpu_util_cards_unknown", "usage_denied", "usage_ok", "usage_failed",
    "prometheus_failed", *(f"{metric}_{gap}" for metric in METRICS for gap in _GAPS),
]  # fmt: skip


def test_the_rules_are_read() -> None:
    assert len(CODES) > 60
    assert {"idle", "too_old", "tags_missing", "usual", "expired", "soon", "no_rate"} <= set(CODES)


@pytest.mark.parametrize("code", [*CODES, *PASSED])
def test_every_code_has_a_sentence(code: str) -> None:
    told = sentence(code)
    assert told != code
    assert "_" not in told.replace("catch_up", "")
    assert " " in told


def test_work_is_told_in_numbers() -> None:
    evidence = {"network_max": 8.5e6, "network_below": 1e6, "window": timedelta(minutes=45)}
    assert sentence("network_busy", evidence) == (
        "network traffic reached 8.5 MB/s in the last 45m (idle is below 1.0 MB/s)"
    )
    assert sentence("network_busy", {"network_max": None, "network_below": 1e6}) == "network traffic saw work"


def test_a_code_from_elsewhere_is_told_as_it_is() -> None:
    assert sentence("of_another_rule") == "of_another_rule"
    assert all(name for name in METRICS.values())
