"""A hypothesis machine: cycles, deliveries, looks, calls, crashes, people and the world, in any order.

The daemon's part (``act``) is the loop that docs/lifecycle.md describes, one step at a time, so that anything
can happen between two steps.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from costguard.domain.action import Action, ActionState
from costguard.domain.resource import State
from costguard.domain.snapshot import Keep, Snapshot
from costguard.engine.evaluate import evaluate, prepare
from costguard.engine.events import Event, EventKind, Look
from costguard.engine.lifecycle import Do, advance
from costguard.engine.plan import PlanFacts
from costguard.engine.recheck import recheck, rung_of
from costguard.engine.settings import EngineSettings
from costguard.testing.builders import MINUTE, NOW, make_account, make_resource
from tests.unit.engine.stage import Cycles, busy, idle_policy, lifetime_policy, quiet, snapshot_of

S, K = ActionState, EventKind
Choose = Callable[[Sequence[Any]], Any]
GRACE = 30 * MINUTE
HOOKED = [
    {"do": "warn"},
    {"after": "30m", "do": "stop", "hook": {"on": "daemon", "run": "/x", "timeout": "5m", "on_failure": "stop"}},
]


class Governed(RuleBasedStateMachine):
    """Two boxes, three policies, one plan and one act loop."""

    def __init__(self) -> None:
        super().__init__()
        self.now: datetime = NOW
        self.policies = [
            idle_policy("idle-plain"), idle_policy("idle-hooked", respond=HOOKED),
            lifetime_policy("old", when={"max_age": "1h"}),
        ]  # fmt: skip
        self.boxes = {name: make_resource(name, cards=1) for name in ("a", "b")}
        self.work = dict.fromkeys(self.boxes, "idle")
        self.keeps: dict[str, Keep] = {}
        self.paused_until: datetime | None = None
        self.armed = True
        self.calls: list[str] = []
        self.looks: dict[str, int] = {}
        self.ended: dict[str, ActionState] = {}
        self.graces: dict[str, datetime] = {}
        self.seen: Counter[ActionState] = Counter()

    @initialize(per_hour=st.sampled_from([None, 1, 5]))
    def config(self, per_hour: int | None) -> None:
        self.cycles = Cycles(self.policies, EngineSettings(per_hour=per_hour, share=None))

    # the world

    @rule(minutes=st.sampled_from([1, 5, 10, 31, 95, 700]))
    def time_passes(self, minutes: int) -> None:
        self.now += minutes * MINUTE

    @rule(name=st.sampled_from(["a", "b"]), work=st.sampled_from(["idle", "idle", "busy", "unknown"]))
    def box_works(self, name: str, work: str) -> None:
        self.work[name] = work

    @rule(name=st.sampled_from(["a", "b"]))
    def human_restarts(self, name: str) -> None:
        self.boxes[name] = replace(self.boxes[name], state=State.RUNNING, started_at=self.now)

    @rule(name=st.sampled_from(["a", "b"]), group=st.sampled_from([None, None, "asg"]))
    def box_joins_a_group(self, name: str, group: str | None) -> None:
        self.boxes[name] = replace(self.boxes[name], group=group)

    @rule(name=st.sampled_from(["a", "b"]), value=st.sampled_from([None, None, "keep"]))
    def box_is_tagged(self, name: str, value: str | None) -> None:
        self.boxes[name] = replace(self.boxes[name], tags={"costguard": value} if value else {})

    # people

    @rule(name=st.sampled_from(["a", "b"]), minutes=st.sampled_from([0, 0, 30]))
    def keep(self, name: str, minutes: int) -> None:
        self.keeps[name] = Keep(self.boxes[name].ref, self.now + minutes * MINUTE, "li", "demo", self.now)

    @rule(minutes=st.sampled_from([0, 20]))
    def pause(self, minutes: int) -> None:
        self.paused_until = self.now + minutes * MINUTE

    @rule(armed=st.sampled_from([True, True, False]))
    def arm(self, armed: bool) -> None:
        self.armed = armed

    @rule(data=st.data(), kind=st.sampled_from([K.CANCEL, K.KEEP]))
    def person_says(self, data: st.DataObject, kind: EventKind) -> None:
        if self.cycles.rows:
            row = self.cycles.rows[data.draw(st.sampled_from(sorted(self.cycles.rows)))]
            self.apply(row, Event(kind, who="li"))

    # costguard

    def snapshot(self) -> Snapshot:
        usage: dict[Any, Any] = {}
        for name, box in self.boxes.items():
            what = self.work[name]
            usage[box.ref] = (
                {} if what == "unknown" else (busy if what == "busy" else quiet)(box, end=self.now)
            )  # fmt: skip
        return snapshot_of(
            *self.boxes.values(), now=self.now, usage=usage, paused_until=self.paused_until,
            keeps={k.ref: k for k in self.keeps.values() if k.until > self.now},
            accounts={"prod": make_account(armed=self.armed)},
        )  # fmt: skip

    @rule()
    def cycle(self) -> None:
        before = dict(self.cycles.rows)
        self.cycles.cycle(self.snapshot())
        for row in self.cycles.rows.values():
            old = before.get(row.id)
            if row.state is S.VALIDATING and (old is None or old.state is not S.VALIDATING):
                self.looks[row.id] = 0
            self.check_warning(row)

    @rule(minutes=st.sampled_from([31, 31, 45, 95]))
    def a_quiet_spell(self, minutes: int) -> None:
        """What mostly happens: people are warned, nobody does anything, the grace passes."""
        self.cycle()
        for row in self.cycles.open:
            if row.warning_id is not None and not row.state.in_flight:
                self.apply(row, Event(K.WARNED, warning_id=row.warning_id))
        self.now += minutes * MINUTE
        self.cycle()

    @rule(data=st.data())
    def deliver_one(self, data: st.DataObject) -> None:
        self.deliver(lambda options: data.draw(st.sampled_from(options)))

    def deliver(self, choose: Choose) -> None:
        waiting = sorted(r.id for r in self.cycles.open if r.warning_id is not None)
        if waiting:
            row = self.cycles.rows[choose(waiting)]
            self.apply(row, Event(K.WARNED, warning_id=choose([row.warning_id, row.warning_id, "an older one"])))

    @precondition(lambda self: any(r.state.in_flight for r in self.cycles.open))
    @rule(data=st.data(), steps=st.integers(1, 4))
    def act_on(self, data: st.DataObject, steps: int) -> None:
        for _ in range(steps):
            self.act(lambda options: data.draw(st.sampled_from(options)))

    def act(self, choose: Choose) -> None:
        """One step of the daemon's act loop for some row, or a crash and a new leader."""
        flying = sorted(r.id for r in self.cycles.open if r.state.in_flight)
        if not flying:
            return
        row = self.cycles.rows[choose(flying)]
        if choose(range(10)) == 9:
            self.apply(row, Event(K.RECOVER, go_on=row.policy == "idle-hooked"))
            return
        match row.state:
            case S.VALIDATING | S.REVALIDATING:
                self.look(row)
            case S.PREPARING:
                kind = choose([K.HOOK_STARTED, K.HOOK_SAVED, K.HOOK_SAVED, K.HOOK_BUSY, K.HOOK_FAILED])
                self.apply(row, Event(kind, run="r", go_on=True))
            case S.EXECUTING:
                self.call(row, choose(["accepted", "throttled", "rejected", "lost", "lost but done"]))
            case _:
                self.verify(row)

    def look(self, row: Action) -> None:
        snapshot = self.snapshot()
        ready = next((prepare(p) for p in self.policies if p.name == row.policy), None)
        assert ready is not None
        event = recheck(
            row,
            ready,
            snapshot,
            self.cycles.rows.values(),
            self.cycles.settings,
            evaluate(self.policies, snapshot),
            PlanFacts(),
        )
        if event.kind is K.HOLDS:
            self.looks[row.id] += 1
            self.must_be_stoppable(row)
            hook = rung_of(row, ready).hook if row.state is S.VALIDATING else None
            token = f"{row.id}-{len(self.calls)}-{self.now:%H%M%S%d}-{row.version}-{len(self.cycles.ledger)}"
            event = replace(
                event, token=token, lease_token=1, hook=hook is not None, hook_timeout=hook.timeout if hook else None
            )
        self.apply(row, event)

    def must_be_stoppable(self, row: Action) -> None:
        """Kept, busy, unknown, a group's member, restarted, paused, disarmed: never one step further."""
        box = self.boxes[row.subject.id]
        assert self.work[box.ref.id] == "idle"
        assert box.group is None
        assert not box.tags
        assert box.started_at == row.started_at
        assert self.armed
        assert not row.dry_run
        assert self.paused_until is None or self.paused_until <= self.now
        kept = self.keeps.get(box.ref.id)
        assert kept is None or kept.until <= self.now
        assert row.warned_at is not None
        assert self.now >= row.warned_at + GRACE

    def call(self, row: Action, answer: str) -> None:
        assert row.token is not None
        assert row.token not in self.calls, "at most one call per token"
        self.calls.append(row.token)
        if answer in ("accepted", "lost but done"):
            self.boxes[row.subject.id] = replace(self.boxes[row.subject.id], state=State.STOPPED)
        kinds = {"accepted": K.ACCEPTED, "throttled": K.THROTTLED, "rejected": K.REJECTED}
        self.apply(row, Event(kinds.get(answer, K.LOST), answer))

    def verify(self, row: Action) -> None:
        box = self.boxes[row.subject.id]
        if box.state is State.STOPPED:
            seen = Look.ENDED
        elif box.started_at != row.started_at:
            seen = Look.RESTARTED
        else:
            seen = Look.UNCHANGED
        self.apply(row, Event(K.LOOKED, look=seen))

    def apply(self, row: Action, event: Event) -> None:
        change = advance(row, event, self.now, self.cycles.settings)
        after = change.action
        if event.kind is K.WARNED and after.warned_at == self.now and row.warned_at is None:
            self.graces[f"{after.id}:{after.warning_id}"] = self.now
        if change.do is Do.CALL or (after.state is S.EXECUTING and row.state is not S.EXECUTING):
            assert row.state is S.REVALIDATING
            assert self.looks[row.id] >= 2, "two looks before every call"
            self.check_warning(after)
        if after.state is S.VALIDATING and row.state is not S.VALIDATING:
            self.looks[row.id] = 0
        self.cycles.rows[after.id] = after
        self.seen[after.state] += 1

    def check_warning(self, row: Action) -> None:
        """In flight only with a warning that the outbox really delivered, and its whole grace."""
        if row.state.in_flight:
            assert row.warning_id is not None
            delivered = self.graces.get(f"{row.id}:{row.warning_id}")
            assert delivered is not None, "never executing without a delivered warning"
            assert row.warned_at == delivered

    @invariant()
    def terminal_stays_terminal(self) -> None:
        for row in getattr(self, "cycles", Cycles([])).rows.values():
            if row.id in self.ended:
                assert row.state is self.ended[row.id]
            if row.state.terminal:
                self.ended[row.id] = row.state

    @invariant()
    def one_in_flight_per_resource_and_one_open_per_fingerprint(self) -> None:
        rows = getattr(self, "cycles", Cycles([])).open
        flying = [row.subject.id for row in rows if row.state.in_flight]
        assert len(flying) == len(set(flying))
        prints = [row.fingerprint for row in rows]
        assert len(prints) == len(set(prints))

    @invariant()
    def a_dry_run_never_moves(self) -> None:
        for row in getattr(self, "cycles", Cycles([])).rows.values():
            assert not row.dry_run or row.state is S.RECORDED or row.state.terminal
            assert not row.dry_run or row.executed_at is None


