"""Bills: rows by account and row key, so that the same import twice is one import."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection, delete, func, insert, select

from costguard.domain.charge import Balance, Charge, ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.store.rows import Rows
from costguard.store.sql import chunks, upsert
from costguard.store.tables import balance as balance_table
from costguard.store.tables import charge as table
from costguard.store.tables import charge_import

_ROWS = Rows(Charge)
_BALANCES = Rows(Balance)
_KEYS = ["account", "row_key"]
_BATCH = 2_000
_KEYS_PER_STATEMENT = 500


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
class ChargeSum:
    """The rows of one resource, service, day, stage and category added up; all in one currency."""

    account: str
    provider: str
    service_name: str
    resource_id: str | None
    region_id: str | None
    charge_category: ChargeCategory
    stage: Stage
    start: datetime
    end: datetime
    billed: Money
    effective: Money
    listed: Money


def put(conn: Connection, charges: Iterable[Charge]) -> int:
    """Stores rows, replacing those with the same account and row key; returns how many rows were given.

    Takes any length in constant memory.
    """
    count = 0
    for batch in chunks(charges, _BATCH):
        # The last of two rows with one key wins; Postgres refuses to change a row twice in one statement.
        rows = {(one.account, one.row_key): _ROWS.row(one) for one in batch}
        upsert(conn, table, list(rows.values()), _KEYS)
        count += len(batch)
    return count


def replace_period(conn: Connection, account: str, billing_period_start: datetime, charges: Iterable[Charge]) -> int:
    """Puts ``charges`` in the place of everything that the account was billed for a period (a restated bill).

    Returns how many rows there were before.
    """
    old = delete(table).where(table.c.account == account, table.c.billing_period_start == billing_period_start)
    gone = conn.execute(old).rowcount
    put(conn, charges)
    return gone


def keep_only(conn: Connection, account: str, billing_period_start: datetime, row_keys: Collection[str]) -> int:
    """Removes the rows of a billing period that are none of ``row_keys``: restated bills lose rows as well.

    Returns how many there were.
    """
    within = (table.c.account == account, table.c.billing_period_start == billing_period_start)
    known = conn.execute(select(table.c.row_key).where(*within)).scalars()
    gone = [key for key in known if key not in row_keys]
    for batch in chunks(gone, _KEYS_PER_STATEMENT):
        conn.execute(delete(table).where(*within, table.c.row_key.in_(batch)))
    return len(gone)


def list_charges(conn: Connection, start: datetime, end: datetime, *, account: str | None = None) -> Iterator[Charge]:
    """The rows whose charge period begins in [start, end), by time, read as they are asked for."""
    query = select(table).where(table.c.charge_period_start >= start, table.c.charge_period_start < end)
    if account is not None:
        query = query.where(table.c.account == account)
    query = query.order_by(table.c.charge_period_start, table.c.account, table.c.row_key)
    with conn.execute(query, execution_options={"yield_per": _BATCH}) as rows:
        for row in rows:
            yield _ROWS.load(row)


def sums(conn: Connection, start: datetime, end: datetime, *, account: str | None = None) -> tuple[ChargeSum, ...]:
    """Sums of the rows whose charge period begins in [start, end), exact to the nano."""
    columns = table.c
    groups = (
        columns.account, columns.provider, columns.service_name, columns.resource_id, columns.region_id,
        columns.charge_category, columns.stage, columns.charge_period_start, columns.charge_period_end,
        columns.billed_cost_currency, columns.effective_cost_currency, columns.list_cost_currency,
    )  # fmt: skip
    query = (
        select(
            *groups,
            func.sum(columns.billed_cost_nanos).label("billed"),
            func.sum(columns.effective_cost_nanos).label("effective"),
            func.sum(columns.list_cost_nanos).label("listed"),
        )
        .where(columns.charge_period_start >= start, columns.charge_period_start < end)
        .group_by(*groups)
        .order_by(columns.charge_period_start, columns.account, columns.service_name, columns.resource_id)
    )
    if account is not None:
        query = query.where(columns.account == account)
    return tuple(
        ChargeSum(
            row.account,
            row.provider,
            row.service_name,
            row.resource_id,
            row.region_id,
            row.charge_category,
            row.stage,
            row.charge_period_start,
            row.charge_period_end,
            Money(int(row.billed), row.billed_cost_currency),
            Money(int(row.effective), row.effective_cost_currency),
            Money(int(row.listed), row.list_cost_currency),
        )
        for row in conn.execute(query)
    )


def first_day(conn: Connection, account: str) -> datetime | None:
    """When the oldest charge of an account began; None without any."""
    return conn.execute(select(func.min(table.c.charge_period_start)).where(table.c.account == account)).scalar()


def record_import(conn: Connection, imports: Sequence[ChargeImport]) -> None:
    """Keeps what an import brought, one line per currency."""
    rows = [
        {
            "account": one.account, "source": one.source, "at": one.at, "row_count": one.row_count,
            "currency": one.rounded.currency, "exact": one.exact, "rounded_nanos": one.rounded.nanos,
        }
        for one in imports
    ]  # fmt: skip
    if rows:
        conn.execute(insert(charge_import), rows)


def imports(conn: Connection, account: str | None = None) -> tuple[ChargeImport, ...]:
    """Every import, newest first."""
    query = select(charge_import).order_by(charge_import.c.at.desc(), charge_import.c.id.desc())
    if account is not None:
        query = query.where(charge_import.c.account == account)
    return tuple(
        ChargeImport(row.account, row.source, row.at, row.row_count, row.exact, Money(row.rounded_nanos, row.currency))
        for row in conn.execute(query)
    )


def record_balance(conn: Connection, balance: Balance) -> None:
    """Keeps an account's balance at a time."""
    upsert(conn, balance_table, [_BALANCES.row(balance)], ["account", "observed_at"])


def balances(conn: Connection) -> tuple[Balance, ...]:
    """The newest balance of every account."""
    newest = (
        select(balance_table.c.account, func.max(balance_table.c.observed_at).label("at"))
        .group_by(balance_table.c.account)
        .subquery()
    )
    same = (balance_table.c.account == newest.c.account) & (balance_table.c.observed_at == newest.c.at)
    query = select(balance_table).join(newest, same).order_by(balance_table.c.account)
    return tuple(_BALANCES.load(row) for row in conn.execute(query))


def balance_history(conn: Connection, account: str, since: datetime) -> tuple[Balance, ...]:
    """The balances of an account at ``since`` or later, oldest first."""
    query = select(balance_table).where(balance_table.c.account == account, balance_table.c.observed_at >= since)
    return tuple(_BALANCES.load(row) for row in conn.execute(query.order_by(balance_table.c.observed_at)))
