"""Slack's markup: escaping, and Block Kit's limits for any input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.press import Button, Confirm, Press
from costguard.notify.slack.markup import escape, message, pressable, settled
from costguard.notify.story import Line, Span, Story, bold, code, text
from costguard.testing.channel_contract import HOSTILE_NAMES
from tests.fakes.blockkit import problems


def blocks(story: Story) -> list[dict[str, object]]:
    found = message(story, "key", "fallback").payload["blocks"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("raw", "escaped"),
    [
        ("<!channel> & co", "&lt;!channel&gt; &amp; co"),
        ("a*b*", "a*\u200bb*\u200b"),
        ("_x_ ~y~", "_\u200bx_\u200b ~\u200by~\u200b"),
    ],
)
def test_escape(raw: str, escaped: str) -> None:
    assert escape(raw) == escaped


@pytest.mark.parametrize("length", [2979, 2980, 2999, 3000, 3001, 9000])
@pytest.mark.parametrize("filler", ["a", "机", "😀", "&", "*"])
def test_a_line_of_any_length_is_valid(length: int, filler: str) -> None:
    """J12: 3000 and 3001, CJK and emoji, and what escaping makes longer."""
    story = Story("title", (Line("原因", text(filler * length)),))
    assert problems(blocks(story)) == []


@pytest.mark.parametrize("count", [49, 50, 51, 200, 2000])
@pytest.mark.parametrize("width", [10, 150, 2500])
def test_any_number_of_items_is_valid_and_the_rest_is_counted(count: int, width: int) -> None:
    """J12: 200 boxes in one message: as many as fit, and how many more there are."""
    items = tuple(Line("", text(f"· box-{n:04d} ", "x" * width)) for n in range(count))
    found = blocks(Story("title", items=items, more="… and {n} more"))
    assert problems(found) == []
    body = message(Story("title", items=items, more="… and {n} more"), "k", "f").body
    assert len(body) < 10_500
    shown = body.count("· box-")
    assert shown == count or f"and {count - shown} more" in body


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_title_is_plain(name: str) -> None:
    story = Story(f"Stopping {name}".strip(), (Line("Box", text(code(name), bold(name), name)),))
    assert problems(blocks(story)) == []


@given(st.lists(st.tuples(st.text(max_size=4000), st.sampled_from(["text", "bold", "code", "link"])), max_size=6))
def test_any_story_is_valid(parts: list[tuple[str, str]]) -> None:
    spans = tuple(Span(value, style, "https://h.example/x") for value, style in parts)  # type: ignore[arg-type]
    story = Story("t", (Line("L", spans or text("x")),), (Line("", spans or text("x")),), footer=spans[:1])
    assert problems(blocks(story)) == []


def test_a_mention_is_one_and_a_link_leads_where_it_says() -> None:
    story = Story(
        "t",
        (Line("Owner", text(Span("zw", "mention", "zw"), Span("de|ta>ils", "link", "https://h/x?a=1&b=2|>"))),),
        mentions={"zw": "U1"},
    )
    body = message(story, "k", "f").body
    assert "<@U1>" in body
    assert "<https://h/x?a=1&amp;b=2%7C%3E|de|ta&gt;ils>" in body


_WORDS = st.text(max_size=400) | st.sampled_from(["", " ", "&" * 3000, "😀" * 2000, "*" * 700])


_BUTTON = st.tuples(st.sampled_from(list(Press)), _WORDS, st.booleans())


@given(st.lists(_BUTTON, min_size=1, max_size=8, unique_by=lambda b: b[0]), st.text(max_size=2500), _WORDS, _WORDS)
def test_buttons_and_what_was_decided_are_valid_whatever_they_say(
    wanted: list[tuple[Press, str, bool]], value: str, title: str, decided: str
) -> None:
    """J12: labels, values and questions of any length; the decision stands where the buttons were, once."""
    buttons = tuple(
        Button(press, label, value or "a", "danger", Confirm(label, label, label, label))
        if asks
        else Button(press, label, value or "a")
        for press, label, asks in wanted
    )
    story = Story(title, (Line("原因", text(title)),), footer=(Span("编号 7f3c"),), buttons=buttons)
    made = pressable(story, "key", "fallback").payload["blocks"]
    assert isinstance(made, list)
    assert problems(made) == []
    (actions,) = (block for block in made if block["type"] == "actions")
    assert [element["action_id"] for element in actions["elements"]] == [press.value for press, _, _ in wanted]
    once = settled([{"block_id": "b1", "type": "image"}, {"type": "divider"}, *made], decided)
    assert problems(once) == []
    assert [block["type"] for block in once] == [
        block["type"] if block["type"] != "actions" else "section" for block in made
    ]
    assert len(settled(once, "another")) == len(once), "a second decision replaces the first"
