"""Savings: money that is no longer spent, counted only from the provider's word that billing ended."""

from dataclasses import dataclass
from datetime import datetime

from costguard.domain.money import Money
from costguard.domain.resource import ResourceRef


@dataclass(frozen=True, slots=True)
class Saving:
    """What one confirmed action saves: ``per_hour`` from ``since`` until the box runs again (aware UTC).

    ``until`` None: it still stands. ``ended_by`` says what ended it (``restarted``, ``released``, ``disputed`` …).
    """

    action_id: str
    ref: ResourceRef
    policy: str
    per_hour: Money
    since: datetime
    until: datetime | None = None
    ended_by: str | None = None

    def amount(self, start: datetime, end: datetime) -> Money:
        """What it saved in [start, end), exact; zero when the two do not overlap."""
        first = max(self.since, start)
        last = end if self.until is None else min(self.until, end)
        return self.per_hour.per_hour_for(last - first) if last > first else Money.zero(self.per_hour.currency)
