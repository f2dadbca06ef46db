"""Story → DingTalk markdown within 20,000 bytes of request, with nothing in the data able to mention or link.

The robot's markdown knows headings, bold, links, lists and quotes; data in it is made inert (costguard.notify.inert).
"""

import json
from collections.abc import Mapping, Sequence

from costguard.notify.inert import escape
from costguard.notify.story import Line, Span, Story, cut, cut_bytes
from costguard.ports import Message

# The request may have 20,000 bytes; title, mentions and the key need some of them.
TEXT_BYTES, TITLE_BYTES = 18_000, 400


def message(story: Story, idem_key: str, fallback: str) -> Message:
    """The message: ``title`` for the notification line, ``body`` markdown, mentions also written out in it."""
    return Message(
        title=story.title, body=markdown(story), fallback=fallback, idem_key=idem_key,
        mentions=tuple(story.mentions.values()),
    )  # fmt: skip


def markdown(story: Story, room: int = TEXT_BYTES) -> str:
    """The whole story as markdown of at most ``room`` bytes in a request; items that do not fit are counted."""
    head = [f"### {cut_bytes(escape(story.title), TITLE_BYTES)}", *(written(line, story) for line in story.lines)]
    tail = [_spans(story.footer, story.mentions)] if story.footer else []
    size = sum(_size(part) for part in (*head, *tail)) + 100
    items: list[str] = []
    for index, item in enumerate(story.items):
        rendered = written(item, story)
        size += _size(rendered)
        if size > room:
            items.append(escape(story.more.format(n=len(story.items) - index)))
            break
        items.append(rendered)
    # A single newline is no line break in this markdown; an empty line is, everywhere.
    return _fitted("\n\n".join([*head, *items, *tail]), room)


def _size(text: str) -> int:
    """Bytes in the request: JSON writes a quote or a backslash as two, a line break as two, a paragraph as four."""
    return len(json.dumps(text, ensure_ascii=False).encode()) + 2


def _fitted(text: str, room: int) -> str:
    """The longest beginning of a text that fits into the request."""
    if _size(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(cut(text, middle)) <= room else (low, middle - 1)
    return cut(text, low)


def written(line: Line, story: Story) -> str:
    """One line of a story as markdown."""
    label = f"**{line.label}**{story.separator}" if line.label else ""
    return label + cut_bytes(_spans(line.spans, story.mentions), 3000)


def _spans(spans: Sequence[Span], mentions: Mapping[str, str]) -> str:
    return "".join(_span(span, mentions) for span in spans)


def _span(span: Span, mentions: Mapping[str, str]) -> str:
    match span.style:
        case "code":
            # Inline code is not certain to be honoured, so a name in it is escaped like any other text.
            inner = escape(span.text.strip())
            return f"`{inner}`" if inner else ""
        case "bold":
            return f"**{escape(span.text)}**" if span.text.strip() else ""
        case "mention":
            # Only a mobile that stands in the text after an @ is mentioned, so it must be there.
            return f"@{mentions[span.target]} {escape(span.text)}"
        case "link":
            url = span.target.replace("(", "%28").replace(")", "%29").replace(" ", "%20")
            return f"[{escape(span.text)}]({url})"
    return escape(span.text)
