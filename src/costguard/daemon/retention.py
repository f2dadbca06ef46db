"""Retention: usage rolls up to hours, old samples and messages go. The ledger and evidence stay for ever."""

from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Connection

from costguard.config.settings import Retention
from costguard.daemon import desk
from costguard.store import outbox, usage
from costguard.store.database import Database

_EVENTS = timedelta(days=3)


def tidy(database: Database, now: datetime, keep: Retention) -> None:
    """One daily round, in short transactions so that nobody waits for it."""
    with database.write(durable=False) as conn:
        usage.roll_up(conn, now)
    prunes: tuple[Callable[[Connection], int], ...] = (
        lambda conn: usage.prune(conn, now - keep.usage_raw),
        lambda conn: usage.prune_hours(conn, now - keep.usage_hourly),
        lambda conn: outbox.prune(conn, now - keep.notices),
        lambda conn: desk.forget(conn, now - _EVENTS),
    )
    for prune in prunes:
        while True:
            with database.write(durable=False) as conn:
                if prune(conn) == 0:
                    break
