"""Story → Feishu card within 20 KB of request, with nothing in the data able to mention, link or format.

A custom bot's card can show text and open addresses; buttons that call back would need an app. The colour of the
header says what kind of message it is before anybody reads it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from costguard.notify.inert import escape
from costguard.notify.story import Line, Span, Story, cut, cut_bytes
from costguard.ports import Message

# The request may have 20,480 bytes; signature, keyword and the frame of the card need some of them.
CARD_BYTES, TITLE_BYTES, LINE_BYTES = 18_000, 400, 2000

_COLOURS = {
    "warn": "orange", "failed": "red", "source": "red", "budget": "orange", "approval": "orange", "no_data": "yellow",
    "unseen_work": "red", "result": "green", "kept": "green", "cleared": "green",
}  # fmt: skip


def message(story: Story, idem_key: str, fallback: str, facts: Mapping[str, Any]) -> Message:
    """The message with its card; ``body`` is what the card says, as text."""
    title = cut_bytes(story.title.strip() or "costguard", TITLE_BYTES)
    head = [_line(line, story) for line in story.lines]
    footer = [span for span in story.footer if span.style != "link"]
    tail = escape("".join(span.text for span in footer).removesuffix(" · ").strip())
    buttons = [_button(span) for span in story.footer if span.style == "link"]
    room = CARD_BYTES - _size(title) - _size(tail) - _size(json.dumps(buttons, ensure_ascii=False)) - 600
    lines = _fitting(head, story, room)
    elements: list[dict[str, object]] = []
    if lines:
        elements.append({"tag": "div", "text": {"tag": "lark_md", "content": "\n".join(lines)}})
    if buttons:
        elements.append({"tag": "action", "actions": buttons})
    if tail:
        elements.append({"tag": "note", "elements": [{"tag": "lark_md", "content": tail}]})
    if not elements:
        elements.append({"tag": "div", "text": {"tag": "plain_text", "content": title}})
    card = {
        "config": {"wide_screen_mode": True},
        "header": {
            "title": {"tag": "plain_text", "content": title},
            "template": _COLOURS.get(str(facts.get("kind")), "blue"),
        },
        "elements": elements,
    }
    return Message(
        title=story.title, body="\n".join([*lines, *([tail] if tail else [])]) or title, fallback=fallback,
        idem_key=idem_key, payload={"card": card}, mentions=tuple(story.mentions.values()),
    )  # fmt: skip


def _fitting(head: Sequence[str], story: Story, room: int) -> list[str]:
    """The lines, and of the items those that fit into ``room`` bytes and a line for the rest."""
    kept: list[str] = []
    for line in filter(str.strip, head):
        if _size(line) > room:
            return [*kept, _fitted(line, room)]
        kept.append(line)
        room -= _size(line)
    for index, item in enumerate(story.items):
        rendered = _line(item, story)
        more = escape(story.more.format(n=len(story.items) - index))
        if _size(rendered) + _size(more) > room:
            return [*kept, more]
        kept.append(rendered)
        room -= _size(rendered)
    return kept


def _size(text: str) -> int:
    """Bytes in the request: JSON writes a quote, a backslash and a line break as two."""
    return len(json.dumps(text, ensure_ascii=False).encode())


def _fitted(text: str, room: int) -> str:
    """The longest beginning of a text that fits into ``room`` bytes of the request."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(cut(text, middle)) <= room else (low, middle - 1)
    return cut(text, low)


def _line(line: Line, story: Story) -> str:
    label = f"**{line.label}**{story.separator}" if line.label else ""
    return label + _spans(line.spans, story.mentions)


def _spans(spans: Sequence[Span], mentions: Mapping[str, str]) -> str:
    """Rendered spans; what no longer fits is cut in the data, never inside markup."""
    done, room = "", LINE_BYTES
    for span in spans:
        rendered = _span(span, mentions)
        if len(rendered.encode()) > room:
            return done + (cut_bytes(escape(span.text), room) if room >= 3 else "")
        done += rendered
        room -= len(rendered.encode())
    return done


def _span(span: Span, mentions: Mapping[str, str]) -> str:
    match span.style:
        case "bold":
            return f"**{escape(span.text)}**" if span.text.strip() else ""
        case "mention":
            return f"<at id={mentions[span.target]}></at> {escape(span.text)}"
        case "link":
            url = span.target.replace("(", "%28").replace(")", "%29").replace(" ", "%20")
            return f"[{escape(span.text)}]({url})"
    # lark_md has no inline code: names and commands are text like any other.
    return escape(span.text)


def _button(span: Span) -> dict[str, object]:
    return {"tag": "button", "text": {"tag": "plain_text", "content": span.text}, "url": span.target, "type": "primary"}
