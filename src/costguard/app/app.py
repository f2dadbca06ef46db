"""The application: every part built from one configuration, and the verbs that use them together.

Commands and tests start this; it opens no socket and starts no thread by itself.
"""

import logging
import socket
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from os import getpid
from typing import Self

from costguard.app import settings as mapped
from costguard.app.conversation import StoredConversation
from costguard.app.monitors import monitors
from costguard.app.outbox import StoreOutbox
from costguard.config.load import Config
from costguard.daemon import metrics
from costguard.daemon.accounts import Account
from costguard.daemon.act import Actor
from costguard.daemon.afterwards import Afterwards
from costguard.daemon.bills import Biller
from costguard.daemon.cycle import Cycle, CycleResult, new_id
from costguard.daemon.drafts import Drafter
from costguard.daemon.health import Beats
from costguard.daemon.hooks import HookRunner
from costguard.daemon.lead import TTL, Leadership
from costguard.daemon.listing import Lister
from costguard.daemon.look import Looker
from costguard.daemon.monitor import Monitor, forget_others
from costguard.daemon.poll import Intervals, Poller
from costguard.daemon.reminders import Reminders
from costguard.daemon.snapshot import SnapshotBuilder
from costguard.daemon.watch import Watch
from costguard.domain.notice import NoticeState
from costguard.domain.resource import ResourceRef
from costguard.domain.time import TimeRange
from costguard.engine.evaluate import Prepared, prepare
from costguard.engine.pricing import PriceTable
from costguard.engine.settings import EngineSettings
from costguard.errors import ConfigError, StoreError
from costguard.net.redact import Redactor
from costguard.notify.channels import build_channel
from costguard.notify.dingtalk.app import DingTalkApp
from costguard.notify.mute import QuietHours
from costguard.notify.pipeline import Attempt, ChannelWorker, Delivery, drain, log_attempt
from costguard.plugins import registry
from costguard.ports import AccountSpec, Clock, Commands, Connection, Identity
from costguard.store import accounts as account_store
from costguard.store import outbox
from costguard.store.database import Database

_log = logging.getLogger(__name__)

_UNSENT = (NoticeState.PENDING, NoticeState.SENDING)

Connect = Callable[[str, AccountSpec, Clock], Connection]


@dataclass
class App:
    """One configuration at work. Make it with :meth:`open`; :meth:`close` frees what it holds."""

    config: Config
    clock: Clock
    database: Database
    accounts: Mapping[str, Account]
    lister: Lister
    poller: Poller
    biller: Biller
    monitors: tuple[Monitor, ...]
    builder: SnapshotBuilder
    settings: EngineSettings
    policies: Mapping[str, Prepared]
    lead: Leadership
    cycle: Cycle
    actor: Actor
    afterwards: Afterwards
    workers: tuple[ChannelWorker, ...]
    watch: Watch
    reminders: Reminders
    beats: Beats
    redactor: Redactor
    threads: int = 4
    ready: bool = False

    @classmethod
    def open(
        cls,
        config: Config,
        clock: Clock,
        *,
        connect: Connect = registry.connect,
        migrate: bool | None = None,
        threads: int = 4,
        lease_ttl: timedelta = TTL,
    ) -> Self:
        """Builds everything and brings the database's schema up (SQLite by default; Postgres when asked).

        Raises SchemaBehind, StoreError, ConfigError. Calls no provider.
        """
        database = Database(config.database_url())
        if migrate if migrate is not None else database.dialect == "sqlite":
            database.upgrade()
        database.check()
        redactor = Redactor(config.secrets)

        def connector(spec: AccountSpec, on: Clock) -> Connection:
            return connect(config.accounts[spec.name].manifest.id, spec, on)

        accounts = {name: Account(bound, connector, clock) for name, bound in config.accounts.items()}
        _recall(database, accounts)
        forget_others(database, [source.name for source in config.settings.metrics])
        settings = mapped.engine_settings(config)
        builder = SnapshotBuilder.of(config, accounts, settings.owners)
        schedule = config.settings.schedule
        backfill = builder.longest_window + timedelta(minutes=30)
        lister = Lister(database, clock, schedule.inventory, PriceTable(config.prices))
        poller = Poller(
            database=database,
            clock=clock,
            intervals=Intervals(schedule.usage, schedule.spot_prices),
            backfill=backfill,
        )
        watching = monitors(config, database, clock, backfill)
        policies = {policy.name: prepare(policy) for policy in config.policies}
        routing = mapped.routing(config)
        drafter = Drafter(routing, settings, settings.keep_max, config.settings.web.public_url)
        lead = Leadership(database, clock, f"{socket.gethostname()}:{getpid()}:{new_id()}", lease_ttl)
        cycle = Cycle(database, clock, builder, settings, tuple(policies.values()), drafter, lead, config.settings.mode)
        hooks = HookRunner(_commands_of(accounts), config.folder)
        looker = Looker(lister, backfill, watching)
        actor = Actor(
            database,
            clock,
            accounts,
            looker,
            builder,
            settings,
            policies,
            drafter,
            lead,
            cycle,
            hooks,
        )
        cycle.timers = actor.carry_timers
        cycle.peek = actor.peek
        return cls(
            config=config,
            clock=clock,
            database=database,
            accounts=accounts,
            lister=lister,
            poller=poller,
            biller=Biller(database, clock, schedule.charges),
            monitors=watching,
            builder=builder,
            settings=settings,
            policies=policies,
            lead=lead,
            cycle=cycle,
            actor=actor,
            afterwards=Afterwards(database, clock, accounts, looker, builder, policies, drafter, lead),
            workers=_workers(config, database, clock, redactor),
            watch=Watch(database, clock, routing, settings, config.settings.notify.dry_run.digest),
            reminders=Reminders(
                database,
                clock,
                routing,
                settings.owners,
                config.calendars.of(config.settings.timezone),
                mapped.evenings(config),
            ),
            beats=Beats(clock.monotonic),
            redactor=redactor,
            threads=threads,
        )

    def close(self) -> None:
        self.lead.give_up()
        for account in self.accounts.values():
            account.close()
        self.database.close()

    def identify(self, every: timedelta = timedelta(0)) -> bool:
        """Confirms who the credentials are, of accounts not confirmed within ``every``.

        False when some are not who they should be.
        """
        answers = [self._identify(account) for account in self.accounts.values() if account.identity_due(every)]
        return all(answers)

    def inventory(
        self,
        account: Account,
        *,
        empty: bool = False,
        all_regions: bool = False,
        done: Callable[[str], None] | None = None,
    ) -> bool:
        """Lists every region of an account that is due, ``empty`` ones too; False when something that should be
        readable could not be read. ``all_regions``: those that were never readable as well, whenever they were tried.
        """
        known, told = self.poller.regions(account)
        regions = [region for region in known if all_regions or self.lister.due(account, region, empty=empty)]

        def one(region: str) -> bool:
            fine = self.lister.region(account, region)
            if done is not None:
                done(f"{account.name}/{region}")
            return fine

        answers = dict(zip(regions, self._spread(one, regions), strict=True))
        aside = self.lister.set_aside(account)
        return all(fine for region, fine in answers.items() if region not in aside) and told

    def poll(self, done: Callable[[str], None] | None = None) -> bool:
        """Everything once: identity, inventory, prices, use. False when some source could not be read."""
        fine = self.identify()
        for account in self.accounts.values():
            fine &= self.inventory(account, empty=True, done=done)
            fine &= self.poller.list_prices(account)
            fine &= self.poller.spot_prices(account)
            self.lister.reprice(account)
            fine &= self.poller.usage(account)
            if done is not None:
                done(account.name)
        for monitor in self.monitors:
            fine &= monitor.poll()
            if done is not None:
                done(monitor.name)
        return fine

    def decide(self) -> CycleResult:
        return self.cycle.run()

    def deliver(self) -> int:
        """Sends what is due, one message per channel; returns how many were accepted."""
        with self.database.read() as conn:
            waiting = {channel for channel, state in outbox.depth(conn) if state in _UNSENT}
        return sum(worker.run_once().sent for worker in self.workers if worker.channel.name in waiting)

    def drain(self, limit: timedelta) -> int:
        """Sends until nothing is due within ``limit``; returns how many were accepted."""
        return drain(self.workers, self.clock, limit)

    def _identify(self, account: Account) -> bool:
        fine = self.poller.identity(account)
        identity = account.identity
        with self.database.write() as conn:
            account_store.record(
                conn,
                account_store.AccountRecord(
                    account.name,
                    account.provider,
                    identity.account_id if identity else None,
                    identity.principal if identity else None,
                    account.mismatch is None and identity is not None,
                    self.clock.now(),
                    account.mismatch,
                ),
            )
        return fine

    def _spread(self, work: Callable[[str], bool], items: Iterable[str]) -> list[bool]:
        if self.threads <= 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(self.threads, thread_name_prefix="poll") as pool:
            return list(pool.map(work, items))


