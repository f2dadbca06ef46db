"""Ladders: inserted once, then only ever changed by whoever read their latest version."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, or_, select, update
from sqlalchemy.exc import IntegrityError

from costguard.domain.action import IN_FLIGHT, Action, ActionState
from costguard.domain.resource import ResourceRef
from costguard.errors import StaleWrite
from costguard.store.rows import Rows
from costguard.store.sql import insert_new
from costguard.store.tables import action as table

_ROWS = Rows(Action)
_OPEN = [state for state in ActionState if not state.terminal]

# Asked every few seconds, for ever: building them costs more than running them.
_IN_ORDER = (table.c.created_at, table.c.id)
_ALL_OPEN = select(table).where(table.c.state.in_(_OPEN)).order_by(*_IN_ORDER)
_ALL_IN_FLIGHT = select(table).where(table.c.state.in_(sorted(IN_FLIGHT))).order_by(*_IN_ORDER)
_UNDELIVERED = _ALL_OPEN.where(table.c.warning_id.is_not(None), table.c.warned_at.is_(None))
_EXECUTED = select(table).where(table.c.executed_at >= bindparam("moment")).order_by(table.c.executed_at)
_CAME_DUE = (
    select(table.c.id)
    .where(
        table.c.state.in_(_OPEN),
        or_(
            *(and_(at > bindparam("after"), at <= bindparam("until")) for at in (table.c.due_at, table.c.retry_at)),
        ),
    )
    .limit(1)
)


def insert(conn: Connection, action: Action) -> Action:
    """Stores a new ladder. Raises StaleWrite when its fingerprint has an open one, or its slot is taken."""
    if not insert_new(conn, table, _row(action)):
        raise StaleWrite(f"{action.subject.key} already has an open ladder of {action.policy}")
    return action


def save(conn: Connection, action: Action) -> Action:
    """Writes ``action`` over the version that it was read at, and returns it with the next version.

    Raises StaleWrite when somebody changed the row since, or when the resource's one in-flight slot is taken.
    """
    row = _row(replace(action, version=action.version + 1))
    statement = update(table).where(table.c.id == action.id, table.c.version == action.version).values(**row)
    try:
        # The savepoint keeps the transaction usable on Postgres when the slot is taken.
        with conn.begin_nested():
            changed = conn.execute(statement).rowcount
    except IntegrityError as error:
        raise StaleWrite(f"{action.subject.key} already has an action in flight") from error
    if changed != 1:
        raise StaleWrite(f"action {action.id} changed since version {action.version}")
    return replace(action, version=action.version + 1)


def look_again(conn: Connection, ref: ResourceRef | None = None) -> None:
    """Makes void what a last look is finding out right now, of one resource or of all: whoever decides on it meets
    StaleWrite, and looks anew. For a person's word, which must not come between the look and the call.
    """
    statement = update(table).where(table.c.state == ActionState.REVALIDATING)
    if ref is not None:
        statement = statement.where(table.c.subject_key == str(ref))
    conn.execute(statement.values(version=table.c.version + 1))


def get(conn: Connection, action_id: str, *, alone: bool = False) -> Action | None:
    """One ladder by its id. ``alone``: nobody else changes it until this transaction has ended."""
    query = select(table).where(table.c.id == action_id)
    row = conn.execute(query.with_for_update() if alone else query).first()
    return None if row is None else _ROWS.load(row)


def open_actions(conn: Connection) -> tuple[Action, ...]:
    """Every ladder that is not terminal (dry run's RECORDED ones included), oldest first."""
    return _all(conn, _ALL_OPEN)


def in_flight(conn: Connection) -> tuple[Action, ...]:
    """The ladders that hold their resource's slot, oldest first."""
    return _all(conn, _ALL_IN_FLIGHT)


def list_actions(
    conn: Connection,
    *,
    states: Collection[ActionState] = (),
    policy: str | None = None,
    account: str | None = None,
    ref: ResourceRef | None = None,
    dry_run: bool | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = None,
) -> tuple[Action, ...]:
    """Ladders, newest first. ``since`` ≤ updated_at < ``until``; an empty filter is no filter."""
    query = select(table).order_by(table.c.updated_at.desc(), table.c.id)
    if states:
        query = query.where(table.c.state.in_(list(states)))
    if policy is not None:
        query = query.where(table.c.policy == policy)
    if account is not None:
        query = query.where(table.c.subject_account == account)
    if ref is not None:
        query = query.where(table.c.subject_key == str(ref))
    if dry_run is not None:
        query = query.where(table.c.dry_run.is_(dry_run))
    if since is not None:
        query = query.where(table.c.updated_at >= since)
    if until is not None:
        query = query.where(table.c.updated_at < until)
    return _all(conn, query.limit(limit))


def executed_since(conn: Connection, at: datetime) -> tuple[Action, ...]:
    """Ladders whose call was made at ``at`` or later, whatever became of it: what a limit per hour counts."""
    return _all(conn, _EXECUTED, moment=at)


def came_due(conn: Connection, after: datetime, until: datetime) -> bool:
    """Whether the grace, or the wait before another try, of some open ladder ended in (``after``, ``until``]."""
    return conn.execute(_CAME_DUE, {"after": after, "until": until}).first() is not None


def undelivered(conn: Connection) -> tuple[Action, ...]:
    """Open ladders whose first warning was queued and not yet confirmed, oldest first."""
    return _all(conn, _UNDELIVERED)


def closed(conn: Connection, states: Collection[ActionState], clear_below: int) -> tuple[Action, ...]:
    """Ladders that ended in one of ``states`` while their finding still holds (``clear_count`` below), oldest first."""
    query = select(table).where(table.c.state.in_(list(states)), table.c.clear_count < clear_below)
    return _all(conn, query.order_by(table.c.created_at, table.c.id))


def _row(action: Action) -> dict[str, object]:
    return _ROWS.row(action) | {"fingerprint": action.fingerprint}


def _all(conn: Connection, query: Select[*tuple[Any, ...]], **asked: object) -> tuple[Action, ...]:
    return tuple(_ROWS.load(row) for row in conn.execute(query, asked))
