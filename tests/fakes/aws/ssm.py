"""Systems Manager Run Command: agents that are online or not, and invocations that take a moment to exist."""

from collections.abc import Mapping, Sequence
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.aws.codec import Refused


class SystemsManager:
    """`agents`: instance id → (ping status, platform). `invocations`: what GetCommandInvocation says, by command id."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.agents: dict[str, tuple[str, str]] = {}
        self.sent: list[Mapping[str, Any]] = []
        self.invocations: dict[str, dict[str, Any]] = {}

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
        if DocumentName != "AWS-RunShellScript" or not 30 <= TimeoutSeconds <= 2_592_000:
            raise Refused("ValidationException")
        if any(id not in self.agents for id in InstanceIds):
            raise Refused("InvalidInstanceId")
        self.sent.append({"InstanceIds": InstanceIds, "Parameters": Parameters, "Comment": Comment})
        return {"Command": {"CommandId": f"11111111-2222-3333-4444-{len(self.sent):012}"}}

    def GetCommandInvocation(self, region: str, CommandId: str, InstanceId: str, **_: Any) -> Mapping[str, Any]:
        if CommandId not in self.invocations:
            raise Refused("InvocationDoesNotExist")
        return {"CommandId": CommandId, "InstanceId": InstanceId, **self.invocations[CommandId]}
