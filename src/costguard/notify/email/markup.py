"""Story → e-mail: a text part and an HTML part that say the same, and the thread that the mail belongs to.

All mails about one finding share a thread: each refers to a root that is made from the finding's own number, so it
needs no memory of what was sent. Mail programs gather by it although the root itself was never sent.
"""

import hashlib
import html
from collections.abc import Mapping, Sequence
from typing import Any

from costguard.notify import plain
from costguard.notify.story import Line, Span, Story
from costguard.ports import Message

_BODY = (
    "font:15px/1.5 -apple-system,'PingFang SC','Microsoft YaHei',sans-serif;color:#1b1f24;margin:12px;max-width:720px"
)
_CELL = "padding:5px 0;border-bottom:1px solid #e3e7ec;vertical-align:top;overflow-wrap:anywhere"

# These answer an earlier mail about the same box.
FOLLOW_UPS = frozenset({"result", "failed", "kept", "cleared", "unseen_work"})


def message(story: Story, idem_key: str, fallback: str, facts: Mapping[str, Any]) -> Message:
    """The message; ``body`` is its text part, ``mentions`` are the owners' addresses. ``payload``: ``html``; for what
    has a thread ``thread`` (the root's name) and ``follow_up``; a report's ``attachment`` (name, type, content)."""
    payload: dict[str, object] = {"html": _page(story)}
    if attachment := facts.get("attachment"):
        payload["attachment"] = attachment
    if thread := _thread(facts):
        payload |= {"thread": thread, "follow_up": facts.get("kind") in FOLLOW_UPS}
    return Message(
        title=story.title, body=plain.body(story), fallback=fallback, idem_key=idem_key, payload=payload,
        mentions=tuple(story.mentions.values()),
    )  # fmt: skip


def _thread(facts: Mapping[str, Any]) -> str:
    """A name for all that is told about one finding on one box; empty when there is no finding."""
    alert, subject = facts.get("alert"), facts.get("subject")
    if not alert or not isinstance(subject, Mapping):
        return ""
    root = "\0".join(str(part) for part in (alert, subject.get("account"), subject.get("id")))
    return hashlib.sha256(root.encode()).hexdigest()[:24]


def _page(story: Story) -> str:
    """Styles are inline: mail programs drop the others. Without widths, so that a phone breaks the lines."""
    rows = "".join(_row(line) for line in story.lines if line.spans)
    items = "".join(f'<p style="margin:4px 0">{_spans(item.spans)}</p>\n' for item in story.items)
    title = html.escape(story.title)
    table = f'<table style="border-collapse:collapse">\n{rows}</table>' if rows else ""
    footer = f'<p style="color:#667080">{_spans(story.footer)}</p>' if story.footer else ""
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, '
        f'initial-scale=1"><title>{title}</title></head>\n<body style="{_BODY}">\n'
        f'<h2 style="font-size:18px;margin:8px 0 12px">{title}</h2>\n{table}\n{items}{footer}\n</body></html>\n'
    )


def _row(line: Line) -> str:
    if not line.label:
        return f'<tr><td colspan="2" style="{_CELL}">{_spans(line.spans)}</td></tr>\n'
    return (
        f'<tr><th align="left" valign="top" nowrap style="{_CELL};padding-right:12px;color:#667080;font-weight:600">'
        f'{html.escape(line.label)}</th><td style="{_CELL}">{_spans(line.spans)}</td></tr>\n'
    )


def _spans(spans: Sequence[Span]) -> str:
    return "".join(map(_span, spans))


def _span(span: Span) -> str:
    text = html.escape(span.text)
    match span.style:
        case "code":
            return f"<code>{text}</code>"
        case "bold" | "mention":
            return f"<b>{text}</b>"
        case "link":
            return f'<a href="{html.escape(span.target)}">{text}</a>'
    return text
