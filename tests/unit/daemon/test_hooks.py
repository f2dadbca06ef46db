"""Hooks: real commands and real web calls; exit codes, timeouts, output, and one run for each token."""

import os
import resource
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from costguard.daemon.hooks import BUSY, HookRunner, tail
from costguard.domain.action import Action
from costguard.domain.resource import ResourceRef
from costguard.errors import HookFailed
from costguard.ports import CommandResult, Commands
from costguard.rules.policy import Hook
from costguard.testing.builders import make_action


class Instance:
    """Counts what is run on instances."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, str, timedelta, str]] = []

    def run_command(self, ref: ResourceRef, command: str, timeout: timedelta, token: str) -> str:
        self.runs.append((ref.id, command, timeout, token))
        return f"run-{token}"

    def command_result(self, ref: ResourceRef, run_id: str) -> CommandResult:
        return CommandResult("finished", 0, f"{run_id} saved")


def runner(commands: Commands | None = None) -> HookRunner:
    return HookRunner(lambda ref: commands)


def hook(on: str, run: str, timeout: str = "20s") -> Hook:
    return Hook.model_validate({"on": on, "run": run, "timeout": timeout})


def outcome(hooks: HookRunner, what: Hook, token: str = "act-1-0") -> CommandResult:
    """The result of a hook once there is one."""
    action = make_action(hook_run=hooks.start(make_action(), what, token))
    return waited(lambda: hooks.result(action, what))


def waited(ask: Callable[[], CommandResult]) -> CommandResult:
    end = time.monotonic() + 30
    while (result := ask()).state == "running":
        assert time.monotonic() < end, "no result"
        time.sleep(0.01)
    return result


@pytest.mark.parametrize("code", [0, BUSY, 1])
def test_the_exit_code_and_both_outputs_of_a_command_are_kept(code: int) -> None:
    result = outcome(runner(), hook("daemon", f"sh -c 'echo out; echo err >&2; exit {code}'"))
    assert (result.state, result.exit_code) == ("finished", code)
    assert sorted(result.output.split()) == ["err", "out"]


def test_a_command_knows_what_it_is_about_and_no_secret_of_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALIYUN_SK", "very-secret")
    output = outcome(runner(), hook("daemon", "env")).output
    assert "COSTGUARD_ACTION=act-1\n" in output
    assert "COSTGUARD_ID=i-1\n" in output
    assert "COSTGUARD_RUN=act-1-0\n" in output
    assert "very-secret" not in output


def test_a_command_that_takes_too_long_times_out_and_keeps_what_it_said() -> None:
    began = time.monotonic()
    result = outcome(runner(), hook("daemon", "sh -c 'echo begun; exec sleep 60'", "1s"))
    assert (result.state, result.exit_code) == ("timed_out", None)
    assert result.output == "begun\n"
    assert time.monotonic() - began < 20


def test_a_command_that_takes_too_long_ends_with_all_that_it_started(tmp_path: Path) -> None:
    """C30: half a checkpoint must not go on beside the stop."""
    file = tmp_path / "pid"
    result = outcome(runner(), hook("daemon", f"sh -c 'sleep 60 & echo $! > {file}; wait'", "1s"))
    assert result.state == "timed_out"
    child = int(file.read_text())
    end = time.monotonic() + 10
    while _lives(child):
        assert time.monotonic() < end, "it runs on"
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    """Whether it runs: one that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_a_command_leaves_running_does_not_hold_its_result_up(tmp_path: Path) -> None:
    """The child still holds the pipe; the exit code is the command's own."""
    file = tmp_path / "pid"
    began = time.monotonic()
    result = outcome(runner(), hook("daemon", f"sh -c 'sleep 60 & echo $! > {file}; echo saved'", "20s"))
    os.kill(int(file.read_text()), 9)
    assert (result.state, result.exit_code, result.output) == ("finished", 0, "saved\n")
    assert time.monotonic() - began < 10