def _recall(database: Database, accounts: Mapping[str, Account]) -> None:
    """A restart does not make strangers of accounts that were confirmed today: their ladders go on."""
    with database.read() as conn:
        known = account_store.accounts(conn)
    for name, account in accounts.items():
        found = known.get(name)
        if found is not None and found.verified and found.account_id:
            account.recall(Identity(found.account_id, found.principal or ""), found.checked_at)


def _commands_of(accounts: Mapping[str, Account]) -> Callable[[ResourceRef], Commands | None]:
    def find(ref: ResourceRef) -> Commands | None:
        if ref.account not in accounts:
            return None
        connection = accounts[ref.account].connection()
        return connection if isinstance(connection, Commands) else None

    return find


def _workers(config: Config, database: Database, clock: Clock, redactor: Redactor) -> tuple[ChannelWorker, ...]:
    delivery = Delivery(
        routing=mapped.routing(config),
        settings=mapped.delivery_settings(config),
        quiet=_quiet(config),
        timezone=config.settings.timezone.key,
    )
    rows = StoreOutbox(database)
    worker = f"{socket.gethostname()}:{getpid()}:{new_id()}"

    def no_call_in_a_transaction() -> None:
        if database.in_write:
            raise StoreError("a network call inside a write transaction")

    def observe(attempt: Attempt) -> None:
        metrics.NOTICES.labels(attempt.channel, attempt.outcome).inc()
        log_attempt(attempt)

    workers = []
    for channel in config.settings.channels:
        try:
            chosen = mapped.channel_config(channel)
            redactor.register(*chosen.secrets())
            built = build_channel(chosen, clock, before_call=no_call_in_a_transaction)
            if isinstance(built, DingTalkApp):
                built.api.learn = redactor.passing
                built.memory = StoredConversation(database, clock, built.name)
        except ConfigError as error:
            _log.warning("%s", error)
            continue
        workers.append(ChannelWorker(built, rows, lambda: delivery, clock, worker, observe=observe))
    return tuple(workers)


def _quiet(config: Config) -> QuietHours | None:
    quiet = config.settings.notify.quiet_hours
    if quiet is None:
        return None
    zone = quiet.timezone or config.settings.timezone
    return QuietHours(TimeRange("daily", quiet.start, quiet.end, zone), quiet.mention)
