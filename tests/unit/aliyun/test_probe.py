"""Permissions, proved without side effects."""

from datetime import timedelta

from costguard.domain.resource import Kind, Resource
from costguard.testing.cloud import Fault
from costguard_aliyun.connection import AliyunConnection
from tests.fakes.aliyun.rpc import Context
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.aliyun.helpers import HOME, connect

CPU = "ecs.g7.xlarge"


def boxes(aliyun: AliyunConnection) -> list[Resource]:
    return list(aliyun.list(Kind.VM, HOME))


def test_each_state_is_tried_with_what_it_allows(server: AliyunServer) -> None:
    """C32: the error that means success."""
    on, off = server.ecs.add(HOME, CPU), server.ecs.add(HOME, CPU, state="Stopped")
    aliyun = connect(server, allow_release=True)
    told = {(p.capability, p.detail): p.granted for p in aliyun.probe(HOME, boxes(aliyun))}
    assert told["stop", on.id] is True
    assert told["start", off.id] is True
    assert told["release", on.id] is True
    assert ("start", on.id) not in told
    assert server.mutations() == []
    assert (on.state, off.state) == ("Running", "Stopped")
    aliyun.close()


def test_without_allow_release_it_is_not_tried(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.ecs.add(HOME, CPU)
    assert "release" not in {p.capability for p in aliyun.probe(HOME, boxes(aliyun))}


def test_a_missing_permission_is_named(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, CPU)
    found = boxes(aliyun)
    server.denied_actions |= {"StopInstance", "DescribeMetricList", "QueryBillOverview", "DescribeEipAddresses"}
    missing = {(p.permission, p.detail) for p in aliyun.probe(HOME, found) if p.granted is False}
    assert ("ecs:StopInstance", box.id) in missing
    assert {permission for permission, _ in missing} == {
        "ecs:StopInstance", "cms:QueryMetricList", "bssapi:QueryBillOverview", "vpc:DescribeEipAddresses",
    }  # fmt: skip


def test_a_box_whose_state_forbids_it_is_not_judged(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, CPU, locks=["security"])
    (stop,) = [p for p in aliyun.probe(HOME, boxes(aliyun)) if p.capability == "stop"]
    assert (stop.granted, stop.detail) == (None, f"{box.id} InstanceLockedForSecurity")


def test_an_endpoint_that_ignores_dry_runs_gets_none_that_would_stop(
    aliyun: AliyunConnection, server: AliyunServer
) -> None:
    server.ecs.add(HOME, CPU)
    found = boxes(aliyun)
    reads = server._services["Ecs"][0]
    listing = reads.DescribeInstances  # type: ignore[attr-defined]

    def deaf(call: Context, *, DryRun: bool = False) -> object:
        return listing(call)

    reads.DescribeInstances = deaf  # type: ignore[attr-defined]
    told = aliyun.probe(HOME, found)
    assert told[0].granted is None
    assert "ignored" in told[0].detail
    assert "StopInstance" not in server.actions()


def test_boxes_whose_gpus_nobody_measures_are_named(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """A10: without the agent the metrics are silent, which is not idle."""
    server.ecs.add(HOME, "ecs.gn6i-c4g1.xlarge")
    mute = [server.ecs.add(HOME, "ecs.gn6i-c4g1.xlarge", agent=status).id for status in ("", "stopped")]
    server.ecs.add(HOME, CPU, agent="")
    told = [p for p in aliyun.probe(HOME, boxes(aliyun)) if p.permission.endswith("AgentStatuses")]
    assert [(p.granted, p.detail) for p in told] == [(True, f"no agent runs on {', '.join(mute)}")]
    server.denied_actions.add("DescribeMonitoringAgentStatuses")
    told = [p for p in aliyun.probe(HOME, boxes(aliyun)) if p.permission.endswith("AgentStatuses")]
    assert [p.granted for p in told] == [False]


def test_after_one_silence_nothing_else_is_waited_for(server: AliyunServer) -> None:
    server.ecs.add(HOME, CPU)
    aliyun = connect(server, deadline=timedelta(seconds=1))
    found = boxes(aliyun)
    server.fail(Fault.SILENT)
    told = aliyun.probe(HOME, found)
    assert {p.granted for p in told} == {None}
    assert sum("no answer before" in p.detail for p in told) > 8
    aliyun.close()
