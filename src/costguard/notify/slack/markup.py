"""Story → Slack: Block Kit within all its limits, with nothing in the data able to mention, link or format.

Limits (Block Kit reference, and the validators of slack_sdk): 50 blocks a message, header 150 characters,
section text 3,000, context 10 elements, 25 buttons with labels of 75 and values of 2,000 characters; a whole message
is kept under 10,000 characters because one undocumented cap near 13,200 has been reported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from costguard.domain.press import Button
from costguard.notify.story import Line, Span, Story, cut
from costguard.ports import Message

HEADER, SECTION, BLOCKS, TOTAL = 150, 3000, 50, 10_000
LABEL, VALUE = 75, 2000
DECISION = 500  # escaping makes it at most five times as long
ACTIONS, DECIDED = "costguard", "costguard_decided"
_KINDS = ("header", "section", "context", "actions")
_BREAKER = "\u200b"


def escape(text: str) -> str:
    """Text for mrkdwn: entities for ``& < >``, and the formatting characters kept from pairing up."""
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(char, entity)
    # mrkdwn has no escape for these; a zero-width space behind each stops it from opening or closing.
    for char in "*_~`":
        text = text.replace(char, char + _BREAKER)
    return text


def message(story: Story, idem_key: str, fallback: str) -> Message:
    """The message with its blocks. The title stays raw: the channel escapes it into ``text``."""
    return _message(story, idem_key, fallback, ())


def pressable(story: Story, idem_key: str, fallback: str) -> Message:
    """The same with its buttons, for a bot that hears them; where there are none, with what to write instead."""
    if story.slash and not story.buttons:
        story = replace(story, lines=(*story.lines, Line("", story.slash)))
    return _message(story, idem_key, fallback, story.buttons)


def _message(story: Story, idem_key: str, fallback: str, buttons: tuple[Button, ...]) -> Message:
    blocks: list[dict[str, object]] = [
        {
            "type": "header",
            "text": {"type": "plain_text", "text": _utf16(story.title.strip() or "costguard", HEADER), "emoji": False},
        }
    ]
    room = TOTAL - HEADER - sum(len(_line(line, story)) + 1 for line in story.lines) - 600
    blocks += _sections([_line(line, story) for line in story.lines])
    blocks += _sections(_fitting(story, room))
    if footer := _spans(story.footer, story.mentions).strip():
        blocks.append({"type": "context", "elements": [_mrkdwn(footer)]})
    body = "\n".join(map(_text, blocks))
    if buttons:
        footer_at = len(blocks) - (1 if footer else 0)
        blocks.insert(footer_at, {"type": "actions", "block_id": ACTIONS, "elements": [_button(b) for b in buttons]})
    return Message(
        title=story.title, body=body, fallback=fallback, idem_key=idem_key, payload={"blocks": blocks[:BLOCKS]},
        mentions=tuple(story.mentions.values()), buttons=buttons,
    )  # fmt: skip


def settled(blocks: Sequence[Mapping[str, Any]], text: str) -> list[dict[str, Any]]:
    """A message's own blocks with what somebody decided in the place of its buttons. Only what :func:`message` makes
    is taken over: the rest is not ours."""
    kept = [dict(block) for block in blocks if block.get("type") in _KINDS and block.get("block_id") != DECIDED]
    said: dict[str, Any] = {
        "type": "section", "block_id": DECIDED, "text": _mrkdwn(f"*{escape(cut(text, DECISION))}*")
    }  # fmt: skip
    at = next((i for i, block in enumerate(kept) if block["type"] == "actions"), len(kept))
    kept = [block for block in kept if block["type"] != "actions"]
    return [*kept[:at], said, *kept[at:]][:BLOCKS]


def _button(button: Button) -> dict[str, object]:
    element: dict[str, object] = {
        "type": "button", "action_id": button.press.value, "value": cut(button.value, VALUE),
        "text": _plain(button.label, LABEL),
    }  # fmt: skip
    if button.style != "plain":
        element["style"] = button.style
    if button.confirm is not None:
        ask = button.confirm
        element["confirm"] = {
            "title": _plain(ask.title, 100), "text": _plain(ask.text, 300), "confirm": _plain(ask.yes, 30),
            "deny": _plain(ask.no, 30),
        }  # fmt: skip
    return element


def _plain(text: str, limit: int) -> dict[str, object]:
    return {"type": "plain_text", "text": _utf16(text.strip() or "…", limit), "emoji": False}


def _fitting(story: Story, room: int) -> list[str]:
    """The items that fit into ``room`` characters, and a line for those that do not."""
    kept: list[str] = []
    for index, item in enumerate(story.items):
        rendered = _line(item, story)
        if len(rendered) + 1 > room:
            return [*kept, escape(story.more.format(n=len(story.items) - index))]
        kept.append(rendered)
        room -= len(rendered) + 1
    return kept


def _sections(lines: Sequence[str]) -> list[dict[str, object]]:
    """As few sections as the limit allows; a line is never split over two. An empty text would be refused."""
    blocks: list[dict[str, object]] = []
    part: list[str] = []
    size = 0
    for line in filter(str.strip, lines):
        length = _length(line) + 1
        if part and size + length > SECTION:
            blocks.append({"type": "section", "text": _mrkdwn("\n".join(part))})
            part, size = [], 0
        part.append(line)
        size += length
    if part:
        blocks.append({"type": "section", "text": _mrkdwn("\n".join(part))})
    return blocks


def _line(line: Line, story: Story) -> str:
    label = f"*{escape(line.label)}*{story.separator}" if line.label else ""
    return label + _spans(line.spans, story.mentions, SECTION - len(label) - 1)


def _spans(spans: Sequence[Span], mentions: Mapping[str, str], limit: int = SECTION) -> str:
    """Rendered spans; what no longer fits is cut in the data, never inside markup."""
    done = ""
    for span in spans:
        rendered = _span(span, mentions)
        if _length(done) + _length(rendered) > limit:
            short = _span(Span(cut(span.text, max(1, (limit - _length(done)) // 6)), span.style, span.target), mentions)
            return done + (short if _length(done) + _length(short) <= limit else "…")
        done += rendered
    return done


def _span(span: Span, mentions: Mapping[str, str]) -> str:
    match span.style:
        case "code":
            inner = span.text.replace("`", "'")
            return f"`{_entities(inner)}`" if inner.strip() else ""
        case "bold":
            return f"*{escape(span.text)}*" if span.text.strip() else ""
        case "mention":
            return f"<@{mentions[span.target]}>"
        case "link":
            url = span.target.replace("|", "%7C").replace(">", "%3E").replace("<", "%3C").replace("&", "&amp;")
            return f"<{url}|{escape(span.text)}>"
    return escape(span.text)


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _mrkdwn(text: str) -> dict[str, object]:
    # verbatim: Slack must not turn bare URLs, channel names or @words in the data into links and mentions.
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _text(block: Mapping[str, object]) -> str:
    parts = block["elements"] if block["type"] == "context" else [block["text"]]
    assert isinstance(parts, list)
    return " ".join(str(part["text"]) for part in parts)


def _length(text: str) -> int:
    """Whether Slack counts code points or UTF-16 units is not documented; the larger is safe."""
    return len(text) + sum(1 for c in text if ord(c) > 0xFFFF)


def _utf16(text: str, limit: int) -> str:
    while _length(text) > limit:
        text = cut(text, len(text) - max(1, (_length(text) - limit) // 2))
    return text
