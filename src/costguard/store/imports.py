"""Imports of bills from files: everything is gathered on the side first, then moved in one short transaction.

A bill of a million rows takes most of a minute to read. Until the last row of the last file is known to be right, the
database knows nothing of it and its writers wait for nobody.
"""

import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, delete, func, insert, select

from costguard.domain.money import Money
from costguard.errors import StoreError
from costguard.store.database import Database
from costguard.store.lines import Line
from costguard.store.sql import upsert_from, upsert_plain
from costguard.store.tables import charge as table
from costguard.store.tables import charge_import

_BATCH = 2_000
_TIMES = ("billing_period_start", "billing_period_end", "charge_period_start", "charge_period_end")
_NAMES = tuple(column.name for column in table.c)
_GIVEN = _NAMES[:-1]  # import_id is the last
_KEYS = ("account", "row_key")

_EQUAL_KEYS = "SELECT 1 FROM staged GROUP BY account, row_key HAVING count(*) > 1 LIMIT 1"
# Rows of one file with one key are told apart by their order: two equal lines of a bill are two charges.
_NUMBER_EQUAL_KEYS = """
    UPDATE staged SET row_key = row_key || '#' || numbered.n
    FROM (
        SELECT rowid AS id, row_number() OVER (PARTITION BY file, account, row_key ORDER BY rowid) AS n
        FROM staged
        WHERE (file, account, row_key) IN (
            SELECT file, account, row_key FROM staged GROUP BY file, account, row_key HAVING count(*) > 1
        )
    ) AS numbered
    WHERE staged.rowid = numbered.id AND numbered.n > 1
"""
_REPEATED = """
    FROM staged WHERE EXISTS (
        SELECT 1 FROM staged AS later
        WHERE later.account = staged.account AND later.row_key = staged.row_key AND later.rowid > staged.rowid
    )
"""
_TELL_REPEATED = f"SELECT account, billed_cost_currency, billed_cost_nanos, exact {_REPEATED}"
_DROP_REPEATED = f"DELETE {_REPEATED}"


# (account, currency, exact, nanos) of a row that stands in a later file as well.
Repeated = tuple[str, str, Decimal, int]


@dataclass(frozen=True, slots=True)
class ChargeImport:
    """One import of bills in one currency: ``exact`` is the decimal sum before rows were rounded to nanos."""

    account: str
    source: str
    at: datetime
    row_count: int
    exact: Decimal
    rounded: Money

    @property
    def difference(self) -> Decimal:
        """What rounding rows to nanos took away or added."""
        return self.rounded.amount - self.exact


@dataclass(frozen=True, slots=True)
class Period:
    """What an import did to one billing period of an account.

    ``rows`` are in it now, ``new`` of them were not there before; ``removed`` went because the period was replaced;
    ``left`` are from earlier imports and not in these files.
    """

    account: str
    start: datetime
    rows: int
    new: int
    removed: int
    left: int


