"""Replay of what is asked of the whole fleet: money, balances, subscriptions that end, boxes that are off and billed.

The same evaluate and plan as in a cycle, twice a day and in the last minute of each; where something new is found, the
time before it is halved until the moment is known to half an hour. Spend is what was known then: the
live estimate, and of a bill the days that had arrived. These policies are told from their notes: what one of them would
have stopped is not played, because it would change the very spend that it counts.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from zoneinfo import ZoneInfo

from costguard.domain.action import Action, ActionState
from costguard.domain.budget import Spend
from costguard.domain.copies import copy_with
from costguard.domain.decision import Response
from costguard.domain.finding import Finding, SubjectType
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Resource, ResourceRef, State
from costguard.domain.snapshot import Snapshot, SourceState, SourceStatus
from costguard.domain.time import local_midnight, midnight_after
from costguard.engine.evaluate import Evaluation, Prepared, evaluate, prepare
from costguard.engine.history import History, Run
from costguard.engine.meter import spend
from costguard.engine.plan import PlanFacts, plan
from costguard.engine.settings import EngineSettings
from costguard.rules.policy import Policy

EVERY, LAST = timedelta(hours=12), timedelta(minutes=1)
FINEST = timedelta(minutes=30)
SPEND_BACK = timedelta(days=35)
_OF_THE_FLEET = frozenset({"still_billed", "expiry"})
_MOST_CHANGES = 8  # looked for one by one between two looks


@dataclass(frozen=True, slots=True)
class Note:
    """Something that people would have been told at ``at``, and until when it held (None: to the end)."""

    finding: Finding
    at: datetime
    until: datetime | None = None


def of_the_fleet(ready: Prepared) -> bool:
    """Whether a policy is replayed here: what it asks is no matter of one running box alone."""
    return ready.kind.subject is not SubjectType.RESOURCE or ready.policy.rule in _OF_THE_FLEET


def asks_books(policy: Policy) -> bool:
    """Whether a policy's replay needs what was recorded of money."""
    return of_the_fleet(prepare(policy))


def unplayed(ready: Prepared, history: History) -> str:
    """Why a replay can say nothing of a policy; empty when it can."""
    rule = ready.policy.rule
    if rule == "balance":
        return "" if history.books.balances else "no_balance"
    return rule if rule in ("waste", "quota") else ""


@dataclass(frozen=True, slots=True)
class MoneyReplayed:
    """``notes`` in the order of time; ``matched`` boxes by policy; ``partly``: policies whose stops are left out."""

    notes: Sequence[Note]
    matched: Mapping[str, int]
    partly: Mapping[str, str]


def replay_money(policies: Iterable[Prepared], history: History, settings: EngineSettings) -> MoneyReplayed:
    """What these policies would have told. Pure."""
    policies = tuple(policies)
    told = [prepare(only) for ready in policies if (only := _that_tells(ready.policy)) is not None]
    fleet = [(r, history.accounts.get(ref.account)) for ref, r in history.resources.items()]
    return MoneyReplayed(
        notes=_Told(told, history, settings).run() if told else (),
        matched={ready.policy.name: len(ready.matcher.select(fleet)) for ready in policies},
        partly={r.policy.name: "budget_stops" for r in policies if any(rung.do.acts for rung in r.policy.respond)},
    )


def _that_tells(policy: Policy) -> Policy | None:
    """The policy with its notes alone; a warning is told as a note. None when nothing is left."""
    rungs = [
        rung.model_copy(update={"do": Response.NOTIFY}) if rung.do is Response.WARN else rung
        for rung in policy.respond
        if not rung.do.acts
    ]
    return policy.model_copy(update={"respond": tuple(rungs), "mode": "enforce"}) if rungs else None