def test_a_flood_of_output_is_never_held_whole() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = outcome(runner(), hook("daemon", "sh -c 'head -c 300000000 /dev/zero; echo reason'"))
    assert (result.exit_code, result.output[-7:]) == (0, "reason\n")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "KiB more"


def test_bytes_that_are_no_text_are_kept_as_well_as_can_be() -> None:
    output = outcome(runner(), hook("daemon", r"printf '\377\376 caf\351 保存'")).output
    assert output == "\ufffd\ufffd caf\ufffd 保存"


def test_a_command_runs_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "save.sh").write_text("#!/bin/sh\npwd\n")
    (tmp_path / "save.sh").chmod(0o755)
    output = outcome(HookRunner(lambda ref: None, tmp_path), hook("daemon", "./save.sh")).output
    assert output.strip() == str(tmp_path.resolve())


def test_a_command_that_is_not_there_fails_with_its_reason() -> None:
    result = outcome(runner(), hook("daemon", "/nowhere/checkpoint.sh"))
    assert (result.state, result.exit_code) == ("failed", None)
    assert "checkpoint.sh" in result.output


def test_only_the_end_of_a_long_output_is_kept() -> None:
    result = outcome(runner(), hook("daemon", "sh -c 'yes line | head -c 20000; echo; echo reason'"))
    assert len(result.output) == 4096
    assert result.output.endswith("reason\n")
    assert tail("x" * 5000 + "end")[-3:] == "end"


def test_one_token_is_one_run(tmp_path: Path) -> None:
    file = tmp_path / "runs"
    hooks, what = runner(), hook("daemon", f"sh -c 'echo run >> {file}'")
    first = hooks.start(make_action(), what, "act-1-0")
    again = hooks.start(make_action(), what, "act-1-0")
    other = hooks.start(make_action(), what, "act-1-1")
    assert first == again != other
    for run in (first, other):
        waited(lambda run=run: hooks.result(make_action(hook_run=run), what))  # type: ignore[misc]
    assert file.read_text().count("run") == 2


def test_what_a_restart_lost_may_run_on_until_its_time_is_over() -> None:
    """C30: a stop with on_failure: stop must not come in the middle of a checkpoint that nobody hears of any more."""
    lost = runner().result(make_action(hook_run="daemon:act-1-0"), hook("daemon", "true"))
    assert (lost.state, lost.exit_code) == ("running", None)
    assert "restarted" in lost.output


@pytest.mark.parametrize(("status", "code"), [(200, 0), (204, 0), (409, BUSY), (500, 1), (404, 1)])
def test_a_web_hook_speaks_by_its_status(httpserver: HTTPServer, status: int, code: int) -> None:
    httpserver.expect_request("/ckpt", method="POST").respond_with_data("said" if status != 204 else "", status)
    result = outcome(runner(), hook("webhook", httpserver.url_for("/ckpt")))
    assert (result.state, result.exit_code) == ("finished", code)
    request = httpserver.log[0][0]
    body = request.get_json()
    assert request.headers["Idempotency-Key"] == body["run"] == "act-1-0"
    assert (body["action"], body["response"], body["subject"]["id"]) == ("act-1", "stop", "i-1")


def test_a_web_hook_without_an_answer_is_no_success() -> None:
    result = outcome(runner(), hook("webhook", "http://127.0.0.1:9/ckpt", "2s"))
    assert result.state in ("failed", "timed_out")
    assert result.exit_code is None


def test_a_hook_on_the_instance_goes_through_its_provider_with_the_token() -> None:
    instance = Instance()
    result = outcome(runner(instance), hook("instance", "/opt/ckpt.sh", "10m"))
    assert instance.runs == [("i-1", "/opt/ckpt.sh", timedelta(minutes=10), "act-1-0")]
    assert (result.state, result.exit_code, result.output) == ("finished", 0, "run-act-1-0 saved")


def test_a_provider_that_runs_no_commands_fails_the_hook() -> None:
    action: Action = make_action()
    with pytest.raises(HookFailed, match="cannot run commands"):
        runner().start(action, hook("instance", "/opt/ckpt.sh"), "act-1-0")
