"""What the desk answers to people who press or write: one short sentence each, written per language.

All texts are plain: names from outside are cleaned by who builds them, escaping is the channel's.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo

from costguard.domain.money import Money
from costguard.domain.press import Press
from costguard.notify.words.base import Words
from costguard.notify.words.sentences import translated


class DeskWords(ABC):
    """One language at the desk. ``words`` is the language of messages; times come as text of :meth:`Words.when`."""

    words: ClassVar[Words]
    reason: ClassVar[str]
    """The reason of a keep for which no other is given."""

    false_alarm: ClassVar[str]
    """The reason of a keep or dispute that a false alarm asks for."""

    help: ClassVar[str]
    """Every command with an example, a line each."""

    examples: ClassVar[Mapping[str, str]]
    """A whole command of each verb that names a box."""

    def label(self, press: Press) -> str:
        return self.words.buttons[press]

    # ── who may ─────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def stranger(self, shown: str, handle: str) -> str:
        """``handle`` is the line of ``owners`` by which the person would be known."""

    @abstractmethod
    def not_yours(self, name: str, owner: str, admins: str) -> str: ...
    @abstractmethod
    def unowned(self, name: str, admins: str) -> str: ...
    @abstractmethod
    def admins_only(self, admins: str) -> str: ...

    # ── what was done ───────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def kept(self, who: str, name: str, until: str) -> str: ...
    @abstractmethod
    def kept_until_idle(self, who: str, name: str, until: str) -> str: ...
    @abstractmethod
    def unkept(self, who: str, name: str) -> str: ...
    @abstractmethod
    def stopping(self, who: str, name: str) -> str: ...
    @abstractmethod
    def claimed(self, owner: str, name: str) -> str: ...
    @abstractmethod
    def disputed(self, who: str, name: str) -> str: ...
    @abstractmethod
    def alarmed(self, who: str, name: str, until: str) -> str: ...
    @abstractmethod
    def approved(self, who: str, name: str) -> str: ...
    @abstractmethod
    def started(self, who: str, name: str) -> str: ...
    @abstractmethod
    def paused(self, who: str, until: str) -> str:
        """``until`` empty: until somebody resumes."""

    @abstractmethod
    def resumed(self, who: str) -> str: ...

    # ── what is the case already ────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def already_kept(self, by: str, name: str, until: str, until_idle: bool) -> str: ...
    @abstractmethod
    def under_way(self, name: str) -> str: ...
    @abstractmethod
    def already_stopped(self, name: str, at: str) -> str: ...
    @abstractmethod
    def already_asked(self, by: str, name: str) -> str: ...
    @abstractmethod
    def already_owned(self, owner: str, name: str) -> str: ...
    @abstractmethod
    def already_disputed(self, by: str, name: str) -> str: ...
    @abstractmethod
    def already_approved(self, by: str, name: str) -> str: ...
    @abstractmethod
    def already_started(self, by: str, name: str) -> str: ...
    @abstractmethod
    def runs_again(self, name: str) -> str: ...
    @abstractmethod
    def over(self, name: str) -> str: ...
    @abstractmethod
    def not_waiting(self, name: str) -> str: ...
    @abstractmethod
    def not_paused(self) -> str: ...
    @abstractmethod
    def not_kept(self, name: str) -> str: ...

    # ── why not ─────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def busy(self, name: str) -> str: ...
    @abstractmethod
    def no_use_known(self, name: str) -> str: ...
    @abstractmethod
    def blocked(self, name: str, code: str) -> str:
        """``code`` is a guard's."""

    @abstractmethod
    def guard(self, code: str) -> str:
        """In a few words what the code of a guard means."""

    @abstractmethod
    def gone(self) -> str:
        """The message is about something that costguard no longer has a record of."""

    @abstractmethod
    def not_done(self) -> str:
        """The database could not be read or written."""

    @abstractmethod
    def not_started(self, name: str, error: str) -> str: ...
    @abstractmethod
    def too_long(self, longest: str) -> str: ...
    @abstractmethod
    def no_such(self, text: str, near: str) -> str: ...
    @abstractmethod
    def several(self, text: str, refs: str) -> str: ...
    @abstractmethod
    def unknown_command(self, text: str, near: str) -> str: ...
    @abstractmethod
    def needs_resource(self, example: str) -> str: ...
    @abstractmethod
    def bad_time(self, text: str) -> str: ...

    @abstractmethod
    def here(self) -> str:
        """This conversation gets the messages from now on."""

    @abstractmethod
    def conversation(self, shown: str) -> str:
        """What this conversation is called in the configuration."""

    # ── status, why, who is burning ─────────────────────────────────────────────────────────────────────

    @abstractmethod
    def status_title(self, running: int, idle: int, unknown: int, cost: str, paused: str | None, dry_run: bool) -> str:
        """``paused`` None: it is not; empty: until somebody resumes; else until when."""

    @abstractmethod
    def status_box(self, name: str, verb: str, due: str) -> str:
        """One announced action; ``due`` empty: not known yet."""

    @abstractmethod
    def nothing_due(self) -> str: ...
    @abstractmethod
    def burning_title(self, cost: str, wasted: str) -> str: ...
    @abstractmethod
    def burning_box(self, name: str, cost: str, activity: str, owner: str) -> str: ...
    @abstractmethod
    def nothing_runs(self) -> str: ...
    @abstractmethod
    def why_title(self, name: str, activity: str, cost: str, owner: str) -> str: ...
    @abstractmethod
    def why_kept(self, by: str, until: str, reason: str) -> str: ...
    @abstractmethod
    def why_ladder(self, policy: str, evidence: str, verb: str, due: str, held: str) -> str:
        """``held``: what holds it back, empty for nothing."""

    @abstractmethod
    def why_nothing(self) -> str: ...
    @abstractmethod
    def activity(self, activity: str, idle_for: timedelta | None = None) -> str: ...

    def held(self, code: str, reason: str) -> str:
        """What holds an action back: a guard's own sentence, in English, or in short what its code means."""
        return translated(reason, self.words.language) if reason else self.guard(code)

    def cost(self, money: tuple[Money, ...]) -> str:
        """Money per hour, currency by currency."""
        return " + ".join(self.words.per_hour(one) for one in money)

    def when(self, at: datetime, now: datetime, zone: str) -> str:
        return self.words.when(at, now, ZoneInfo(zone))
