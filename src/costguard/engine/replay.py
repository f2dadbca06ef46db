"""Replay: the functions that decide, over a recorded history at full speed.

The same evaluate, plan and guards as in a cycle, asked again only when something that they read has changed: a box
started or came to rest for long enough, samples are missing, an off time began, a rung is due. Every policy is
replayed as if it were enforced and armed, a warning counts as delivered at once, a hook as saved. A look at the box
itself sees what the samples of its last minute show, whenever they were told.

A stop takes its box out of the replay until it is next at work in that same run (somebody would have started it again
then) or, when that run really ended first, until it really starts again. Tags, owners and locks are today's; keeps and
heartbeats of the time are not known. What is asked of the whole fleet and its money is replayed in ``replay_money``.
"""

import heapq
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count

from costguard.domain.action import Action, ActionState
from costguard.domain.copies import copy_with
from costguard.domain.decision import Decision
from costguard.domain.finding import Subject
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Kind, ResourceRef, State
from costguard.domain.snapshot import Snapshot, SourceState, SourceStatus
from costguard.engine.box import Box, Out, levels_of
from costguard.engine.evaluate import Evaluation, Prepared, evaluate, prepare, windows_needed
from costguard.engine.events import Event, EventKind
from costguard.engine.history import History, Run, Track, micros, moment
from costguard.engine.lifecycle import AFTER_BUSY, advance
from costguard.engine.looks import Climb, next_looks, off_edges
from costguard.engine.plan import PlanFacts, plan
from costguard.engine.replay_call import carried_out
from costguard.engine.replay_money import of_the_fleet, replay_money, unplayed
from costguard.engine.replayed import Replayed, Stop, Warned
from costguard.engine.settings import EngineSettings
from costguard.rules.idle import IdleWhen
from costguard.rules.policy import Policy
from costguard.rules.schedule import ScheduleWhen

_COMPUTE = frozenset({Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT})
_MICRO = timedelta(microseconds=1)
_HOUR = timedelta(hours=1)
_DAY = timedelta(hours=24)
# Rules whose answers change only at moments that can be told beforehand; the others are asked at intervals.
_BY_EVENTS = frozenset({"idle", "lifetime", "schedule", "untagged"})
_EVERY = {"idle": timedelta(minutes=15), "underused": timedelta(hours=6)}


def replay(policies: Iterable[Policy], history: History, settings: EngineSettings) -> Replayed:
    """What these policies would have done. Pure, apart from ``history.samples``, which reads."""
    return _Replay(policies, history, settings).run()


def lookback(policies: Iterable[Policy], history: History) -> timedelta:
    """How far before its start the samples of a history are read."""
    longest = max((spec.length for spec in windows_needed(policies)), default=timedelta())
    delays = [d for account in history.accounts.values() for d in account.metric_delay.values()]
    return longest + max(delays, default=timedelta()) + 2 * history.step


@dataclass(slots=True)
class _Told:
    """A ladder that has warned; ``code`` is the guards' last word."""

    action: Action
    at: datetime
    code: str


