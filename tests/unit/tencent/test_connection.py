"""One object with every role, on a company's account on a bad day."""

from collections import Counter
from datetime import timedelta

from costguard.domain.resource import Ends, Kind, Resource, State
from costguard.domain.usage import Metric
from costguard.errors import PermissionDenied, Throttled, TimedOut, Unavailable
from costguard.ports import Connection, PowerResult
from costguard.testing.cloud import Calls, Fault
from costguard_tencent import adapter
from costguard_tencent.connection import TencentConnection
from tests.fakes.tencent.fleet import fill
from tests.fakes.tencent.server import OWNER, TencentServer
from tests.unit.tencent.helpers import HOME, connect, spec


def test_connecting_calls_nothing_out(server: TencentServer) -> None:
    connection = adapter.connect(spec(server), server.clock)
    assert isinstance(connection, Connection)
    assert server.requests == []
    connection.close()


def test_the_identity_is_the_root_account_and_the_principal(tencent: TencentConnection) -> None:
    identity = tencent.identity()
    assert (identity.account_id, identity.principal) == (OWNER, f"qcs::cam::uin/{OWNER}:uin/100000000002")


def test_endpoints_are_told_before_the_first_call(tencent: TencentConnection, server: TencentServer) -> None:
    assert set(tencent.endpoints()) == {"sts", "cvm", "monitor", "billing"}
    list(tencent.list(Kind.DISK, HOME))
    assert tencent.endpoints()["cbs"] == server.url


def test_250_boxes_with_a_denied_region_throttles_and_lost_answers(server: TencentServer) -> None:
    """M16, C11, C07: every box is seen once, the denied region is told, every stop is carried out once, and of mixed
    charge types only those are counted whose bill ended."""
    filled = fill(server)
    here, there, denied = server.regions
    server.denied.add(denied)
    server.flaky(Fault.THROTTLED, 0.05, seed=1)
    server.flaky(Fault.LOST_ANSWER, 0.05, seed=2)
    tencent = connect(server, deadline=timedelta(seconds=30))
    seen: dict[str, list[Resource]] = {}
    refused = []
    for region in tencent.regions():
        try:
            seen[region] = list(tencent.list(Kind.VM, region))
        except PermissionDenied:
            refused.append(region)
    assert refused == [denied]
    assert {r: sorted(vm.ref.id for vm in vms) for r, vms in seen.items()} == {
        region: sorted(filled.by_region[region]) for region in (here, there)
    }

    boxes = [vm for vms in seen.values() for vm in vms if vm.state is State.RUNNING]
    now = server.clock.now()
    batch = tencent.usage(boxes, frozenset({Metric.GPU_UTIL}), now - timedelta(minutes=30), now)
    busiest: dict[str, float] = {}
    for sample in batch.samples:
        busiest[sample.series.ref.id] = max(busiest.get(sample.series.ref.id, 0.0), sample.value)
    known = {vm.ref.id for vm in boxes} - {ref.id for ref in batch.failed}
    assert {id for id, most in busiest.items() if most == 0} == known.intersection(filled.idle)
    assert not busiest.keys() & set(filled.silent)

    idle = [vm for vm in boxes if busiest.get(vm.ref.id) == 0.0]
    promised = {vm.ref.id for vm in idle if vm.stop_effect and vm.stop_effect.compute_billing_ends is Ends.YES}
    assert promised == {vm.ref.id for vm in idle} & set(filled.ends)
    assert 0 < len(promised) < len(idle)
    for vm in idle:
        _stop_as_the_daemon_does(tencent, vm)
    server.cvm.settle()
    done = Counter(id for call in server.calls if call.action == "StopInstances" for id in call.params["InstanceIds"])
    assert done == Counter(vm.ref.id for vm in idle)
    ended = set()
    for vm in idle:
        after = tencent.get(vm.ref)
        assert after.state is State.STOPPED
        if after.stop_effect is not None and after.stop_effect.compute_billing_ends is Ends.YES:
            ended.add(vm.ref.id)
    assert ended == promised
    tencent.close()


def _stop_as_the_daemon_does(tencent: TencentConnection, vm: Resource) -> None:
    """A refusal for want of room is tried again; after an open outcome it looks first."""
    for _ in range(10):
        try:
            assert tencent.stop(vm.ref, "token") in PowerResult
        except Throttled as error:
            tencent.api.clock.sleep(error.after.total_seconds())
        except (TimedOut, Unavailable):
            if tencent.get(vm.ref).state in (State.STOPPING, State.STOPPED):
                return
        else:
            return
    raise AssertionError(f"{vm.ref.id} was never stopped")


def test_the_bill_of_a_company_to_the_cent(server: TencentServer) -> None:
    """I06, I07: on a bad day too, and the same at each reading."""
    fill(server)
    server.flaky(Fault.THROTTLED, 0.1, seed=3)
    tencent = connect(server, deadline=timedelta(seconds=60))
    now = server.clock.now()
    first = list(tencent.charges(now, now + timedelta(days=1)))
    billed = sum(charge.billed_cost.nanos for charge in first)
    assert billed == int(server.bills.total("2026-03") * 10**9)
    again = list(tencent.charges(now, now + timedelta(days=1)))
    assert [charge.row_key for charge in again] == [charge.row_key for charge in first]
    assert len({charge.row_key for charge in first}) == len(first)
    tencent.close()


def test_a_probe_of_a_fleet_is_no_change(server: TencentServer) -> None:
    """C32."""
    fill(server, minutes=1)
    tencent = connect(server)
    boxes = list(tencent.list(Kind.VM, HOME))
    assert tencent.probe(HOME, boxes)
    assert server.mutations() == []
    assert not [request for request in server.requests if server.on(Calls.MUTATION)(request)]
    tencent.close()
