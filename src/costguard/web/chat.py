"""Chat messages as a person sees them: the wire payloads of Slack and DingTalk, as safe HTML.

Works on what was really sent, not on what was meant: a message that would look broken in the chat
looks broken here too. Everything is escaped first; only the platforms' own markup becomes tags.
"""

import re
from collections.abc import Mapping

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": False}).disable(["image", "html_block", "html_inline"])
_DINGTALK_MENTION = re.compile(r"@(\d{6,14}|所有人)")
_SLACK_INLINE = (
    (re.compile(r"`([^`\n]+)`"), r"<code>\1</code>"),
    (re.compile(r"(?<![\w*])\*([^*\n]+)\*(?![\w*])"), r"<b>\1</b>"),
    (re.compile(r"(?<![\w_])_([^_\n]+)_(?![\w_])"), r"<i>\1</i>"),
    (re.compile(r"(?<![\w~])~([^~\n]+)~(?![\w~])"), r"<s>\1</s>"),
    (re.compile(r"&lt;@(\w+)(?:\|([^&]*))?&gt;"), r'<span class="mention">@\1</span>'),
    (re.compile(r"&lt;!(channel|here|everyone)&gt;"), r'<span class="mention">@\1</span>'),
    (re.compile(r"&lt;(https?://[^|&\s]+)\|([^&]*)&gt;"), r'<a href="\1" rel="noreferrer">\2</a>'),
    (re.compile(r"&lt;(https?://[^|&\s]+)&gt;"), r'<a href="\1" rel="noreferrer">\1</a>'),
)


def slack_html(payload: Mapping[str, object]) -> Markup:
    """The blocks of an incoming-webhook payload, or its text when there are none."""
    blocks = payload.get("blocks")
    if not isinstance(blocks, list) or not blocks:
        return _mrkdwn(str(payload.get("text", "")))
    return Markup("").join(_block(b) for b in blocks if isinstance(b, Mapping))


def dingtalk_html(payload: Mapping[str, object]) -> Markup:
    """A robot message: markdown, text, or the text of an action card."""
    kind = str(payload.get("msgtype", "text"))
    body = payload.get(kind)
    body = body if isinstance(body, Mapping) else {}
    if kind == "text":
        html = str(escape(str(body.get("content", "")))).replace("\n", "<br>")
    else:
        html = _MARKDOWN.render(str(body.get("text", "")))
    return Markup(_DINGTALK_MENTION.sub(r'<span class="mention">@\1</span>', html))  # noqa: S704 — escaped above


def _block(block: Mapping[str, object]) -> Markup:
    match block.get("type"):
        case "header":
            return Markup("<h3>{}</h3>").format(_plain(block.get("text")))
        case "section":
            parts = [Markup("<p>{}</p>").format(_text(block.get("text")))] if block.get("text") else []
            fields = block.get("fields")
            if isinstance(fields, list):
                parts += [Markup("<p>{}</p>").format(_text(f)) for f in fields]
            return Markup("").join(parts)
        case "context":
            elements = block.get("elements")
            texts = [_text(e) for e in elements] if isinstance(elements, list) else []
            return Markup('<p class="context">{}</p>').format(Markup(" ").join(texts))
        case "divider":
            return Markup("<hr>")
        case _:
            return Markup("")


def _plain(element: object) -> str:
    return str(element.get("text", "")) if isinstance(element, Mapping) else ""


def _text(element: object) -> Markup:
    if isinstance(element, Mapping) and element.get("type") == "mrkdwn":
        return _mrkdwn(_plain(element))
    return escape(_plain(element))


def _mrkdwn(text: str) -> Markup:
    # Slack's own entities (&amp; &lt; &gt;) are what a sender writes for these characters; undo them
    # only after the markup is found, so that an escaped <!channel> stays text.
    html = str(escape(text)).replace("&amp;lt;", "\x01").replace("&amp;gt;", "\x02").replace("&amp;amp;", "\x03")
    for pattern, replacement in _SLACK_INLINE:
        html = pattern.sub(replacement, html)
    html = html.replace("\x01", "&lt;").replace("\x02", "&gt;").replace("\x03", "&amp;")
    return Markup(html.replace("\n", "<br>"))  # noqa: S704 — escaped above
