"""``explain``: why a resource is treated as it is, now or at an earlier moment."""

from collections.abc import Mapping
from datetime import datetime

from costguard.app.app import App
from costguard.daemon import levers
from costguard.daemon.cycle import HOUR
from costguard.domain.codec import encode
from costguard.engine.evaluate import evaluate
from costguard.engine.explain import explain as engine_explain
from costguard.store import actions
from costguard.store import levers as lever_store


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
    evaluation = evaluate(app.policies.values(), snapshot)
    document = engine_explain(
        resource.ref, evaluation, open_actions, snapshot, app.settings, executed, claim.owner if claim else None
    )
    return encode(document)  # type: ignore[no-any-return]
