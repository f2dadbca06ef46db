"""Mute: quiet hours hold digests, budget notes and reports back, and hush mentions. Pure.

A warning is never held: that would hold its grace, or stop a box that nobody was told of.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from costguard.domain.notice import Notice, NoticeKind
from costguard.domain.time import Calendar, TimeRange

HELD = frozenset({NoticeKind.DIGEST, NoticeKind.BUDGET, NoticeKind.REPORT})


@dataclass(frozen=True, slots=True)
class QuietHours:
    """``mention``: people are mentioned all the same."""

    hours: TimeRange
    mention: bool = False
    calendar: Calendar = field(default_factory=Calendar)

    def until(self, now: datetime) -> datetime | None:
        """When the quiet hours that cover ``now`` end; None outside them."""
        local = now.astimezone(self.hours.timezone).date()
        for day in (local, local - timedelta(days=1)):
            if self.hours.on_day(day, self.calendar):
                start, end = self.hours.interval(day)
                if start <= now < end:
                    return end
        return None


def held_until(notice: Notice, now: datetime, quiet: QuietHours | None) -> datetime | None:
    """When a notice may go out that must wait now; None when it may go at once."""
    return quiet.until(now) if quiet and notice.kind in HELD else None


def may_mention(now: datetime, quiet: QuietHours | None) -> bool:
    """Whether people are mentioned at this hour."""
    return quiet is None or quiet.mention or quiet.until(now) is None
