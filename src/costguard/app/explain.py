"""``explain``: why a resource is treated as it is, now or at an earlier moment."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from costguard.app.app import App
from costguard.daemon import levers
from costguard.daemon.accounts import IDENTITY_HOLDS
from costguard.daemon.cycle import HOUR
from costguard.domain.codec import encode
from costguard.engine.evaluate import evaluate
from costguard.engine.explain import explain as engine_explain
from costguard.store import accounts as account_store
from costguard.store import actions
from costguard.store import levers as lever_store
from costguard.store.accounts import AccountRecord


def explain(app: App, text: str, at: datetime | None = None) -> Mapping[str, object]:
    """The ``costguard.explain/1`` document. Raises UsageError for a name that is not one resource.

    ``at`` judges the recorded usage of that moment with today's configuration and inventory.
    """
    now = at or app.clock.now()
    with app.database.read() as conn:
        resource = levers.find(conn, text)
        snapshot = app.builder.build(conn, now, leader=True)
        open_actions = actions.open_actions(conn)
        executed = actions.executed_since(conn, now - HOUR)
        claim = lever_store.claims(conn).get(resource.ref)
        known = account_store.accounts(conn)
    accounts = {
        name: replace(facts, armed=facts.armed or _armed(app, name, known.get(name), now))
        for name, facts in snapshot.accounts.items()
    }
    snapshot = replace(snapshot, accounts=accounts)
    evaluation = evaluate(app.policies.values(), snapshot)
    document = engine_explain(
        resource.ref, evaluation, open_actions, snapshot, app.settings, executed, claim.owner if claim else None
    )
    return encode(document)  # type: ignore[no-any-return]


def _armed(app: App, name: str, known: AccountRecord | None, now: datetime) -> bool:
    """As the daemon's last look found it: this process has not asked the provider who it is."""
    fresh = known is not None and known.verified and now - known.checked_at <= IDENTITY_HOLDS
    return fresh and app.accounts[name].bound.listed
