"""Samples: a small integer names the series, so that a sample is a few bytes."""

from datetime import datetime, timedelta

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, Named, Table, TypedColumns, UniqueConstraint

from costguard.domain.resource import ResourceRef
from costguard.domain.usage import Metric, Statistic
from costguard.store.tables.base import metadata
from costguard.store.types import Ref, Span, UtcMicros, Word

WHOLE_BOX = -1


class SeriesColumns(TypedColumns):
    """Identity of a series. ``gpu_index`` is -1 for the whole box, because NULLs are never equal in a key."""

    id: Named[int] = Column(Integer, primary_key=True)
    ref: Named[ResourceRef] = Column(Ref)
    account: Named[str]
    metric: Named[Metric] = Column(Word(Metric))
    gpu_index: Named[int]
    source: Named[str]
    statistic: Named[Statistic] = Column(Word(Statistic))
    cards: Named[int]


series = Table(
    "series",
    metadata,
    SeriesColumns,
    UniqueConstraint("ref", "metric", "gpu_index", "source", "statistic", "cards"),
)
Index(None, series.c.metric, series.c.account)


class UsageColumns(TypedColumns):
    """Raw samples, clustered by series and time on SQLite."""

    series_id: Named[int] = Column(Integer, ForeignKey("series.id", ondelete="CASCADE"), primary_key=True)
    at: Named[datetime] = Column(UtcMicros, primary_key=True)
    value: Named[float] = Column(Double)
    period: Named[timedelta] = Column(Span)


usage = Table("usage", metadata, UsageColumns, sqlite_with_rowid=False)


class UsageHourColumns(TypedColumns):
    """Hours of a series: ``hour`` is its start; a sample belongs to the hour in which its period ended."""

    series_id: Named[int] = Column(Integer, ForeignKey("series.id", ondelete="CASCADE"), primary_key=True)
    hour: Named[datetime] = Column(UtcMicros, primary_key=True)
    samples: Named[int]
    max: Named[float] = Column(Double)
    min: Named[float] = Column(Double)
    mean: Named[float] = Column(Double)


usage_hour = Table("usage_hour", metadata, UsageHourColumns, sqlite_with_rowid=False)
