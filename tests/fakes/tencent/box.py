"""One CVM instance: what its state does as time passes, and how DescribeInstances tells it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.fakes.tencent.types import known, number
from tests.fakes.tencent.wire import to_z

NOT_APPLICABLE = "NOT_APPLICABLE"
TRANSIENT = ("PENDING", "STARTING", "STOPPING", "REBOOTING", "TERMINATING")


_WAYS = {
    "PENDING": (timedelta(seconds=60), "RUNNING"),
    "STARTING": (timedelta(seconds=30), "RUNNING"),
    "REBOOTING": (timedelta(seconds=30), "RUNNING"),
    "TERMINATING": (timedelta(seconds=15), "GONE"),
}


@dataclass
class Box:
    """One instance. ``extra`` is merged into what DescribeInstances says.

    ``since`` is when the state was entered by a call; ``stopping_into`` the StopChargingMode that this stop will have;
    ``fails``: the transition under way will not succeed; ``deaf``: a soft stop fails in the end;
    ``reclaim_at`` when the market takes a spot box; ``agent``: the monitor's; ``tat``: Online, Offline or "" for none.
    """

    id: str
    region: str
    zone: str
    type: str
    state: str
    tags: dict[str, str]
    created: datetime
    serial: int = 0
    name: str = "box"
    charge: str = "POSTPAID_BY_HOUR"
    restrict: str = "NORMAL"
    isolated_source: str = "NOTISOLATED"
    stop_charging: str = NOT_APPLICABLE
    stopping_into: str = NOT_APPLICABLE
    expires: datetime | None = None
    renew: str = "NOTIFY_AND_MANUAL_RENEW"
    protected: bool = False
    local_data_disk: bool = False
    data_disks: int = 1
    public_ip: str = ""
    eip: bool = False
    classic: bool = False
    supported: bool = True
    operation: str = "RunInstances"
    operation_state: str = "SUCCESS"
    operation_request: str = ""
    operation_error: str = ""
    reclaim_at: datetime | None = None
    deaf: bool = False
    fails: bool = False
    agent: bool = True
    tat: str = "Online"
    extra: dict[str, Any] = field(default_factory=dict)
    since: datetime | None = None

    def takes(self) -> tuple[timedelta, str] | None:
        """How long the transition under way takes, and where it ends."""
        if self.state == "STOPPING":
            return timedelta(seconds=20 + self.serial % 31), "STOPPED"
        return _WAYS.get(self.state)

    def begin(self, state: str, operation: str, request_id: str, now: datetime, fails: bool = False) -> None:
        """A call sets out for another state; asynchronous, as all of them are."""
        self.state, self.since, self.fails = state, now, fails
        self.operation, self.operation_state, self.operation_request = operation, "OPERATING", request_id
        self.operation_error = ""
        self.stop_charging = NOT_APPLICABLE

    def ripen(self, now: datetime) -> None:
        """The transition under way ends when its time has come."""
        way = self.takes()
        if way is None or self.since is None or now < self.since + way[0]:
            return
        back = {"STOPPING": "RUNNING", "STARTING": "STOPPED"}.get(self.state, self.state)
        self.state = back if self.fails else way[1]
        self.since = None
        self.operation_state = "FAILED" if self.fails else "SUCCESS"
        self.operation_error = "The operation timed out in the guest." if self.fails else ""
        self.stop_charging = self.stopping_into if self.state == "STOPPED" else NOT_APPLICABLE
        if self.stop_charging == "STOP_CHARGING" and not self.eip:
            self.public_ip = ""

    def is_gone(self, now: datetime) -> bool:
        return self.state == "GONE" or (self.reclaim_at is not None and now >= self.reclaim_at)

    def may_stop_charging(self) -> bool:
        """Hourly postpaid, system and data disks in the cloud."""
        return self.charge == "POSTPAID_BY_HOUR" and not known(self.type).local_disk and not self.local_data_disk

    def described(self) -> dict[str, Any]:
        kind = known(self.type)
        disk = "LOCAL_SSD" if kind.local_disk else "CLOUD_PREMIUM"
        data = "LOCAL_NVME" if self.local_data_disk else "CLOUD_SSD"
        found: dict[str, Any] = {
            "Placement": {"Zone": self.zone, "ProjectId": 0},
            "InstanceId": self.id,
            "InstanceType": self.type,
            "CPU": kind.cpu,
            "Memory": kind.memory,
            "RestrictState": self.restrict,
            "InstanceName": self.name,
            "InstanceChargeType": self.charge,
            "SystemDisk": {"DiskType": disk, "DiskId": f"disk-s{self.serial:07x}", "DiskSize": 50},
            "DataDisks": [
                {
                    "DiskType": data, "DiskId": f"disk-{n}{self.serial:07x}", "DiskSize": 100,
                    "DeleteWithInstance": False, "Encrypt": False,
                }
                for n in range(self.data_disks)
            ],
            "PrivateIpAddresses": [f"10.0.{self.serial // 250 % 250}.{self.serial % 250 + 2}"],
            "PublicIpAddresses": [self.public_ip] if self.public_ip else None,
            "IPv6Addresses": None,
            "InternetAccessible": {
                "InternetChargeType": "TRAFFIC_POSTPAID_BY_HOUR",
                "InternetMaxBandwidthOut": 5 if self.public_ip else 0,
            },
            "VirtualPrivateCloud": {"AsVpcGateway": False} if self.classic else {
                "VpcId": "vpc-2pnzs5rg", "SubnetId": "subnet-efu5hahd", "AsVpcGateway": False,
            },
            "ImageId": "img-487zeit5",
            "RenewFlag": self.renew if self.charge == "PREPAID" else None,
            "CreatedTime": self._time(self.created),
            "ExpiredTime": self._time(self.expires) if self.expires else None,
            "OsName": "Ubuntu Server 22.04 LTS 64bit",
            "SecurityGroupIds": ["sg-efil73jd"],
            "LoginSettings": {"KeyIds": []},
            "InstanceState": self.state,
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()],
            "StopChargingMode": self.stop_charging,
            "Uuid": f"e85f1388-0422-410d-8e50-{self.serial:012x}",
            "LatestOperation": self.operation,
            "LatestOperationState": self.operation_state,
            "LatestOperationRequestId": self.operation_request or None,
            "LatestOperationErrorMsg": self.operation_error or None,
            "DisasterRecoverGroupId": "",
            "CamRoleName": "",
            "HpcClusterId": "",
            "IsolatedSource": self.isolated_source,
            "DisableApiTermination": self.protected,
        }  # fmt: skip
        if kind.gpu:  # a CPU instance has no such member at all
            cards = number(kind.cards)
            found["GPUInfo"] = {
                "GPUCount": cards, "GPUId": [f"0x{n + 10:02x}" for n in range(max(1, int(cards)))],
                "GPUType": kind.gpu,
            }  # fmt: skip
        return {**found, **self.extra}

    def _time(self, at: datetime) -> str:
        """UTC in one of two spellings; both are seen."""
        return to_z(at) if self.serial % 3 else to_z(at).replace("Z", "+00:00")
