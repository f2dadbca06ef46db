"""Timeline: a machine's power states over all time, from its birth, people's acts and the journal of calls.

Pure. Transitions take as long as they do at providers: 30–60 s to stop, 25–55 s to start.
"""

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from costguard.domain.resource import State
from costguard_simulated.fleet import Machine, jitter
from costguard_simulated.workload import Work


@dataclass(frozen=True, slots=True)
class Operation:
    """Something done to a machine. ``what`` ∈ start, stop, restart, release, reclaim. ``ours``: through the API by
    this account's credentials."""

    at: datetime
    what: str
    actor: str
    ours: bool = False
    then: str | None = None


@dataclass(frozen=True, slots=True)
class Reaction:
    """A person who starts the machine so long after somebody else stopped it; once."""

    after: timedelta
    actor: str
    then: str | None = None


@dataclass(frozen=True, slots=True)
class Phase:
    """From ``start`` (until the next phase) the machine is in this state. ``booted``: its last start."""

    start: datetime
    state: State
    booted: datetime | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """``phases`` ascend; before the first there is no machine. ``events`` are the starts and stops that took effect."""

    phases: tuple[Phase, ...]
    starts: tuple[datetime, ...]
    events: tuple[Operation, ...]
    plan: tuple[Work, ...]

    def at(self, now: datetime) -> Phase | None:
        """The phase at an instant; None before birth."""
        index = bisect_right(self.starts, now)
        return self.phases[index - 1] if index else None

    def spans(self, states: frozenset[State], since: datetime, until: datetime) -> list[tuple[datetime, datetime]]:
        """The parts of [since, until) in which the machine was in one of ``states``, touching ones joined."""
        found: list[tuple[datetime, datetime]] = []
        for index, phase in enumerate(self.phases):
            end = self.phases[index + 1].start if index + 1 < len(self.phases) else until
            first, last = max(since, phase.start), min(until, end)
            if phase.state not in states or first >= last:
                continue
            if found and found[-1][1] == first:
                found[-1] = (found[-1][0], last)
            else:
                found.append((first, last))
        return found


def draw(machine: Machine, operations: Sequence[Operation], reactions: Sequence[Reaction]) -> Timeline:
    """The whole timeline. Operations that make no sense in their moment change nothing."""
    phases: list[Phase] = []
    events: list[Operation] = []
    plan = list(machine.plan)
    if machine.created_at < machine.started_at:
        phases.append(Phase(machine.created_at, State.STOPPED, None))
        boot = machine.started_at
    else:
        boot = machine.created_at
    up = boot + jitter(machine.seed, boot, 25, 55)
    phases += [Phase(boot, State.PENDING, None), Phase(up, State.RUNNING, boot)]
    events.append(Operation(boot, "start", machine.spec.creator or (machine.spec.tags or {}).get("owner", "user")))
    todo: list[tuple[datetime, int, Operation]] = []
    waiting = list(reactions)
    count = 0

    def push(operation: Operation) -> None:
        nonlocal count
        heapq.heappush(todo, (operation.at, count, operation))
        count += 1

    if machine.stopped_at is not None:
        push(Operation(max(machine.stopped_at, up), "stop", machine.spec.creator or "user"))
    for operation in operations:
        push(operation)
    while todo:
        at, _, operation = heapq.heappop(todo)
        while phases[-1].start > at:  # still in a transition: the provider carries the request out after it
            at = phases[-1].start
        now = phases[-1]
        if now.state is State.GONE or at < boot:
            continue
        if operation.what in ("release", "reclaim"):
            phases += [
                Phase(at, State.DELETING, now.booted),
                Phase(at + jitter(machine.seed, at, 20, 40), State.GONE, now.booted),
            ]
        elif operation.what == "stop" and now.state is State.RUNNING:
            phases += _stopping(machine, at, now)
            events.append(operation)
            if waiting and operation.ours:
                back = waiting.pop(0)
                push(Operation(phases[-1].start + back.after, "start", back.actor, then=back.then))
            continue
        elif operation.what == "start" and now.state is State.STOPPED:
            phases += _starting(machine, at)
            events.append(operation)
        elif operation.what == "restart" and now.state is State.RUNNING:
            phases += _stopping(machine, at, now)
            again = phases[-1].start
            phases += _starting(machine, again)
            events += [
                Operation(at, "stop", operation.actor, operation.ours),
                Operation(again, "start", operation.actor, operation.ours),
            ]
        else:
            continue
        if operation.then is not None:
            plan.append(Work(at, operation.then))
            plan.sort(key=lambda work: work.since)
    return Timeline(tuple(phases), tuple(phase.start for phase in phases), tuple(events), tuple(plan))


def _stopping(machine: Machine, at: datetime, now: Phase) -> list[Phase]:
    down = at + jitter(machine.seed, at, 30, 60)
    return [Phase(at, State.STOPPING, now.booted), Phase(down, State.STOPPED, now.booted)]


def _starting(machine: Machine, at: datetime) -> list[Phase]:
    return [Phase(at, State.PENDING, at), Phase(at + jitter(machine.seed, at, 25, 55), State.RUNNING, at)]
