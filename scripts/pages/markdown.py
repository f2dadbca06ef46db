"""The few bits of Markdown that the generated pages share."""

from collections.abc import Iterable, Sequence


def cell(text: object) -> str:
    """Text for a table cell: one line, bars escaped."""
    return " ".join(str(text).split()).replace("|", "\\|")


def code(text: object) -> str:
    """Inline code, or a dash for nothing."""
    return f"`{text}`" if text not in (None, "", "–") else "–"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A pipe table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)
