"""One EC2 instance: what its state does as time passes, and how DescribeInstances tells it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

TAKES = {
    "pending": (timedelta(seconds=20), "running"),
    "stopping": (timedelta(seconds=40), "stopped"),
    "shutting-down": (timedelta(seconds=30), "terminated"),
}
_SHOWN_FOR = timedelta(hours=1)
_CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}


@dataclass
class Box:
    """One instance. `extra` is merged into what DescribeInstances says; a None in it takes the field away.

    `hibernation`: configured | not ready | fails (EC2 shuts it down instead).
    `since` is when the state was entered by a call; `interrupted`: EC2 itself stopped this spot box.
    """

    id: str
    region: str
    type: str
    state: str
    tags: dict[str, str]
    created: datetime
    launched: datetime
    lifecycle: str | None = None
    spot_type: str | None = None
    spot_state: str = "active"
    spot_price: str = "1.250000"
    protected: bool = False
    undeletable: bool = False
    interrupted: bool = False
    hibernation: str = ""
    group: str | None = None
    root: str = "ebs"
    reason: str = ""
    reason_code: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    since: datetime | None = None

    def enter(self, state: str, now: datetime) -> None:
        self.state, self.since = state, now

    def ripen(self, now: datetime) -> None:
        """The transition under way ends when its time has come."""
        span, end = TAKES.get(self.state, (timedelta(0), ""))
        if end and self.since is not None and now >= self.since + span:
            self.enter(end, self.since + span)

    def forgotten(self, now: datetime) -> bool:
        return self.state == "terminated" and self.since is not None and now >= self.since + _SHOWN_FOR

    @property
    def request(self) -> str | None:
        return self.id.replace("i-", "sir-", 1) if self.spot_type else None

    def described(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "InstanceId": self.id,
            "InstanceType": self.type,
            "ImageId": "ami-0abcdef1234567890",
            "State": {"Code": _CODES.get(self.state, 99), "Name": self.state},
            "LaunchTime": self.launched,
            "StateTransitionReason": self.reason,
            "Placement": {"AvailabilityZone": f"{self.region}a", "Tenancy": "default"},
            "RootDeviceType": self.root,
            "PlatformDetails": "Linux/UNIX",
            "NetworkInterfaces": [
                {
                    "Attachment": {
                        "DeviceIndex": 1,
                        "NetworkCardIndex": 0,
                        "AttachTime": self.created - timedelta(days=9),
                    }
                },
                {"Attachment": {"DeviceIndex": 0, "NetworkCardIndex": 0, "AttachTime": self.created}},
            ],
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()],
        }
        if self.lifecycle:
            found["InstanceLifecycle"] = self.lifecycle
        if self.hibernation:
            found["HibernationOptions"] = {"Configured": True}
        if self.request:
            found["SpotInstanceRequestId"] = self.request
        if self.reason_code:
            found["StateReason"] = {"Code": self.reason_code, "Message": "text"}
        found.update(self.extra)
        return {key: value for key, value in found.items() if value is not None}


def change(box: Box, before: str) -> Mapping[str, Any]:
    return {
        "InstanceId": box.id,
        "PreviousState": {"Code": _CODES.get(before, 99), "Name": before},
        "CurrentState": {"Code": _CODES.get(box.state, 99), "Name": box.state},
    }
