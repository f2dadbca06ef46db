"""Story → WeCom markdown within 4,096 bytes, with nothing in the data able to mention, link or format.

4,096 bytes are 1,365 Chinese characters, so this is the short form: items that do not fit are counted, and when the
lines alone are too long each of them gets its share. The markdown knows headings, bold, links, inline code and quotes,
and ``<@userid>`` mentions.
"""

from collections.abc import Mapping, Sequence

from costguard.notify.inert import escape
from costguard.notify.story import Line, Span, Story, cut_bytes
from costguard.ports import Message

MARKDOWN_BYTES, TITLE_BYTES = 4096, 300
_ITEMS = 1500  # what the items of a digest are always left with


def message(story: Story, idem_key: str, fallback: str) -> Message:
    """The message: ``body`` is the markdown, its first line the title."""
    title = cut_bytes(escape(story.title.strip()) or "costguard", TITLE_BYTES)
    footer = _spans(story.footer, story.mentions, 400)
    room = MARKDOWN_BYTES - _size(f"### {title}") - _size(footer)
    lines = _shared([line for line in story.lines if line.spans], story, room - (_ITEMS if story.items else 0))
    items = _fitting(story, room - sum(map(_size, lines)))
    body = "\n".join(filter(None, [f"### {title}", *lines, *items, footer]))
    return Message(
        title=title, body=body, fallback=fallback, idem_key=idem_key, mentions=tuple(story.mentions.values())
    )


def _shared(lines: Sequence[Line], story: Story, room: int) -> list[str]:
    """The lines in full; when they do not fit, each within an equal share of what the short ones leave."""
    full = [_line(line, story, MARKDOWN_BYTES) for line in lines]
    if sum(map(_size, full)) <= room:
        return full
    left, kept = room, dict.fromkeys(range(len(lines)), "")
    by_size = sorted(range(len(lines)), key=lambda index: _size(full[index]))
    for done, index in enumerate(by_size):
        kept[index] = _line(lines[index], story, left // (len(lines) - done) - 1)
        left -= _size(kept[index])
    return [kept[index] for index in range(len(lines))]


def _fitting(story: Story, room: int) -> list[str]:
    """The items that fit into ``room`` bytes, and a line for those that do not."""
    kept: list[str] = []
    for index, item in enumerate(story.items):
        rendered = _line(item, story, 400)
        more = escape(story.more.format(n=len(story.items) - index))
        last = index == len(story.items) - 1
        if _size(rendered) + (0 if last else _size(more)) > room:
            return [*kept, more]
        kept.append(rendered)
        room -= _size(rendered)
    return kept


def _size(text: str) -> int:
    """Bytes of a line and its end."""
    return len(text.encode()) + 1


def _line(line: Line, story: Story, limit: int) -> str:
    label = f"**{line.label}**{story.separator}" if line.label else ""
    return label + _spans(line.spans, story.mentions, limit - len(label.encode()))


def _spans(spans: Sequence[Span], mentions: Mapping[str, str], room: int) -> str:
    """Rendered spans; what no longer fits is cut in the data, never inside markup or a character."""
    done = ""
    for span in spans:
        rendered = _span(span, mentions)
        if len(rendered.encode()) > room:
            # An ellipsis alone takes three bytes.
            return done + (cut_bytes(escape(span.text), room) if room >= 3 else "")
        done += rendered
        room -= len(rendered.encode())
    return done


def _span(span: Span, mentions: Mapping[str, str]) -> str:
    match span.style:
        case "code":
            inner = escape(span.text.strip())
            return f"`{inner}`" if inner else ""
        case "bold":
            return f"**{escape(span.text)}**" if span.text.strip() else ""
        case "mention":
            return f"<@{mentions[span.target]}> {escape(span.text)}"
        case "link":
            url = span.target.replace("(", "%28").replace(")", "%29").replace(" ", "%20")
            return f"[{escape(span.text)}]({url})"
    return escape(span.text)
