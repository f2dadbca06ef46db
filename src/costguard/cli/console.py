"""What commands print: tables for people, one JSON document for programs, errors that say what to do next.

Tables and messages go to stdout, progress and errors to stderr. There is no escape code under NO_COLOR or in
a pipe; ``--json`` prints nothing else on stdout. What is printed is text: no name is ever read as markup.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from rich.cells import cell_len
from rich.console import Console
from rich.containers import Lines
from rich.text import Text

from costguard.cli import words
from costguard.domain.money import Money
from costguard.notify.words import words as languages
from costguard.web.words import Language

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_GAP = 2
# A column of words that is narrower than this reads badly; then another column goes. A name is not cut to make room,
# if it is no longer than that.
_WORDS, _NAME = 18, 24
_LABEL = 10
_INDENT, _FACT = 4, 14
# What a line may be broken before: a word, or a character of a script without spaces. Punctuation stays where it is.
_UNIT = (
    r"[（《“「【]*(?:[\u2e80-\u2fff\u3041-\u9fff\uf900-\ufaff]|[^\s\u2e80-\u9fff\uf900-\ufaff\uff01-\uff5e]+|.)"
    r"[，。、；：）》”」】！？…]*\s*"
)


# Control characters but for the end of a line, and marks that change the direction of writing.
_OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its title, whether it is a number, and whether its words may wrap.

    ``drop``: on a narrow terminal columns go, the highest number first; 0 stays.
    """

    title: str
    right: bool = False
    flexible: bool = False
    style: str = ""
    drop: int = 0


def harmless(text: str) -> str:
    """Text without what a terminal obeys: names come from outside, and a control character in one could clear the
    screen, forge a link or turn the line around."""
    return _OBEYED.sub("\ufffd", text)


class Prose(Text):
    """Text that wraps as people write: a Chinese sentence, which has no spaces, breaks between its characters."""

    def wrap(self, console: Console, width: int, **how: Any) -> Lines:
        if how.get("no_wrap") or how.get("overflow") != "fold":
            return super().wrap(console, width, **how)
        lines = Lines()
        for line in self.split(allow_blank=True):
            broken = line.divide(_breaks(line.plain, width))
            for one in broken:
                one.rstrip_end(width)
            lines.extend(broken)
        return lines


def _breaks(text: str, width: int) -> list[int]:
    """Where lines of at most ``width`` cells begin, after the first."""
    found, used = [], 0
    for unit in re.finditer(_UNIT, text):
        cells = cell_len(unit[0].rstrip())
        if used and used + cells > width:
            found.append(unit.start())
            used = 0
        if cells <= width:
            used += cell_len(unit[0])
            continue
        for at, character in enumerate(unit[0], unit.start()):  # longer than a line: cut where the line ends
            if used + cell_len(character) > width:
                found.append(at)
                used = 0
            used += cell_len(character)
    return found


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Whoever read has had enough; Rich would call it a failure."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console that honours NO_COLOR to the letter and leaves ``:names:`` alone."""
    plain = bool(os.environ.get("NO_COLOR"))
    return _Console(stderr=stderr, highlight=False, emoji=False, markup=False, color_system=None if plain else "auto")


