"""The jobs of one replica: which loop comes round how often. A follower's rounds do nothing but ask to lead."""

import logging
from collections.abc import Callable
from datetime import timedelta

from costguard.app.app import App
from costguard.app.scheduled import ScheduledReports
from costguard.daemon.accounts import Account
from costguard.daemon.jobs import EVERY, Job
from costguard.daemon.retention import tidy
from costguard.errors import LeaseLost, StaleWrite
from costguard.net.http import HttpClient, HttpError

_log = logging.getLogger(__name__)

CYCLE = "cycle"
_DAY = timedelta(days=1)
# Who the credentials are is confirmed twice a day, so well within what IDENTITY_HOLDS allows. An account that could
# not be asked is not armed, and asked again soon.
_CONFIRM = timedelta(hours=12)
_RETRY = timedelta(minutes=5)


def jobs(app: App, *, deliver: timedelta | None = None, act: timedelta | None = None) -> list[Job]:
    """Every loop. ``deliver`` and ``act`` override their periods (a fast clock need not look so often)."""
    schedule = app.config.settings.schedule
    reports = ScheduledReports.of(app)

    def leading(work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            if app.lead.leads and app.ready:
                try:
                    work()
                except (LeaseLost, StaleWrite):
                    # Another replica took over, or people changed rows all the while: the next round sees.
                    return

        return run

    found = [
        Job("lease", schedule.heartbeat, lambda: _lead(app), wakes=EVERY),
        Job("identity", _RETRY, leading(lambda: app.identify(every=_CONFIRM))),
    ]
    for account in app.accounts.values():
        name = account.name
        found += [
            Job(f"inventory {name}", schedule.inventory, leading(_inventory(app, account)), wakes=CYCLE),
            Job(f"prices {name}", _DAY, leading(_prices(app, account))),
            Job(f"spot prices {name}", schedule.spot_prices, leading(_spot(app, account))),
            Job(f"bills {name}", schedule.charges, leading(_bills(app, account, reports))),
            Job(f"usage {name}", schedule.usage, leading(_usage(app, account)), wakes=CYCLE),
        ]
    found += [
        Job(f"metrics {monitor.name}", schedule.usage, leading(monitor.poll), wakes=CYCLE) for monitor in app.monitors
    ]
    found += [
        Job(CYCLE, schedule.cycle, leading(_decide(app))),
        Job("watch", timedelta(minutes=1), leading(app.watch.round)),
        Job("afterwards", timedelta(minutes=1), leading(app.afterwards.round)),
        Job("reminders", timedelta(minutes=1), leading(app.reminders.round)),
        Job("reports", timedelta(minutes=1), leading(reports.round)),
        Job("deliver", deliver or schedule.deliver, leading(app.deliver)),
        Job("act", act or schedule.act, leading(app.actor.run)),
        Job("retention", _DAY, leading(lambda: tidy(app.database, app.clock.now(), app.config.settings.retention))),
    ]
    return found


def _lead(app: App) -> bool:
    """Leads, or tries to. Nobody decides before it is known who the credentials are: an account that is not yet
    confirmed would look disarmed, and its ladders would begin anew. True when it has just begun to lead: every loop
    comes round then, however long ago its turn was."""
    if not app.lead.round():
        app.ready = False
    elif not app.ready:
        app.identify()
        app.ready = True
        return True
    return False


def _inventory(app: App, account: Account) -> Callable[[], object]:
    return lambda: app.inventory(account)


def _usage(app: App, account: Account) -> Callable[[], object]:
    return lambda: app.poller.usage(account)


def _decide(app: App) -> Callable[[], object]:
    """A cycle, and the sign of life that a dead-man switch elsewhere waits for."""
    url = app.config.settings.heartbeat_url
    http = HttpClient(deadline=timedelta(seconds=10))

    def work() -> None:
        app.decide()
        if url is not None:
            try:
                answer = http.request("GET", url.get_secret_value())
            except HttpError as error:
                _log.warning("the heartbeat_url could not be pinged: %s", error)
            else:
                if answer.status >= 400:
                    _log.warning("the heartbeat_url answered with status %d: nothing watches over this", answer.status)

    return work


def _prices(app: App, account: Account) -> Callable[[], object]:
    def work() -> None:
        app.poller.list_prices(account)
        app.lister.reprice(account)

    return work


def _bills(app: App, account: Account, reports: ScheduledReports) -> Callable[[], object]:
    wanted = {policy.rule for policy in app.config.policies}

    def work() -> None:
        app.biller.charges(account, reports.unsettled())
        app.biller.balance(account)
        app.biller.budgets(account)
        if "quota" in wanted:
            known, _ = app.poller.regions(account)
            for region in known:
                app.biller.quotas(account, region)

    return work


def _spot(app: App, account: Account) -> Callable[[], object]:
    return lambda: app.poller.spot_prices(account)
