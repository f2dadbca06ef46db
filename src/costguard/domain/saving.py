"""Savings: money that is no longer spent, counted only from the provider's word that billing ended."""

from dataclasses import dataclass
from datetime import datetime

from costguard.domain.money import Money
from costguard.domain.resource import ResourceRef

DISPUTED = "disputed"
WOULD_HAVE_STOPPED = "would_have_stopped"


@dataclass(frozen=True, slots=True)
class Saving:
    """What one confirmed action saves: ``per_hour`` from ``since`` until the box runs again (aware UTC).

    ``ended_by`` None: it still stands, at most to ``until`` (when the box would have stopped anyway; None: unknown).
    Else it says what ended it: ``restarted``, ``released``, ``undone``, ``would_have_stopped``, ``disputed``. A
    disputed stop is a loss: its hours were needed, and count against us at their price.
    """

    action_id: str
    ref: ResourceRef
    policy: str
    per_hour: Money
    since: datetime
    until: datetime | None = None
    ended_by: str | None = None

    @property
    def stands(self) -> bool:
        return self.ended_by is None

    def amount(self, start: datetime, end: datetime) -> Money:
        """What it saved in [start, end); zero when the two do not overlap, negative when it was disputed.

        Neighbouring stretches add up to the nano: each is the difference of what had been saved at its two ends.
        """
        return self._by(max(start, end)) - self._by(start)

    def _by(self, at: datetime) -> Money:
        """All that it had saved at a moment."""
        last = at if self.until is None else min(self.until, at)
        if last <= self.since:
            return Money.zero(self.per_hour.currency)
        saved = self.per_hour.per_hour_for(last - self.since)
        return -saved if self.ended_by == DISPUTED else saved
