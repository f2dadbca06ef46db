"""A story: one message as lines of styled spans, before any platform's markup.

The markup modules escape every span; only the style of a span becomes markup, so data can't.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from costguard.domain.press import Button

Style = Literal["text", "bold", "code", "mention", "link"]

# Directional overrides and isolates reorder what follows them; a name has no use for them.
_KEEP_FORMAT = frozenset("\u200d")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text in one style. ``target`` is the URL of a link, the owner's name of a mention."""

    text: str
    style: Style = "text"
    target: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line; ``label`` says what it is about (may be empty)."""

    label: str
    spans: tuple[Span, ...]

    @property
    def plain(self) -> str:
        """The line as plain text, without its label; a link shows its address."""
        return "".join(f"{s.text} {s.target}" if s.style == "link" else s.text for s in self.spans)


@dataclass(frozen=True, slots=True)
class Story:
    """A whole message. ``title`` alone must be enough; ``items`` may be cut ("and N more"), ``lines`` are not.

    ``more`` is the sentence for what was cut, with ``{n}``; ``separator`` stands between label and text.
    ``buttons`` are for channels that can be clicked, ``spoken`` for those where people can write but not click, and
    ``slash`` is the same for a message without buttons where a slash command is heard.
    """

    title: str
    lines: tuple[Line, ...] = ()
    items: tuple[Line, ...] = ()
    footer: tuple[Span, ...] = ()
    more: str = "… {n}"
    separator: str = ": "
    mentions: Mapping[str, str] = field(default_factory=dict)
    buttons: tuple[Button, ...] = ()
    spoken: tuple[Span, ...] = ()
    slash: tuple[Span, ...] = ()


def clean(text: object) -> str:
    """Data from outside as one line of harmless characters: no control, no direction override, no runs of spaces."""
    kept = "".join(
        " " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
        for c in str(text)
        if unicodedata.category(c) not in ("Cf", "Cs", "Co") or c in _KEEP_FORMAT
    )
    return " ".join(kept.split())


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters, ending in … when something was cut; never inside a composed character."""
    if len(text) <= limit:
        return text
    end = _boundary(text, max(0, limit - 1))
    return text[:end].rstrip() + "…"


def cut_bytes(text: str, limit: int) -> str:
    """The same for at most ``limit`` UTF-8 bytes."""
    if len(text.encode()) <= limit:
        return text
    room = max(0, limit - len("…".encode()))
    end = len(text.encode()[:room].decode("utf-8", "ignore"))
    return text[: _boundary(text, end)].rstrip() + "…"


def _boundary(text: str, end: int) -> int:
    """The last place ≤ ``end`` that does not separate a character from what modifies it."""
    while 0 < end < len(text) and (
        unicodedata.combining(text[end])
        or text[end] in "\u200d\ufe0e\ufe0f"
        or text[end - 1] == "\u200d"
        or 0x1F3FB <= ord(text[end]) <= 0x1F3FF
    ):
        end -= 1
    return end


def text(*parts: object) -> tuple[Span, ...]:
    """Spans from strings and spans."""
    return tuple(part if isinstance(part, Span) else Span(str(part)) for part in parts if part not in ("", None))


def bold(value: object) -> Span:
    return Span(str(value), "bold")


def code(value: object) -> Span:
    return Span(clean(value), "code")


def joined(parts: Iterable[tuple[Span, ...] | str], separator: str) -> tuple[Span, ...]:
    """Groups of spans with a separator between; empty groups are left out."""
    spans: list[Span] = []
    for part in parts:
        group = text(part) if isinstance(part, str) else part
        if not group:
            continue
        if spans:
            spans.append(Span(separator))
        spans.extend(group)
    return tuple(spans)
