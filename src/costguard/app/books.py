"""Books: what the database knows of the money of a past time, as a replay reads it.

A bill is known from when it was imported, where that was recorded while it was young; else as late as its provider is.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from sqlalchemy import Connection

from costguard.app.app import App
from costguard.daemon.accounts import Account
from costguard.daemon.billed import Billed
from costguard.domain.budget import Basis, Interval, Spend
from costguard.domain.charge import Balance
from costguard.domain.resource import Resource, ResourceRef, State
from costguard.domain.time import parse_duration
from costguard.engine.history import Run
from costguard.store import charges, imports

_BILL_DELAY = timedelta(hours=24)
# The newest balance before a history still says what was there at its begin.
_BALANCE_BACK = timedelta(days=1)


def unrecorded(
    boxes: Sequence[Resource], runs: Mapping[ResourceRef, Sequence[Run]], recorded: Sequence[Interval]
) -> Iterator[Interval]:
    """What boxes cost before their first recorded interval, by the runs that were found out of other things."""
    first: dict[ResourceRef, datetime] = {}
    for interval in recorded:
        first[interval.ref] = min(interval.started, first.get(interval.ref, interval.started))
    for box in boxes:
        limit = first.get(box.ref)
        for run in runs.get(box.ref, ()):
            ends = [end for end in (run.ended, limit) if end is not None]
            marks: list[datetime | None] = [at for at, _ in run.rates if not ends or at < min(ends)]
            marks = [*marks, min(ends, default=None)]
            for start, end in pairwise(marks):
                if start is not None and (end is None or start < end):
                    yield Interval(
                        box.ref, State.RUNNING, box.charge_type, start, end, run.rate(start), False, box.owner, box.team
                    )


def known_bills(
    app: App, conn: Connection, start: datetime, until: datetime, known: Sequence[Resource]
) -> tuple[tuple[tuple[datetime, Spend], ...], Mapping[ResourceRef, str]]:
    """The rows of every basis of the bills of [start, until), each with the moment from which it was known; and what
    the bills call the services of resources."""
    zone = app.config.settings.timezone
    bill = Billed().bill(
        conn, start, until, zone, statuses=(), known=known, owners=app.settings.owners, bases=tuple(Basis)
    )
    imported: dict[str, list[datetime]] = defaultdict(list)
    for one in imports.imports(conn):
        imported[one.account].append(one.at)
    late = {name: _delay(account) for name, account in app.accounts.items()}
    rows = tuple(
        (known_at(row, sorted(imported[row.account]), late.get(row.account, _BILL_DELAY)), row) for row in bill.rows
    )
    return rows, bill.services


def known_at(row: Spend, imported: Sequence[datetime], delay: timedelta) -> datetime:
    """From when a row was known: the first import after its day, where imports went on then; else ``delay`` later."""
    index = bisect_left(imported, row.end)
    if 0 < index < len(imported):
        return imported[index]
    return row.end + delay


def balances(app: App, conn: Connection, since: datetime) -> tuple[Balance, ...]:
    """The balances of every account from a day before ``since`` on, oldest first."""
    found = [b for name in app.accounts for b in charges.balance_history(conn, name, since - _BALANCE_BACK)]
    return tuple(sorted(found, key=lambda balance: balance.observed_at))


def _delay(account: Account) -> timedelta:
    said = account.bound.manifest.billing.delay
    return parse_duration(said) if said else _BILL_DELAY
