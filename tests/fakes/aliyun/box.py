"""One ECS instance: what its state does as time passes, and how DescribeInstances tells it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.fakes.aliyun.rpc import to_minutes
from tests.fakes.aliyun.types import family, known

NEVER = datetime(2099, 12, 31, 15, 59, tzinfo=UTC)  # what pay-as-you-go says: a minute before midnight in Beijing
INITIALIZING = timedelta(seconds=60)
NOT_APPLICABLE = "Not-applicable"
STATES = ("Pending", "Running", "Starting", "Stopping", "Stopped")


@dataclass
class Box:
    """One instance. ``extra`` is merged into what DescribeInstances says; a None in it takes the field away.

    ``since`` is when the state was entered by a call; ``stopping_into`` the StoppedMode that this stop will have;
    ``reclaim_at`` when a spot box goes; ``assistant`` and ``agent``: Cloud Assistant and CloudMonitor in the guest.
    """

    id: str
    region: str
    type: str
    state: str
    tags: dict[str, str]
    created: datetime
    started: datetime
    serial: int = 0
    name: str = "box"
    charge: str = "PostPaid"
    spot: str = "NoSpot"
    spot_limit: float = 0.0
    spot_duration: int = 0
    interruption: str = "Terminate"
    network: str = "vpc"
    protected: bool = False
    locks: list[str] = field(default_factory=list)
    stopped_mode: str = NOT_APPLICABLE
    stopping_into: str = NOT_APPLICABLE
    expires: datetime | None = None
    auto_release: datetime | None = None
    reclaim_at: datetime | None = None
    renews: bool = False
    public_ip: str = ""
    assistant: bool = True
    agent: str = "running"
    extra: dict[str, Any] = field(default_factory=dict)
    since: datetime | None = None

    def takes(self) -> tuple[timedelta, str] | None:
        """How long the transition under way takes, and where it ends."""
        return {
            "Pending": (timedelta(seconds=60), "Running"),
            "Starting": (timedelta(seconds=30), "Running"),
            "Stopping": (timedelta(seconds=30 + self.serial % 31), "Stopped"),
        }.get(self.state)

    def enter(self, state: str, now: datetime) -> None:
        self.state, self.since = state, now
        self.stopped_mode = self.stopping_into if state == "Stopped" else NOT_APPLICABLE
        if self.stopped_mode == "StopCharging":
            self.public_ip = ""

    def ripen(self, now: datetime) -> None:
        """The transition under way ends when its time has come."""
        way = self.takes()
        if way and self.since is not None and now >= self.since + way[0]:
            self.enter(way[1], self.since + way[0])
        if self.reclaim_at is not None and now >= self.reclaim_at and self.interruption == "Stop":
            self.stopping_into = "StopCharging"
            self.enter("Stopped", self.reclaim_at)
            self.reclaim_at, self.locks = None, [lock for lock in self.locks if lock != "Recycling"]

    def gone(self, now: datetime) -> bool:
        """Released by its own timer (deletion protection or not) or reclaimed by the market."""
        return any(at is not None and now >= at for at in (self.auto_release, self.reclaim_at))

    def fit_for_stop_charging(self, spot_fits: bool) -> bool:
        kind = known(self.type)
        plain = self.charge == "PostPaid" and self.network == "vpc"
        return plain and not kind.local_disks and not kind.persistent_memory and (self.spot == "NoSpot" or spot_fits)

    def described(self) -> dict[str, Any]:
        kind = known(self.type)
        found: dict[str, Any] = {
            "InstanceId": self.id,
            "InstanceName": self.name,
            "HostName": self.name,
            "Description": "",
            "RegionId": self.region,
            "ZoneId": f"{self.region}-h",
            "ClusterId": "",
            "ImageId": "ubuntu_22_04_x64_20G_alibase_20260101.vhd",
            "OSType": "linux",
            "OSName": "Ubuntu  22.04 64位",
            "InstanceType": self.type,
            "InstanceTypeFamily": family(self.type),
            "Cpu": kind.vcpus,
            "Memory": int(kind.memory_gib * 1024),
            "GPUAmount": kind.cards,
            "GPUSpec": kind.gpu,
            "Status": self.state,
            "StoppedMode": self.stopped_mode,
            "InstanceChargeType": self.charge,
            "SpotStrategy": self.spot,
            "SpotPriceLimit": self.spot_limit,
            "SpotDuration": self.spot_duration,
            "SpotInterruptionBehavior": self.interruption if self.spot != "NoSpot" else "",
            "CreationTime": to_minutes(self.created),
            "StartTime": to_minutes(self.started),
            "ExpiredTime": to_minutes(self.expires or NEVER),
            "AutoReleaseTime": to_minutes(self.auto_release) if self.auto_release else "",
            "DeletionProtection": self.protected,
            "Recyclable": False,
            "DeviceAvailable": True,
            "IoOptimized": True,
            "SaleCycle": "",
            "ResourceGroupId": "",
            "KeyPairName": "",
            "InstanceNetworkType": self.network,
            "InternetChargeType": "PayByTraffic",
            "InternetMaxBandwidthOut": 5 if self.public_ip else 0,
            "OperationLocks": {"LockReason": [{"LockReason": reason} for reason in self.locks]},
            "PublicIpAddress": {"IpAddress": [self.public_ip] if self.public_ip else []},
            "InnerIpAddress": {"IpAddress": ["10.1.2.3"] if self.network == "classic" else []},
            "EipAddress": {"AllocationId": "", "IpAddress": "", "InternetChargeType": ""},
            "SecurityGroupIds": {"SecurityGroupId": ["sg-bp67acfmxazb4p0000"]},
            "VpcAttributes": {
                "VpcId": "vpc-bp1" if self.network == "vpc" else "",
                "VSwitchId": "vsw-bp1" if self.network == "vpc" else "",
                "NatIpAddress": "",
                "PrivateIpAddress": {"IpAddress": ["192.168.0.7"] if self.network == "vpc" else []},
            },
        }
        if kind.local_disks:
            found |= {"LocalStorageAmount": kind.local_disks, "LocalStorageCapacity": kind.local_gib}
        if self.tags:  # an untagged instance has no such member at all
            found["Tags"] = tag_list(self.tags)
        found.update(self.extra)
        return {key: value for key, value in found.items() if value is not None}


def tag_list(tags: Mapping[str, str]) -> dict[str, Any]:
    """ECS's own form; other products say Key and Value."""
    return {"Tag": [{"TagKey": key, "TagValue": value} for key, value in tags.items()]}
