"""Acting: carries actions in flight from their due time to the confirmed end, one step at a time.

Each step is stored before the next thing is done: the intent before the call, the outcome after it. So
whatever dies here leaves a row that says what to look at. Each call is preceded by two fresh looks, by the
lease's own deadline, and never repeated blindly.
"""

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from costguard.daemon import metrics, savings, timers
from costguard.daemon.accounts import Account
from costguard.daemon.cycle import HOUR, Cycle, beginnings, new_id
from costguard.daemon.drafts import Drafter, warning_prefix
from costguard.daemon.hooks import BUSY, HookRunner, tail
from costguard.daemon.lead import Leadership
from costguard.daemon.look import Looker, look_of
from costguard.daemon.snapshot import SnapshotBuilder
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Answer, GuardCode, Response, Verdict
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.snapshot import Snapshot
from costguard.engine.close import TimerChange
from costguard.engine.evaluate import Prepared, evaluate
from costguard.engine.events import Event, EventKind, Look, event_for
from costguard.engine.guard import deny
from costguard.engine.lifecycle import AFTER_BUSY, Do, Transition, advance
from costguard.engine.notices import refused, request
from costguard.engine.onsite import preparation, said
from costguard.engine.plan import PlanFacts
from costguard.engine.recheck import audience, ladder_of, recheck, rung_of
from costguard.engine.settings import EngineSettings
from costguard.errors import HookFailed, LeaseLost, NotFound, ProviderError, StaleWrite, Throttled, Unsupported
from costguard.notify.route import delivered_at
from costguard.notify.story import clean
from costguard.ports import Clock, Power, PowerResult, Release, Tagging
from costguard.rules.policy import Hook
from costguard.store import actions, cycles, inventory, ledger, levers, outbox
from costguard.store.database import Database

_log = logging.getLogger(__name__)

# A call that another leader made may still be under way until its deadline; then its lease had to end first.
_TAKE_OVER = timedelta(seconds=60)


