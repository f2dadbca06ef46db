"""Prices: change points per key and source. What is not known is not there, and zero is not a price."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, func, select

from costguard.domain.money import Money
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType
from costguard.store.rows import money_row
from costguard.store.sql import insert
from costguard.store.tables import price as table

# The price book is what somebody really pays; it beats what a provider lists.
_STRENGTH = {"book": 0}


def record(conn: Connection, prices: Iterable[Price]) -> int:
    """Stores change points and returns how many are new. A price of zero or less is not one and is left out (H01).

    The same key, source and ``since`` again replaces the amount; an amount that already holds at ``since`` is no
    change and is not stored.
    """
    rows = []
    for price in sorted(prices, key=lambda one: one.since):
        if price.per_hour.nanos <= 0:
            continue
        before = at(conn, price.key, price.since, source=price.source)
        if before is None or before.per_hour != price.per_hour:
            statement = insert(conn, table).values(**_row(price))
            change = money_row("per_hour", price.per_hour)
            keys = ["provider", "region", "sku", "charge_type", "zone", "source", "since"]
            conn.execute(statement.on_conflict_do_update(index_elements=keys, set_=change))
            rows.append(price)
    return len(rows)


def at(conn: Connection, key: PriceKey, when: datetime, *, source: str | None = None) -> Price | None:
    """The price of one key that holds at ``when``; of several sources the book's, else the newest."""
    query = select(table).where(_is(key), table.c.since <= when)
    if source is not None:
        query = query.where(table.c.source == source)
    found = [_price(row) for row in conn.execute(query.order_by(table.c.since.desc()))]
    return min(found, key=lambda one: _STRENGTH.get(one.source, 1), default=None)


def in_effect(conn: Connection, when: datetime, charge_type: ChargeType | None = None) -> tuple[Price, ...]:
    """The price that holds at ``when`` of every key; of several sources the book's, else the newest."""
    best: dict[PriceKey, Price] = {}
    for row in conn.execute(_in_effect(charge_type is not None), {"moment": when, "kind": charge_type}):
        price = _price(row)
        known = best.get(price.key)
        if known is None or _STRENGTH.get(price.source, 1) < _STRENGTH.get(known.source, 1):
            best[price.key] = price
    return tuple(best.values())


@cache
def _in_effect(of_one_kind: bool) -> Select[*tuple[Any, ...]]:
    """Kept, because building it costs more than running it, and every cycle and every last look asks it."""
    identity = (
        table.c.provider, table.c.region, table.c.sku, table.c.charge_type, table.c.zone, table.c.source,
    )  # fmt: skip
    latest = select(*identity, func.max(table.c.since).label("newest")).where(table.c.since <= bindparam("moment"))
    if of_one_kind:
        latest = latest.where(table.c.charge_type == bindparam("kind"))
    newest = latest.group_by(*identity).subquery()
    same = and_(*(column == newest.c[column.name] for column in identity), table.c.since == newest.c.newest)
    return select(table).join(newest, same).order_by(table.c.since.desc(), table.c.id)


def history(conn: Connection, key: PriceKey, since: datetime, until: datetime) -> tuple[Price, ...]:
    """The change points of one key in [since, until), the one before included, oldest first."""
    inside = _all(
        conn, select(table).where(_is(key), table.c.since >= since, table.c.since < until).order_by(table.c.since)
    )
    before = at(conn, key, since)
    return inside if before is None or before in inside else (before, *inside)


def between(conn: Connection, charge_type: ChargeType, since: datetime, until: datetime) -> tuple[Price, ...]:
    """The change points of every key in [since, until), oldest first."""
    query = select(table).where(table.c.charge_type == charge_type, table.c.since >= since, table.c.since < until)
    return _all(conn, query.order_by(table.c.since, table.c.id))


def holding(conn: Connection, charge_type: ChargeType, since: datetime, until: datetime) -> tuple[Price, ...]:
    """What held at any moment of [since, until], oldest first: the point in effect at ``since`` and each one after it.

    Of several sources of one key the book's alone.
    """
    found = {*in_effect(conn, since, charge_type), *between(conn, charge_type, since, until + timedelta.resolution)}
    book = {price.key for price in found if price.source == "book"}
    kept = [price for price in found if price.source == "book" or price.key not in book]
    return tuple(sorted(kept, key=lambda price: (price.since, str(price.key), price.source)))


def _is(key: PriceKey) -> ColumnElement[bool]:
    return and_(
        table.c.provider == key.provider,
        table.c.region == key.region,
        table.c.sku == key.sku,
        table.c.charge_type == key.charge_type,
        table.c.zone == (key.zone or ""),
    )


def _row(price: Price) -> dict[str, Any]:
    key = price.key
    return {
        "provider": key.provider, "region": key.region, "sku": key.sku, "charge_type": key.charge_type,
        "zone": key.zone or "", "source": price.source, "since": price.since,
    } | money_row("per_hour", price.per_hour)  # fmt: skip


def _price(row: Row[*tuple[Any, ...]]) -> Price:
    key = PriceKey(row.provider, row.region, row.sku, row.charge_type, row.zone or None)
    return Price(key, Money(row.per_hour_nanos, row.per_hour_currency), row.since, row.source)


def _all(conn: Connection, query: Select[*tuple[Any, ...]]) -> tuple[Price, ...]:
    return tuple(_price(row) for row in conn.execute(query))
