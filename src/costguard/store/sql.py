"""The little SQL that is spelled differently: `INSERT … ON CONFLICT`, and lists of values as one parameter."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar
from typing import cast as typed_as

from sqlalchemy import BigInteger, Connection, Dialect, FromClause, Insert, Table, cast, column, func, literal, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.compiler import SQLCompiler

T = TypeVar("T")
CHUNK = 500


def insert(conn: Connection, table: Table[Any]) -> postgresql.Insert:
    """An insert with ``on_conflict_do_update`` and ``on_conflict_do_nothing``; both engines take the same words."""
    return _insert(conn.dialect.name, table)


def _insert(dialect: str, table: Table[Any]) -> postgresql.Insert:
    if dialect == "sqlite":
        return typed_as(postgresql.Insert, sqlite.insert(table))
    return postgresql.insert(table)


def upsert(conn: Connection, table: Table[Any], rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> None:
    """Inserts rows, or sets every other given column of the row that has the same ``keys``."""
    if not rows:
        return
    names = tuple(column.name for column in table.c if column.name in rows[0])
    assert len(names) == len(rows[0]), f"{table.name} has no {rows[0].keys() - set(names)}"
    upsert_plain(conn, table, names, _bound(conn.dialect, table, names, rows), keys)


def add(conn: Connection, table: Table[Any], rows: Sequence[dict[str, Any]]) -> None:
    """Inserts rows."""
    upsert(conn, table, rows, ())


def _bound(
    dialect: Dialect, table: Table[Any], names: Sequence[str], rows: Sequence[dict[str, Any]]
) -> list[tuple[Any, ...]]:
    """Rows as the column types hand them to the driver: of thousands of rows, at half of what the engine takes."""
    binders = [(name, table.c[name].type.dialect_impl(dialect).bind_processor(dialect)) for name in names]
    return [tuple([bind(row[name]) if bind else row[name] for name, bind in binders]) for row in rows]


def insert_new(conn: Connection, table: Table[Any], row: dict[str, Any], keys: tuple[str, ...] = ()) -> bool:
    """Inserts a row unless one has the same ``keys`` (none: the same in any unique index). Whether it was inserted."""
    return conn.execute(_insert_new(conn.dialect.name, table, keys), row).first() is not None


@lru_cache(maxsize=16)
def _insert_new(dialect: str, table: Table[Any], keys: tuple[str, ...]) -> Insert:
    statement = _insert(dialect, table).on_conflict_do_nothing(index_elements=list(keys) or None)
    return statement.returning(*table.primary_key)


def upsert_plain(
    conn: Connection, table: Table[Any], names: Sequence[str], rows: Sequence[tuple[Any, ...]], keys: Sequence[str]
) -> None:
    """The same for the tables with millions of rows: values go to the driver as they are, past the column types."""
    if not rows:
        return
    compiled = _compiled(conn.dialect, table, tuple(keys), tuple(names))
    if compiled.positiontup is None:
        conn.exec_driver_sql(str(compiled), [dict(zip(names, row, strict=True)) for row in rows])
        return
    assert compiled.positiontup == list(names), "columns are given in the order of the table"
    conn.exec_driver_sql(str(compiled), list(rows))


def upsert_from(conn: Connection, table: Table[Any], names: Sequence[str], source: str, keys: Sequence[str]) -> str:
    """The same from a SELECT in SQLite's words, whose columns are ``names``."""
    quote = conn.dialect.identifier_preparer.quote
    change = ", ".join(f"{quote(name)} = excluded.{quote(name)}" for name in names if name not in keys)
    # Without a WHERE, SQLite takes ON for a join; the source has one.
    return (
        f"INSERT INTO {quote(table.name)} ({', '.join(map(quote, names))}) {source} "
        f"ON CONFLICT ({', '.join(map(quote, keys))}) DO UPDATE SET {change}"
    )


@lru_cache(maxsize=64)
def _compiled(dialect: Dialect, table: Table[Any], keys: tuple[str, ...], names: tuple[str, ...]) -> SQLCompiler:
    return _upsert(dialect.name, table, keys, names).compile(dialect=dialect, column_keys=list(names))


@lru_cache(maxsize=256)
def _upsert(dialect: str, table: Table[Any], keys: tuple[str, ...], names: tuple[str, ...]) -> postgresql.Insert:
    """Kept, because building it costs far more than running it: ``excluded`` copies every column of the table."""
    statement = _insert(dialect, table)
    if not keys:
        return statement.inline()  # nobody asks for the ids that the database gives
    change = {name: statement.excluded[name] for name in names if name not in keys}
    return statement.on_conflict_do_update(index_elements=list(keys), set_=change)


def chunks(items: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """Lists of at most ``size``: a statement takes a bounded number of parameters."""
    source = iter(items)
    while chunk := list(islice(source, size)):
        yield chunk


def numbers(conn: Connection, rows: Iterable[tuple[int, ...]], names: Sequence[str]) -> FromClause:
    """Rows of integers as something to select from, sent as one JSON parameter however many they are."""
    document = json.dumps([dict(zip(names, row, strict=True)) for row in rows], separators=(",", ":"))
    columns = [column(name, BigInteger) for name in names]
    if conn.dialect.name == "sqlite":
        each = func.json_each(document).table_valued("value", name="item")
        picked = [func.json_extract(each.c.value, f"$.{name}").label(name) for name in names]
        # Materialised, or SQLite parses the document again for every row of the other side.
        return select(*picked).cte("numbers").prefix_with("MATERIALIZED")
    typed = func.json_to_recordset(cast(literal(document), postgresql.JSON)).table_valued(*columns, name="numbers")
    return typed.render_derived(name="numbers", with_types=True)
