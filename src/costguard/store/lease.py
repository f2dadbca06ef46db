"""The lease: one row says who leads, with a token that rises at each take-over.

The same SQL on both engines. The row alone cannot stop a leader that sleeps through its own expiry: the holder keeps
a monotonic deadline of its own and looks at it right before each call.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, bindparam, case, or_, select, update

from costguard.errors import LeaseLost
from costguard.store.rows import Rows
from costguard.store.sql import insert
from costguard.store.tables import lease as table


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds a lease, until when (aware UTC)."""

    name: str
    holder: str
    token: int
    expires_at: datetime


_ROWS = Rows(Lease)
# Asked before every write of a leader and every few seconds: building them costs more than running them.
_ONE = select(table).where(table.c.name == bindparam("name"))
_HELD = select(table.c.token).where(
    table.c.name == bindparam("name"), table.c.holder == bindparam("holder"), table.c.token == bindparam("token"),
    table.c.expires_at > bindparam("moment"),
)  # fmt: skip


def acquire(conn: Connection, name: str, holder: str, ttl: timedelta, now: datetime) -> int | None:
    """Takes the lease if it is free, expired or already ours, and returns the fencing token; None if it is not.

    The token rises whenever the lease had run out, also when nobody else took it in between.
    """
    mine = and_(table.c.holder == holder, table.c.expires_at > now)
    statement = insert(conn, table).values(name=name, holder=holder, token=1, expires_at=now + ttl)
    statement = statement.on_conflict_do_update(
        index_elements=["name"],
        set_={
            "holder": holder,
            "expires_at": now + ttl,
            "token": case((mine, table.c.token), else_=table.c.token + 1),
        },
        where=or_(table.c.expires_at <= now, table.c.holder == holder),
    )
    return conn.execute(statement.returning(table.c.token)).scalar_one_or_none()


def renew(conn: Connection, name: str, holder: str, token: int, ttl: timedelta, now: datetime) -> None:
    """Moves the end of a lease that is still held. Raises LeaseLost when it ran out or another has it."""
    statement = update(table).where(_held(name, holder, token, now)).values(expires_at=now + ttl)
    if conn.execute(statement).rowcount != 1:
        raise LeaseLost(f"{holder} no longer holds the lease {name}")


def release(conn: Connection, name: str, holder: str, token: int, now: datetime) -> None:
    """Gives the lease up at once; nothing happens when it is no longer held. The token stays used."""
    conn.execute(update(table).where(_held(name, holder, token, now)).values(expires_at=now))


def holds(conn: Connection, name: str, holder: str, token: int, now: datetime) -> bool:
    """Whether ``holder`` still leads with ``token``."""
    asked = {"name": name, "holder": holder, "token": token, "moment": now}
    return conn.execute(_HELD, asked).first() is not None


def current(conn: Connection, name: str) -> Lease | None:
    """The lease as it stands, also when it has run out."""
    row = conn.execute(_ONE, {"name": name}).first()
    return None if row is None else _ROWS.load(row)


def all_leases(conn: Connection) -> tuple[Lease, ...]:
    """Every lease as it stands, by name."""
    return tuple(_ROWS.load(row) for row in conn.execute(select(table).order_by(table.c.name)))


def lift(conn: Connection, token: int, now: datetime) -> None:
    """Ends every lease and puts its token above ``token``: a restored row must not hand out used tokens again."""
    raised = case((table.c.token > token, table.c.token), else_=token) + 1
    conn.execute(update(table).values(token=raised, expires_at=now))


def _held(name: str, holder: str, token: int, now: datetime) -> ColumnElement[bool]:
    return and_(table.c.name == name, table.c.holder == holder, table.c.token == token, table.c.expires_at > now)
