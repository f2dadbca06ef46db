"""Looking: one live read of one resource and of its use, before a warning and right before and after a call."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from costguard.daemon import savings
from costguard.daemon.accounts import Account
from costguard.daemon.listing import Lister
from costguard.daemon.monitor import Monitor
from costguard.domain.action import Action
from costguard.domain.decision import Response
from costguard.domain.resource import Ends, Resource, ResourceRef, State
from costguard.domain.usage import Metric
from costguard.engine.events import Look
from costguard.errors import NotFound, ProviderError
from costguard.ports import History, Inventory, Usage
from costguard.rules.policy import Rung
from costguard.store import inventory, power, usage

_log = logging.getLogger(__name__)
_DAY = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Looker:
    """Reads live and stores what it read, as a poll of one resource would. ``backfill`` bounds a look back."""

    lister: Lister
    backfill: timedelta
    monitors: Sequence[Monitor] = ()

    def read(self, account: Account, ref: ResourceRef) -> Resource | None:
        """The resource as it is now, stored as well; None when the provider says that it is gone."""
        connection = account.connection()
        if not isinstance(connection, Inventory):
            return None
        now = self.lister.clock.now()
        try:
            live = connection.get(ref)
        except NotFound:
            with self.lister.database.write() as conn:
                savings.listed(conn, inventory.record_gone(conn, ref, now), now)
            return None
        return self.lister.live(account, live)

    def read_usage(self, account: Account, resource: Resource) -> None:
        """The newest samples, straight from the provider and from every metrics source that knows the box, up to now.

        Raises ProviderError when any of these cannot be read: it may be the one that saw work.
        """
        self._provider(account, resource)
        for monitor in self.monitors:
            monitor.read(resource)

    def _provider(self, account: Account, resource: Resource) -> None:
        connection = account.connection()
        known = frozenset(account.bound.manifest.metrics)
        if not isinstance(connection, Usage) or not known or resource.state is not State.RUNNING:
            return
        now = self.lister.clock.now()
        earliest = now - self.backfill
        with self.lister.database.read() as conn:
            ends = [at for (ref, _), at in usage.newest(conn, account.name).items() if ref == resource.ref]
        answer = connection.usage([resource], known, max(min(ends, default=earliest), earliest), now)
        with self.lister.database.write(durable=False) as conn:
            usage.append(conn, answer.samples)
        if answer.failed:
            raise next(iter(answer.failed.values()))

    def read_past(
        self, account: Account, boxes: Sequence[Resource], metrics: frozenset[Metric], since: datetime, until: datetime
    ) -> set[ResourceRef]:
        """Stores what every source holds of ``boxes`` of one region, which may be off by now, from ``since`` to
        ``until``; returns those of which some source could not be asked."""
        unread: set[ResourceRef] = set()
        connection = account.connection()
        known = metrics & frozenset(account.bound.manifest.metrics)
        if isinstance(connection, Usage) and known:
            try:
                answer = connection.usage(boxes, known, since, until)
            except ProviderError as error:
                _log.info("the use of what was stopped could not be read: %s", error)
                unread = {box.ref for box in boxes}
            else:
                unread = set(answer.failed)
                with self.lister.database.write(durable=False) as conn:
                    usage.append(conn, answer.samples)
        for monitor in self.monitors:
            told = [box for box in boxes if monitor.may_tell_of(box)]
            try:
                if told:
                    monitor.agree()
                    monitor.history(told, since, min(until, self.lister.clock.now() - monitor.delay))
            except ProviderError as error:
                _log.info("%s could not be asked of what was stopped: %s", monitor.name, error)
                unread |= {box.ref for box in told}
        return unread

    def read_history(self, account: Account, ref: ResourceRef) -> int:
        """Who started and stopped it within the last day, where the provider tells; how many events were new.

        A provider that refuses or fails here costs only the names: the starts and stops themselves were seen.
        """
        connection = account.connection()
        if not isinstance(connection, History):
            return 0
        try:
            events = connection.power_events(ref, self.lister.clock.now() - _DAY)
        except ProviderError as error:
            _log.info("the history of %s could not be read: %s", ref, error)
            return 0
        with self.lister.database.write() as conn:
            return power.record(conn, events)


def look_of(action: Action, resource: Resource | None, rung: Rung | None) -> Look:
    """What a live read says about a call that was made."""
    if resource is None or resource.state is State.GONE:
        return Look.GONE
    match action.response:
        case Response.STOP:
            return _stopped(action, resource)
        case Response.RELEASE:
            return Look.UNDERWAY if resource.state is State.DELETING else Look.UNCHANGED
        case Response.SET_RELEASE_TIME:
            return Look.ENDED if resource.auto_release_at is not None else Look.UNCHANGED
        case Response.TAG:
            key, value = (rung.key, rung.value) if rung else (None, None)
            return Look.ENDED if key and (resource.tags or {}).get(key) == value else Look.UNCHANGED
        case _:
            return Look.ENDED


def _stopped(action: Action, resource: Resource) -> Look:
    if resource.state is State.STOPPED:
        ends = resource.stop_effect.compute_billing_ends if resource.stop_effect else Ends.UNKNOWN
        return Look.ENDED if ends in (Ends.YES, Ends.PARTLY) else Look.ENDED_BILLED
    if resource.state is State.STOPPING:
        return Look.UNDERWAY
    if resource.state in (State.RUNNING, State.PENDING) and resource.started_at != action.started_at:
        return Look.RESTARTED
    return Look.UNCHANGED