@dataclass
class Actor:
    """Drives the actions of one configuration."""

    database: Database
    clock: Clock
    accounts: Mapping[str, Account]
    looker: Looker
    builder: SnapshotBuilder
    settings: EngineSettings
    policies: Mapping[str, Prepared]
    drafter: Drafter
    lead: Leadership
    cycle: Cycle
    hooks: HookRunner
    _begun: set[str] = field(default_factory=set)  # hooks and looks of this process, which it has waited for

    def run(self, before_each: Callable[[], None] = lambda: None) -> int:
        """One round over everything in flight; returns how many actions moved.

        ``before_each`` is called before each of them: who has no loop that renews the lease renews it there. Raises
        LeaseLost when another process leads. A provider's trouble with one action leaves the others be.
        """
        self.lead.check()
        self.cycle.leapt()
        self.carry_timers()
        self.confirm_warnings()
        if self._something_came_due():
            self.cycle.run()
        with self.database.read() as conn:
            flying = actions.in_flight(conn)
        moved = 0
        for action in flying:
            before_each()
            try:
                moved += self._drive(action)
            except StaleWrite:
                _log.info("action %s changed meanwhile; it is looked at again", action.id)
        return moved

    def _something_came_due(self) -> bool:
        """Whether a grace ended since the last cycle: the next one may be a minute away, and only a cycle decides."""
        with self.database.read() as conn:
            last = cycles.last_run(conn)
            return last is not None and actions.came_due(conn, last, self.clock.now())

    def confirm_warnings(self) -> None:
        """Tells each ladder whose first warning was delivered that its grace has begun."""
        with self.database.read() as conn:
            waiting = actions.undelivered(conn)
        for action in waiting:
            with self.database.read() as conn:
                prefix = warning_prefix(action.id, action.held_since)
                copies = [
                    n
                    for n in outbox.list_notices(conn, action_id=action.id)
                    if n.kind is NoticeKind.WARN and n.idem_key.startswith(prefix)
                ]
            at = delivered_at(copies)
            if at is not None:
                try:
                    self._apply(action, Event(EventKind.WARNED, warning_id=action.warning_id, at=at))
                except StaleWrite:
                    # The cycle changed it; the next round tells it again.
                    continue

    def peek(self, refs: Sequence[ResourceRef]) -> bool:
        """Reads boxes live that are about to be warned, for what no listing tells (locks, groups, who restarts it).

        True when something was learned. A box that cannot be read now is warned all the same: the looks before
        the call will see.
        """
        learned = False
        for ref in refs:
            with self.database.read() as conn:
                before = self._known(conn, ref)
            try:
                after = self.looker.read(self.accounts[ref.account], ref)
            except ProviderError as error:
                _log.info("%s could not be read before its warning: %s", ref, error)
                continue
            learned |= before is None or after is None or replace(after, observed_at=before.observed_at) != before
            learned |= self.looker.read_history(self.accounts[ref.account], ref) > 0
        return learned

    def carry_timers(self) -> None:
        """Moves or removes the release timers that a cycle wants changed, again and again until it is done.

        A timer that is left behind destroys a box that somebody keeps.
        """
        with self.database.read() as conn:
            waiting = timers.waiting(conn)
        for change in waiting:
            self.lead.check()
            now = self.clock.now()
            try:
                self._change_timer(change)
            except (NotFound, Unsupported) as error:
                kind, text, over = LedgerKind.SYSTEM, f"no release timer to change: {error}", True
            except ProviderError as error:
                _log.error("the release timer of %s could not be changed: %s", change.ref, error)
                kind, text, over = LedgerKind.FAILED, f"the release timer could not be changed: {error}", False
            else:
                text = f"release timer set to {change.at:%Y-%m-%dT%H:%M:%SZ}" if change.at else "release timer removed"
                kind, over = LedgerKind.SYSTEM, True
            line = LedgerEntry(now, kind, None, f"{change.ref}: {text} ({change.reason})", action_id=change.action_id)
            with self.database.write() as conn:
                if timers.done(conn, change) if over else timers.failed(conn, change, now):
                    ledger.append(conn, [line])

    def _change_timer(self, change: TimerChange) -> None:
        if change.ref.account not in self.accounts:
            raise Unsupported("its account is no longer configured", provider=change.ref.provider)
        connection = self.accounts[change.ref.account].connection()
        if not isinstance(connection, Release):
            raise Unsupported("it has no release timers", provider=change.ref.provider)
        connection.set_release_time(change.ref, change.at)

    def _drive(self, action: Action) -> int:
        if not self._may_touch(action):
            return 0
        change = advance(action, Event(EventKind.RECOVER, go_on=self._goes_on(action)), self.clock.now(), self.settings)
        if change.action is not action:
            change = self._store(action, change)
        moved = 0
        while change.do is not Do.NOTHING:
            event = self._do(change)
            if event is None:
                return moved
            change = self._apply(change.action, event)
            moved += 1
        return moved

    def _may_touch(self, action: Action) -> bool:
        """A row that another leader's call left behind is only touched when that call must be over."""
        if action.state is not ActionState.EXECUTING or action.lease_token == self.lead.token:
            return True
        over = action.deadline or action.updated_at
        return self.clock.now() > over + _TAKE_OVER

    def _goes_on(self, action: Action) -> bool:
        if action.state is not ActionState.PREPARING:
            return False
        hook = self._preparation(action)
        return hook is not None and hook.on_failure == "stop"

    def _do(self, change: Transition) -> Event | None:
        """Does what the stored row says; None: nothing to report yet."""
        action = change.action
        match change.do:
            case Do.LOOK:
                return self._look(action)
            case Do.HOOK:
                return self._hook(action)
            case Do.CALL:
                return self._call(action)
            case Do.VERIFY:
                return self._verify(action)
            case Do.NOTHING:
                return None

    def _apply(self, action: Action, event: Event) -> Transition:
        now = self.clock.now()
        return self._store(action, advance(action, event, now, self.settings), event.why)

    def _store(self, before: Action, change: Transition, why: str = "") -> Transition:
        """One transaction: the row, its ledger lines, its messages and its saving."""
        now = self.clock.now()
        with self.database.write() as conn:
            if change.do is Do.HOOK or change.do is Do.CALL:
                # What is about to be done is only committed by who leads; what happened, by whoever saw it.
                self.lead.fence(conn, self.lead.check())
            stored = actions.save(conn, change.action) if change.action != before else change.action
            if stored.state.terminal:
                self._begun.discard(stored.hook_run or "")
            ledger.append(conn, change.ledger)
            resource = self._known(conn, stored.subject.ref)
            if change.saving or stored.state in (ActionState.SUPERSEDED, ActionState.CANCELLED):
                timers.ended(conn, stored, stored.reason or f"{stored.response.value} is confirmed", now)
            if change.saving and resource is not None:
                savings.book(conn, stored, resource, self.builder.config.settings.timezone, now)
            if change.busy and stored.subject.ref is not None:
                levers.heartbeat(conn, stored.subject.ref, now + AFTER_BUSY, by="hook", at=now)
            if change.tell is not None:
                self._tell(conn, stored, change.tell, now, why)
        if stored.state is not before.state:
            metrics.TRANSITIONS.labels(stored.state.value).inc()
            _log.info("action %s on %s is %s", stored.id, stored.subject.key, stored.state.value)
        return replace(change, action=stored)

    def _tell(self, conn: Connection, action: Action, kind: NoticeKind, now: datetime, why: str) -> None:
        ref = action.subject.ref
        snapshot = self.builder.build(conn, now, leader=True, refs=[ref] if ref else [], rules=())
        resource = snapshot.resources.get(ref) if ref else None
        price = resource.price if resource else None
        if kind is NoticeKind.NOTIFY:
            verdict = Verdict(Answer.DEFER, action.code, action.reason)
            outbox.enqueue(
                conn, self.drafter.notices(refused(action, verdict, new_id(), price=price, now=now), snapshot)
            )
            return
        to = audience(action, self._ready(action))
        told = request(
            action, action.finding(), kind, new_id(), f"{kind.value}:{action.attempt}:{action.state.value}",
            price=price, now=now, to=to, reason=action.reason, why=why,
        )  # fmt: skip
        outbox.enqueue(conn, self.drafter.notices(told, snapshot))

    def _look(self, action: Action) -> Event:
        """A live read, then the same rule and the same guards as ever."""
        ref = action.subject.ref
        if ref is None or ref.account not in self.accounts:
            return Event(EventKind.CHANGED, "its account is no longer configured")
        account = self.accounts[ref.account]
        if not account.confirmed:
            verdict = deny(GuardCode.NOT_ARMED, "the provider has not confirmed whose account this is since the start")
            return Event(EventKind.REFUSED, verdict.reason, verdict=verdict)
        try:
            resource = self.looker.read(account, ref)
            if resource is not None:
                self.looker.read_usage(account, resource)
        except ProviderError as error:
            verdict = deny(GuardCode.STALE, f"it could not be read live: {error}")
            return Event(EventKind.REFUSED, verdict.reason, verdict=verdict)
        snapshot, others, facts = self._snapshot(ref, action)
        ready = self.policies.get(action.policy)
        matched = self.cycle.last or evaluate(self.policies.values(), self._whole())
        event = recheck(
            action, ready, snapshot, others, self.settings, matched, facts, self._since_hook(ref, action),
            waited=action.hook_run in self._begun,
        )  # fmt: skip
        if event.kind is not EventKind.HOLDS or ready is None:
            return event
        hook = self._preparation(action)
        if action.state is ActionState.VALIDATING:
            return replace(event, hook=hook is not None, hook_timeout=hook.timeout if hook else None)
        return replace(event, token=secrets.token_hex(16), lease_token=self.lead.check())

    def _snapshot(self, ref: ResourceRef, action: Action) -> tuple[Snapshot, list[Action], PlanFacts]:
        """The facts for one box; after a hook its usage ends where the hook began (a look alone is no work)."""
        now = self.clock.now()
        until = action.hook_started_at if self._hooked(action) else None
        rules = {self.policies[action.policy].policy.rule} if action.policy in self.policies else set()
        with self.database.read() as conn:
            snapshot = self.builder.build(conn, now, leader=self.lead.leads, refs=[ref], usage_until=until, rules=rules)
            others = [*actions.open_actions(conn), *actions.executed_since(conn, now - HOUR)]
            return snapshot, others, beginnings(conn, now)

    def _since_hook(self, ref: ResourceRef, action: Action) -> Snapshot | None:
        """The facts for one box since its hook's time was over; None before that, or without a hook.

        Its result may be heard long after: by the next run, or by a daemon that was away.
        """
        ready, now = self._ready(action), self.clock.now()
        hook = self._preparation(action)
        if ready is None or hook is None or action.hook_started_at is None or not self._hooked(action):
            return None
        over = action.hook_started_at + hook.timeout
        if now <= over:
            return None
        with self.database.read() as conn:
            return self.builder.build(
                conn, now, leader=self.lead.leads, refs=[ref], usage_since=over, rules={ready.policy.rule}
            )

    def _whole(self) -> Snapshot:
        with self.database.read() as conn:
            return self.builder.build(conn, self.clock.now(), leader=self.lead.leads)

    def _hook(self, action: Action) -> Event | None:
        hook = self._preparation(action)
        if hook is None:
            return Event(EventKind.CHANGED, "the policy is another one now", "policy")
        goes_on = hook.on_failure == "stop"
        late = action.deadline is not None and self.clock.now() > action.deadline
        try:
            if action.hook_run is None:
                self.lead.check()
                run = self.hooks.start(action, hook, f"{action.id}-{action.attempt}")
                self._begun.add(run)
                return Event(EventKind.HOOK_STARTED, run=run)
            result = self.hooks.result(action, hook)
        except Throttled as error:
            # Nothing was started, or its result is there the next time that it is asked for.
            if action.hook_run is None:
                return event_for(error)
            return Event(EventKind.HOOK_FAILED, str(error), go_on=goes_on) if late else None
        except (ProviderError, HookFailed) as error:
            if isinstance(error, ProviderError) and error.retryable and not late and action.hook_run is not None:
                return None
            return Event(EventKind.HOOK_FAILED, str(error), go_on=goes_on)
        output = tail(result.output)
        if result.state in ("pending", "running"):
            return Event(EventKind.HOOK_FAILED, "no answer in time", output=output, go_on=goes_on) if late else None
        if result.state == "finished" and result.exit_code == 0:
            return Event(EventKind.HOOK_SAVED, output=output)
        if result.state == "finished" and result.exit_code == BUSY:
            saw = said(output)
            return Event(EventKind.HOOK_BUSY, f"the box itself is at work: {saw}" if saw else "", output=output)
        words = clean(output.strip().partition("\n")[0])
        reason = {
            "finished": f"exit code {result.exit_code}", "timed_out": "it took longer than its timeout",
        }.get(result.state, words or "it could not be run")  # fmt: skip
        return Event(EventKind.HOOK_FAILED, reason, output=output, go_on=goes_on)

    def _call(self, action: Action) -> Event:
        """The one call of this token. Everything before it is committed."""
        ref, token = action.subject.ref, action.token
        assert ref is not None, "only resources are acted on"
        assert token is not None, "executing has a token"
        if self.lead.check() != action.lease_token:
            # Nothing was called. Whoever leads finds the row in doubt and looks.
            raise LeaseLost("the lease changed hands between the commit and the call")
        try:
            self._carry_out(action, ref, token)
        except ProviderError as error:
            _log.warning("the call for action %s: %s", action.id, error)
            return event_for(error)
        return Event(EventKind.ACCEPTED)

    def _carry_out(self, action: Action, ref: ResourceRef, token: str) -> PowerResult | None:
        connection = self.accounts[ref.account].connection()
        rung = rung_of(action, self.policies[action.policy])
        match action.response:
            case Response.STOP if isinstance(connection, Power):
                return connection.stop(ref, token)
            case Response.RELEASE if isinstance(connection, Release):
                return connection.release(ref, token)
            case Response.SET_RELEASE_TIME if isinstance(connection, Release):
                at = ladder_of(action, self.policies[action.policy]).release_at(action, action.rung, self.clock.now())
                connection.set_release_time(ref, at)
            case Response.TAG if isinstance(connection, Tagging):
                connection.tag(ref, {rung.key or "": rung.value or ""})
        return None

    def _verify(self, action: Action) -> Event | None:
        ref = action.subject.ref
        if ref is None or ref.account not in self.accounts:
            return Event(EventKind.LOOKED, look=Look.GONE)
        more = self._more(action)
        if action.response is Response.RUN:
            # The hook was the whole of it.
            return Event(EventKind.LOOKED, look=Look.ENDED, more=more)
        try:
            resource = self.looker.read(self.accounts[ref.account], ref)
        except ProviderError as error:
            _log.warning("action %s cannot be verified now: %s", action.id, error)
            return None if action.deadline and self.clock.now() < action.deadline else _seen(Look.UNCHANGED, more)
        ready = self._ready(action)
        look = look_of(action, resource, rung_of(action, ready) if ready else None)
        late = action.deadline is not None and self.clock.now() >= action.deadline
        if look in (Look.UNCHANGED, Look.UNDERWAY) and not late:
            # Seen again in the next round; only a change of what is known is worth a step.
            if look is Look.UNDERWAY and action.state is ActionState.IN_DOUBT:
                self._apply(action, _seen(look, more))
            return None
        return _seen(look, more)

    def _ready(self, action: Action) -> Prepared | None:
        """The policy that the row climbs; None when it is another one now, whose rungs mean other things."""
        ready = self.policies.get(action.policy)
        return ready if ready is not None and ready.hash == action.policy_hash else None

    def _preparation(self, action: Action) -> Hook | None:
        ready = self._ready(action)
        return preparation(rung_of(action, ready), ready.activity) if ready is not None else None

    def _hooked(self, action: Action) -> bool:
        """Whether a hook of the user's runs before it, whose load is nobody's work."""
        ready = self._ready(action)
        return ready is not None and rung_of(action, ready).hook is not None

    def _more(self, action: Action) -> bool:
        ready = self._ready(action)
        return ready is not None and action.rung + 1 < len(ladder_of(action, ready).rungs)

    def _known(self, conn: Connection, ref: ResourceRef | None) -> Resource | None:
        return inventory.resource(conn, ref) if ref is not None else None


def _seen(look: Look, more: bool) -> Event:
    return Event(EventKind.LOOKED, look=look, more=more)