class Staged:
    """The rows of an import in a scratch file that is gone afterwards. Use it as a context manager.

    ``several``: there is more than one file, so rows may repeat, and each keeps its exact amount.
    """

    def __init__(self, *, several: bool) -> None:
        self._several = several

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="costguard-import-")
        self.path = Path(self._folder.name) / "staged.db"
        self._conn = sqlite3.connect(self.path, isolation_level=None)
        self._conn.execute("PRAGMA journal_mode=OFF")
        self._conn.execute("PRAGMA synchronous=OFF")
        self._conn.execute(f"CREATE TABLE staged (file, exact, {', '.join(_GIVEN)})")
        self._conn.execute("BEGIN")
        self._add = f"INSERT INTO staged VALUES ({', '.join('?' * (len(_GIVEN) + 2))})"  # noqa: S608
        self._waiting: list[tuple[Any, ...]] = []
        return self

    def __exit__(self, *_: object) -> None:
        self._conn.close()
        self._folder.cleanup()

    def add(self, file: int, line: Line) -> None:
        """One row of the ``file``-th file."""
        self._waiting.append((file, str(line.exact) if self._several else None, *line.like.row(line)))
        if len(self._waiting) == _BATCH:
            self._flush()

    def seal(self, repeated: Callable[[Repeated], None]) -> None:
        """After the last row: every row has a key of its own. What stands in a later file as well is told and goes."""
        self._flush()
        self._conn.execute("CREATE INDEX staged_key ON staged (account, row_key, file)")
        if self._conn.execute(_EQUAL_KEYS).fetchone():
            self._conn.execute(_NUMBER_EQUAL_KEYS)
            for account, currency, nanos, exact in self._conn.execute(_TELL_REPEATED):
                repeated((account, currency, Decimal(exact), nanos))
            self._conn.execute(_DROP_REPEATED)
        self._conn.execute("COMMIT")

    def move(self, database: Database, imports: Sequence[ChargeImport], *, replace: bool) -> tuple[Period, ...]:
        """Puts the sealed rows into the database in one transaction; ``imports`` tells of all of them.

        ``replace``: what was imported earlier for the same accounts and billing periods goes. Raises StoreError when
        the stored rows do not add up to what was read.
        """
        starts = self._conn.execute("SELECT DISTINCT account, billing_period_start FROM staged ORDER BY 1, 2")
        places = [(account, datetime.fromisoformat(start).replace(tzinfo=UTC)) for account, start in starts]
        with database.write(beside=self.path) as conn:
            known = {place: _count(conn, *place) for place in places}
            for place in places if replace else ():
                conn.execute(delete(table).where(*_imported(*place)))
            ids = []
            for one in imports:
                ids.append(_record(conn, one))
                self._copy(conn, one, ids[-1])
                stored = Money(_sum(conn, ids[-1]), one.rounded.currency)
                if stored != one.rounded:
                    raise StoreError(
                        f"the stored rows of {one.account} add up to {stored}, those read to {one.rounded}"
                    )
            periods = []
            for place in places:
                rows, kept = _count(conn, *place), 0 if replace else known[place]
                left = _count(conn, *place, without=ids)
                periods.append(Period(*place, rows, rows - kept, known[place] - kept, left))
        return tuple(periods)

    def _copy(self, conn: Connection, one: ChargeImport, number: int) -> None:
        """The rows of one account and currency, in the order of the key: a tree that is filled in order stays small."""
        where = "WHERE account = ? AND billed_cost_currency = ? ORDER BY account, row_key"
        values = (one.account, one.rounded.currency)
        if conn.dialect.name == "sqlite":
            source = f"SELECT {', '.join(_GIVEN)}, ? FROM beside.staged {where}"  # noqa: S608
            conn.exec_driver_sql(upsert_from(conn, table, _NAMES, source, _KEYS), (number, *values))
            return
        # What SQLite stores as a time, Postgres would read in the session's zone.
        columns = ", ".join(f"{name} || '+00'" if name in _TIMES else name for name in _GIVEN)
        cursor = self._conn.execute(f"SELECT {columns} FROM staged {where}", values)  # noqa: S608
        while batch := cursor.fetchmany(_BATCH):
            upsert_plain(conn, table, _NAMES, [(*row, number) for row in batch], _KEYS)

    def _flush(self) -> None:
        self._conn.executemany(self._add, self._waiting)
        self._waiting.clear()


def imports(conn: Connection, account: str | None = None) -> tuple[ChargeImport, ...]:
    """Every import, newest first."""
    query = select(charge_import).order_by(charge_import.c.at.desc(), charge_import.c.id.desc())
    if account is not None:
        query = query.where(charge_import.c.account == account)
    return tuple(
        ChargeImport(row.account, row.source, row.at, row.row_count, row.exact, Money(row.rounded_nanos, row.currency))
        for row in conn.execute(query)
    )


def newest(conn: Connection) -> int:
    """A number that changes with every import; 0 before the first."""
    return conn.execute(select(func.max(charge_import.c.id))).scalar() or 0


def _record(conn: Connection, one: ChargeImport) -> int:
    """Keeps what an import brought in one currency; its number."""
    row = {
        "account": one.account, "source": one.source, "at": one.at, "row_count": one.row_count,
        "currency": one.rounded.currency, "exact": one.exact, "rounded_nanos": one.rounded.nanos,
    }  # fmt: skip
    return conn.execute(insert(charge_import).returning(charge_import.c.id), row).scalar_one()


def _sum(conn: Connection, number: int) -> int:
    query = select(func.sum(table.c.billed_cost_nanos)).where(table.c.import_id == number)
    return int(conn.execute(query).scalar() or 0)


def _imported(account: str, start: datetime) -> tuple[Any, ...]:
    columns = table.c
    return (columns.account == account, columns.billing_period_start == start, columns.import_id.is_not(None))


def _count(conn: Connection, account: str, start: datetime, without: Sequence[int] = ()) -> int:
    query = select(func.count()).select_from(table).where(*_imported(account, start))
    if without:
        query = query.where(table.c.import_id.not_in(without))
    return conn.execute(query).scalar() or 0