class _Told:
    def __init__(self, policies: Sequence[Prepared], history: History, settings: EngineSettings) -> None:
        self.policies, self.history = policies, history
        self.settings = replace(settings, enforce=True, repeat=None)
        self.zone = ZoneInfo(history.timezone)
        self.accounts = {n: replace(a, enforce=True, armed=True) for n, a in history.accounts.items()}
        self.fleet = _Fleet(history)
        self.books = _Books(history, self.zone)
        self.rows: dict[str, Action] = {}
        self.closed: dict[str, Action] = {}
        self.notes: dict[str, Note] = {}
        self.ended: list[Note] = []
        self.ids = count()

    def run(self) -> list[Note]:
        before: frozenset[tuple[str, str, str]] = frozenset()
        last: datetime | None = None
        for at in self._times():
            seen = self._look(at)
            for _ in range(_MOST_CHANGES):
                new = {name for name, *_ in _keys(seen[1]) - before}
                between = self._first_change(last, at, before, new) if last is not None and new else None
                if between is None:
                    break
                self._plan(*between)
                before, last = before | _keys(between[1]), between[0].now
            self._plan(*seen)
            before, last = _keys(seen[1]), at
        return sorted([*self.ended, *self.notes.values()], key=lambda note: (note.at, note.finding.subject.key))

    def _times(self) -> Iterator[datetime]:
        """A period ends with a day, so the last minute of each is looked at, too."""
        at = self.history.since
        while at < self.history.until:
            yield at
            midnight = midnight_after(at, self.zone)
            at = min(at + EVERY, midnight - LAST if at < midnight - LAST else midnight)
        yield self.history.until

    def _look(self, now: datetime, names: Collection[str] | None = None) -> tuple[Snapshot, Evaluation]:
        snapshot = self._snapshot(now)
        return snapshot, evaluate([p for p in self.policies if names is None or p.policy.name in names], snapshot)

    def _first_change(
        self, low: datetime, high: datetime, before: frozenset[tuple[str, str, str]], names: Collection[str]
    ) -> tuple[Snapshot, Evaluation] | None:
        """The look of these policies, after ``low`` and well before ``high``, that first finds something new."""
        found: tuple[Snapshot, Evaluation] | None = None
        while high - low > FINEST:
            middle = low + (high - low) / 2
            seen = self._look(middle, names)
            if _keys(seen[1]) <= before:
                low = middle
            else:
                high, found = middle, seen
        return found

    def _plan(self, snapshot: Snapshot, evaluation: Evaluation) -> None:
        now = snapshot.now
        rows, closed = (
            [row for row in some.values() if row.policy in evaluation.policies] for some in (self.rows, self.closed)
        )
        facts = PlanFacts(closed=tuple(closed))
        found = plan(
            evaluation, rows, snapshot, facts, self.settings, lambda: f"{next(self.ids):08d}"
        )  # fmt: skip
        for row in (*found.updates, *found.inserts):
            self.rows.pop(row.id, None)
            if not row.state.terminal:
                self.rows[row.id] = row
            elif row.state is ActionState.DONE:
                self.closed[row.id] = row
            if row.state.terminal and (note := self.notes.pop(row.id, None)) is not None:
                self.ended.append(replace(note, until=now))
        for notice in found.notices:
            if notice.kind is NoticeKind.NOTIFY and notice.action.id not in self.notes:
                self.notes[notice.action.id] = Note(notice.finding, now)

    def _snapshot(self, now: datetime) -> Snapshot:
        history = self.history
        return Snapshot(
            now=now,
            accounts=self.accounts,
            resources=self.fleet.at(now),
            sources=tuple(
                SourceStatus(account, "", source, SourceState.OK, now, history.step, 1)
                for account in sorted(self.accounts)
                for source in ("inventory", "charges", "balance")
            ),
            spot_prices=tuple(p for p in history.spot_prices if p.since <= now),
            on_demand_prices=tuple(p for p in history.on_demand_prices if p.since <= now),
            spend=self.books.at(now),
            balances=tuple({b.account: b for b in history.books.balances if b.observed_at <= now}.values()),
            exchange_rates=history.exchange_rates,
            calendars=history.calendars,
            timezone=history.timezone,
            currency=history.currency,
            last_run=now - history.step,
        )


def _keys(evaluation: Evaluation) -> frozenset[tuple[str, str, str]]:
    return frozenset((f.policy, f.subject.key, f.threshold) for f in evaluation.findings)


class _Fleet:
    """The resources as a listing of the time would have told them; what is not a box, as it is today."""

    def __init__(self, history: History) -> None:
        self.boxes = history.resources
        self.runs: Mapping[ResourceRef, tuple[Run, ...]] = history.runs
        self.others = {r.ref: r for r in history.books.others}

    def at(self, now: datetime) -> dict[ResourceRef, Resource]:
        found = {ref: r for ref, r in self.others.items() if r.created_at is None or r.created_at <= now}
        for ref, box in self.boxes.items():
            runs = self.runs.get(ref, ())
            run = next((r for r in runs if r.started <= now and (r.ended is None or now < r.ended)), None)
            if run is not None:
                price = run.rate(now) if run.rates else box.price
                found[ref] = copy_with(
                    box, state=State.RUNNING, started_at=run.started, stopped_at=None, price=price, observed_at=now
                )
            elif (box.created_at is None or box.created_at <= now) and not self._over(ref, box, now):
                ended = max((r.ended for r in runs if r.ended is not None and r.ended <= now), default=None)
                found[ref] = copy_with(box, state=State.STOPPED, stopped_at=ended, observed_at=now)
        return found

    def _over(self, ref: ResourceRef, box: Resource, now: datetime) -> bool:
        """Whether a box that is gone today was gone by then: after its last run, or its last listing."""
        if box.state not in (State.GONE, State.DELETING):
            return False
        ends = [r.ended for r in self.runs.get(ref, ()) if r.ended is not None]
        return now >= max([*ends, box.observed_at])


class _Books:
    """Spend as it was known at a time: whole days of the estimate are made once, the day at hand is cut at ``now``."""

    def __init__(self, history: History, zone: ZoneInfo) -> None:
        self.zone, self.books = zone, history.books
        start = local_midnight((history.since - SPEND_BACK).astimezone(zone).date(), zone)
        self.rows = sorted(self._spend(start, history.until), key=lambda row: row.start)
        self.starts = [row.start for row in self.rows]

    def at(self, now: datetime) -> tuple[Spend, ...]:
        midnight = local_midnight(now.astimezone(self.zone).date(), self.zone)
        first = bisect_left(self.starts, now - SPEND_BACK)
        whole = self.rows[first : bisect_left(self.starts, midnight)]
        today = self._spend(midnight, now) if midnight < now else ()
        billed = (row for known_at, row in self.books.bills if known_at <= now and row.start >= now - SPEND_BACK)
        return (*whole, *today, *billed)

    def _spend(self, start: datetime, end: datetime) -> Iterator[Spend]:
        return spend(self.books.intervals, start, end, self.zone, self.books.services)
