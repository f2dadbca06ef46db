"""Cloud Assistant."""

from datetime import timedelta

import pytest

from costguard.errors import InvalidState, Unsupported
from costguard.ports import CommandResult
from costguard_aliyun.commands import _read
from costguard_aliyun.connection import AliyunConnection
from tests.fakes.aliyun.assistant import Script
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.aliyun.helpers import HOME, ref

CPU = "ecs.g7.xlarge"
MINUTE = timedelta(minutes=1)


def test_a_command_runs_and_tells_how_it_ended(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """C30: 75 is busy, and any exit code is an answer."""
    box = server.ecs.add(HOME, CPU)
    server.assistant.scripts[box.id] = Script(timedelta(seconds=20), 75, "忙" * 2_000)
    run = aliyun.run_command(ref(box.id), "save 'état'; exit 75", MINUTE, "token-1")
    assert aliyun.command_result(ref(box.id), run) == CommandResult("running")
    server.clock.advance(timedelta(seconds=30))
    result = aliyun.command_result(ref(box.id), run)
    assert (result.state, result.exit_code) == ("finished", 75)
    assert len(result.output.encode()) <= 4_096
    assert set(result.output) == {"忙"}
    assert [(one.command, one.timeout) for one in server.assistant.runs] == [("save 'état'; exit 75", MINUTE)]


def test_the_same_token_is_the_same_run(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, CPU)
    runs = {aliyun.run_command(ref(box.id), "true", MINUTE, "token-1") for _ in range(2)}
    assert len(runs) == len(server.assistant.runs) == 1


def test_a_guest_that_does_not_listen_is_told_before(aliyun: AliyunConnection, server: AliyunServer) -> None:
    for box in (server.ecs.add(HOME, CPU, assistant=False), server.ecs.add(HOME, CPU, state="Stopped")):
        with pytest.raises(InvalidState):
            aliyun.run_command(ref(box.id), "true", MINUTE, "t")
    with pytest.raises(InvalidState):
        aliyun.run_command(ref("i-nobody"), "true", MINUTE, "t")
    assert server.mutations() == []


def test_windows_is_not_supported(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, CPU)
    ask = server._services["Ecs"][4]
    told = {
        "InstanceCloudAssistantStatus": [{"InstanceId": box.id, "CloudAssistantStatus": "true", "OSType": "Windows"}]
    }
    ask.DescribeCloudAssistantStatus = lambda call, *, InstanceId: {"InstanceCloudAssistantStatusSet": told}  # type: ignore[attr-defined]
    with pytest.raises(Unsupported):
        aliyun.run_command(ref(box.id), "true", MINUTE, "t")


def test_a_run_that_takes_too_long(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, CPU)
    server.assistant.scripts[box.id] = Script(timedelta(hours=1))
    run = aliyun.run_command(ref(box.id), "sleep 3600", timedelta(seconds=3), "t")
    server.clock.advance(MINUTE)
    assert aliyun.command_result(ref(box.id), run).state == "timed_out"


def test_a_run_that_nobody_knows_is_pending(aliyun: AliyunConnection) -> None:
    assert aliyun.command_result(ref("i-1"), "t-0") == CommandResult("pending")


@pytest.mark.parametrize(
    ("status", "code", "exit_code", "state"),
    [
        ("Pending", "", None, "pending"),
        ("Scheduled", "", None, "pending"),
        ("Stopping", "", None, "running"),
        ("Success", "", 0, "finished"),
        ("Failed", "ExitCodeNonzero", 1, "finished"),
        ("Failed", "DeliveryTimeout", None, "unreachable"),
        ("Failed", "ClientNotRunning", None, "unreachable"),
        ("Failed", "InstanceReleased", None, "unreachable"),
        ("Error", "", None, "failed"),
        ("Cancelled", "", None, "failed"),
        ("Terminated", "", None, "failed"),
        ("NewWord", "", None, "failed"),
    ],
)
def test_each_state_is_one_of_ours(status: str, code: str, exit_code: int | None, state: str) -> None:
    told = {"InvocationStatus": status, "ErrorCode": code, "ExitCode": exit_code, "Output": "x"}
    assert _read(told) == CommandResult(state, exit_code, "x")
