"""The contract's part on what changes something: once, safe twice, refused in our words, never repeated blindly."""

from datetime import timedelta

import pytest

from costguard.domain.resource import ChargeType, Ends, Kind, ResourceRef, State
from costguard.errors import InvalidState, NotFound, ProviderError, Throttled, TimedOut, Unavailable, Unsupported
from costguard.ports import Connection, PowerResult, Probe
from costguard.testing.cloud import Calls, CloudFixture, Fault, VmFacts
from costguard.testing.contract import Contract, inventory, needs, one_vm, power, vms

_OFF = (State.STOPPING, State.STOPPED)


def stops(cloud: CloudFixture, vm_id: str) -> int:
    """How many stop requests for this box reached the cloud."""
    return sum((seen.what, seen.vm_id) == ("stop", vm_id) for seen in cloud.mutations())


class PowerContract(Contract):
    """Stop, start, their refusals and their doubts; the probe."""

    @needs("stop")
    def test_stop_is_sent_once_and_seen(self, connection: Connection, cloud: CloudFixture) -> None:
        vm_id, other = cloud.add(VmFacts(), VmFacts())
        ref = one_vm(connection, cloud, vm_id).ref
        assert power(connection).stop(ref, "token-1") is PowerResult.ACCEPTED
        assert [(seen.what, seen.vm_id) for seen in cloud.mutations()] == [("stop", vm_id)]
        assert inventory(connection).get(ref).state in _OFF
        cloud.settle()
        assert inventory(connection).get(ref).state is State.STOPPED
        assert cloud.state(other) is State.RUNNING

    @needs("stop")
    def test_stop_is_safe_twice(self, connection: Connection, cloud: CloudFixture) -> None:
        """The same token again, at once and after the stop: never an error, never another effect."""
        (vm_id,) = cloud.add(VmFacts())
        ref = one_vm(connection, cloud, vm_id).ref
        power(connection).stop(ref, "token-1")
        assert power(connection).stop(ref, "token-1") in (PowerResult.ACCEPTED, PowerResult.ALREADY)
        cloud.settle()
        assert power(connection).stop(ref, "token-1") is PowerResult.ALREADY
        assert cloud.state(vm_id) is State.STOPPED

    @needs("stop")
    def test_stopping_what_is_stopped_is_already(self, connection: Connection, cloud: CloudFixture) -> None:
        (vm_id,) = cloud.add(VmFacts(state=State.STOPPED))
        assert power(connection).stop(one_vm(connection, cloud, vm_id).ref, "token-1") is PowerResult.ALREADY

    @needs("start")
    def test_start_is_sent_once_and_seen(self, connection: Connection, cloud: CloudFixture) -> None:
        (vm_id,) = cloud.add(VmFacts(state=State.STOPPED))
        ref = one_vm(connection, cloud, vm_id).ref
        assert power(connection).start(ref, "token-1") is PowerResult.ACCEPTED
        assert [(seen.what, seen.vm_id) for seen in cloud.mutations()] == [("start", vm_id)]
        cloud.settle()
        assert inventory(connection).get(ref).state is State.RUNNING
        assert power(connection).start(ref, "token-2") is PowerResult.ALREADY

    @needs("stop", "start", "restart_clock")
    def test_a_start_restarts_the_clocks(self, connection: Connection, cloud: CloudFixture) -> None:
        """A04: started_at is this start, created_at stays the first one."""
        born = cloud.clock.now() - timedelta(days=30)
        (vm_id,) = cloud.add(VmFacts(created_at=born, started_at=born))
        before = one_vm(connection, cloud, vm_id)
        power(connection).stop(before.ref, "token-1")
        cloud.settle()
        again = cloud.clock.advance(timedelta(hours=14))
        power(connection).start(before.ref, "token-2")
        cloud.settle()
        after = one_vm(connection, cloud, vm_id)
        assert before.started_at is not None
        assert after.started_at is not None
        assert abs(before.started_at - born) < timedelta(minutes=1)
        assert again - timedelta(minutes=1) <= after.started_at <= cloud.clock.now()
        assert after.created_at == before.created_at

    @needs("stop", "refused_stops")
    def test_a_refused_stop_is_our_error_and_changes_nothing(self, connection: Connection, cloud: CloudFixture) -> None:
        """C05, C29: protected, one-time spot, instance store … whatever this provider refuses to stop."""
        assert cloud.refused_stops
        made = cloud.add(*cloud.refused_stops)
        for vm_id in made:
            with pytest.raises((InvalidState, Unsupported)):
                power(connection).stop(one_vm(connection, cloud, vm_id).ref, "token-1")
            cloud.settle()
            assert cloud.state(vm_id) is State.RUNNING

    @needs("stop")
    def test_the_effect_of_a_stop_is_told_from_the_resource_alone(
        self, connection: Connection, cloud: CloudFixture
    ) -> None:
        """C07: no call is made, and a prepaid or reserved box saves nothing."""
        cloud.add(*(VmFacts(charge_type=charge) for charge in sorted(cloud.charge_types)))
        boxes = vms(connection, cloud)
        cloud.fail(Fault.SERVER_ERROR)
        for box in boxes:
            effect = power(connection).stop_effect(box)
            assert effect == power(connection).stop_effect(box)
            assert set(effect.still_billed) <= _STILL_BILLED
            assert set(effect.lost) <= _LOST
            if box.charge_type in (ChargeType.PREPAID, ChargeType.RESERVED, ChargeType.OWNED):
                assert effect.compute_billing_ends is Ends.NO
            if box.charge_type is ChargeType.UNKNOWN:
                assert effect.compute_billing_ends is not Ends.YES
        assert cloud.mutations() == []

    @needs("stop")
    def test_a_stop_of_what_is_gone_is_not_found(self, connection: Connection, cloud: CloudFixture) -> None:
        (vm_id,) = cloud.add(VmFacts())
        ref = one_vm(connection, cloud, vm_id).ref
        cloud.remove(vm_id)
        with pytest.raises(NotFound):
            power(connection).stop(ref, "token-1")

    @needs("stop")
    def test_a_lost_answer_is_in_doubt_and_not_repeated(self, connection: Connection, cloud: CloudFixture) -> None:
        """C11: the stop worked, its answer did not arrive. The caller looks; the adapter does not send again."""
        (vm_id,) = cloud.add(VmFacts())
        ref = one_vm(connection, cloud, vm_id).ref
        cloud.fail(Fault.LOST_ANSWER, on=Calls.MUTATION, times=1)
        with pytest.raises((TimedOut, Unavailable)):
            power(connection).stop(ref, "token-1")
        assert stops(cloud, vm_id) == 1
        assert inventory(connection).get(ref).state in _OFF

    @needs("stop")
    @pytest.mark.parametrize("fault", [Fault.SERVER_ERROR, Fault.RESET, Fault.SILENT, Fault.THROTTLED])
    def test_a_failed_stop_is_sent_once(self, connection: Connection, cloud: CloudFixture, fault: Fault) -> None:
        """Retries of mutations are off, whatever the SDK's default is."""
        (vm_id,) = cloud.add(VmFacts())
        ref = one_vm(connection, cloud, vm_id).ref
        cloud.fail(fault, on=Calls.MUTATION)
        expected = (Throttled,) if fault is Fault.THROTTLED else (TimedOut, Unavailable)
        with pytest.raises(expected):
            power(connection).stop(ref, "token-1")
        assert stops(cloud, vm_id) == 1
        assert cloud.state(vm_id) is State.RUNNING

    @needs("stop")
    def test_the_probe_changes_nothing(self, connection: Connection, cloud: CloudFixture) -> None:
        """C32: permissions are proved with the provider's own dry runs."""
        made = cloud.add(VmFacts(), VmFacts(state=State.STOPPED))
        before = [cloud.state(vm_id) for vm_id in made]
        boxes = vms(connection, cloud)
        assert isinstance(connection, Probe)
        answers = connection.probe(cloud.regions[0], boxes)
        assert cloud.mutations() == []
        cloud.settle()
        assert [cloud.state(vm_id) for vm_id in made] == before
        assert answers
        assert all(answer.permission for answer in answers)
        assert all(answer.granted is not None or answer.detail for answer in answers)

    @needs("stop")
    def test_the_probe_reports_a_missing_permission(self, connection: Connection, cloud: CloudFixture) -> None:
        cloud.add(VmFacts())
        boxes = vms(connection, cloud)
        cloud.fail(Fault.FORBIDDEN, on=Calls.MUTATION)
        assert isinstance(connection, Probe)
        about_stop = [a for a in connection.probe(cloud.regions[0], boxes) if a.capability == "stop"]
        assert about_stop
        assert all(answer.granted is not True for answer in about_stop)

    @needs("stop")
    def test_a_made_up_ref_is_refused_in_our_words(self, connection: Connection, cloud: CloudFixture) -> None:
        """G12: an id that is no id, as a typing mistake makes it."""
        (vm_id,) = cloud.add(VmFacts())
        real = one_vm(connection, cloud, vm_id).ref
        for text in ("no-such-id", "i-", "中文", "a" * 300, "i-1 OR 1=1"):
            with pytest.raises(ProviderError):
                power(connection).stop(ResourceRef(real.provider, real.account, real.region, Kind.VM, text), "t")
        assert cloud.state(vm_id) is State.RUNNING


_STILL_BILLED = frozenset({"disks", "public_ip", "compute", "reservation", "gpu_capacity", "snapshots"})
_LOST = frozenset({"local_disk", "public_ip", "capacity", "memory"})
