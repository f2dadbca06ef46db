"""``undo``: starts what costguard stopped. The only way in which costguard ever starts anything."""

import secrets

from costguard.app.app import App
from costguard.daemon import levers, savings
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Response
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.snapshot import PowerEvent
from costguard.errors import UsageError
from costguard.ports import Power
from costguard.store import ledger, power


def undo(app: App, action_id: str, person: str) -> Action:
    """Starts the resource of a finished stop and ends its saving.

    The line is written before the call, so that a start that nobody else asked for has its name in the ledger.
    Raises UsageError for anything that is not a stop of ours, ProviderError when the provider refuses.
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
    with app.database.write() as conn:
        entry = LedgerEntry(
            now, LedgerKind.UNDO, action.subject, f"start asked for by {person}", person, action.id, action.policy
        )
        ledger.append(conn, [entry])
    connection.start(ref, secrets.token_hex(16))
    with app.database.write() as conn:
        power.record(conn, [PowerEvent(ref, now, "start", ours=False, actor=person)])
        savings.end(conn, [ref], now, "undone")
    return action
