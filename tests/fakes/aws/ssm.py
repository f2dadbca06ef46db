"""Systems Manager Run Command: agents that are online or not, and invocations that take a moment to exist."""

from collections.abc import Mapping, Sequence
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.aws.codec import Refused

_DOCUMENTS = {"AWS-RunShellScript": {"Linux", "MacOS"}, "AWS-RunPowerShellScript": {"Windows"}}


class SystemsManager:
    """`agents`: instance id → (ping status, platform). `invocations`: what GetCommandInvocation says, by command id.

    `programs`: the exit code of each program that boxes know; a command that names one runs at once.
    """

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.agents: dict[str, tuple[str, str]] = {}
        self.sent: list[Mapping[str, Any]] = []
        self.invocations: dict[str, dict[str, Any]] = {}
        self.programs: dict[str, int] = {}

    def DescribeInstanceInformation(
        self, region: str, Filters: Sequence[Mapping[str, Any]] = (), MaxResults: int = 10, **_: Any
    ) -> Mapping[str, Any]:
        if not 5 <= MaxResults <= 50:
            raise Refused("ValidationException")
        wanted = {value for f in Filters if f["Key"] == "InstanceIds" for value in f["Values"]}
        agents = [
            {"InstanceId": id, "PingStatus": status, "PlatformType": platform}
            for id, (status, platform) in self.agents.items()
            if id in wanted or not Filters
        ]
        return {"InstanceInformationList": agents}

    def SendCommand(
        self,
        region: str,
        InstanceIds: Sequence[str],
        DocumentName: str,
        TimeoutSeconds: int,
        Comment: str,
        Parameters: Mapping[str, Sequence[str]],
        **_: Any,
    ) -> Mapping[str, Any]:
        if DocumentName not in _DOCUMENTS:
            raise Refused("InvalidDocument")
        if not 30 <= TimeoutSeconds <= 2_592_000:
            raise Refused("ValidationException")
        if any(id not in self.agents for id in InstanceIds):
            raise Refused("InvalidInstanceId")
        if any(self.agents[id][1] not in _DOCUMENTS[DocumentName] for id in InstanceIds):
            raise Refused("UnsupportedPlatformType")
        self.sent.append({"InstanceIds": InstanceIds, "Parameters": Parameters, "Comment": Comment})
        id = f"11111111-2222-3333-4444-{len(self.sent):012}"
        code = self._run(DocumentName, Parameters["commands"])
        if code is not None:
            status = "Success" if code == 0 else "Failed"
            self.invocations[id] = {"Status": status, "StatusDetails": status, "ResponseCode": code}
        return {"Command": {"CommandId": id}}

    def _run(self, document: str, lines: Sequence[str]) -> int | None:
        """The exit code as the agent sees it; None where a line is unknown here.

        A shell ends with its last command's. PowerShell ends with 0 whatever its programs said, unless it is told to
        exit with theirs.
        """
        told = 0
        for line in lines:
            if line in self.programs:
                told = self.programs[line]
            elif line == "exit $LASTEXITCODE":
                return told
            elif line != "$ErrorActionPreference = 'Stop'":
                return None
        return told if document == "AWS-RunShellScript" else 0

    def GetCommandInvocation(self, region: str, CommandId: str, InstanceId: str, **_: Any) -> Mapping[str, Any]:
        if CommandId not in self.invocations:
            raise Refused("InvocationDoesNotExist")
        return {"CommandId": CommandId, "InstanceId": InstanceId, **self.invocations[CommandId]}
