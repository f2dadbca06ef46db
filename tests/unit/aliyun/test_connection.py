"""One object with every role, on a company's account on a bad day."""

from collections import Counter
from datetime import timedelta

from costguard.domain.resource import ChargeType, Ends, Kind, Resource, State
from costguard.domain.usage import Metric
from costguard.errors import PermissionDenied, Throttled, TimedOut, Unavailable
from costguard.ports import Connection, PowerResult
from costguard.testing.cloud import Calls, Fault
from costguard_aliyun import adapter
from costguard_aliyun.connection import AliyunConnection
from tests.fakes.aliyun.fleet import fill
from tests.fakes.aliyun.server import ACCOUNT, AliyunServer
from tests.unit.aliyun.helpers import connect, spec


def test_connecting_calls_nothing_out(server: AliyunServer) -> None:
    connection = adapter.connect(spec(server), server.clock)
    assert isinstance(connection, Connection)
    assert server.requests == []
    connection.close()


def test_the_identity_is_the_account_and_the_principal(aliyun: AliyunConnection) -> None:
    identity = aliyun.identity()
    assert (identity.account_id, identity.principal) == (ACCOUNT, f"acs:ram::{ACCOUNT}:user/costguard")


def test_endpoints_are_told_before_the_first_call(aliyun: AliyunConnection, server: AliyunServer) -> None:
    assert set(aliyun.endpoints()) == {f"{name}.cn-hangzhou" for name in ("sts", "ecs", "cms", "bss")}
    list(aliyun.list(Kind.VM, "cn-beijing"))
    assert aliyun.endpoints()["ecs.cn-beijing"] == server.url


def test_250_boxes_with_a_denied_region_throttles_and_lost_answers(server: AliyunServer) -> None:
    """M16, C11: every box is seen once, the denied region is told, and every stop is carried out once."""
    filled = fill(server)
    here, there, denied = server.regions
    server.denied.add(denied)
    server.flaky(Fault.THROTTLED, 0.05, seed=1)
    server.flaky(Fault.LOST_ANSWER, 0.05, seed=2)
    aliyun = connect(server, deadline=timedelta(seconds=30))
    seen: dict[str, list[Resource]] = {}
    refused = []
    for region in aliyun.regions():
        try:
            seen[region] = list(aliyun.list(Kind.VM, region))
        except PermissionDenied:
            refused.append(region)
    assert refused == [denied]
    assert {r: [vm.ref.id for vm in vms] for r, vms in seen.items()} == {
        region: filled.by_region[region] for region in (here, there)
    }

    boxes = [vm for vms in seen.values() for vm in vms if vm.state is State.RUNNING]
    now = server.clock.now()
    batch = aliyun.usage(boxes, frozenset({Metric.GPU_UTIL}), now - timedelta(minutes=30), now)
    busiest = Counter[str]()
    for sample in batch.samples:
        busiest[sample.series.ref.id] = max(busiest[sample.series.ref.id], int(sample.value))
    known = {vm.ref.id for vm in boxes} - {ref.id for ref in batch.failed}
    assert {id for id, most in busiest.items() if most == 0} == known.intersection(filled.idle)
    assert not busiest.keys() & set(filled.silent)

    idle = [
        vm for vm in boxes
        if busiest.get(vm.ref.id) == 0 and vm.stop_effect and vm.stop_effect.compute_billing_ends is Ends.YES
    ]  # fmt: skip
    assert len(idle) > 20
    for vm in idle:
        _stop_as_the_daemon_does(aliyun, vm)
    server.ecs.settle()
    assert {server.ecs.boxes[vm.ref.id].stopped_mode for vm in idle} == {"StopCharging"}
    done = Counter(call.params["InstanceId"] for call in server.calls if call.action == "StopInstance")
    assert done == Counter(vm.ref.id for vm in idle)
    assert {vm.charge_type for vm in idle} <= {ChargeType.ON_DEMAND, ChargeType.SPOT}
    aliyun.close()


def _stop_as_the_daemon_does(aliyun: AliyunConnection, vm: Resource) -> None:
    """After a refusal for too many calls it tries again; after a doubt it looks first."""
    for _ in range(10):
        try:
            assert aliyun.stop(vm.ref, "token") is PowerResult.ACCEPTED
        except Throttled:
            continue
        except (Unavailable, TimedOut):
            if aliyun.get(vm.ref).state is State.RUNNING:
                continue
        return
    raise AssertionError("ten refusals in a row")


def test_a_probe_of_a_fleet_is_no_change(server: AliyunServer) -> None:
    """C32."""
    fill(server, minutes=0)
    aliyun = connect(server)
    boxes = list(aliyun.list(Kind.VM, server.regions[0]))[:15]
    answers = aliyun.probe(server.regions[0], boxes)
    assert server.mutations() == []
    assert {a.granted for a in answers if a.capability == "stop"} == {True}
    server.fail(Fault.FORBIDDEN, on=server.on(Calls.MUTATION))
    assert {a.granted for a in aliyun.probe(server.regions[0], boxes) if a.capability == "stop"} == {False}
    aliyun.close()


def test_after_close_it_works_again(aliyun: AliyunConnection) -> None:
    aliyun.close()
    assert aliyun.identity().account_id == ACCOUNT
