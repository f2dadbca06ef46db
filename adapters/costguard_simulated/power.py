"""Power: stop, start, release, timers, tags, commands and the history of who did what.

A call is refused in the moment's state exactly as a provider would; what it starts takes its time afterwards.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.domain.resource import ChargeType, Kind, Resource, ResourceRef, State, StopEffect
from costguard.domain.snapshot import PowerEvent
from costguard.ports import CommandResult, PowerResult
from costguard_simulated import onsite
from costguard_simulated.client import Client
from costguard_simulated.effects import STOPPABLE, stop_effect
from costguard_simulated.fleet import Machine
from costguard_simulated.inventory import Inventory
from costguard_simulated.journal import Entry
from costguard_simulated.scenario import Hook
from costguard_simulated.workload import seed_of

_OUTPUT_LIMIT = 4096
_ACCEPTANCE = timedelta(seconds=2)
_TIMER_LEAST = timedelta(minutes=30)


class PowerSwitch:
    """Raises ProviderError. Tokens are kept with the journal; a repeated call finds the state already changed."""

    def __init__(self, client: Client, inventory: Inventory) -> None:
        self._client, self._inventory = client, inventory
        self._personality = client.cloud.personality

    def stop_effect(self, resource: Resource) -> StopEffect:
        return stop_effect(self._personality, resource)

    def stop(self, ref: ResourceRef, token: str) -> PowerResult:
        """Refuses what is locked, one-time spot machines, and kinds that cannot be stopped."""

        def effect() -> PowerResult:
            machine, phase = self._inventory.find(ref, "stop")
            if ref.kind not in STOPPABLE:
                raise self._client.unsupported("stop", f"no {ref.kind} can be stopped")
            if phase.state in (State.STOPPING, State.STOPPED):
                return PowerResult.ALREADY
            if phase.state is not State.RUNNING:
                raise self._client.failure("IncorrectInstanceStatus", f"{ref.id} is {phase.state}", "stop")
            if machine.spec.protected:
                raise self._client.failure("OperationDenied.Protected", f"{ref.id} is locked", "stop")
            if machine.spec.charge is ChargeType.SPOT and machine.spec.one_time:
                raise self._client.unsupported("stop", "a one-time spot machine can only be terminated")
            self._record(ref, "stop", token)
            return PowerResult.ACCEPTED

        return self._client.mutate("stop", ref, token, effect)

    def start(self, ref: ResourceRef, token: str) -> PowerResult:
        def effect() -> PowerResult:
            _, phase = self._inventory.find(ref, "start")
            if phase.state in (State.PENDING, State.RUNNING):
                return PowerResult.ALREADY
            if phase.state is not State.STOPPED:
                raise self._client.failure("IncorrectInstanceStatus", f"{ref.id} is {phase.state}", "start")
            self._record(ref, "start", token)
            return PowerResult.ACCEPTED

        return self._client.mutate("start", ref, token, effect)

    def release(self, ref: ResourceRef, token: str) -> PowerResult:
        """Destroys a machine, or a holding that no machine uses. The account must allow it."""

        def effect() -> PowerResult:
            self._may_release()
            if ref.kind in (Kind.DISK, Kind.ADDRESS, Kind.SNAPSHOT):
                held = self._inventory.get(ref)
                if held.depends_on is not None:
                    raise self._client.failure("IncorrectInstanceStatus", f"{ref.id} is in use", "release")
            else:
                machine, phase = self._inventory.find(ref, "release")
                if machine.spec.protected:
                    raise self._client.failure("OperationDenied.Protected", f"{ref.id} is locked", "release")
                if phase.state is State.DELETING:
                    return PowerResult.ALREADY
            self._record(ref, "release", token)
            return PowerResult.ACCEPTED

        return self._client.mutate("release", ref, token, effect)

    def set_release_time(self, ref: ResourceRef, at: datetime | None) -> None:
        """The provider's own timer, which destroys. Not at the AWS-like cloud nor the rack; at least 30 min ahead."""
        if self._personality in ("aws", "rack"):
            raise self._client.unsupported("set_release_time", "this cloud has no such timer")

        def effect() -> None:
            self._may_release()
            machine, _ = self._inventory.find(ref, "set_release_time")
            if machine.spec.charge is ChargeType.PREPAID:
                raise self._client.unsupported("set_release_time", "a prepaid machine has no such timer")
            if at is not None and at < self._client.now() + _TIMER_LEAST:
                raise self._client.failure("InvalidParameter", "the timer is too near", "set_release_time")
            self._record(ref, "set_release_time", "", {"at": at.isoformat() if at else None})

        self._client.mutate("set_release_time", ref, "", effect)

    def tag(self, ref: ResourceRef, tags: Mapping[str, str]) -> None:
        def effect() -> None:
            self._inventory.get(ref)
            self._record(ref, "tag", "", dict(tags))

        self._client.mutate("tags", ref, "", effect)

    def power_events(self, ref: ResourceRef, since: datetime) -> Sequence[PowerEvent]:
        """Starts and stops that took effect in [since, now]. The Tencent-like cloud does not tell by whom."""
        self._client.read("history", ref.region)
        machine, _ = self._inventory.find(ref, "history")
        named = self._personality != "tencent"
        return [
            PowerEvent(ref, event.at, event.what, event.ours, event.actor if named else None)
            for event in self._client.world.timeline(machine).events
            if since <= event.at <= self._client.now()
        ]

    def run_command(self, ref: ResourceRef, command: str, timeout: timedelta, token: str) -> str:
        """Starts the machine's hook of the scenario, whatever the command says, or costguard's own look at it. Returns
        the run's id."""
        run_id = f"run-{seed_of(ref.id, token):016x}"

        def effect() -> str:
            _, phase = self._inventory.find(ref, "run_command")
            if phase.state is not State.RUNNING:
                raise self._client.failure("IncorrectInstanceStatus", f"{ref.id} is {phase.state}", "run_command")
            if not any(entry.token == run_id for entry in self._runs(ref)):
                self._record(ref, "run_command", run_id, {"timeout": str(timeout.total_seconds()), "command": command})
            return run_id

        return self._client.mutate("run_command", ref, token, effect)

    def command_result(self, ref: ResourceRef, run_id: str) -> CommandResult:
        self._client.read("command_result", ref.region)
        entry = next((entry for entry in self._runs(ref) if entry.token == run_id), None)
        machine = self._client.world.machine(self._client.cloud_name, ref.id)
        if entry is None or machine is None:
            raise self._client.failure("InvalidInstanceId.NotFound", f"no run {run_id}", "command_result")
        return self._result(machine, entry, self._client.now())

    def _result(self, machine: Machine, entry: Entry, now: datetime) -> CommandResult:
        hook, passed = self._played(machine, entry), now - entry.at
        timeout = timedelta(seconds=float(entry.data.get("timeout") or 0))
        ends = timeout if hook.hangs or hook.takes > timeout else hook.takes
        states = self._client.world.timeline(machine).spans(frozenset({State.RUNNING}), entry.at, entry.at + ends)
        if hook.unreachable or not states or (states[0][1] < entry.at + ends and states[0][1] <= now):
            return CommandResult("unreachable")
        if passed < _ACCEPTANCE:
            return CommandResult("pending")
        if passed < ends:
            return CommandResult("running")
        if ends == timeout:
            return CommandResult("timed_out")
        return CommandResult("finished", hook.exit_code, hook.output[:_OUTPUT_LIMIT])

    def _played(self, machine: Machine, entry: Entry) -> Hook:
        """What the command does: a look at the machine goes before its hook, where it has both."""
        command, hook = entry.data.get("command") or "", machine.spec.hook
        if not command.startswith(onsite.MARK):
            return hook
        world = self._client.world
        zone = ZoneInfo(world.scenario.timezone)
        code, said = onsite.look(machine, world.timeline(machine), zone, command, entry.at)
        if code or command.endswith(onsite.ALONE):
            return Hook(exit_code=code, takes=onsite.TAKES, output=said, unreachable=hook.unreachable)
        return hook.model_copy(update={"output": f"{said}\n{hook.output}"})

    def _runs(self, ref: ResourceRef) -> list[Entry]:
        entries = self._client.world.entries(self._client.cloud_name, ref.id)
        return [entry for entry in entries if entry.what == "run_command"]

    def _may_release(self) -> None:
        if not self._client.spec.allow_release:
            raise self._client.unsupported("release", "the account does not allow that anything is destroyed")

    def _record(self, ref: ResourceRef, what: str, token: str, data: Mapping[str, str | None] | None = None) -> None:
        entry = Entry(self._client.now(), self._client.cloud_name, ref.id, what, token, data or {})
        self._client.world.record(entry)
