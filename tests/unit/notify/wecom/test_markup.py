"""WeCom's markdown: escaping, mentions, and 4,096 bytes for any input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.notify.render import render
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.notify.story import Line, Span, Story, code, text
from costguard.notify.wecom.markup import MARKDOWN_BYTES, message
from costguard.testing.channel_contract import HOSTILE_NAMES
from tests.unit.notify.messages import warning_about


def body_of(story: Story) -> str:
    return message(story, "k", "f").body


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_is_markup(name: str) -> None:
    line = body_of(Story("t", (Line("资源", text(code(name), " ", name.replace("\n", " "))),))).split("\n", 1)[1]
    assert "](" not in line
    assert "<" not in line
    assert "@" not in line
    assert "://" not in line
    assert "\n" not in line


def test_a_mention_is_written_as_the_robot_wants_it() -> None:
    story = Story("t", (Line("负责人", text(Span("张伟", "mention", "zw"))),), mentions={"zw": "zhangwei"})
    assert message(story, "k", "f").mentions == ("zhangwei",)
    assert "<@zhangwei> 张伟" in body_of(story)


@pytest.mark.parametrize("filler", ["a", "机", "😀", '"', "\\"])
@pytest.mark.parametrize("count", [3, 10, 200, 3000])
def test_any_number_of_items_fits_and_the_rest_is_counted(count: int, filler: str) -> None:
    """J12: bytes, not characters."""
    items = tuple(Line("", text(f"· box-{n:04d} ", filler * 20)) for n in range(count))
    body = body_of(Story("title", items=items, more="…… 另有 {n} 台"))
    assert len(body.encode()) <= MARKDOWN_BYTES
    shown = body.count("· box-")
    assert shown == count or f"另有 {count - shown} 台" in body


def test_a_long_reason_takes_nothing_from_the_short_lines() -> None:
    lines = (
        Line("时间", text("21:30 关机")),
        Line("原因", text("很" * 3000)),
        Line("保留", text(code("costguard keep"))),
    )
    body = body_of(Story("30 分钟后关机", lines, footer=text("编号 7f3c")))
    assert "**时间**: 21:30 关机\n" in body
    assert "`costguard keep`" in body
    assert body.endswith("编号 7f3c")
    assert 2500 < len(body.encode()) <= MARKDOWN_BYTES


def test_a_real_warning_is_not_shortened() -> None:
    body = warning_about("train-a800-03", "wecom", "zhangwei").body
    assert "…" not in body
    assert len(body.encode()) < MARKDOWN_BYTES


@given(st.lists(st.text(max_size=4000), max_size=12), st.text(max_size=3000), st.booleans())
def test_any_text_fits(lines: list[str], title: str, items: bool) -> None:
    story = Story(
        title, tuple(Line("原因", text(line)) for line in lines),
        tuple(Line("", text(line)) for line in lines) if items else (), footer=text(title),
    )  # fmt: skip
    body = body_of(story)
    assert len(body.encode("utf-8")) <= MARKDOWN_BYTES


def test_every_sample_fits() -> None:
    for name, facts in sample_facts().items():
        for language in ("zh", "en"):
            found = render(facts, fmt="wecom", language=language, now=SAMPLE_NOW, idem_key=name)
            assert not found.plain
            assert len(found.body.encode()) <= MARKDOWN_BYTES
