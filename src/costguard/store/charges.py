"""Bills: rows by account and row key, so that the same bill told twice is one bill."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, Connection, and_, case, delete, func, literal, or_, select

from costguard.domain.charge import Balance, Charge
from costguard.domain.time import day_mostly, local_midnight, midnight_after
from costguard.store.rows import Rows
from costguard.store.sql import chunks, upsert
from costguard.store.tables import balance as balance_table
from costguard.store.tables import charge as table

_ROWS = Rows(Charge)
_BY_DAY = Rows(
    Charge,
    without=(
        "row_key",
        "charge_description",
        "charge_class",
        "sku_id",
        "pricing_category",
        "consumed_quantity",
        "consumed_unit",
    ),
)
_NANOS = ("billed_cost_nanos", "effective_cost_nanos", "list_cost_nanos")
_BALANCES = Rows(Balance)
_KEYS = ["account", "row_key"]
_BATCH = 2_000
_KEYS_PER_STATEMENT = 500


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


def keep_only(conn: Connection, account: str, billing_period_start: datetime, row_keys: Collection[str]) -> int:
    """Removes what a provider told of a billing period and is none of ``row_keys``: restated bills lose rows as well.

    Returns how many there were. Imported rows are left alone.
    """
    columns = table.c
    within = (
        columns.account == account, columns.billing_period_start == billing_period_start, columns.import_id.is_(None),
    )  # fmt: skip
    known = conn.execute(select(table.c.row_key).where(*within)).scalars()
    gone = [key for key in known if key not in row_keys]
    for batch in chunks(gone, _KEYS_PER_STATEMENT):
        conn.execute(delete(table).where(*within, table.c.row_key.in_(batch)))
    return len(gone)


def list_charges(conn: Connection, start: datetime, end: datetime, *, account: str | None = None) -> Iterator[Charge]:
    """The rows whose charge period begins in [start, end), by time, read as they are asked for."""
    within = (table.c.charge_period_start >= start, table.c.charge_period_start < end)
    query = select(table).where(*within, *_that_count(conn, start, end))
    if account is not None:
        query = query.where(table.c.account == account)
    query = query.order_by(table.c.charge_period_start, table.c.account, table.c.row_key)
    with conn.execute(query, execution_options={"yield_per": _BATCH}) as rows:
        for row in rows:
            yield _ROWS.load(row)


def by_day(conn: Connection, start: datetime, end: datetime, zone: ZoneInfo) -> Iterator[Charge]:
    """The same money in far fewer rows: charges within one local day of ``zone`` that differ in nothing which tells
    whose they are or how settled are one, from the first one's beginning to the last one's end, with no row key.

    ``start`` is a midnight of ``zone``; what began on the day before and lies mostly in the first one is of the first.
    Rows that tell how they were paid stay apart.
    """
    columns = table.c
    first = start.astimezone(zone).date()
    low = local_midnight(first - timedelta(days=1), zone)
    counted = _that_count(conn, low, end)
    while low < end:
        high = min(midnight_after(low, zone), end)
        long = columns.charge_period_end > high
        groups = (
            columns.account, columns.provider, columns.billing_period_start, columns.billing_period_end,
            columns.charge_category, columns.stage, columns.service_name, columns.region_id, columns.resource_id,
            columns.resource_name, columns.tags, columns.payments, columns.billed_cost_currency,
            columns.effective_cost_currency, columns.list_cost_currency,
        )  # fmt: skip
        apart = (
            case((long, columns.charge_period_start)),
            case((long, columns.charge_period_end)),
            case((columns.payments != literal({}, columns.payments.type), columns.row_key)),
        )
        query = (
            select(
                *groups,
                func.min(columns.charge_period_start).label("charge_period_start"),
                func.max(columns.charge_period_end).label("charge_period_end"),
                *(func.sum(columns[name]).label(name) for name in _NANOS),
            )
            .where(
                *counted,
                columns.charge_period_start >= low,
                columns.charge_period_start < high,
                *([long] if low < start else []),
            )
            .group_by(*groups, *apart)
            .order_by(columns.account, columns.service_name, columns.resource_id)
        )
        for row in conn.execute(query):
            charge = _BY_DAY.load(row, row_key="")
            if low >= start or first <= day_mostly(charge.charge_period_start, charge.charge_period_end, zone):
                yield charge
        low = high


def _that_count(conn: Connection, start: datetime, end: datetime) -> list[ColumnElement[bool]]:
    """Of the rows in [start, end) those without what a provider told of days that an imported file tells of as well.

    A file reaches from the beginning of its billing period to the last charge that begins within it; a day in which it
    ends is the provider's once that tells more of it.
    """
    columns = table.c
    began = func.max(columns.charge_period_start)
    imported = (
        select(columns.account, columns.billing_period_start, began)
        .where(
            columns.import_id.is_not(None),
            columns.charge_period_start >= columns.billing_period_start,
            columns.charge_period_start < columns.billing_period_end,
            columns.billing_period_end > start,
            columns.billing_period_start < end,
        )
        .group_by(columns.account, columns.billing_period_start)
    )
    at, counted = columns.charge_period_start, list[ColumnElement[bool]]()
    for account, low, high in conn.execute(imported).all():
        told = columns.import_id.is_(None)
        if (cut := _cut_short(conn, account, high)) is None:
            counted.append(or_(~told, columns.account != account, at < low, at > high))
            continue
        begin, after = cut
        theirs = and_(told, or_(at < low, at >= begin))
        counted.append(or_(columns.account != account, theirs, and_(~told, or_(at < begin, at >= after))))
    return counted


def _cut_short(conn: Connection, account: str, high: datetime) -> tuple[datetime, datetime] | None:
    """The provider's day in which a file ends before the day does, where the provider tells more of it by now."""
    columns = table.c
    mine, at, ends = columns.account == account, columns.charge_period_start, columns.charge_period_end
    day = and_(mine, columns.import_id.is_(None), at <= high, ends > high, ends <= high + timedelta(days=1))
    found = conn.execute(select(at, ends).where(day).order_by(at.desc(), ends).limit(1)).first()
    if found is None:
        return None
    begin, after = found
    told = columns.import_id.is_(None).label("told")
    query = (
        select(told, columns.billed_cost_currency, func.sum(columns.billed_cost_nanos), func.max(ends))
        .where(mine, at >= begin, at < after)
        .group_by(told, columns.billed_cost_currency)
    )
    sides = {bool(row[0]): row for row in conn.execute(query)}
    provider, file = sides[True], sides.get(False)
    if file is None or len({row[1] for row in sides.values()}) > 1 or file[3] >= after or provider[2] <= file[2]:
        return None
    return begin, after


def first_day(conn: Connection, account: str) -> datetime | None:
    """When the oldest charge began that the provider told of an account; None without any."""
    mine = (table.c.account == account, table.c.import_id.is_(None))
    return conn.execute(select(func.min(table.c.charge_period_start)).where(*mine)).scalar()


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
