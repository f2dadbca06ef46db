"""Feishu's cards: escaping, colours, buttons, and the byte limit for any input."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.notify.feishu.channel import MAX_BYTES
from costguard.notify.feishu.markup import message
from costguard.notify.story import Line, Span, Story, code, text
from costguard.testing.channel_contract import HOSTILE_NAMES


def card_of(story: Story, **facts: object) -> Any:
    return message(story, "k", "f", facts).payload["card"]


def size(story: Story) -> int:
    body = {"timestamp": "1772717400", "sign": "s" * 44, "msg_type": "interactive", "card": card_of(story)}
    return len(json.dumps(body, ensure_ascii=False).encode()) + 200  # a keyword, and room for what is not known


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_is_markup(name: str) -> None:
    body = message(Story("t", (Line("资源", text(code(name), " ", name)),)), "k", "f", {}).body
    assert "](" not in body
    assert "<" not in body
    assert "://" not in body


@pytest.mark.parametrize(
    ("kind", "colour"),
    [
        ("warn", "orange"),
        ("failed", "red"),
        ("unseen_work", "red"),
        ("result", "green"),
        ("digest", "blue"),
        (None, "blue"),
    ],
)
def test_the_colour_tells_the_kind(kind: str | None, colour: str) -> None:
    assert card_of(Story("t"), kind=kind)["header"]["template"] == colour


def test_links_of_the_footer_are_buttons() -> None:
    story = Story("t", footer=(Span("编号 7f3c"), Span(" · "), Span("打开", "link", "https://costguard.example/a")))
    action, note = card_of(story)["elements"]
    assert action["actions"][0]["url"] == "https://costguard.example/a"
    assert note["elements"][0]["content"] == "编号 7f3c"


def test_a_card_is_never_empty() -> None:
    """An empty text or an empty card would be refused."""
    card = card_of(Story(" "))
    assert card["header"]["title"]["content"] == "costguard"
    assert card["elements"]


def test_a_mention_is_written_as_the_card_wants_it() -> None:
    story = Story("t", (Line("负责人", text(Span("张伟", "mention", "zw"))),), mentions={"zw": "ou_1"})
    found = message(story, "k", "f", {})
    assert found.mentions == ("ou_1",)
    assert "<at id=ou_1></at> 张伟" in found.body


@pytest.mark.parametrize("filler", ["a", "机", "😀", '"', "\\"])
@pytest.mark.parametrize("count", [10, 200, 3000])
def test_any_number_of_items_fits_and_the_rest_is_counted(count: int, filler: str) -> None:
    """J12: bytes, not characters; quotes and backslashes cost two."""
    items = tuple(Line("", text(f"· box-{n:04d} ", filler * 60)) for n in range(count))
    story = Story("title", items=items, more="…… 另有 {n} 台")
    assert size(story) <= MAX_BYTES
    body = message(story, "k", "f", {}).body
    shown = body.count("· box-")
    assert shown == count or f"另有 {count - shown} 台" in body


@given(st.lists(st.text(max_size=4000), max_size=12), st.text(max_size=3000))
def test_any_text_fits(lines: list[str], title: str) -> None:
    story = Story(title, tuple(Line("原因", text(line)) for line in lines), (Line("", text(title)),))
    assert size(story) <= MAX_BYTES


def test_what_is_cut_is_cut_in_the_data() -> None:
    body = message(Story("t", (Line("原因", text(Span("机" * 3000, "bold"))),)), "k", "f", {}).body
    assert body.endswith("…")
    assert body.count("**") == 2
    assert len(body.encode()) > 1900
