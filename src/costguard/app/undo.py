"""``undo``: starts what costguard stopped. The only way in which costguard ever starts anything."""

import secrets
from datetime import timedelta

from sqlalchemy import Connection

from costguard.app.app import App
from costguard.daemon import levers, savings
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Response
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.snapshot import PowerEvent
from costguard.errors import ProviderError, UndoneBefore, UsageError
from costguard.ports import Power
from costguard.store import actions, ledger, power

# As long as this a start that somebody asked for may still be coming; then it may be asked for again.
_COMING = timedelta(minutes=5)


def undo(app: App, action_id: str, person: str) -> Action:
    """Starts the resource of a finished stop and ends its saving.

    The line is written before the call, so that a start that nobody else asked for has its name in the ledger; it is
    also the lock: of two who ask at once, one calls. Raises UndoneBefore for the other, UsageError for anything that
    is not a stop of ours, ProviderError when the provider refuses: then it may be asked for again at once.
    """
    now = app.clock.now()
    with app.database.read() as conn:
        action = levers.action_of(conn, action_id)
    ref = action.subject.ref
    if action.state is not ActionState.DONE or action.response is not Response.STOP or ref is None:
        raise UsageError(f"action {action.id} is no finished stop; only what costguard stopped can be started again")
    if ref.account not in app.accounts:
        raise UsageError(f"account {ref.account} is no longer configured")
    connection = app.accounts[ref.account].connection()
    if not isinstance(connection, Power):
        raise UsageError(f"{ref.provider} cannot start anything")

    def line(kind: LedgerKind, text: str) -> LedgerEntry:
        return LedgerEntry(app.clock.now(), kind, action.subject, text, person, action.id, action.policy)

    with app.database.write() as conn:
        # Whoever holds the row reads what the one before wrote.
        actions.get(conn, action.id, alone=True)
        before = _last(conn, action.id)
        if before is not None and before.kind is LedgerKind.UNDO and now - before.at < _COMING:
            raise UndoneBefore(f"{before.actor} asked for it a moment ago; the provider has the order", before.actor)
        ledger.append(conn, [line(LedgerKind.UNDO, f"start asked for by {person}")])
    try:
        connection.start(ref, secrets.token_hex(16))
    except ProviderError as error:
        with app.database.write() as conn:
            ledger.append(conn, [line(LedgerKind.FAILED, f"not started: {error}")])
        raise
    with app.database.write() as conn:
        power.record(conn, [PowerEvent(ref, now, "start", ours=False, actor=person)])
        savings.end(conn, [ref], now, "undone")
    return action


def _last(conn: Connection, action_id: str) -> LedgerEntry | None:
    """The newest word on starting again: that it was asked for, or that it failed."""
    said = ledger.list_entries(conn, action_id=action_id, kinds=(LedgerKind.UNDO, LedgerKind.FAILED), limit=1)
    return next(iter(said), None)
