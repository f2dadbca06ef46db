"""World: what is true of a scenario at an instant, as a function of the scenario, the instant and the journal.

One world per scenario, start, state file and clock in a process, shared by the accounts that look into it. It reads no
clock: every question carries its ``now``. It knows nothing of domain resources; the other modules translate.
"""

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from weakref import WeakKeyDictionary

from costguard.domain.resource import State
from costguard.domain.usage import Metric
from costguard.ports import Clock
from costguard_simulated import fleet
from costguard_simulated.fleet import Holding, Machine
from costguard_simulated.journal import Entry, Journal
from costguard_simulated.scenario import ActSpec, BillLineSpec, CloudSpec, FaultSpec, MachineSpec, Scenario, load
from costguard_simulated.timeline import Operation, Phase, Reaction, Timeline, draw

Points = Sequence[tuple[datetime, float]]
_ATTEMPTS_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Attempt:
    """A changing call that reached the cloud, whether it worked or not."""

    operation: str
    cloud: str
    target: str
    token: str


class World:
    """Thread-safe. Times are aware UTC."""

    def __init__(self, scenario: Scenario, journal: Journal) -> None:
        self.scenario = scenario
        self.start = scenario.start.astimezone(UTC)
        self._journal = journal
        self._lock = threading.RLock()
        self._machines: dict[str, dict[str, Machine]] = {}
        self._holdings: dict[str, dict[str, Holding]] = {}
        for cloud in scenario.clouds:
            self._machines[cloud] = {machine.id: machine for machine in fleet.machines(scenario, cloud)}
            self._holdings[cloud] = {holding.id: holding for holding in fleet.holdings(scenario, cloud)}
            for machine in self._machines[cloud].values():
                self._add_disk(machine)
        self._acts: dict[str, list[ActSpec]] = {}
        for act in scenario.people:
            self._acts.setdefault(act.machine, []).append(act)
        self._by_target: dict[tuple[str, str], list[Entry]] = {}
        self._timelines: dict[tuple[str, str], Timeline] = {}
        self._raw_states: dict[str, str] = {}
        self._readings: dict[str, dict[tuple[Metric, int | None], Points]] = {}
        self._bill_lines = {name: tuple(cloud.bill_lines) for name, cloud in scenario.clouds.items()}
        self._faults: list[FaultSpec] = list(scenario.faults)
        self._matches: dict[int, int] = {}
        self._attempts: deque[Attempt] = deque(maxlen=_ATTEMPTS_KEPT)
        self._added = 0
        self._index(journal.refresh())

    # What there is.

    def cloud(self, name: str) -> CloudSpec:
        return self.scenario.clouds[name]

    def machines(self, cloud: str) -> Sequence[Machine]:
        with self._lock:
            self._index(self._journal.refresh())
            return tuple(self._machines[cloud].values())

    def machine(self, cloud: str, machine_id: str) -> Machine | None:
        with self._lock:
            self._index(self._journal.refresh())
            return self._machines[cloud].get(machine_id)

    def holdings(self, cloud: str) -> Sequence[Holding]:
        with self._lock:
            return tuple(self._holdings[cloud].values())

    def holding(self, cloud: str, holding_id: str) -> Holding | None:
        with self._lock:
            return self._holdings[cloud].get(holding_id)

    def named(self, name: str) -> Machine:
        """The machine of that name. Raises KeyError."""
        with self._lock:
            for machines in self._machines.values():
                for machine in machines.values():
                    if machine.name == name:
                        return machine
        raise KeyError(name)

    # What is true of it.

    def timeline(self, machine: Machine) -> Timeline:
        with self._lock:
            key = (machine.cloud, machine.id)
            found = self._timelines.get(key)
            if found is None:
                found = self._timelines[key] = draw(machine, self._operations(machine), self._reactions(machine))
            return found

    def phase(self, machine: Machine, now: datetime) -> Phase | None:
        """None: not born yet, or gone."""
        found = self.timeline(machine).at(now)
        return None if found is None or found.state is State.GONE else found

    def holding_ended(self, holding: Holding) -> datetime | None:
        """When a holding was released, or went with its machine."""
        with self._lock:
            released = [e.at for e in self._by_target.get((holding.cloud, holding.id), ()) if e.what == "release"]
            ends = released[:1]
            if holding.owner_machine is not None:
                machine = self._machines[holding.cloud].get(holding.owner_machine)
                if machine is None:
                    return holding.created_at
                ends += [p.start for p in self.timeline(machine).phases if p.state is State.GONE]
            return min(ends, default=None)

    def tags(self, cloud: str, target: str, name: str, base: Mapping[str, str] | None, now: datetime) -> (
        Mapping[str, str] | None
    ):  # fmt: skip
        """The tags at ``now``: the scenario's, people's and the journal's changes; None when they may not be read."""
        if base is None:
            return None
        with self._lock:
            changes = [
                (self.start + act.at, act.tags) for act in self._acts.get(name, ())
                if act.do == "retag" and act.at is not None
            ]  # fmt: skip
            changes += [(e.at, dict(e.data)) for e in self._by_target.get((cloud, target), ()) if e.what == "tag"]
        tags = dict(base)
        for at, change in sorted(changes, key=lambda item: item[0]):
            if at <= now:
                for key, value in change.items():
                    if value is None:
                        tags.pop(key, None)
                    else:
                        tags[key] = value
        return tags

    def release_time(self, cloud: str, machine_id: str) -> datetime | None:
        """The provider-side timer that is set now."""
        with self._lock:
            timers = [e for e in self._by_target.get((cloud, machine_id), ()) if e.what == "set_release_time"]
        return _time(timers[-1].data.get("at")) if timers else None

    def entries(self, cloud: str, target: str | None = None) -> Sequence[Entry]:
        """The journal of a cloud, or of one resource in it."""
        with self._lock:
            self._index(self._journal.refresh())
            if target is not None:
                return tuple(self._by_target.get((cloud, target), ()))
            return tuple(entry for entry in self._journal.entries if entry.cloud == cloud)

    def raw_state(self, machine_id: str) -> str | None:
        return self._raw_states.get(machine_id)

    def readings(self, machine_id: str) -> Mapping[tuple[Metric, int | None], Points] | None:
        """Values that were put in by hand instead of drawn; None: draw them."""
        return self._readings.get(machine_id)

    def bill_lines(self, cloud: str) -> Sequence[BillLineSpec]:
        return self._bill_lines[cloud]

    def attempts(self, cloud: str) -> Sequence[Attempt]:
        """The last thousand changing calls to a cloud in this process."""
        with self._lock:
            return tuple(attempt for attempt in self._attempts if attempt.cloud == cloud)

    # What changes it.

    def attempt(self, attempt: Attempt) -> None:
        with self._lock:
            self._attempts.append(attempt)

    def record(self, entry: Entry) -> None:
        """A call that took effect."""
        with self._lock:
            self._index(self._journal.append(entry))

    def add(self, cloud: str, specs: Sequence[MachineSpec]) -> list[str]:
        """Machines that the scenario file does not have; returns their ids. Offsets count from the scenario's start."""
        with self._lock:
            made = []
            for spec in specs:
                self._added += 1
                made.append(fleet.build(self.scenario, cloud, spec, spec.name, salt=f"added {self._added}"))
            for machine in made:
                self._machines[cloud][machine.id] = machine
                self._add_disk(machine)
            return [machine.id for machine in made]

    def remove(self, cloud: str, machine_id: str) -> None:
        """The machine has never been."""
        with self._lock:
            machine = self._machines[cloud].pop(machine_id)
            if machine.system_disk is not None:
                del self._holdings[cloud][machine.system_disk]

    def set_raw_state(self, machine_id: str, word: str) -> None:
        self._raw_states[machine_id] = word

    def set_readings(self, machine_id: str, metric: Metric, gpu_index: int | None, points: Points) -> None:
        with self._lock:
            self._readings.setdefault(machine_id, {})[metric, gpu_index] = tuple(points)

    def set_bill_lines(self, cloud: str, lines: Sequence[BillLineSpec]) -> None:
        self._bill_lines[cloud] = tuple(lines)

    def set_faults(self, faults: Sequence[FaultSpec]) -> None:
        """Replaces all faults, the scenario's included."""
        with self._lock:
            self._faults = list(faults)
            self._matches.clear()

    def inject(self, *faults: FaultSpec) -> None:
        with self._lock:
            self._faults.extend(faults)

    def fault(
        self, operation: str, cloud: str, region: str | None, now: datetime, *, machine: Machine | None = None,
        dry: bool = False,
    ) -> FaultSpec | None:  # fmt: skip
        """The fault that hits this call, if one does. ``machine``: the one whose metrics are read. ``dry``: only looks
        whether a fault applies, without counting the call."""
        with self._lock:
            for index, fault in enumerate(self._faults):
                if not _matches(fault, operation, cloud, region, now - self.start, machine):
                    continue
                seen = self._matches.get(index, 0)
                if not dry:
                    self._matches[index] = seen + 1
                hits = seen // fault.every
                if (dry or seen % fault.every == fault.every - 1) and (fault.times is None or hits < fault.times):
                    return fault
            return None

    def _add_disk(self, machine: Machine) -> None:
        disk = fleet.system_disk(machine)
        if disk is not None:
            self._holdings[machine.cloud][disk.id] = disk

    def _index(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._by_target.setdefault((entry.cloud, entry.target), []).append(entry)
            self._timelines.pop((entry.cloud, entry.target), None)

    def _operations(self, machine: Machine) -> list[Operation]:
        found = [
            Operation(self.start + act.at, act.do, act.who, then=act.then)
            for act in self._acts.get(machine.name, ())
            if act.at is not None and act.do in ("start", "restart", "stop", "reclaim")
        ]
        found += _calls(self._by_target.get((machine.cloud, machine.id), ()))
        return sorted(found, key=lambda operation: operation.at)

    def _reactions(self, machine: Machine) -> list[Reaction]:
        return [
            Reaction(act.after_stop, act.who, act.then)
            for act in self._acts.get(machine.name, ())
            if act.after_stop is not None
        ]


def _calls(entries: Sequence[Entry]) -> Iterator[Operation]:
    timer: datetime | None = None
    for entry in entries:
        if timer is not None and timer <= entry.at:
            break
        if entry.what == "set_release_time":
            timer = _time(entry.data.get("at"))
        elif entry.what in ("stop", "start", "release"):
            yield Operation(entry.at, entry.what, "costguard", ours=True)
    if timer is not None:
        yield Operation(timer, "release", "timer", ours=True)


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def _matches(
    fault: FaultSpec, operation: str, cloud: str, region: str | None, at: timedelta, machine: Machine | None
) -> bool:  # fmt: skip
    return (
        fault.operation in ("*", operation)
        and fault.cloud in (None, cloud)
        and fault.region in (None, region)
        and fault.since <= at
        and (fault.until is None or at < fault.until)
        and (bool(fault.machines) == (machine is not None))
        and (machine is None or machine.name in fault.machines or machine.id in fault.machines)
    )


_worlds: WeakKeyDictionary[Clock, dict[tuple[object, ...], World]] = WeakKeyDictionary()
_worlds_lock = threading.Lock()


def world_for(
    clock: Clock, scenario: str, *, state: str | None = None, start: str | None = None, scale: int | None = None
) -> World:
    """The world of this scenario under this clock; made at the first call. Raises ConfigErrors."""
    key = (scenario, state, start, scale)
    with _worlds_lock:
        worlds = _worlds.setdefault(clock, {})
        if key not in worlds:
            loaded = load(scenario, start=start, scale=scale)
            name = f"{loaded.name}@{loaded.start.astimezone(UTC).isoformat()}"
            worlds[key] = World(loaded, Journal(Path(state) if state else None, name))
        return worlds[key]
