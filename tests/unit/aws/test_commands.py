"""Hooks through Systems Manager."""

from datetime import timedelta
from typing import Any

import pytest

from costguard.errors import InvalidState, Unavailable
from costguard.ports import CommandResult
from costguard.testing.cloud import Calls, Fault
from costguard_aws.connection import AwsConnection
from tests.fakes.aws.server import AwsServer
from tests.unit.aws.helpers import ref

BOX = ref("i-00000000000000001")
TEN = timedelta(minutes=10)


def test_the_run_time_is_not_the_time_to_start(aws: AwsConnection, server: AwsServer) -> None:
    """C30: TimeoutSeconds bounds the start, executionTimeout the run."""
    server.ssm.agents[BOX.id] = ("Online", "Linux")
    run_id = aws.run_command(BOX, "/opt/ckpt.sh", TEN, "token-1")
    (sent,) = server.ssm.sent
    assert sent["Parameters"] == {"commands": ["/opt/ckpt.sh"], "executionTimeout": ["600"]}
    assert sent["Comment"] == "costguard token-1"
    assert server.calls[-1].params["TimeoutSeconds"] == 60
    assert aws.command_result(BOX, run_id) == CommandResult("pending")


@pytest.mark.parametrize("platform", ["Linux", "MacOS", "Windows"])
@pytest.mark.parametrize("code", [0, 1, 75])
def test_the_exit_code_is_the_commands_own(aws: AwsConnection, server: AwsServer, platform: str, code: int) -> None:
    """C30: on Windows by PowerShell, which keeps a program's exit code to itself unless asked."""
    server.ssm.agents[BOX.id] = ("Online", platform)
    server.ssm.programs["ckpt --all"] = code
    run_id = aws.run_command(BOX, "ckpt --all", TEN, "token-1")
    assert aws.command_result(BOX, run_id) == CommandResult("finished", code)
    assert server.calls[-2].params["TimeoutSeconds"] == 60
    assert server.ssm.sent[0]["Parameters"]["executionTimeout"] == ["600"]


def test_an_error_in_powershell_ends_the_script(aws: AwsConnection, server: AwsServer) -> None:
    """Else `Copy-Item` of a file that is not there would go on to exit 0, which means saved."""
    server.ssm.agents[BOX.id] = ("Online", "Windows")
    aws.run_command(BOX, "Copy-Item C:\\ckpt D:\\", TEN, "token-1")
    assert server.ssm.sent[0]["Parameters"]["commands"] == [
        "$ErrorActionPreference = 'Stop'", "Copy-Item C:\\ckpt D:\\", "exit $LASTEXITCODE",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "agent", [None, ("ConnectionLost", "Linux"), ("Inactive", "Linux"), ("ConnectionLost", "Windows")]
)
def test_nothing_is_sent_to_an_agent_that_is_not_online(
    aws: AwsConnection, server: AwsServer, agent: tuple[str, str] | None
) -> None:
    """C30."""
    if agent:
        server.ssm.agents[BOX.id] = agent
    with pytest.raises(InvalidState):
        aws.run_command(BOX, "true", TEN, "t")
    assert server.mutations() == []


def test_a_lost_answer_is_not_sent_again(aws: AwsConnection, server: AwsServer) -> None:
    """C31."""
    server.ssm.agents[BOX.id] = ("Online", "Linux")
    server.fail(Fault.LOST_ANSWER, on=server.on(Calls.MUTATION))
    with pytest.raises(Unavailable):
        aws.run_command(BOX, "true", TEN, "t")
    assert len(server.ssm.sent) == 1


@pytest.mark.parametrize(
    ("invocation", "expected"),
    [
        ({"Status": "Pending"}, CommandResult("pending")),
        ({"Status": "Delayed"}, CommandResult("pending")),
        ({"Status": "InProgress", "ResponseCode": -1}, CommandResult("running")),
        ({"Status": "Cancelling"}, CommandResult("running")),
        ({"Status": "Success", "ResponseCode": 0}, CommandResult("finished", 0)),
        ({"Status": "Failed", "StatusDetails": "Failed", "ResponseCode": 75}, CommandResult("finished", 75)),
        (
            {"Status": "Failed", "ResponseCode": 1, "StandardOutputContent": "out ", "StandardErrorContent": "err"},
            CommandResult("finished", 1, "out err"),
        ),
        ({"Status": "Failed", "ResponseCode": -1}, CommandResult("failed")),
        ({"Status": "Cancelled"}, CommandResult("failed")),
        ({"Status": "TimedOut", "StatusDetails": "DeliveryTimedOut", "ResponseCode": -1}, CommandResult("unreachable")),
        ({"Status": "Failed", "StatusDetails": "Undeliverable"}, CommandResult("unreachable")),
        (
            {"Status": "TimedOut", "StatusDetails": "ExecutionTimedOut", "ResponseCode": 137},
            CommandResult("timed_out", 137),
        ),
    ],
)
def test_results(aws: AwsConnection, server: AwsServer, invocation: dict[str, Any], expected: CommandResult) -> None:
    """C30: any exit code is an answer; what never ran is none."""
    run_id = "11111111-2222-3333-4444-555555555555"
    server.ssm.invocations[run_id] = invocation
    assert aws.command_result(BOX, run_id) == expected


def test_output_is_cut_between_characters(aws: AwsConnection, server: AwsServer) -> None:
    run_id = "11111111-2222-3333-4444-555555555555"
    server.ssm.invocations[run_id] = {"Status": "Success", "ResponseCode": 0, "StandardOutputContent": "保" * 2_000}
    assert aws.command_result(BOX, run_id).output == "保" * 1_365
