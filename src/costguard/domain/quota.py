"""Quotas: how much of something an account may have in a region."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class QuotaFact:
    """One quota as the provider tells it. ``used`` None is unknown, which is not 0. ``observed_at`` is aware UTC."""

    account: str
    region: str
    name: str
    limit: float
    used: float | None
    unit: str
    observed_at: datetime
