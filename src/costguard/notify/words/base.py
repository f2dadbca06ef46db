"""What a language must be able to say. Each language writes whole sentences; nothing is glued from parts
that only one grammar would glue so.

The order of a message's parts is not a matter of language: ``stories`` fixes it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo

from costguard.domain.money import Money
from costguard.domain.press import Confirm, Press
from costguard.notify.doc import Doc
from costguard.notify.story import Span


class Words(ABC):
    """One language. ``labels`` name the lines of a message; ``separator`` follows a label, ``comma`` joins clauses;
    ``buttons`` are the labels of what can be pressed."""

    language: ClassVar[str]
    labels: ClassVar[Mapping[str, str]]
    buttons: ClassVar[Mapping[Press, str]]
    separator: ClassVar[str]
    comma: ClassVar[str]
    list_comma: ClassVar[str]
    more: ClassVar[str]

    # ── quantities ──────────────────────────────────────────────────────────────────────────────────────

    def money(self, money: Money) -> str:
        """Two digits, thousands separators, its own currency."""
        return str(money)

    def per_hour(self, money: Money) -> str:
        return f"{money}/h"

    def several(self, amounts: tuple[Money, ...]) -> str:
        """Amounts of several currencies are named one by one; they never add."""
        return " + ".join(map(self.money, amounts))

    @abstractmethod
    def duration(self, span: timedelta) -> str: ...

    @abstractmethod
    def when(self, at: datetime, now: datetime, zone: ZoneInfo) -> str:
        """Wall-clock time with its zone, with the date when it is not today's."""

    @abstractmethod
    def verb(self, doc: Doc) -> str:
        """What a message announces (``do``), as a word inside a sentence."""

    # ── titles: alone enough (verb, when, name, money) ──────────────────────────────────────────────────

    @abstractmethod
    def dry_run(self, title: str) -> str: ...
    @abstractmethod
    def repeat(self, title: str) -> str: ...
    @abstractmethod
    def warn_title(self, doc: Doc, left: timedelta | None) -> str: ...
    @abstractmethod
    def notify_title(self, doc: Doc) -> str: ...
    @abstractmethod
    def held_title(self, doc: Doc, why: str) -> str:
        """What is announced or asked for does not happen."""

    @abstractmethod
    def held(self, held: Doc) -> str:
        """Why: ``code``, ``tag``, ``restarts`` and ``by`` of :class:`~costguard.notify.facts.Held`."""

    @abstractmethod
    def approval_title(self, doc: Doc) -> str: ...
    @abstractmethod
    def result_title(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str: ...
    @abstractmethod
    def unseen_title(self, doc: Doc) -> str: ...
    @abstractmethod
    def failed_title(self, doc: Doc) -> str: ...
    @abstractmethod
    def kept_title(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str: ...
    @abstractmethod
    def cleared_title(self, doc: Doc) -> str: ...
    @abstractmethod
    def no_data_title(self, doc: Doc, now: datetime) -> str: ...
    @abstractmethod
    def source_title(self, doc: Doc) -> str: ...
    @abstractmethod
    def channel_title(self, doc: Doc) -> str: ...
    @abstractmethod
    def budget_title(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str: ...
    @abstractmethod
    def dry_run_digest_title(self, doc: Doc) -> str: ...
    @abstractmethod
    def group_title(self, of: str, common: Doc, count: int, per_hour: tuple[Money, ...], first: str) -> str:
        """``common`` holds ``do``, ``rule`` and subject where all members agree; ``first`` is the earliest time."""

    @abstractmethod
    def reminder_title(self, doc: Doc) -> str: ...
    @abstractmethod
    def report_title(self, doc: Doc, zone: ZoneInfo) -> str: ...
    @abstractmethod
    def test_title(self, doc: Doc) -> str: ...

    # ── lines ───────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def dry_run_line(self) -> str: ...
    @abstractmethod
    def deadline(self, doc: Doc, due: datetime | None, now: datetime, zone: ZoneInfo) -> tuple[Span, ...]: ...
    @abstractmethod
    def hardware(self, resource: Doc) -> str: ...
    @abstractmethod
    def owner_found(self, found_by: str) -> str: ...
    @abstractmethod
    def no_owner(self, doc: Doc) -> tuple[Span, ...]: ...
    @abstractmethod
    def evidence(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str: ...
    @abstractmethod
    def policy(self, name: str) -> tuple[Span, ...]: ...
    @abstractmethod
    def cost(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[Span, ...]: ...
    @abstractmethod
    def happens(self, doc: Doc) -> tuple[Span, ...]: ...
    @abstractmethod
    def keep(self, doc: Doc) -> tuple[Span, ...]: ...
    @abstractmethod
    def approve(self, doc: Doc) -> tuple[Span, ...]: ...
    @abstractmethod
    def saved(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str: ...
    @abstractmethod
    def still_billed(self, effect: Doc, provider: str) -> str: ...
    @abstractmethod
    def again(self, doc: Doc) -> tuple[Span, ...]: ...
    @abstractmethod
    def unseen_lines(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[str, str, str]:
        """When it was, what was seen since, and why it was not seen then."""

    @abstractmethod
    def attempts(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str: ...
    @abstractmethod
    def kept_line(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[Span, ...]: ...
    @abstractmethod
    def no_data_line(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str: ...
    @abstractmethod
    def source_lines(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[tuple[str, str], ...]: ...
    @abstractmethod
    def channel_lines(self, doc: Doc) -> tuple[tuple[str, str], ...]: ...
    @abstractmethod
    def budget_lines(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[tuple[str, str], ...]: ...
    @abstractmethod
    def digest_item(self, item: Doc) -> str: ...
    @abstractmethod
    def group_hint(self, of: str) -> tuple[Span, ...]: ...
    @abstractmethod
    def reminder_box(self, box: Doc) -> str: ...
    @abstractmethod
    def reminder_hint(self) -> tuple[Span, ...]: ...
    @abstractmethod
    def report_lines(self, doc: Doc, zone: ZoneInfo) -> tuple[tuple[str, tuple[Span, ...]], ...]:
        """Eight lines: the name of the label, and what it says."""

    @abstractmethod
    def test_line(self) -> str: ...
    @abstractmethod
    def confirm_stop(self, name: str) -> Confirm: ...
    @abstractmethod
    def spoken(self, name: str) -> tuple[Span, ...]:
        """What can be written to the robot where nothing can be pressed."""

    @abstractmethod
    def slash(self, name: str) -> tuple[Span, ...]:
        """The same where a slash command is heard."""

    @abstractmethod
    def number(self, alert: str) -> str: ...
    @abstractmethod
    def link(self, key: str) -> str: ...
