"""Story → plain text: e-mail, terminals, and the short text that is sent when a platform refuses the markup."""

from costguard.notify.story import Line, Story, clean, cut
from costguard.ports import Message

FALLBACK = 500


def message(story: Story, idem_key: str, fallback: str) -> Message:
    """Title and body as plain text."""
    return Message(title=story.title, body=body(story), fallback=fallback, idem_key=idem_key)


def body(story: Story) -> str:
    """The whole story, a line a line."""
    lines = [_line(line, story) for line in (*story.lines, *story.items)]
    if story.footer:
        lines.append(Line("", story.footer).plain)
    return "\n".join(lines)


def short(story: Story) -> str:
    """Title and the first lines, without links: what a refused message is replaced by."""
    items = [_line(line, story) for line in story.items] or [_line(line, story) for line in story.lines]
    return cut("\n".join([story.title, *(clean(line) for line in items)]), FALLBACK * (4 if story.items else 1))


def _line(line: Line, story: Story) -> str:
    return f"{line.label}{story.separator}{line.plain}" if line.label else line.plain