Governed.TestCase.settings = settings(max_examples=settings.default.max_examples * 3 // 5, stateful_step_count=30)
TestGoverned = Governed.TestCase


def one_deed(machine: Governed, random: Random) -> None:
    """Something happens: mostly a step of an action under way."""
    name = random.choice("ab")
    deeds: dict[Callable[[], None], int] = {
        lambda: machine.act(random.choice): 40,
        lambda: machine.cycle(): 5,
        lambda: machine.deliver(random.choice): 3,
        lambda: machine.a_quiet_spell(random.choice([31, 45, 95])): 8,
        lambda: machine.time_passes(random.choice([1, 5, 700])): 1,
        lambda: machine.box_works(name, random.choice(["idle"] * 6 + ["busy", "unknown"])): 2,
        lambda: machine.human_restarts(name): 2,
        lambda: machine.box_joins_a_group(name, random.choice([None] * 5 + ["asg"])): 1,
        lambda: machine.box_is_tagged(name, random.choice([None] * 5 + ["keep"])): 1,
        lambda: machine.keep(name, random.choice([0, 30])): 1,
        lambda: machine.pause(random.choice([0, 0, 20])): 1,
        lambda: machine.arm(random.random() < 0.9): 1,
    }
    random.choices(list(deeds), list(deeds.values()))[0]()


@pytest.mark.parametrize("seed", range(3))
def test_long_lives(seed: int) -> None:
    """The same machine on its own feet: mostly quiet lives, in which every state is reached often."""
    random = Random(seed)
    seen: Counter[ActionState] = Counter()
    for _ in range(25):
        machine = Governed()
        machine.config(random.choice([None, 1, 5]))
        for _ in range(60):
            one_deed(machine, random)
            machine.terminal_stays_terminal()
            machine.one_in_flight_per_resource_and_one_open_per_fingerprint()
            machine.a_dry_run_never_moves()
        seen += machine.seen
    assert seen[S.EXECUTING] >= 20
    for state in (S.IN_DOUBT, S.VERIFYING, S.PREPARING, S.DONE, S.DEFERRED, S.SUPERSEDED):
        assert seen[state] >= 3, f"{state.value} is hardly ever reached"


def test_the_machine_can_reach_a_stop() -> None:
    """The walk that the machine must be able to take: otherwise its invariants prove nothing."""
    machine = Governed()
    machine.config(5)
    machine.policies[:] = machine.policies[:1]
    machine.cycle()
    for row in machine.cycles.open:
        machine.apply(row, Event(K.WARNED, warning_id=row.warning_id))
    machine.now += GRACE
    machine.cycle()
    for row in [r for r in machine.cycles.open if r.subject.id == "a"]:
        machine.look(row)
        machine.look(machine.cycles.rows[row.id])
        machine.call(machine.cycles.rows[row.id], "lost but done")
        assert machine.cycles.rows[row.id].state is S.IN_DOUBT
        machine.verify(machine.cycles.rows[row.id])
        assert machine.cycles.rows[row.id].state is S.DONE
    assert len(machine.calls) == 1
