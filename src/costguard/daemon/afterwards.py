"""Afterwards: reads on after a stop until the samples of the time before it have surely arrived, and tells once when
they show work that nobody could see.

What needs no more reading is a row, written in the transaction that tells it, so that a restart tells nothing twice.
Nothing is asked of anybody while no stop is that young.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from costguard.daemon import metrics
from costguard.daemon.accounts import Account
from costguard.daemon.cycle import new_id
from costguard.daemon.drafts import Drafter
from costguard.daemon.lead import Leadership
from costguard.daemon.listing import COMPUTE
from costguard.daemon.look import Looker
from costguard.daemon.snapshot import SnapshotBuilder
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Response
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Resource, ResourceRef, State
from costguard.domain.usage import Metric, UsageSample
from costguard.engine.activity import WINDOW
from costguard.engine.afterwards import LONGEST_WAIT, UnseenWork, levels_asked, unseen_work, wait, written_down
from costguard.engine.evaluate import Prepared
from costguard.engine.notices import request
from costguard.engine.recheck import audience
from costguard.errors import ProviderError
from costguard.ports import Clock
from costguard.store import actions, inventory, kv, ledger, outbox, power, usage
from costguard.store.database import Database

_log = logging.getLogger(__name__)

_SETTLED = "afterwards/"
# Who was away longer than this, or runs once in a while, tells nobody what is long over.
_AWAY = timedelta(hours=6)
_MINUTE = timedelta(minutes=1)
_CALLED = (ActionState.EXECUTING, ActionState.IN_DOUBT, ActionState.VERIFYING, ActionState.DONE)
_UP = (State.RUNNING, State.PENDING)


@dataclass(frozen=True, slots=True)
class _Stop:
    """A call that is young enough, its policy as it was then, and its box as last seen."""

    action: Action
    ready: Prepared
    box: Resource
    at: datetime


@dataclass(frozen=True, slots=True)
class Afterwards:
    """Looks back at the stops of one configuration."""

    database: Database
    clock: Clock
    accounts: Mapping[str, Account]
    looker: Looker
    builder: SnapshotBuilder
    policies: Mapping[str, Prepared]
    drafter: Drafter
    lead: Leadership

    def round(self) -> None:
        """Reads what arrived late, tells what it shows, and settles what is over. Raises LeaseLost when another process
        leads."""
        now = self.clock.now()
        with self.database.read() as conn:
            called = [a for a in actions.executed_since(conn, now - _AWAY) if a.state in _CALLED]
            settled = kv.by_prefix(conn, _SETTLED) if called else {}
            young = [self._stop(conn, a) for a in called if f"{_SETTLED}{a.id}" not in settled]
        stops = [stop for stop in young if stop is not None]
        if not stops:
            return
        unread = self._read(stops, now)
        for stop in stops:
            found = self._found(stop)
            done = stop.action.state is ActionState.DONE
            if done and found is not None:
                self._tell(stop, found)
            elif done and now >= stop.at + (LONGEST_WAIT if stop.box.ref in unread else self._wait(stop)):
                with self.database.write() as conn:
                    self._settle(conn, stop, now)

    def _stop(self, conn: Connection, action: Action) -> _Stop | None:
        """None for what is no stop of a box that could have been at work, or of a policy that is another one now."""
        ref, ready, at = action.subject.ref, self.policies.get(action.policy), action.executed_at
        if ref is None or ref.kind not in COMPUTE or ref.account not in self.accounts or at is None:
            return None
        if not action.response.ends_billing or ready is None or ready.hash != action.policy_hash:
            return None
        box = inventory.resource(conn, ref)
        return _Stop(action, ready, box, at) if box is not None and levels_asked(ready) else None

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────

    def _read(self, stops: Sequence[_Stop], now: datetime) -> set[ResourceRef]:
        """Asks every source for the half hour before each call; whom some source could not be asked of."""
        groups: dict[tuple[str, str, datetime], list[_Stop]] = {}
        for stop in stops:
            hour = stop.at.replace(minute=0, second=0, microsecond=0)
            groups.setdefault((stop.box.ref.account, stop.box.ref.region, hour), []).append(stop)
        unread: set[ResourceRef] = set()
        for (account, _, _), group in sorted(groups.items()):
            asked = frozenset(metric for stop in group for metric in levels_asked(stop.ready))
            since = min(stop.at for stop in group) - WINDOW
            until = max(stop.at + max(self._periods(account).values(), default=_MINUTE) for stop in group)
            unread |= self.looker.read_past(
                self.accounts[account], [_as_it_ran(stop) for stop in group], asked, since, min(until, now)
            )
        return unread

    def _periods(self, account: str) -> Mapping[Metric, timedelta]:
        return self.accounts[account].facts(self.clock.now()).metric_period

    def _wait(self, stop: _Stop) -> timedelta:
        facts = self.accounts[stop.box.ref.account].facts(self.clock.now())
        monitors = [(m.delay, m.reader.step) for m in self.looker.monitors if m.covers(facts.name)]
        return wait(levels_asked(stop.ready), facts.metric_delay, facts.metric_period, monitors)

    def _found(self, stop: _Stop) -> UnseenWork | None:
        until = stop.at + LONGEST_WAIT
        samples: list[UsageSample] = []
        with self.database.read() as conn:
            for metric in levels_asked(stop.ready):
                samples += usage.series(conn, stop.box.ref, metric, stop.at - WINDOW, until)
        return unseen_work(stop.action, stop.ready, samples, self._periods(stop.box.ref.account))

    # ── telling ─────────────────────────────────────────────────────────────────────────────────────────

    def _tell(self, stop: _Stop, found: UnseenWork) -> None:
        """One transaction: the ledger's line, the messages, and that it is settled. Nothing is said of a box that
        somebody has started again."""
        token = self.lead.check()
        live, action = self._live(stop), stop.action
        now, ref = self.clock.now(), stop.box.ref
        with self.database.write() as conn:
            self.lead.fence(conn, token)
            if not self._settle(conn, stop, now) or _back(live, action) or self._started(conn, stop):
                return
            snapshot = self.builder.build(conn, now, leader=True, refs=[ref], rules=())
            told = request(
                action, action.finding(), NoticeKind.UNSEEN_WORK, new_id(), "unseen work", price=None, now=now,
                to=audience(action, stop.ready), unseen=found,
            )  # fmt: skip
            ledger.append(conn, [written_down(action, found, now)])
            outbox.enqueue(conn, self.drafter.notices(told, snapshot))
        metrics.UNSEEN_WORK.inc()
        _log.warning("action %s on %s hit work that nobody could see yet", action.id, action.subject.key)

    def _live(self, stop: _Stop) -> Resource | None:
        """The box as it is now; as last seen where it cannot be read. None: it is gone."""
        try:
            return self.looker.read(self.accounts[stop.box.ref.account], stop.box.ref)
        except ProviderError as error:
            _log.info("%s could not be read before its message: %s", stop.box.ref, error)
            return stop.box

    def _started(self, conn: Connection, stop: _Stop) -> bool:
        """Whether somebody has started it since, or asked for it."""
        starts = power.events_since(conn, stop.at).get(stop.box.ref, ())
        undone = ledger.list_entries(conn, action_id=stop.action.id, kinds=[LedgerKind.UNDO], since=stop.at, limit=1)
        return bool(undone) or any(event.what == "start" for event in starts)

    def _settle(self, conn: Connection, stop: _Stop, now: datetime) -> bool:
        """False when it was settled already."""
        kv.prune(conn, _SETTLED, now - 2 * _AWAY)
        return kv.add(conn, f"{_SETTLED}{stop.action.id}", {"called": stop.at.isoformat()}, now)


def _as_it_ran(stop: _Stop) -> Resource:
    """The box with the run that was stopped: what is read is of that one."""
    return replace(stop.box, started_at=stop.action.started_at)


def _back(live: Resource | None, action: Action) -> bool:
    """Whether the box runs again, has run again since, or (of a stop) cannot be started any more."""
    if action.response is not Response.STOP:
        return live is not None and live.state in _UP
    if live is None or live.state is State.GONE:
        return True
    return live.state in _UP or (live.started_at is not None and live.started_at != action.started_at)
