"""What commands print: tables for people, one JSON document for programs, errors that say what to do next.

Tables and messages go to stdout, progress and errors to stderr. Colours respect NO_COLOR and are absent
from pipes; ``--json`` prints nothing else on stdout.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from costguard.domain.money import Money
from costguard.domain.time import format_duration


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its title, whether it is a number, and whether it may be cut when space is short."""

    title: str
    right: bool = False
    flexible: bool = False
    style: str = ""


class Screen:
    """Where a command prints. ``as_json``: only documents go to stdout."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.out = Console(highlight=False, soft_wrap=False)
        self.err = Console(stderr=True, highlight=False)

    def document(self, document: Mapping[str, object]) -> None:
        """One JSON document on stdout."""
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")

    def say(self, text: str, style: str = "") -> None:
        """A line for people; silent with --json. ``text`` is plain, never markup."""
        if not self.as_json:
            self.out.print(escape(text), style=style or None, soft_wrap=True)

    def warn(self, text: str) -> None:
        self.err.print(f"[yellow]{escape(text)}[/yellow]", soft_wrap=True)

    def table(self, title: str, columns: Sequence[Column], rows: Iterable[Sequence[str]], empty: str) -> None:
        """A table that fits the terminal; ``empty`` is said when there are no rows."""
        lines = [[str(cell) for cell in row] for row in rows]
        if not lines:
            self.say(empty)
            return
        table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(
                column.title,
                justify="right" if column.right else "left",
                style=column.style or None,
                no_wrap=not column.flexible,
                overflow="fold" if column.flexible else "ellipsis",
            )
        for line in lines:
            table.add_row(*(escape(cell) for cell in line))
        self.out.print(table)

    @contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator["Bar"]:
        """A progress bar on stderr while something long runs; nothing when stderr is not a terminal."""
        shown = self.err.is_terminal and not self.as_json
        with Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}" if total else ""),
            TimeElapsedColumn(),
            console=self.err,
            transient=True,
            disable=not shown,
        ) as progress:
            task = progress.add_task(escape(what), total=total)
            yield Bar(progress, task)


class Bar:
    """One running progress bar."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def step(self, what: str | None = None) -> None:
        self._progress.update(self._task, advance=1)
        if what is not None:
            self._progress.update(self._task, description=escape(what))


def money(amount: Money | None, unit: str = "") -> str:
    """``¥34.74/h``, or a dash when unknown."""
    return "-" if amount is None else f"{amount}{unit}"


def when(at: datetime | None, zone: ZoneInfo) -> str:
    """Local date and time to the minute; a dash for none."""
    return "-" if at is None else at.astimezone(zone).strftime("%m-%d %H:%M")


def ago(at: datetime | None, now: datetime) -> str:
    """``2h30m``; a dash for none."""
    return "-" if at is None else format_duration(max(timedelta(0), now - at))
