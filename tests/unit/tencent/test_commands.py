"""Hooks through TAT."""

from datetime import timedelta

import pytest

from costguard.errors import InvalidState, NotFound, ProviderError, Unavailable, Unsupported
from costguard.testing.cloud import Fault
from costguard_tencent.commands import OUTPUT_BYTES, _read
from costguard_tencent.connection import TencentConnection
from tests.fakes.server import Answer
from tests.fakes.tencent.server import TencentServer
from tests.fakes.tencent.tat import Script
from tests.unit.tencent.helpers import CPU, HOME, ref

MINUTE = timedelta(minutes=1)
COMMAND = "/opt/ckpt.sh --to '中文' {{not-a-parameter}}\nexit 0"


def test_a_command_runs_as_it_was_written(server: TencentServer, tencent: TencentConnection) -> None:
    box = server.cvm.add(HOME, CPU)
    server.tat.scripts[box.id] = Script(exit_code=75, output="still training 训练")
    run = tencent.run_command(ref(box.id), COMMAND, 10 * MINUTE, "t")
    (accepted,) = server.tat.runs
    assert (accepted.command, accepted.timeout, accepted.user) == (COMMAND, 10 * MINUTE, "root")
    states = []
    for _ in range(3):
        result = tencent.command_result(ref(box.id), run)
        states.append(result.state)
        server.clock.advance(timedelta(seconds=10))
    assert states == ["pending", "running", "finished"]
    assert (result.exit_code, result.output) == (75, "still training 训练")


def test_a_command_that_takes_too_long(server: TencentServer, tencent: TencentConnection) -> None:
    """C30."""
    box = server.cvm.add(HOME, CPU)
    server.tat.scripts[box.id] = Script(takes=timedelta(hours=1))
    run = tencent.run_command(ref(box.id), "sleep 3600", MINUTE, "t")
    server.clock.advance(2 * MINUTE)
    result = tencent.command_result(ref(box.id), run)
    assert (result.state, result.exit_code) == ("timed_out", None)


def test_output_is_cut(server: TencentServer, tencent: TencentConnection) -> None:
    box = server.cvm.add(HOME, CPU)
    server.tat.scripts[box.id] = Script(output="训" * 3_000)
    run = tencent.run_command(ref(box.id), "x", MINUTE, "t")
    server.clock.advance(MINUTE)
    output = tencent.command_result(ref(box.id), run).output
    assert 0 < len(output.encode()) <= OUTPUT_BYTES
    assert set(output) == {"训"}


@pytest.mark.parametrize("agent", ["", "Offline"])
def test_without_an_agent_nothing_is_sent(server: TencentServer, tencent: TencentConnection, agent: str) -> None:
    box = server.cvm.add(HOME, CPU, tat=agent)
    with pytest.raises(InvalidState, match="not online"):
        tencent.run_command(ref(box.id), "x", MINUTE, "t")
    assert server.mutations() == []


def test_windows_has_no_hooks(server: TencentServer, tencent: TencentConnection) -> None:
    body = (
        b'{"Response": {"AutomationAgentSet": [{"InstanceId": "ins-1", "AgentStatus": "Online", "Environment":'
        b' "Windows"}], "RequestId": "r"}}'
    )
    server.answer_next(Answer(200, body))
    with pytest.raises(Unsupported, match="Linux"):
        tencent.run_command(ref("ins-1"), "x", MINUTE, "t")


def test_a_box_that_goes_between(server: TencentServer, tencent: TencentConnection) -> None:
    box = server.cvm.add(HOME, CPU)
    for code, kind in (
        ("ResourceUnavailable.InstanceStateNotRunning", InvalidState),
        ("ResourceNotFound.InstanceNotFound", NotFound),
    ):
        server.refusals["RunCommand"] = code
        with pytest.raises(kind):
            tencent.run_command(ref(box.id), "x", MINUTE, "t")


def test_a_lost_answer_runs_once(server: TencentServer, tencent: TencentConnection) -> None:
    """C31: TAT has no token, so that a second call would be a second run."""
    box = server.cvm.add(HOME, CPU)
    server.fail(Fault.LOST_ANSWER, on=server.action("RunCommand"))
    with pytest.raises(Unavailable):
        tencent.run_command(ref(box.id), "x", MINUTE, "t")
    assert len(server.tat.runs) == 1


def test_an_answer_without_an_invocation_is_an_error(server: TencentServer, tencent: TencentConnection) -> None:
    box = server.cvm.add(HOME, CPU)
    server.hollow.add("RunCommand")
    with pytest.raises(ProviderError):
        tencent.run_command(ref(box.id), "x", MINUTE, "t")


@pytest.mark.parametrize(
    ("status", "exit_code", "state"),
    [
        ("PENDING", None, "pending"),
        ("DELIVER_DELAYED", -1, "pending"),
        ("RUNNING", -1, "running"),
        ("CANCELLING", -1, "running"),
        ("SUCCESS", 0, "finished"),
        ("FAILED", 3, "finished"),
        ("FAILED", None, "failed"),
        ("START_FAILED", -1, "failed"),
        ("CANCELLED", -1, "failed"),
        ("TERMINATED", -1, "failed"),
        ("TIMEOUT", -1, "timed_out"),
        ("TASK_TIMEOUT", -1, "unreachable"),
        ("DELIVER_FAILED", -1, "unreachable"),
        ("SOMETHING_NEW", -1, "running"),
    ],
)
def test_each_word_of_a_task(status: str, exit_code: int | None, state: str) -> None:
    """A word that nobody knows is no end: the caller's own time limit is."""
    result = _read({"TaskStatus": status, "TaskResult": {"ExitCode": exit_code, "Output": "!"}})
    assert result.state == state
    assert (result.exit_code is not None) == (state == "finished")
