"""Bills as rules see them: read again only when a poll has brought new ones, for a cycle comes every minute."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from costguard.daemon import facts
from costguard.domain.budget import Basis
from costguard.domain.resource import Resource
from costguard.domain.snapshot import SourceStatus
from costguard.engine.attribution import Attribution, Claimed
from costguard.engine.billing import Bill, read_bill
from costguard.engine.settings import Owner
from costguard.store import charges, imports, levers

_Key = tuple[object, ...]


class Billed:
    """The bills since a day, kept until one is read or imported or the day changes."""

    def __init__(self) -> None:
        self._key: _Key = ()
        self._bill = Bill()

    def bill(
        self,
        conn: Connection,
        since: datetime,
        now: datetime,
        zone: ZoneInfo,
        *,
        statuses: Iterable[SourceStatus],
        known: Sequence[Resource],
        owners: tuple[Owner, ...],
        bases: Collection[Basis],
    ) -> Bill:
        """The bill of [since, now), its rows those of ``bases``, with the owner and team of their time. ``known`` are
        the resources that it may name, also those that are gone."""
        read = sorted((s.account, str(s.fetched_at)) for s in statuses if s.source == "charges")
        key = (since, len(known), tuple(read), imports.newest(conn), frozenset(bases))
        if key != self._key:
            claims = {ref: Claimed(claim.owner, claim.at) for ref, claim in levers.claims(conn).items()}
            attribution = Attribution(known, owners, claims, facts.tag_history(conn), {})
            bill = read_bill(charges.by_day(conn, since, now, zone), since, now, zone, attribution)
            self._key, self._bill = key, replace(bill, rows=tuple(row for row in bill.rows if row.basis in bases))
        return self._bill
