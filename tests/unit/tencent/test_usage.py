"""Cloud Monitor: batches, spellings, destroyed ids, silence, metered calls."""

import logging
from collections.abc import Mapping
from datetime import timedelta

import pytest

from costguard.domain.resource import Kind, Resource
from costguard.domain.usage import Metric, Statistic
from costguard.errors import BadResponse, InvalidState, PermissionDenied, Unsupported
from costguard.testing.cloud import Calls, Fault
from costguard_tencent.connection import TencentConnection
from tests.fakes.tencent.server import TencentServer
from tests.unit.tencent.helpers import CPU, EIGHT, HOME, connect, ref

MINUTE = timedelta(minutes=1)
GPU = frozenset({Metric.GPU_UTIL})


def fleet(server: TencentServer, tencent: TencentConnection, count: int, type: str = EIGHT) -> list[Resource]:
    """Boxes in the order in which they were made."""
    for _ in range(count):
        server.cvm.add(HOME, type)
    return sorted(tencent.list(Kind.VM, HOME), key=lambda vm: vm.ref.id)


def put(server: TencentServer, metric: str, vm: Resource, values: Mapping[int, float]) -> None:
    """Values by minutes ago, at which their period ended."""
    server.monitor.put(metric, vm.ref.id, {server.clock.now() - n * MINUTE: value for n, value in values.items()})


def asked(server: TencentServer) -> list[tuple[str, int]]:
    """Metric and batch size of each call."""
    calls = [call.params for call in server.calls if call.action == "GetMonitorData"]
    return [(params["MetricName"], len(params["Instances"])) for params in calls]


def test_a_value_is_the_mean_over_the_cards(server: TencentServer, tencent: TencentConnection) -> None:
    """A30: one card of eight at 39 % reads 4.9 %, and the sample says so."""
    (vm,) = fleet(server, tencent, 1)
    put(server, "GpuUtil", vm, {5: 4.9})
    now = server.clock.now()
    (sample,) = tencent.usage([vm], GPU, now - 10 * MINUTE, now).samples
    assert (sample.series.cards, sample.series.gpu_index, sample.series.statistic) == (8, None, Statistic.MEAN)
    assert (sample.at, sample.value, sample.period) == (now - 5 * MINUTE, 4.9, MINUTE)


def test_of_several_values_of_one_time_the_highest_counts(server: TencentServer, tencent: TencentConnection) -> None:
    """M03: should it tell of each card one day, the one at work is not covered up by the one that is told of last."""
    (vm,) = fleet(server, tencent, 1)
    now = server.clock.now()
    for card, value in enumerate((0.0, 97.0, 0.0)):
        server.monitor.put("GpuUtil", vm.ref.id, {now - 5 * MINUTE: value}, card)
    (sample,) = tencent.usage([vm], GPU, now - 10 * MINUTE, now).samples
    assert sample.value == 97.0


def test_values_that_no_time_fits_are_no_answer(server: TencentServer, tencent: TencentConnection) -> None:
    (vm,) = fleet(server, tencent, 1)
    put(server, "GpuUtil", vm, {5: 90.0, 4: 0.0})
    now = server.clock.now()
    server.monitor.torn = True
    with pytest.raises(BadResponse, match="not as many values as times"):
        tencent.usage([vm], GPU, now - 10 * MINUTE, now)


def test_the_other_spelling_is_found_once(server: TencentServer, tencent: TencentConnection) -> None:
    server.monitor.chinese = True
    (vm,) = fleet(server, tencent, 1)
    put(server, "GpuUtil", vm, {5: 50.0})
    now = server.clock.now()
    for _ in range(2):
        batch = tencent.usage([vm], GPU, now - 10 * MINUTE, now)
        assert [sample.value for sample in batch.samples] == [50.0]
    assert [name for name, _ in asked(server)] == ["GpuUtil", "Gpuutil", "Gpuutil"]
    assert (batch.calls, batch.metered) == (1, 1)


def test_batches_of_ten_or_as_configured(server: TencentServer, tencent: TencentConnection) -> None:
    """G10."""
    vms = fleet(server, tencent, 25)
    now = server.clock.now()
    batch = tencent.usage(vms, GPU, now - 10 * MINUTE, now)
    assert (batch.samples, batch.failed, batch.calls) == ((), {}, 3)
    assert asked(server) == [("GpuUtil", 10), ("GpuUtil", 10), ("GpuUtil", 5)]
    server.calls.clear()
    server.monitor.instances_per_call, server.monitor.points_per_call = 50, 7_200
    wide = connect(server, options={"metric_instances": 50, "metric_points": 7_200})
    wide.usage(vms, GPU, now - 10 * MINUTE, now)
    assert asked(server) == [("GpuUtil", 25)]


def test_a_destroyed_box_spoils_nobody_elses_reading(server: TencentServer, tencent: TencentConnection) -> None:
    """M02: its id fails the whole call; it is found by halves, and not asked for again in this round."""
    vms = fleet(server, tencent, 20)
    for vm in vms:
        put(server, "GpuUtil", vm, {5: 1.0})
    now = server.clock.now()
    tencent.usage(vms, GPU, now - 10 * MINUTE, now)
    server.monitor.destroyed.add(vms[7].ref.id)
    server.calls.clear()
    batch = tencent.usage(vms, GPU | {Metric.GPU_MEMORY}, now - 10 * MINUTE, now)
    assert set(batch.failed) == {vms[7].ref}
    util = {sample.series.ref for sample in batch.samples if sample.series.metric is Metric.GPU_UTIL}
    assert util == {vm.ref for vm in vms} - {vms[7].ref}
    assert [size for name, size in asked(server) if name == "GpuUtil"] == [10, 9]
    assert batch.calls == len(asked(server)) < 25


