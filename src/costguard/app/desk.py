"""The desk of an application: what the channels that people can press and write in give their events to."""

from costguard.app import settings as mapped
from costguard.app.app import App
from costguard.app.undo import undo
from costguard.daemon.desk import Desk
from costguard.daemon.ownership import Ownership


def desk_of(app: App) -> Desk:
    """The desk for the configuration that ``app`` runs."""
    accounts = {a.name: a.owner for a in app.config.settings.accounts if a.owner is not None}
    return Desk(
        database=app.database,
        clock=app.clock,
        settings=app.settings,
        routing=mapped.routing(app.config),
        undo=lambda action_id, person: undo(app, action_id, person),
        ownership=Ownership(app.settings.owners, accounts),
    )
