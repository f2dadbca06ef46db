"""The jobs of one replica: which loop comes round how often. A follower's rounds do nothing but ask to lead."""

from collections.abc import Callable
from datetime import timedelta

from costguard.app.app import App
from costguard.daemon.accounts import Account
from costguard.daemon.jobs import Job
from costguard.daemon.retention import tidy
from costguard.errors import LeaseLost, StaleWrite

CYCLE = "cycle"
_DAY = timedelta(days=1)
# Who the credentials are is confirmed twice a day, so well within what IDENTITY_HOLDS allows. An account that could
# not be asked is not armed, and asked again soon.
_CONFIRM = timedelta(hours=12)
_RETRY = timedelta(minutes=5)


def jobs(app: App, *, deliver: timedelta | None = None, act: timedelta | None = None) -> list[Job]:
    """Every loop. ``deliver`` and ``act`` override their periods (a fast clock need not look so often)."""
    schedule = app.config.settings.schedule

    def leading(work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            if app.lead.leads:
                try:
                    work()
                except (LeaseLost, StaleWrite):
                    # Another replica took over, or people changed rows all the while: the next round sees.
                    return

        return run

    found = [
        Job("lease", schedule.heartbeat, lambda: _lead(app)),
        Job("identity", _RETRY, leading(lambda: app.identify(every=_CONFIRM))),
    ]
    for account in app.accounts.values():
        name = account.name
        found += [
            Job(f"inventory {name}", schedule.inventory, leading(_inventory(app, account)), wakes=CYCLE),
            Job(f"prices {name}", _DAY, leading(_prices(app, account))),
            Job(f"spot prices {name}", schedule.spot_prices, leading(_spot(app, account))),
            Job(f"usage {name}", schedule.usage, leading(_usage(app, account)), wakes=CYCLE),
        ]
    found += [
        Job(CYCLE, schedule.cycle, leading(app.decide)),
        Job("deliver", deliver or schedule.deliver, leading(app.deliver)),
        Job("act", act or schedule.act, leading(app.actor.run)),
        Job("retention", _DAY, leading(lambda: tidy(app.database, app.clock.now(), app.config.settings.retention))),
    ]
    return found


def _lead(app: App) -> None:
    led = app.lead.leads
    if app.lead.round() and not led:
        # A new leader arms nothing before it knows who its credentials are.
        app.identify()


def _inventory(app: App, account: Account) -> Callable[[], object]:
    return lambda: app.inventory(account)


def _usage(app: App, account: Account) -> Callable[[], object]:
    return lambda: app.poller.usage(account)


def _prices(app: App, account: Account) -> Callable[[], object]:
    def work() -> None:
        app.poller.list_prices(account)
        app.lister.reprice(account)

    return work


def _spot(app: App, account: Account) -> Callable[[], object]:
    return lambda: app.poller.spot_prices(account)