def test_no_points_are_unknown_and_never_zero(server: TencentServer, tencent: TencentConnection) -> None:
    """A10: no agent in the guest."""
    box = server.cvm.add(HOME, EIGHT, agent=False)
    (vm,) = tencent.list(Kind.VM, HOME)
    server.monitor.put("GpuUtil", box.id, {server.clock.now() - 5 * MINUTE: 0.0})
    now = server.clock.now()
    batch = tencent.usage([vm], GPU, now - 10 * MINUTE, now)
    assert (batch.samples, batch.failed) == ((), {})


def test_half_a_sum_of_traffic_is_no_value(server: TencentServer, tencent: TencentConnection) -> None:
    server.cvm.add(HOME, CPU, public_ip="43.1.1.1")
    server.cvm.add(HOME, CPU)
    public, private = sorted(tencent.list(Kind.VM, HOME), key=lambda vm: vm.ref.id)
    for vm in (public, private):
        put(server, "LanIntraffic", vm, {5: 8.0, 6: 8.0})
        put(server, "LanOuttraffic", vm, {5: 8.0, 6: 8.0})
    put(server, "WanIntraffic", public, {5: 4.0})
    put(server, "WanOuttraffic", public, {5: 4.0})
    now = server.clock.now()
    found = tencent.usage([public, private], frozenset({Metric.NETWORK}), now - 10 * MINUTE, now).samples
    values = {(s.series.ref, (now - s.at) // MINUTE): s.value for s in found}
    assert values == {(public.ref, 5): 3e6, (private.ref, 5): 2e6, (private.ref, 6): 2e6}


def test_only_boxes_with_gpus_are_asked_for_gpus(server: TencentServer, tencent: TencentConnection) -> None:
    fleet(server, tencent, 3, CPU)
    vms = fleet(server, tencent, 2)
    now = server.clock.now()
    tencent.usage(vms, GPU | {Metric.CPU_CORES}, now - 10 * MINUTE, now)
    assert sorted(asked(server)) == [("BaseCpuUsage", 5), ("GpuUtil", 2)]


def test_disks_have_no_samples(server: TencentServer, tencent: TencentConnection) -> None:
    server.cbs.add_disk(HOME)
    (disk,) = tencent.list(Kind.DISK, HOME)
    now = server.clock.now()
    assert tencent.usage([disk], frozenset(Metric), now - 10 * MINUTE, now).calls == 0


def test_each_region_is_asked_for_its_own(server: TencentServer, tencent: TencentConnection) -> None:
    for region in (HOME, "ap-shanghai"):
        server.cvm.add(region, EIGHT)
    vms = [vm for region in (HOME, "ap-shanghai") for vm in tencent.list(Kind.VM, region)]
    server.denied.add("ap-shanghai")
    now = server.clock.now()
    batch = tencent.usage(vms, GPU, now - 10 * MINUTE, now)
    assert {ref.region: type(error) for ref, error in batch.failed.items()} == {"ap-shanghai": PermissionDenied}


def test_a_denied_api_is_told_at_the_first_call(server: TencentServer, tencent: TencentConnection) -> None:
    """M01."""
    vms = fleet(server, tencent, 3)
    server.fail(Fault.FORBIDDEN, on=server.on(Calls.USAGE))
    now = server.clock.now()
    with pytest.raises(PermissionDenied) as caught:
        tencent.usage(vms, GPU, now - 10 * MINUTE, now)
    assert caught.value.missing == "monitor:GetMonitorData"


@pytest.mark.parametrize(("switch", "value", "kind"), [("free_calls", 0, Unsupported), ("owed", True, InvalidState)])
def test_a_quota_that_is_used_up_is_told(
    server: TencentServer, tencent: TencentConnection, switch: str, value: object, kind: type[Exception]
) -> None:
    vms = fleet(server, tencent, 1)
    setattr(server.monitor, switch, value)
    now = server.clock.now()
    with pytest.raises(kind):
        tencent.usage(vms, GPU, now - 10 * MINUTE, now)


def test_metered_calls_are_counted_and_shown(
    server: TencentServer, tencent: TencentConnection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "costguard_tencent")
    vms = fleet(server, tencent, 12)
    now = server.clock.now()
    for _ in range(2):
        batch = tencent.usage(vms, GPU, now - 10 * MINUTE, now)
    assert (batch.calls, batch.metered) == (2, 2)
    assert server.monitor.calls == {"2026-03": 4}
    assert "4 of 1,000,000 free GetMonitorData calls of 2026-03" in caplog.text


def test_a_month_of_backfill_fits_the_limits(server: TencentServer, tencent: TencentConnection) -> None:
    vms = fleet(server, tencent, 3)
    old = server.clock.now() - timedelta(days=10)
    server.monitor.put("GpuUtil", vms[0].ref.id, {old: 70.0})
    now = server.clock.now()
    batch = tencent.usage(vms, GPU, now - timedelta(days=30), now)
    assert batch.failed == {}
    assert [(sample.at, sample.value, sample.period) for sample in batch.samples] == [(old, 70.0, 5 * MINUTE)]


def test_an_answer_without_points_is_an_error(server: TencentServer, tencent: TencentConnection) -> None:
    vms = fleet(server, tencent, 1)
    server.nulls.add("GetMonitorData")
    now = server.clock.now()
    with pytest.raises(Exception, match="DataPoints"):
        tencent.usage(vms, GPU, now - 10 * MINUTE, now)
    assert ref(vms[0].ref.id) == vms[0].ref
