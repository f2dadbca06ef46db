"""Reports: whatever a resource is called, a ticket and a spreadsheet show its name and do nothing else."""

import csv
import io
from dataclasses import replace
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from costguard.app.reports import as_csv, markdown
from costguard.domain.action import ActionState
from costguard.engine.audit import audit
from costguard.testing.builders import make_action
from tests.unit.engine.test_audit import NOW, box, facts

EVIL = (
    "a|b", "a\\|b", "trail\\", "**b** `c`", "[x](http://evil)", "![](http://track)", "<img src=x>", "&lt;b&gt;",
    "_a_", "~~a~~", "two\nlines", "# head", "1. one", "=1+1", "\x1b[2J",
)  # fmt: skip


def document(*names: str, currency: str = "CNY") -> dict[str, Any]:
    boxes = [box(name, NOW, price="10", currency=currency, owner=name) for name in names]
    failed = make_action(state=ActionState.FAILED, error="no capacity")
    failed = replace(failed, subject=replace(failed.subject, name=names[0]))
    return audit(replace(facts(*boxes), actions=[failed]))


def parsed(text: str) -> list[Token]:
    return MarkdownIt("gfm-like", {"linkify": False}).enable("table").parse(text)


@pytest.mark.parametrize("name", EVIL)
def test_a_name_is_text_in_markdown(name: str) -> None:
    """By a Markdown parser's word: no link, picture, emphasis or HTML, and each row has the cells of its head."""
    tokens = parsed(markdown(document(name)))
    kinds = {child.type for token in tokens for child in token.children or ()}
    assert kinds <= {"text", "text_special", "strong_open", "strong_close", "softbreak"}, kinds
    assert sum(token.type == "strong_open" for t in tokens for token in t.children or ()) == 1, "the amount"
    assert sum(token.type == "heading_open" for token in tokens) == 1
    shown = ["".join(c.content for c in t.children or ()) for t in tokens if t.children]
    assert " ".join(name.replace("\x1b", " ").split()) in shown


def test_nobody_is_mentioned_in_markdown() -> None:
    text = markdown(document("@all", "li@example.com"))
    assert "@all" not in text
    assert "li@example.com" in text, "an address is none"


@pytest.mark.parametrize("name", ["=1+1", " =1+1", "\n=1+1", "\t=1", "+1", "-1+1", "@SUM(A1)", "＝1+1", "－1+1"])
def test_a_spreadsheet_runs_no_name(name: str) -> None:
    (row,) = csv.DictReader(io.StringIO(as_csv(document(name))))
    assert row["name"] == row["owner"] == f"'{name}"


def test_a_price_says_its_own_currency() -> None:
    """Amounts are in the reporting currency; the price is the provider's."""
    (row,) = csv.DictReader(io.StringIO(as_csv(document("a", currency="USD"))))
    assert (row["price_per_hour"], row["price_currency"], row["currency"]) == ("10", "USD", "CNY")
