"""Rights that reads prove, and what is said of the others."""

from datetime import timedelta

from costguard.domain.resource import Kind
from costguard.testing.cloud import Fault
from costguard_tencent.connection import TencentConnection
from tests.fakes.tencent.server import MUTATIONS, TencentServer
from tests.unit.tencent.helpers import CPU, EIGHT, HOME, connect


def test_every_read_is_proved_and_nothing_changes(server: TencentServer) -> None:
    """C32."""
    tencent = connect(server, allow_release=True)
    box = server.cvm.add(HOME, EIGHT, tags={"costguard": "managed"})
    server.cvm.add(HOME, CPU, state="STOPPED")
    boxes = list(tencent.list(Kind.VM, HOME))
    answers = tencent.probe(HOME, boxes)
    unproved = {answer.permission for answer in answers if answer.granted is None}
    assert unproved == {
        "cvm:StopInstances", "cvm:StartInstances", "tag:TagResources", "tat:RunCommand", "cvm:TerminateInstances",
        "cvm:ImportInstancesActionTimer",
    }  # fmt: skip
    assert all(answer.granted is not False for answer in answers)
    assert "1 of 2 boxes carry the tag costguard=managed" in answers[-1].detail
    assert not set(server.actions()) & set(MUTATIONS)
    assert box.state == "RUNNING"


def test_what_is_refused_is_named(server: TencentServer, tencent: TencentConnection) -> None:
    server.denied_actions |= {"DescribeBillDetail", "GetMonitorData", "DescribeAddresses"}
    server.cvm.add(HOME, EIGHT)
    answers = tencent.probe(HOME, list(tencent.list(Kind.VM, HOME)))
    assert {answer.permission for answer in answers if answer.granted is False} == {
        "finance:DescribeBillDetail", "monitor:GetMonitorData", "cvm:DescribeAddresses",
    }  # fmt: skip


def test_boxes_without_an_agent_are_named(server: TencentServer, tencent: TencentConnection) -> None:
    deaf = server.cvm.add(HOME, EIGHT, tat="")
    server.cvm.add(HOME, EIGHT)
    answers = tencent.probe(HOME, list(tencent.list(Kind.VM, HOME)))
    (agents,) = [answer for answer in answers if answer.permission == "tat:DescribeAutomationAgentStatus"]
    assert agents.detail == f"no agent on {deaf.id}"


def test_after_one_silence_nothing_else_is_tried(server: TencentServer) -> None:
    tencent = connect(server, deadline=timedelta(seconds=1))
    server.fail(Fault.SILENT)
    answers = tencent.probe(HOME, [])
    assert all(answer.granted is None and answer.detail for answer in answers)
    assert server.request_count() <= 2
