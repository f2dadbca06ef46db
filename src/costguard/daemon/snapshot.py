"""The snapshot: everything a decision may depend on, read in one transaction and frozen.

Every window is aggregated in SQL; nothing is fetched from a provider here.
"""

import socket
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from sqlalchemy import Connection

from costguard.config.load import Config
from costguard.config.metrics import tellers
from costguard.daemon import facts, monitor
from costguard.daemon.accounts import Account
from costguard.daemon.billed import Billed
from costguard.daemon.namesakes import Namesakes
from costguard.domain.budget import Basis, Interval, Spend
from costguard.domain.resource import ChargeType, Resource, ResourceRef, State
from costguard.domain.snapshot import AccountFacts, Snapshot, SourceStatus
from costguard.domain.time import local_midnight
from costguard.domain.usage import MONITOR, Metric, UsageWindow, WindowSpec, monitor_of
from costguard.engine.evaluate import windows_needed
from costguard.engine.meter import not_seen, priced_later, spend
from costguard.engine.ownership import with_owner
from costguard.engine.settings import Owner
from costguard.prometheus.read import ceil
from costguard.rules.budget import BudgetWhen
from costguard.rules.spot_price import SpotPriceWhen
from costguard.store import charges, cycles, inventory, levers, power, prices, sources, states, usage
from costguard.store.usage import DelayOf
from costguard.store.window_cache import WindowCache

_EVENTS = timedelta(hours=24)
_NO_DELAY = timedelta(0)
_LATE = timedelta(hours=24)
_MINUTE = timedelta(minutes=1)
# Budgets look at one calendar month, anomalies at four weeks of the same weekday.
_SPEND = timedelta(days=35)
_SPENDERS = frozenset({"budget", "anomaly", "balance"})


