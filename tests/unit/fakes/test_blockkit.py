"""Block Kit limits: exactly at each limit is right, one more is wrong, unknown and empty things are wrong."""

from typing import Any

import pytest

from tests.fakes.blockkit import problems


def plain(length: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": "机" * length}


def mrkdwn(length: int) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": "😀" * length}


def section(**fields: Any) -> dict[str, Any]:
    return {"type": "section", "text": mrkdwn(1), **fields}


def button(**fields: Any) -> dict[str, Any]:
    return {"type": "button", "text": plain(1), **fields}


def actions(*elements: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements), **fields}


def options(count: int, text: int = 1, value: int = 1) -> list[dict[str, Any]]:
    return [{"text": plain(text), "value": f"{n:03}"[:3].rjust(value, "v")} for n in range(count)]


def confirm(title: int = 1, text: int = 1, yes: int = 1) -> dict[str, Any]:
    return {"title": plain(title), "text": plain(text), "confirm": plain(yes), "deny": plain(1)}


# (what, the largest that is right, one more)
LIMITS: dict[str, tuple[list[Any], list[Any]]] = {
    "blocks": ([section()] * 50, [section()] * 51),
    "header": ([{"type": "header", "text": plain(150)}], [{"type": "header", "text": plain(151)}]),
    "section text": ([section(text=mrkdwn(3_000))], [section(text=mrkdwn(3_001))]),
    "fields": ([section(fields=[plain(1)] * 10)], [section(fields=[plain(1)] * 11)]),
    "field text": ([section(fields=[plain(2_000)])], [section(fields=[plain(2_001)])]),
    "block_id": ([section(block_id="b" * 255)], [section(block_id="b" * 256)]),
    "context": (
        [{"type": "context", "elements": [mrkdwn(1)] * 10}],
        [{"type": "context", "elements": [mrkdwn(1)] * 11}],
    ),
    "actions": ([actions(*[button()] * 25)], [actions(*[button()] * 26)]),
    "button text": ([actions(button(text=plain(75)))], [actions(button(text=plain(76)))]),
    "button value": ([actions(button(value="v" * 2_000))], [actions(button(value="v" * 2_001))]),
    "button url": ([actions(button(url="u" * 3_000))], [actions(button(url="u" * 3_001))]),
    "action_id": ([actions(button(action_id="a" * 255))], [actions(button(action_id="a" * 256))]),
    "confirm title": (
        [actions(button(confirm=confirm(title=100)))],
        [actions(button(confirm=confirm(title=101)))],
    ),
    "confirm text": ([actions(button(confirm=confirm(text=300)))], [actions(button(confirm=confirm(text=301)))]),
    "confirm button": ([actions(button(confirm=confirm(yes=30)))], [actions(button(confirm=confirm(yes=31)))]),
    "select": (
        [actions({"type": "static_select", "options": options(100)})],
        [actions({"type": "static_select", "options": options(101)})],
    ),
    "option text": (
        [actions({"type": "static_select", "options": options(1, text=75)})],
        [actions({"type": "static_select", "options": options(1, text=76)})],
    ),
    "option value": (
        [actions({"type": "static_select", "options": options(1, value=150)})],
        [actions({"type": "static_select", "options": options(1, value=151)})],
    ),
    "overflow": (
        [actions({"type": "overflow", "options": options(5)})],
        [actions({"type": "overflow", "options": options(6)})],
    ),
    "markdown in total": (
        [{"type": "markdown", "text": "m" * 6_000}] * 2,
        [{"type": "markdown", "text": "m" * 6_000}, {"type": "markdown", "text": "m" * 6_001}],
    ),
    "image url": (
        [{"type": "image", "image_url": "u" * 3_000, "alt_text": "a"}],
        [{"type": "image", "image_url": "u" * 3_001, "alt_text": "a"}],
    ),
    "alt text": (
        [{"type": "image", "image_url": "u", "alt_text": "a" * 2_000}],
        [{"type": "image", "image_url": "u", "alt_text": "a" * 2_001}],
    ),
}


@pytest.mark.parametrize("what", LIMITS)
def test_each_limit_to_the_character(what: str) -> None:
    """J12: counted in characters, whatever their bytes."""
    right, wrong = LIMITS[what]
    assert problems(right) == []
    assert problems(wrong) != []


@pytest.mark.parametrize(
    "block",
    [
        section(text=plain(0)),
        section(text=None),
        section(text="text"),
        section(colour="red"),
        section(text={"type": "mrkdwn", "text": "x", "emoji": True}),
        section(block_id=""),
        section(accessory=plain(1)),
        {"type": "section"},
        {"type": "header", "text": mrkdwn(1)},
        {"type": "divider", "text": plain(1)},
        {"type": "heading", "text": plain(1)},
        {"type": "image", "image_url": "u"},
        {"type": "context", "elements": []},
        actions(),
        actions(button(style="green")),
        actions(button(text=mrkdwn(1))),
        actions(button(action_id="same"), button(action_id="same")),
        actions(plain(1)),
        "text",
        None,
    ],
)
def test_what_slack_refuses(block: Any) -> None:
    assert problems([block]) != []


def test_a_block_id_is_used_once() -> None:
    assert problems([section(block_id="a"), section(block_id="b")]) == []
    assert problems([section(block_id="a"), section(block_id="a")]) == ["/blocks/1/block_id: used twice"]


@pytest.mark.parametrize("blocks", [None, {}, "[]", []])
def test_blocks_are_a_list_with_something_in_it(blocks: Any) -> None:
    assert problems(blocks) != []


def test_the_place_is_named() -> None:
    assert problems([section(), section(fields=[plain(1), plain(2_001)])]) == [
        "/blocks/1/fields/1/text: 1 to 2000 characters, not 2001"
    ]
