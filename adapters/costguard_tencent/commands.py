"""The Commands role: TAT (自动化助手). Its agent must be online before anything is sent."""

import base64
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from costguard.domain.resource import ResourceRef
from costguard.errors import InvalidState, Unsupported
from costguard.ports import CommandResult
from costguard_tencent.client import Api

OUTPUT_BYTES = 4_096
_LONGEST = 86_400  # seconds

# TaskStatus → ours, while nothing is decided and where it never ran.
_STATES = {
    "PENDING": "pending",
    "DELIVERING": "pending",
    "DELIVER_DELAYED": "pending",
    "RUNNING": "running",
    "CANCELLING": "running",
    "DELIVER_FAILED": "unreachable",
    "TASK_TIMEOUT": "unreachable",
    "TIMEOUT": "timed_out",
    "START_FAILED": "failed",
    "CANCELLED": "failed",
    "TERMINATED": "failed",
}


class CommandsRole:
    """Runs a shell command on an instance, as root in /root."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def run_command(self, ref: ResourceRef, command: str, timeout: timedelta, token: str) -> str:
        """The invocation's id. Raises InvalidState when TAT's agent is not online there, Unsupported for Windows.

        TAT takes no token: the same one again would be a second run.
        """
        api = self._api
        action = "DescribeAutomationAgentStatus"
        answer = api.read("tat", action, ref.region, InstanceIds=[ref.id])
        agents = api.items(answer, "AutomationAgentSet", api.call_of("tat", ref.region, action))
        agent: Mapping[str, Any] = next((a for a in agents if a.get("InstanceId") == ref.id), {})
        call = api.call_of("tat", ref.region, "RunCommand", mutates=True)
        if agent.get("Environment") == "Windows":
            raise call.failed(Unsupported, "hooks run on Linux only")
        if agent.get("AgentStatus") != "Online":
            raise call.failed(InvalidState, f"TAT's agent is not online on {ref.id}")
        sent = api.mutate(
            "tat", "RunCommand", ref.region, token,
            Content=base64.b64encode(command.encode()).decode(),
            InstanceIds=[ref.id],
            CommandType="SHELL",
            Timeout=min(_LONGEST, max(1, int(timeout.total_seconds()))),
        )  # fmt: skip
        return str(api.required(sent, "InvocationId", call))

    def command_result(self, ref: ResourceRef, run_id: str) -> CommandResult:
        """Any exit code is `finished`; a command that never ran is `unreachable`. Right after sending: pending."""
        action = "DescribeInvocationTasks"
        filters = [{"Name": "invocation-id", "Values": [run_id]}, {"Name": "instance-id", "Values": [ref.id]}]
        answer = self._api.read("tat", action, ref.region, Filters=filters, HideOutput=False)
        for task in self._api.items(answer, "InvocationTaskSet", self._api.call_of("tat", ref.region, action)):
            if task.get("InstanceId") == ref.id:
                return _read(task)
        return CommandResult("pending")


def _read(task: Mapping[str, Any]) -> CommandResult:
    status, result = str(task.get("TaskStatus") or ""), task.get("TaskResult") or {}
    output, exit_code = _output(result.get("Output")), result.get("ExitCode")
    exit_code = exit_code if isinstance(exit_code, int) and exit_code >= 0 else None
    if status in {"SUCCESS", "FAILED"}:
        return CommandResult("finished" if exit_code is not None else "failed", exit_code, output)
    return CommandResult(_STATES.get(status, "running"), None, output)


def _output(encoded: Any) -> str:
    try:
        return base64.b64decode(str(encoded or ""))[:OUTPUT_BYTES].decode(errors="ignore")
    except ValueError:
        return ""
