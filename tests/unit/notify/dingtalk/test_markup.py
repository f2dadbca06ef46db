"""DingTalk's markdown: escaping, and the byte limit for any input."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.notify.dingtalk.markup import TITLE_BYTES, escape, message
from costguard.notify.story import Line, Span, Story, code, cut_bytes, text
from costguard.testing.channel_contract import HOSTILE_NAMES


def size(story: Story) -> int:
    found = message(story, "k" * 32, "f")
    shown = cut_bytes(escape(found.title), TITLE_BYTES)
    body = {"msgtype": "markdown", "markdown": {"title": shown, "text": found.body}, "msgUuid": "k" * 32}
    return len(json.dumps(body, ensure_ascii=False).encode())


@pytest.mark.parametrize(
    ("raw", "escaped"),
    [
        ("@13800000000 @所有人", "＠13800000000 ＠所有人"),
        ("[click](https://evil.example)", "[click］(https：//evil.example)"),
        ("![x](y)", "！[x］(y)"),
        ("# title", "＃ title"),
        ("<b>`x`*y*~z~", "＜b＞｀x｀＊y＊～z～"),
        ("_x_", "＿x＿"),
        ("train_a800_03", "train_a800_03"),
        ("[DRY RUN] ¥34.74/h", "[DRY RUN] ¥34.74/h"),
        ("name]", "name］"),
    ],
)
def test_escape(raw: str, escaped: str) -> None:
    assert escape(raw) == escaped


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_is_markup(name: str) -> None:
    body = message(Story("t", (Line("资源", text(code(name), " ", name)),)), "k", "f").body
    line = body.split("\n\n", 1)[1]
    assert "](" not in line
    assert "@" not in line
    assert "://" not in line
    assert "\n" not in line.replace(name, "") or "\n" in name


@pytest.mark.parametrize("filler", ["a", "机", "😀", '"', "\\"])
@pytest.mark.parametrize("count", [10, 200, 3000])
def test_any_number_of_items_fits_and_the_rest_is_counted(count: int, filler: str) -> None:
    """J12: bytes, not characters; quotes and backslashes cost two."""
    items = tuple(Line("", text(f"· box-{n:04d} ", filler * 60)) for n in range(count))
    story = Story("title", items=items, more="…… 另有 {n} 台")
    assert size(story) <= 20_000
    body = message(story, "k", "f").body
    shown = body.count("· box-")
    assert shown == count or f"另有 {count - shown} 台" in body


@given(st.text(max_size=30_000), st.text(max_size=3000))
def test_any_text_fits(long: str, title: str) -> None:
    assert size(Story(title, (Line("原因", text(long)),))) <= 20_000


def test_a_mention_stands_in_the_text() -> None:
    story = Story("t", (Line("负责人", text(Span("张伟", "mention", "zw"))),), mentions={"zw": "13800000000"})
    found = message(story, "k", "f")
    assert found.mentions == ("13800000000",)
    assert "@13800000000 张伟" in found.body


def test_lines_are_paragraphs() -> None:
    """A single newline is no line break in this markdown."""
    body = message(Story("t", (Line("a", text("1")), Line("b", text("2")))), "k", "f").body
    assert body == "### t\n\n**a**: 1\n\n**b**: 2"