class _Replay:
    def __init__(self, policies: Iterable[Policy], history: History, settings: EngineSettings) -> None:
        self.history = history
        self.settings = replace(settings, enforce=True, repeat=None)
        self.skipped: dict[str, str] = {}
        self.fleet_wide: dict[str, Prepared] = {}
        self.prepared: dict[str, Prepared] = {}
        for policy in policies:
            ready = prepare(policy.model_copy(update={"mode": "enforce"}))
            if why := unplayed(ready, history):
                self.skipped[policy.name] = why
            elif of_the_fleet(ready):
                self.fleet_wide[policy.name] = ready
            else:
                self.prepared[policy.name] = ready
        chosen = [ready.policy for ready in self.prepared.values()]
        self.levels = {name: levels_of(ready) for name, ready in self.prepared.items()}
        self.lookback = lookback(chosen, history)
        self.accounts = {n: replace(a, enforce=True, armed=True) for n, a in history.accounts.items()}
        self.step = history.step // _MICRO
        self.edges = {
            name: off_edges(ready.policy.when, history)
            for name, ready in self.prepared.items()
            if isinstance(ready.policy.when, ScheduleWhen)
        }
        self.boxes = self._boxes()
        self.queue: list[tuple[int, int]] = []
        self.queued: set[tuple[int, int]] = set()
        self.running: Counter[tuple[str, str]] = Counter()
        self.executed: list[Action] = []
        self.told: dict[str, _Told] = {}
        self.notes: Counter[str] = Counter()
        self.warnings: list[Warned] = []
        self.stops: list[Stop] = []
        self.ids = count()
        self.samples = self.looks = 0
        self.first_sample: int | None = None
        self.until = micros(history.until)
        self.loaded = micros(history.since)
        self.last_look = micros(history.since) - self.step

    def run(self) -> Replayed:
        history = self.history
        for box in self.boxes:
            for run in box.runs:
                self._wake(box, micros(max(run.started, history.since)))
                if run.ended is not None:
                    self._wake(box, micros(run.ended))
        low = history.since - self.lookback
        for high, tracks in history.samples(low):
            self._load(low, high, tracks)
            self._work(micros(high))
            low = high
        return self._result()

    def _boxes(self) -> list[Box]:
        """The boxes that ran at some time: those that no policy speaks of count for shares alone."""
        candidates = [
            (r, self.accounts.get(ref.account))
            for ref, r in sorted(self.history.resources.items())
            if ref.kind in _COMPUTE and self._runs(ref) and ref.account in self.accounts
        ]
        names: dict[ResourceRef, list[str]] = {}
        for name, ready in self.prepared.items():
            for resource in ready.matcher.select(candidates):
                names.setdefault(resource.ref, []).append(name)
        return [
            Box(
                number=number, resource=replace(r, state=State.STOPPED), runs=self._runs(r.ref),
                policies=tuple(names.get(r.ref, ())), account=self.accounts[r.ref.account],
            )
            for number, (r, _) in enumerate(candidates)
        ]  # fmt: skip

    def _runs(self, ref: ResourceRef) -> tuple[Run, ...]:
        since, until = self.history.since, self.history.until
        runs = self.history.runs.get(ref, ())
        return tuple(r for r in runs if r.started < until and (r.ended is None or r.ended > since))

    # --- time -----------------------------------------------------------------------------------------------------

    def _wake(self, box: Box, at: int) -> None:
        """Looks at the box at the first step at or after ``at``, but never at a time that is over."""
        entry = (max(-(-at // self.step) * self.step, self.last_look + self.step), box.number)
        if entry not in self.queued:
            self.queued.add(entry)
            heapq.heappush(self.queue, entry)

    def _load(self, low: datetime, high: datetime, tracks: Iterable[Track]) -> None:
        """Takes the samples of the next stretch in and finds out when its boxes must be looked at."""
        start, end = micros(low), micros(high)
        by_ref = {box.resource.ref: box for box in self.boxes if box.policies}
        for box in self.boxes:
            box.trim(max(start, self.loaded) - self.lookback // _MICRO)
        for track in tracks:
            owner = by_ref.get(track.series.ref)
            if owner is not None and track.at:
                self.samples += len(track.at)
                self.first_sample = min(self.first_sample or track.at[0], track.at[0])
                owner.add(track)
        self.loaded = end
        for box in self.boxes:
            for name in box.policies:
                self._marks(box, self.prepared[name], start, end)
            for edges in (self.edges[name] for name in box.policies if name in self.edges):
                for edge in edges[bisect_right(edges, start) : bisect_right(edges, end)]:
                    self._wake(box, edge)
            if box.rows:
                self._wake(box, start)
            if box.out is not None:
                self._seek(box)

    def _marks(self, box: Box, ready: Prepared, start: int, end: int) -> None:
        """When an idle policy may begin to hold: everything quiet for its whole time, or samples there again."""
        when = ready.policy.when
        levels = self.levels[ready.policy.name]
        if not isinstance(when, IdleWhen) or levels is None:
            return
        length = when.length // _MICRO
        for mark in box.rests(levels, length, start, end):
            if box.may_idle(when, mark):
                self._wake(box, mark)
        spread = max(self.step, length // 8)
        for first, last in box.returns(levels, start, length):
            for mark in range(first, last + spread, spread):
                if box.quiet(levels, mark, length) and box.may_idle(when, mark):
                    self._wake(box, mark)

    def _work(self, end: int) -> None:
        """Every look up to ``end``, those of one moment together, as in one cycle."""
        while self.queue and self.queue[0][0] <= end:
            at = self.queue[0][0]
            touched: list[Box] = []
            while self.queue and self.queue[0][0] == at:
                entry = heapq.heappop(self.queue)
                self.queued.discard(entry)
                box = self.boxes[entry[1]]
                if self._catch_up(box, moment(at)) and self._may_differ(box, at):
                    touched.append(box)
            if touched:
                self._look(touched, moment(at))

    def _may_differ(self, box: Box, at: int) -> bool:
        """Whether a look could find anything: work and youth forbid idle policies, off times begin at their edges."""
        if box.rows or at <= micros(self.history.since) + self.step:
            return bool(box.policies)
        for name in box.policies:
            when, levels = self.prepared[name].policy.when, self.levels[name]
            if name in self.edges:
                edges = self.edges[name]
                index = bisect_right(edges, at)
                if index and at - edges[index - 1] < self.step:
                    return True
            elif not isinstance(when, IdleWhen) or levels is None or box.may_hold(when, levels, at):
                return True
        return False

    # --- what becomes of a box ------------------------------------------------------------------------------------

    def _catch_up(self, box: Box, now: datetime) -> bool:
        """Lets real starts and ends happen up to ``now``; whether it runs in the replay."""
        while True:
            if box.run is None:
                if box.next_run >= len(box.runs) or box.runs[box.next_run].started > now:
                    return False
                box.run = box.runs[box.next_run]
                box.next_run += 1
                self._started(box, box.run.started)
            elif box.out is not None and box.out.back is not None and box.out.back <= now:
                back = box.out.back
                self._came_back(box, back, "work")
                self._started(box, back)
            elif box.run.ended is not None and box.run.ended <= now:
                if box.out is not None:
                    self._came_back(box, box.run.ended, "ended")
                else:
                    self._gone(box, box.run.ended, "ended")
                box.run = None
            else:
                return box.out is None

    def _started(self, box: Box, at: datetime) -> None:
        box.start(at)
        self.running.update((name, box.resource.ref.account) for name in ("", *box.policies))
        delay = box.longest_delay
        for name in box.policies:
            ready = self.prepared[name]
            when = ready.policy.when
            if isinstance(when, IdleWhen):
                self._wake(box, micros(at + when.boot_grace + when.length + delay))

    def _gone(self, box: Box, at: datetime, outcome: str) -> None:
        """It runs no longer, by itself or by our stop: its ladders are over."""
        self.running.subtract((name, box.resource.ref.account) for name in ("", *box.policies))
        for row in box.rows.values():
            self._over(row, outcome, at)
        box.stop(at)

    def _over(self, row: Action, outcome: str, at: datetime) -> None:
        told = self.told.pop(row.id, None)
        if told is not None:
            self.warnings.append(Warned(row.policy, row.subject, told.at, outcome, at))

    def _stopped(self, box: Box, row: Action, now: datetime) -> None:
        assert box.run is not None, "what is stopped runs"
        self._over(row, "stopped", now)
        ready = self.prepared[row.policy]
        box.out = Out(now, row, box.run, ready.activity)
        box.rows.pop(row.id, None)
        self._gone(box, now, "other")
        box.events.append((now, True))
        self._seek(box)

    def _seek(self, box: Box) -> None:
        """Finds out when a stopped box is at work again, as far as samples are there."""
        out = box.out
        if out is None or out.back is not None:
            return
        ended = self.until if out.run.ended is None else micros(out.run.ended)
        work = box.next_work(out.tests, max(out.sought, micros(out.at)), min(self.loaded, ended))
        out.sought = self.loaded
        if work is not None:
            out.back = moment(work)
            self._wake(box, work)

    def _came_back(self, box: Box, at: datetime, how: str) -> None:
        out = box.out
        assert out is not None, "only what was stopped comes back"
        row = out.row
        self.stops.append(
            Stop(
                row.policy, row.rule, row.subject, row.warned_at, out.at, max(at, out.at), how, out.run,
                out.back, row.evidence,
            )
        )  # fmt: skip
        box.out = None
        if how == "work":
            box.events.append((at, False))

    # --- a look ---------------------------------------------------------------------------------------------------

    def _look(self, boxes: Sequence[Box], now: datetime) -> None:
        snapshot = self._snapshot(boxes, now)
        evaluation = replace(evaluate(self.prepared.values(), snapshot), running=self.running)
        self.looks += len(boxes)
        self.executed = [a for a in self.executed if a.executed_at is not None and a.executed_at > now - _HOUR]
        rows = [row for box in boxes for row in box.rows.values()]
        closed = tuple(row for box in boxes for row in box.closed.values())
        facts = PlanFacts(executed=tuple(self.executed), closed=closed)
        found = plan(evaluation, rows, snapshot, facts, self.settings, lambda: f"{next(self.ids):08d}")
        by_key = {Subject.of(box.resource).key: box for box in boxes}
        self.notes.update(n.finding.policy for n in found.notices if n.kind is NoticeKind.NOTIFY)
        for row in (*found.updates, *found.inserts):
            self._keep(by_key[row.subject.key], row, now)
        self.last_look = micros(now)
        verdicts = {decision.action_id: decision for decision in found.decisions}
        for box in boxes:
            if box.run is not None and box.out is None:
                self._plan_next(box, now, evaluation, verdicts)

    def _snapshot(self, boxes: Sequence[Box], now: datetime) -> Snapshot:
        history = self.history
        places = {(b.resource.ref.account, b.resource.ref.region) for b in boxes}
        return Snapshot(
            now=now,
            accounts=self.accounts,
            resources={b.resource.ref: b.seen(now) for b in boxes},
            usage={b.resource.ref: b.windows(now) for b in boxes},
            sources=tuple(
                SourceStatus(account, region, source, SourceState.OK, now, history.step, 1)
                for account, region in sorted(places)
                for source in ("inventory", "usage")
            ),
            power_events={b.resource.ref: b.power_events(now - _DAY) for b in boxes if b.events},
            heartbeats={b.resource.ref: b.beat for b in boxes if b.beat is not None},
            spot_prices=history.spot_prices,
            on_demand_prices=history.on_demand_prices,
            exchange_rates=history.exchange_rates,
            calendars=history.calendars,
            timezone=history.timezone,
            currency=history.currency,
            self_ids=history.self_ids,
            last_run=min(moment(self.last_look), now - history.step),
        )

    def _keep(self, box: Box, row: Action, now: datetime) -> None:
        """Stores a row, with what would happen to it at once: a warning is delivered, a call is carried out."""
        if box.out is not None:  # another ladder of this very cycle has stopped it
            return
        if row.warning_id is not None and row.warned_at is None and not row.state.terminal:
            row = advance(row, Event(EventKind.WARNED, warning_id=row.warning_id), now, self.settings).action
            self.told.setdefault(row.id, _Told(row, now, row.code.value))
        if row.state is ActionState.VALIDATING:
            row = carried_out(row, self.prepared[row.policy], box, now, self.settings, f"replay-{next(self.ids)}")
            if row.state is ActionState.CANCELLED:
                self._at_work(box, now)
            else:
                self.executed.append(row if row.executed_at is not None else copy_with(row, executed_at=now))
            if row.state is ActionState.DONE and row.response.ends_billing:
                self._stopped(box, row, now)
                return
        box.rows.pop(row.id, None)
        if not row.state.terminal:
            box.rows[row.id] = row
        elif row.state is ActionState.DONE:
            box.closed[row.id] = row
        else:
            self._over(row, "cleared", now)

    def _at_work(self, box: Box, now: datetime) -> None:
        """A look at the box itself found it at work: it counts as that for a while."""
        box.beat = now + AFTER_BUSY
        whens = [self.prepared[name].policy.when for name in box.policies]
        idle = [box.beat + when.length + box.longest_delay for when in whens if isinstance(when, IdleWhen)]
        for mark in (now + self.history.step, box.beat, *idle):
            self._wake(box, micros(mark))

    def _plan_next(
        self, box: Box, now: datetime, evaluation: Evaluation, verdicts: Mapping[str, Decision]
    ) -> None:  # fmt: skip
        """When the box must be looked at again, beside what its samples and its power tell."""
        at = micros(now)
        for name in box.policies:
            rule = self.prepared[name].policy.rule
            if rule not in _BY_EVENTS or (rule == "idle" and self.levels[name] is None):
                self._wake(box, at + _EVERY.get(rule, _HOUR) // _MICRO)
            if rule == "lifetime":
                self._wait_for_age(box, evaluation, name, at)
        for row in box.rows.values():
            decision = verdicts.get(row.id)
            verdict = decision.verdict if decision is not None else None
            if row.id in self.told:
                self.told[row.id].code = verdict.code.value if verdict is not None else row.code.value
            climb = Climb(self.prepared[row.policy], self.levels[row.policy], row, verdict)
            for mark in next_looks(climb, box, at, self.loaded, self.step, self.settings):
                self._wake(box, mark)

    def _wait_for_age(self, box: Box, evaluation: Evaluation, name: str, now: int) -> None:
        for judgement in evaluation.judgements[name]:
            begin, limit = judgement.evidence.get("counted_from"), judgement.evidence.get("max_age")
            if judgement.subject.id == box.resource.ref.id and isinstance(begin, datetime):
                assert isinstance(limit, timedelta), "an age has its limit"
                if (over := micros(begin + limit)) > now:
                    self._wake(box, over)

    def _result(self) -> Replayed:
        for box in self.boxes:
            self._catch_up(box, self.history.until)
            if box.out is not None:
                self._came_back(box, self.history.until, "open")
        for told in self.told.values():
            self.warnings.append(Warned(told.action.policy, told.action.subject, told.at, told.code))
        matched = Counter(name for box in self.boxes for name in box.policies)
        money = replay_money(self.fleet_wide.values(), self.history, self.settings)
        return Replayed(
            since=self.history.since,
            until=self.history.until,
            rules={name: ready.policy.rule for name, ready in (self.prepared | self.fleet_wide).items()},
            matched={**matched, **money.matched},
            warnings=self.warnings,
            stops=self.stops,
            told=self.notes + Counter(note.finding.policy for note in money.notes),
            notes=money.notes,
            skipped=self.skipped,
            partly=money.partly,
            boxes=len(self.boxes),
            boxes_with_use=sum(box.seen_use for box in self.boxes),
            first_sample_at=None if self.first_sample is None else moment(self.first_sample),
            samples=self.samples,
            looks=self.looks,
        )