@dataclass(frozen=True, slots=True)
class SnapshotBuilder:
    """Builds snapshots for one configuration. ``self_ids`` are the ids of the machine this runs on; ``monitors`` how
    late each metrics source tells, and its step."""

    config: Config
    accounts: Mapping[str, Account]
    owners: tuple[Owner, ...]
    self_ids: frozenset[str] = frozenset()
    monitors: Mapping[str, tuple[timedelta, timedelta]] = field(default_factory=dict)
    specs: frozenset[WindowSpec] = field(default_factory=frozenset)
    kept: WindowCache = field(default_factory=WindowCache)
    billed: Billed = field(default_factory=Billed)

    @classmethod
    def of(cls, config: Config, accounts: Mapping[str, Account], owners: tuple[Owner, ...]) -> "SnapshotBuilder":
        monitors = {source.name: (source.delay, source.step) for source in config.settings.metrics}
        return cls(config, accounts, owners, machine_ids(), monitors, windows_needed(config.policies))

    @property
    def longest_window(self) -> timedelta:
        return max((spec.length for spec in self.specs), default=timedelta(hours=1))

    def build(
        self,
        conn: Connection,
        now: datetime,
        *,
        leader: bool = True,
        refs: Collection[ResourceRef] | None = None,
        usage_until: datetime | None = None,
        usage_since: datetime | None = None,
        rules: Collection[str] | None = None,
    ) -> Snapshot:
        """The facts at ``now``; ``refs`` limits whose usage is read (a look at one box needs no others').

        ``usage_until``: the usage windows are those of that earlier moment (a hook's own work is none).
        ``usage_since``: what was measured up to that moment counts in none.
        ``rules``: who will look at it (None: every configured one); what only others ask for is left out, a month of
        spending above all.
        """
        asked = self._rules if rules is None else self._rules & frozenset(rules)
        settings = self.config.settings
        accounts = {name: account.facts(now) for name, account in self.accounts.items()}
        known = [r for r in inventory.resources(conn) if r.ref.account in accounts]
        ids = {name: account.bound.spec.account_id for name, account in self.accounts.items()}
        namesakes = Namesakes(frozenset(r.ref for r in known), ids)
        claimed = namesakes.spread(levers.claims(conn), lambda claim: claim.at)
        claims = {ref: claim.owner for ref, claim in claimed.items()}
        named = {r.ref: with_owner(r, self.owners, claims.get(r.ref)) for r in known}
        running = {
            r.ref: max(filter(None, (r.started_at, usage_since)), default=None)
            for r in known
            if r.state is State.RUNNING and (refs is None or r.ref in refs)
        }
        told = sources.sources(conn)
        # What a metrics source said that is no longer configured is no news of any box.
        statuses = tuple(s for s in told if s.source != monitor.SOURCE or s.account in self.monitors)
        # A look at one box has just read its use; a cycle knows what the last poll brought.
        whole = refs is None and usage_until is None
        ago = _read_ago(statuses, now) if whole else {}
        return Snapshot(
            now=now,
            accounts=accounts,
            resources=named,
            usage=self._windows(
                conn,
                usage_until or now,
                self.delay_of(accounts, ago, None if usage_until else now),
                accounts,
                running,
                whole=whole,
            ),
            sources=statuses,
            # The longest window began that long before the end of what a source has told.
            heartbeats=namesakes.spread(levers.heartbeats(conn, now - self.longest_window - _LATE), _latest),
            keeps=namesakes.spread(levers.keeps(conn, now), lambda keep: keep.until),
            power_events=power.events_since(conn, now - _EVENTS),
            disputed_until=namesakes.spread(levers.disputed_until(conn, now), _latest),
            spot_prices=facts.told_of(conn, prices.holding(conn, ChargeType.SPOT, now - self._dwell, now)),
            on_demand_prices=prices.in_effect(conn, now, ChargeType.ON_DEMAND),
            spend=self._spend(conn, now, known, named, claims, statuses) if asked & _SPENDERS else (),
            gaps=facts.gaps(conn),
            unattached_since=facts.unattached(conn) if "waste" in asked else {},
            quotas=facts.quotas(conn) if "quota" in asked else (),
            month_use=facts.month_use(conn, known, now) if "expiry" in asked else {},
            balances=charges.balances(conn) if "balance" in asked else (),
            exchange_rates=settings.rates(),
            calendars=self.config.calendars,
            timezone=settings.timezone.key,
            currency=settings.currency,
            self_ids=self.self_ids,
            paused_until=levers.paused_until(conn, now),
            last_run=cycles.last_run(conn),
            refused_by=monitor.refused(conn, self.monitors),
            cut=monitor.cut(conn, self.monitors),
            told_by=tellers(settings.metrics, accounts),
            is_leader=leader,
        )

    def delay_of(
        self,
        accounts: Mapping[str, AccountFacts],
        ago: Mapping[tuple[str, bool], timedelta],
        now: datetime | None = None,
    ) -> DelayOf:
        """How late each source tells of a metric: a monitor as configured, a provider as its manifest says; and how
        long ago it was last read, by (name, whether it is a monitor).

        With ``now``, the windows of a monitor end with the step that was under way when it was read: its work counts.
        """

        def delay(account: str, metric: Metric, source: str) -> timedelta:
            name = monitor_of(source)
            if name is None:
                return accounts[account].metric_delay.get(metric, _NO_DELAY) + ago.get((account, False), _NO_DELAY)
            late, step = self.monitors.get(name, (_NO_DELAY, _MINUTE))
            late += ago.get((name, True), _NO_DELAY)
            return late if now is None else now - ceil(now - late, step)

        return delay

    @property
    def _dwell(self) -> timedelta:
        """How far back some policy asks what the market price was."""
        whens = [policy.when for policy in self.config.policies]
        return max((when.length for when in whens if isinstance(when, SpotPriceWhen)), default=timedelta())

    @property
    def _rules(self) -> frozenset[str]:
        return frozenset(policy.rule for policy in self.config.policies)

    def _windows(
        self,
        conn: Connection,
        now: datetime,
        delay: DelayOf,
        accounts: Mapping[str, AccountFacts],
        running: Mapping[ResourceRef, datetime | None],
        *,
        whole: bool,
    ) -> Mapping[ResourceRef, Mapping[WindowSpec, tuple[UsageWindow, ...]]]:
        def period(account: str, metric: Metric) -> timedelta:
            return accounts[account].metric_period.get(metric, _MINUTE)

        if whole:
            sources = [f"{MONITOR}{name}" for name in sorted(self.monitors)]
            return self.kept.windows(conn, self.specs, now, delay, period, running, sources)
        return usage.windows(conn, self.specs, now, delay, period, running.keys(), running, now)

    def _spend(
        self,
        conn: Connection,
        now: datetime,
        known: Sequence[Resource],
        named: Mapping[ResourceRef, Resource],
        claims: Mapping[ResourceRef, str],
        statuses: Sequence[SourceStatus],
    ) -> tuple[Spend, ...]:
        """Estimates from state intervals, and the bills in the bases that some rule counts by.

        What is gone still costs what it cost, whoever had it; and estimates bear the bill's names of services, so that
        both sides of a day meet in one sum.
        """
        zone = self.config.settings.timezone
        since = local_midnight((now - _SPEND).astimezone(zone).date(), zone)
        asked = {p.when.basis for p in self.config.policies if isinstance(p.when, BudgetWhen)}
        gone = inventory.gone_since(conn, since)
        bill = self.billed.bill(
            conn, since, now, zone, statuses=statuses, known=[*known, *gone], owners=self.owners,
            bases=asked | {Basis.PAYABLE},
        )  # fmt: skip
        theirs = [*named.values(), *(with_owner(r, self.owners, claims.get(r.ref)) for r in gone)]
        return (*spend(intervals(conn, since, now, theirs), since, now, zone, bill.services), *bill.rows)


