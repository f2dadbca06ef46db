"""Regions, listings, live reads."""

from datetime import timedelta

import pytest

from costguard.domain.resource import Kind, State
from costguard.errors import NotFound, PermissionDenied, Unavailable
from costguard.testing.cloud import Fault
from costguard_tencent.connection import TencentConnection
from tests.fakes.tencent.server import REGIONS, TencentServer
from tests.unit.tencent.helpers import CPU, EIGHT, HOME, connect, ref


def test_all_open_regions_or_the_configured_ones(server: TencentServer, tencent: TencentConnection) -> None:
    assert tencent.regions() == tuple(sorted(REGIONS))
    assert connect(server, regions=(" ap-shanghai", "ap-shanghai", "ap-x")).regions() == ("ap-shanghai", "ap-x")


def test_cvms_own_list_where_the_newer_one_may_not_be_asked(server: TencentServer, tencent: TencentConnection) -> None:
    server.refusals["DescribeRegions"] = "UnauthorizedOperation"
    with pytest.raises(PermissionDenied) as caught:
        tencent.regions()
    assert caught.value.missing == "cvm:DescribeRegions"
    assert [call.product for call in server.calls] == ["region", "cvm"]


def test_a_mistyped_region_is_denied_and_not_empty(tencent: TencentConnection) -> None:
    """G06."""
    with pytest.raises(PermissionDenied, match="none of that name"):
        list(tencent.list(Kind.VM, "ap-moon"))


def test_the_calls_of_one_listing(server: TencentServer, tencent: TencentConnection) -> None:
    """What one poll of a region sends: pages of a hundred, types and addresses once, and those only when needed."""
    for _ in range(150):
        server.cvm.add(HOME, CPU)
    assert len(list(tencent.list(Kind.VM, HOME))) == 150
    assert server.actions() == ["DescribeInstances", "DescribeInstances"]
    assert [call.params for call in server.calls] == [{"Offset": 0, "Limit": 100}, {"Offset": 100, "Limit": 100}]
    server.calls.clear()
    for _ in range(2):
        server.cvm.add(HOME, EIGHT, public_ip="43.1.1.1")
    list(tencent.list(Kind.VM, HOME))
    assert sorted(server.actions()) == [
        "DescribeAddresses", "DescribeInstanceTypeConfigs", "DescribeInstances", "DescribeInstances",
    ]  # fmt: skip


def test_elastic_and_ordinary_addresses_are_told_apart(server: TencentServer, tencent: TencentConnection) -> None:
    mine = server.cvm.add(HOME, CPU, public_ip="43.1.1.1", eip=True)
    other = server.cvm.add(HOME, CPU, public_ip="43.1.1.2")
    server.vpc.add_address(HOME, instance=mine.id)
    found = {vm.ref.id: vm for vm in tencent.list(Kind.VM, HOME)}
    effects = {id: vm.stop_effect for id, vm in found.items()}
    assert effects[mine.id] is not None
    assert effects[other.id] is not None
    assert (effects[mine.id].lost, effects[other.id].lost) == (("capacity",), ("public_ip", "capacity"))
    for vm in found.values():
        assert tencent.get(vm.ref) == vm


@pytest.mark.parametrize("switch", ["denied_actions", "hollow"])
def test_no_listing_fails_for_the_sake_of_an_address(
    server: TencentServer, tencent: TencentConnection, switch: str
) -> None:
    server.cvm.add(HOME, CPU, public_ip="43.1.1.1")
    getattr(server, switch).add("DescribeAddresses")
    (vm,) = tencent.list(Kind.VM, HOME)
    assert vm.stop_effect is not None
    assert vm.stop_effect.lost == ("public_ip", "capacity")
    assert "public_ip" in vm.stop_effect.still_billed


def test_gone_is_not_found(server: TencentServer, tencent: TencentConnection) -> None:
    """A spot box that is reclaimed just disappears."""
    box = server.cvm.add(HOME, CPU, charge="SPOTPAID")
    (vm,) = tencent.list(Kind.VM, HOME)
    server.cvm.reclaim(box.id)
    server.clock.advance(timedelta(minutes=3))
    assert list(tencent.list(Kind.VM, HOME)) == []
    for gone in (vm.ref, ref("disk-1", Kind.DISK), ref("eip-1", Kind.ADDRESS), ref("job-1", Kind.JOB)):
        with pytest.raises(NotFound):
            tencent.get(gone)


def test_what_never_came_to_be_is_left_out(server: TencentServer, tencent: TencentConnection) -> None:
    server.cvm.add(HOME, CPU, state="LAUNCH_FAILED")
    box = server.cvm.add(HOME, CPU, state="SHUTDOWN", charge="PREPAID", isolated_source="EXPIRE")
    (vm,) = tencent.list(Kind.VM, HOME)
    assert (vm.ref.id, vm.state, vm.protected) == (box.id, State.DELETING, "isolated: EXPIRE")


def test_a_restart_between_two_looks_is_seen(server: TencentServer, tencent: TencentConnection) -> None:
    """M12: at both looks the box ran."""
    box = server.cvm.add(HOME, CPU)
    (before,) = tencent.list(Kind.VM, HOME)
    box.operation, box.operation_request = "RebootInstances", "r-2"
    at = server.clock.advance(timedelta(minutes=2))
    live = tencent.get(before.ref)
    assert (before.started_at, live.started_at) == (before.created_at, at)
    assert next(iter(tencent.list(Kind.VM, HOME))).started_at == at


def test_timers_are_told_to_accounts_that_may_set_them(server: TencentServer) -> None:
    server.cvm.add(HOME, CPU)
    with_timers, without = connect(server, allow_release=True), connect(server)
    (vm,) = with_timers.list(Kind.VM, HOME)
    at = server.clock.now() + timedelta(days=2)
    with_timers.set_release_time(vm.ref, at)
    assert next(iter(with_timers.list(Kind.VM, HOME))).auto_release_at == at
    assert with_timers.get(vm.ref).auto_release_at == at
    server.calls.clear()
    assert next(iter(without.list(Kind.VM, HOME))).auto_release_at is None
    assert "DescribeInstancesActionTimer" not in server.actions()
    server.denied_actions.add("DescribeInstancesActionTimer")
    assert with_timers.get(vm.ref).auto_release_at is None


def test_a_listing_that_fails_in_the_middle_fails(server: TencentServer, tencent: TencentConnection) -> None:
    for _ in range(150):
        server.cvm.add(HOME, CPU)
    server.cvm.after_page += [lambda: server.fail(Fault.SERVER_ERROR)]
    with pytest.raises(Unavailable):
        list(tencent.list(Kind.VM, HOME))