class Screen:
    """Where a command prints, in one language. ``as_json``: only documents go to stdout."""

    def __init__(self, *, as_json: bool = False, language: Language = "en") -> None:
        self.as_json = as_json
        self.language: Language = language
        self.out = console()
        self.err = console(stderr=True)

    @property
    def comma(self) -> str:
        """What joins clauses."""
        return languages(self.language).comma

    @property
    def list_comma(self) -> str:
        """What joins the items of a list."""
        return languages(self.language).list_comma

    @property
    def colon(self) -> str:
        """What follows a label."""
        return languages(self.language).separator

    def t(self, key: str, /, **values: object) -> str:
        """Words of the terminal in its language."""
        return words.say(key, self.language, **values)

    def count(self, noun: str, count: int) -> str:
        """``2 faults``; ``2 个错误``."""
        return self.t(f"count.{noun}" if count == 1 else f"counts.{noun}", n=count)

    def document(self, document: Mapping[str, object]) -> None:
        """One JSON document on stdout."""
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")

    def say(self, text: str, style: str = "") -> None:
        """A line for people; silent with --json."""
        if not self.as_json:
            self.out.print(Text(harmless(text), style), soft_wrap=True)

    def fact(self, label: str, text: str, style: str = "") -> None:
        """A label and what it has, wrapped beside it; one fact after another stands below it."""
        room = max(_WORDS, self.out.width - _FACT)
        for start, end in pairwise([0, *_breaks(text, room), len(text)]):
            self.say(label + " " * max(_GAP, _FACT - cell_len(label)) + text[start:end].rstrip(), style)
            label = ""

    def banner(self, pause: Mapping[str, str], until: str) -> None:
        """Says that the kill switch is on, above what it changes; ``until`` is its end, empty without one."""
        ends = self.t("banner.until", until=until) if until else self.t("banner.open")
        why = self.t("banner.why", reason=pause["reason"]) if pause["reason"] else ""
        self.say(self.t("banner", by=pause["by"], ends=ends, why=why), "bold yellow")

    def paragraph(self, text: str) -> None:
        """A sentence of some length, set in under the line that it belongs to."""
        cuts = [0, *_breaks(text, self.out.width - _INDENT), len(text)]
        for start, end in pairwise(cuts):
            self.say(" " * _INDENT + text[start:end].rstrip())

    def warn(self, text: str) -> None:
        self.err.print(Text(harmless(text), "yellow"), soft_wrap=True)

    def facts(self, lines: Iterable[tuple[str, str]]) -> None:
        """Lines of a label and words, the words wrapped beside it; a label that repeats is said once."""
        from rich.table import Table

        before = ""
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(no_wrap=True, min_width=_LABEL, style="dim")
        table.add_column(overflow="fold")
        for label, text in lines:
            table.add_row(f"  {'' if label == before else label}", Prose(harmless(text)))
            before = label
        if table.row_count and not self.as_json:
            self.out.print(table)

    def table(self, title: str, columns: Sequence[Column], rows: Iterable[Sequence[str]], empty: str) -> None:
        """A table that fits the terminal; ``empty`` is said when there are no rows."""
        from rich.table import Table

        lines = [[harmless(str(cell)).replace("\n", " ") for cell in row] for row in rows]
        if not lines:
            self.say(empty)
            return
        widths = [
            max(cell_len(column.title), *(cell_len(line[number]) for line in lines))
            for number, column in enumerate(columns)
        ]
        leasts = [
            min(widths[number], _longest(line[number] for line in lines)) if column.flexible else widths[number]
            for number, column in enumerate(columns)
        ]
        shown = _shown(columns, leasts, self.out.width)
        if title:
            self.say(title, "bold")
        headed = any(column.title for column in columns)
        table = Table(box=None, pad_edge=False, header_style="bold", show_header=headed)
        for number in shown:
            column = columns[number]
            table.add_column(
                column.title,
                justify="right" if column.right else "left",
                style=column.style or None,
                no_wrap=not column.flexible,
                overflow="fold" if column.flexible else "ellipsis",
                min_width=leasts[number] if column.flexible else None,
            )
        for line in lines:
            table.add_row(*(Prose(line[number]) for number in shown))
        if (least := _least(leasts, shown)) > self.out.width:
            table.width = least  # a number that is cut is another number: rather a line that the terminal wraps
        self.out.print(table, crop=False)

    @contextmanager
    def progress(self, what: str) -> Iterator["Bar"]:
        """A progress bar on stderr while something long runs; nothing when stderr is not a terminal."""
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            console=self.err,
            transient=True,
            disable=not self.err.is_terminal or self.as_json,
        ) as progress:
            yield Bar(progress, progress.add_task(what, total=None))


class Bar:
    """One running progress bar."""

    def __init__(self, progress: "Progress", task: "TaskID") -> None:
        self._progress, self._task = progress, task

    def step(self, what: str | None = None) -> None:
        self._progress.update(self._task, advance=1, description=what)

    def at(self, done: int, total: int, what: str) -> None:
        """How far it is, where that is known."""
        self._progress.update(self._task, completed=done, total=total, description=what)


def _longest(texts: Iterable[str]) -> int:
    """How wide a column of words is at least, in cells."""
    units = (cell_len(unit[0].rstrip()) for text in texts for unit in re.finditer(_UNIT, text))
    return max(_WORDS, *(cells for cells in units if cells <= _NAME), 0)


def _shown(columns: Sequence[Column], leasts: Sequence[int], width: int) -> list[int]:
    """The columns that fit: those that may go do so, the most dispensable first."""
    shown = list(range(len(columns)))
    while _least(leasts, shown) > width:
        going = max(shown, key=lambda number: columns[number].drop)
        if not columns[going].drop:
            break
        shown.remove(going)
    return shown


def _least(leasts: Sequence[int], shown: Sequence[int]) -> int:
    """How wide a table of these columns is at least, in cells."""
    return sum(leasts[n] for n in shown) + _GAP * (len(shown) - 1)


def money(amount: Money | None, unit: str = "") -> str:
    """``¥34.74/h``, or a dash when unknown."""
    return "-" if amount is None else f"{amount}{unit}"


def when(at: datetime | None, now: datetime, zone: ZoneInfo) -> str:
    """Local time to the minute, with the date when it is not today's; a dash for none."""
    if at is None:
        return "-"
    local = at.astimezone(zone)
    return local.strftime("%H:%M" if local.date() == now.astimezone(zone).date() else "%m-%d %H:%M")


def ago(at: datetime | None, now: datetime, language: Language = "en") -> str:
    """``2h30m``; a dash for none."""
    return "-" if at is None else span(now - at, language)


def span(length: timedelta, language: Language = "en") -> str:
    """``2h30m``, ``45m``, ``30s``; ``2 小时 30 分钟``: seconds only below a minute."""
    return words.span(length, language)


def plural(count: int, noun: str, several: str = "") -> str:
    """``1 fault``, ``2 faults``, ``2 tries``."""
    return f"{count} {noun if count == 1 else several or noun + 's'}"