def _latest(at: datetime) -> datetime:
    return at


def _read_ago(statuses: Iterable[SourceStatus], now: datetime) -> dict[tuple[str, bool], timedelta]:
    """How long ago use was last read from each account (name, False) and each monitor (name, True): between two polls
    the newest samples cannot be newer.

    At most one interval; what is older than that is late, and its windows say so.
    """
    ago: dict[tuple[str, bool], timedelta] = {}
    for status in statuses:
        age, key = status.age(now), (status.account, status.source == monitor.SOURCE)
        if status.source in ("usage", monitor.SOURCE) and age is not None:
            ago[key] = min(ago.get(key, status.interval), age, status.interval)
    return ago


def intervals(conn: Connection, since: datetime, until: datetime, known: Sequence[Resource]) -> list[Interval]:
    """State intervals as metering takes them, with the owner and team that each resource has today.

    What was seen before its price was known has that price; what nobody has looked at since is assumed to go on.
    """
    people = {r.ref: (r.owner, r.team) for r in known}
    prices_now = {r.ref: r.price for r in known if r.price is not None}
    seen = {r.ref: r.observed_at for r in known}
    found = [
        Interval(
            ref=i.ref,
            state=i.state,
            charge_type=i.charge_type,
            started=i.started,
            ended=i.ended,
            per_hour=i.per_hour,
            assumed=i.assumed,
            owner=people.get(i.ref, (None, None))[0],
            team=people.get(i.ref, (None, None))[1],
        )
        for i in states.intervals(conn, since, until)
    ]
    return not_seen(priced_later(found, prices_now), seen, until)


@cache
def machine_ids() -> frozenset[str]:
    """What this machine may be called by a provider: its host name and what the hypervisor tells it.

    Cloud images write the instance id where cloud-init keeps it; DMI carries it on EC2 and Alibaba Cloud.
    """
    names = {socket.gethostname()}
    for path in (
        "/var/lib/cloud/data/instance-id",
        "/sys/devices/virtual/dmi/id/board_asset_tag",
        "/sys/devices/virtual/dmi/id/product_serial",
    ):
        file = Path(path)
        try:
            names.add(file.read_text(encoding="utf-8", errors="replace").strip())
        except OSError:
            # Absent or only for root: then another source, or never_stop, must say which machine this is.
            continue
    return frozenset(name for name in names if name and name.lower() not in _NO_ID)


_NO_ID = frozenset({"none", "default string", "not specified", "iid-datasource-none", "0", "localhost"})
