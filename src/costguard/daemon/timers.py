"""Release timers that are to be moved or removed at a provider, kept until that is done.

Written in the transaction of the cycle that wants it, so that neither a crash nor a refused call leaves a timer
behind that destroys what somebody keeps. One wish per resource: the newest.
"""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection

from costguard.domain.action import Action
from costguard.domain.decision import Response
from costguard.domain.ledger import LedgerKind
from costguard.domain.resource import ResourceRef
from costguard.engine.close import TimerChange
from costguard.store import kv, ledger

_WANTED = "timer/"


def want(conn: Connection, changes: Iterable[TimerChange], now: datetime) -> None:
    """Notes the changes; a later wish for the same resource replaces an earlier one."""
    for change in changes:
        kv.put(conn, _key(change), _document(change), now)


def ended(conn: Connection, action: Action, reason: str, now: datetime) -> None:
    """Wants the release timer removed that a ladder has set which is over: nothing else would keep it from destroying
    what was stopped, or what somebody decided to let run. A timer that people set themselves is theirs."""
    ref = action.subject.ref
    called = ledger.list_entries(conn, kinds=[LedgerKind.EXECUTED], action_id=action.id)
    if ref is not None and any(line.text.startswith(Response.SET_RELEASE_TIME.value) for line in called):
        want(conn, [TimerChange(ref, None, action.id, reason)], now)


def waiting(conn: Connection) -> tuple[TimerChange, ...]:
    """What is not done yet, by resource."""
    return tuple(
        TimerChange(
            ResourceRef.parse(key.removeprefix(_WANTED)),
            datetime.fromisoformat(value["at"]) if value["at"] else None,
            value["action"],
            value["reason"],
        )
        for key, value in kv.by_prefix(conn, _WANTED).items()
    )


def done(conn: Connection, change: TimerChange) -> bool:
    """Forgets a wish, unless another one has taken its place; True when it did."""
    found = kv.get(conn, _key(change))
    if found is None or {**found, "failed": False} != _document(change):
        return False
    kv.remove(conn, _key(change))
    return True


def failed(conn: Connection, change: TimerChange, now: datetime) -> bool:
    """Keeps the wish for the next round; True at its first failure."""
    found = kv.get(conn, _key(change))
    if found is None or found["failed"]:
        return False
    kv.put(conn, _key(change), {**found, "failed": True}, now)
    return True


def _key(change: TimerChange) -> str:
    return f"{_WANTED}{change.ref}"


def _document(change: TimerChange) -> dict[str, object]:
    at = change.at.isoformat() if change.at else None
    return {"at": at, "action": change.action_id, "reason": change.reason, "failed": False}
