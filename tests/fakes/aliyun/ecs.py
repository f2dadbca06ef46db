"""ECS's reads and its state, with pages, locks, sentinels and timers; what changes something is in ``power``.

Transitions end as the clock moves on; released instances are gone from listings at once, as on ECS.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.aliyun.box import STATES, Box
from tests.fakes.aliyun.rpc import Context, Json, Refused, by_number, by_token, to_seconds
from tests.fakes.aliyun.types import TYPES, describe

PAGE = 100
RECLAIM_NOTICE = timedelta(minutes=5)
_QUOTAS = ("postpaid-instance-vcpu-count", "spot-instance-vcpu-count")


class Fleet:
    """The instances of all regions. Tests set the switches; operations read them.

    ``short_pages``: pages hold at most so many, with a token; ``spot_stop_charging``: economical mode fits spot;
    ``economical_default``: the account has it on for stops that do not say; ``refuses_unfit``: the older behaviour,
    an error instead of a stop that goes on charging; ``sold_out``: types that cannot be started.
    """

    def __init__(self, clock: FakeClock, regions: Sequence[str]) -> None:
        self.clock, self.regions = clock, regions
        self.boxes: dict[str, Box] = {}
        self.events: list[dict[str, Any]] = []
        self.quotas: dict[str, tuple[int, int]] = dict.fromkeys(_QUOTAS, (2_000, 96))
        self.sold_out: set[str] = set()
        self.short_pages: int | None = None
        self.spot_stop_charging = True
        self.economical_default = False
        self.refuses_unfit = False
        self._made = 0

    def add(self, region: str, type: str, **fields: Any) -> Box:
        """Running for five hours, unless said otherwise."""
        self._made += 1
        ago = self.clock.now() - timedelta(hours=5)
        known: dict[str, Any] = {"state": "Running", "tags": {}, "created": ago, "started": ago, **fields}
        if known["state"] == "Stopped" and "stopped_mode" not in known and known.get("charge") != "PrePaid":
            known["stopped_mode"] = "KeepCharging"
        if known["state"] in ("Pending", "Starting", "Stopping"):
            known.setdefault("since", self.clock.now())
        box = Box(f"i-bp{self._made:018x}", region, type, serial=self._made, **known)
        self.boxes[box.id] = box
        return box

    def here(self, region: str) -> list[Box]:
        """The region's boxes as they are now."""
        self.ripen()
        return [box for box in self.boxes.values() if box.region == region]

    def box(self, region: str, id: str, missing: str = "InvalidInstanceId.NotFound") -> Box:
        """Raises Refused for an id that is not one of this region's."""
        self.ripen()
        box = self.boxes.get(id)
        if box is None or box.region != region:
            raise Refused(missing)
        return box

    def ripen(self) -> None:
        now = self.clock.now()
        for box in list(self.boxes.values()):
            box.ripen(now)
            if box.gone(now):
                del self.boxes[box.id]

    def settle(self) -> None:
        """Moves the clock until no transition is under way."""
        self.ripen()
        while spans := [way[0] for box in self.boxes.values() if box.since and (way := box.takes())]:
            self.clock.advance(max(spans))
            self.ripen()

    def reclaim(self, id: str) -> None:
        """The market takes a spot box back: the lock and the system event now, the box in five minutes."""
        box = self.boxes[id]
        box.locks.append("Recycling")
        box.reclaim_at = self.clock.now() + RECLAIM_NOTICE
        self.event(box, "Instance:PreemptibleInstanceInterruption", box.reclaim_at)

    def event(self, box: Box, kind: str, at: datetime, status: str = "Scheduled") -> None:
        """A system event such as ``SystemMaintenance.Reboot``."""
        self.events.append(
            {
                "EventId": f"e-bp{len(self.events) + 1:018x}",
                "EventType": {"Code": 1, "Name": kind},
                "EventCycleStatus": {"Code": 24, "Name": status},
                "InstanceId": box.id,
                "NotBefore": to_seconds(at),
                "EventPublishTime": to_seconds(self.clock.now()),
                "RegionId": box.region,
            }
        )


class EcsReads:
    """Operations of version 2014-05-26 that change nothing."""

    def __init__(self, fleet: Fleet, endpoint: Callable[[str], str]) -> None:
        self._fleet, self._endpoint = fleet, endpoint

    def DescribeRegions(
        self, call: Context, *, AcceptLanguage: str = "zh-CN", ResourceType: str = "", InstanceChargeType: str = ""
    ) -> Mapping[str, Any]:
        return {
            "Regions": {
                "Region": [
                    {"RegionId": r, "RegionEndpoint": self._endpoint(r), "LocalName": LOCAL_NAMES.get(r, r)}
                    for r in self._fleet.regions
                ]
            }
        }

    def DescribeInstances(
        self,
        call: Context,
        *,
        InstanceIds: Json | None = None,
        Status: str = "",
        InstanceChargeType: str = "",
        InstanceType: str = "",
        InstanceName: str = "",
        ZoneId: str = "",
        LockReason: str = "",
        ResourceGroupId: str = "",
        Tag: Sequence[Mapping[str, str]] = (),
        MaxResults: int | None = None,
        NextToken: str = "",
        PageNumber: int = 1,
        PageSize: int = 10,
        DryRun: bool = False,
    ) -> Mapping[str, Any]:
        """Ids that do not exist are left out, not refused."""
        if DryRun:
            raise Refused("DryRunOperation")
        boxes = self._fleet.here(call.region)
        if InstanceIds is not None:
            wanted = set(read_ids(InstanceIds))
            boxes = [box for box in boxes if box.id in wanted]
        if Status and Status not in STATES:
            raise Refused("InvalidStatus.NotFound")
        if InstanceChargeType not in ("", "PrePaid", "PostPaid"):
            raise Refused("InvalidInstanceChargeType.NotFound")
        boxes = [
            box
            for box in boxes
            if Status in ("", box.state)
            and InstanceChargeType in ("", box.charge)
            and InstanceType in ("", box.type)
            and InstanceName in ("", box.name)
            and ZoneId in ("", f"{box.region}-h")
            and LockReason in ("", *box.locks)
            and not ResourceGroupId
            and _matches(box.tags, Tag)
        ]
        if MaxResults is not None or NextToken:
            size = min(max(MaxResults or 10, 10), PAGE)
            page, token = by_token(boxes, NextToken, size, call.paging, self._fleet.short_pages)
            figures = {"NextToken": token, "TotalCount": 0, "PageNumber": 0, "PageSize": 0}
        else:
            page = by_number(boxes, PageNumber, PageSize, PAGE)
            figures = {"NextToken": "", "TotalCount": len(boxes), "PageNumber": PageNumber, "PageSize": PageSize}
        return {"Instances": {"Instance": [box.described() for box in page]}, **figures}

    def DescribeInstanceStatus(
        self, call: Context, *, InstanceId: Sequence[str] = (), PageNumber: int = 1, PageSize: int = 10
    ) -> Mapping[str, Any]:
        boxes = [box for box in self._fleet.here(call.region) if not InstanceId or box.id in InstanceId]
        page = by_number(boxes, PageNumber, PageSize, 50)
        told = [{"InstanceId": box.id, "Status": box.state} for box in page]
        return {"InstanceStatuses": {"InstanceStatus": told}, "TotalCount": len(boxes), "PageNumber": PageNumber}

    def DescribeInstanceTypes(
        self,
        call: Context,
        *,
        InstanceTypes: Sequence[str] = (),
        InstanceTypeFamily: str = "",
        MinimumGPUAmount: int = 0,
        GPUSpec: str = "",
        MaxResults: int = 1_600,
        NextToken: str = "",
    ) -> Mapping[str, Any]:
        if len(InstanceTypes) > 10 or not 1 <= MaxResults <= 1_600:
            raise Refused("InvalidParameter")
        found = [
            kind
            for kind in map(describe, TYPES)
            if (not InstanceTypes or kind["InstanceTypeId"] in InstanceTypes)
            and InstanceTypeFamily in ("", kind["InstanceTypeFamily"])
            and kind["GPUAmount"] >= MinimumGPUAmount
            and GPUSpec.lower() in kind["GPUSpec"].lower()
        ]
        page, token = by_token(found, NextToken, MaxResults)
        return {"InstanceTypes": {"InstanceType": page}, "NextToken": token}

    def DescribeInstanceAutoRenewAttribute(
        self, call: Context, *, InstanceId: str = "", PageNumber: str = "1", PageSize: str = "50"
    ) -> Mapping[str, Any]:
        """Ids in one text with commas. Only subscriptions have the attribute."""
        wanted = {id for id in InstanceId.split(",") if id}
        found = [
            {
                "InstanceId": box.id,
                "AutoRenewEnabled": box.renews,
                "RenewalStatus": "AutoRenewal" if box.renews else "Normal",
                "Duration": 1 if box.renews else 0,
                "PeriodUnit": "Month",
            }
            for box in self._fleet.here(call.region)
            if box.charge == "PrePaid" and (not wanted or box.id in wanted)
        ]
        page = by_number(found, int(PageNumber), int(PageSize), PAGE)
        return {"InstanceRenewAttributes": {"InstanceRenewAttribute": page}, "TotalCount": len(found)}

    def DescribeInstanceHistoryEvents(
        self,
        call: Context,
        *,
        InstanceId: str = "",
        EventType: str = "",
        InstanceEventType: Sequence[str] = (),
        InstanceEventCycleStatus: Sequence[str] = (),
        PageNumber: int = 1,
        PageSize: int = 10,
        MaxResults: int | None = None,
        NextToken: str = "",
    ) -> Mapping[str, Any]:
        kinds = {EventType, *InstanceEventType} - {""}
        found = [
            {name: value for name, value in event.items() if name != "RegionId"}
            for event in self._fleet.events
            if event["RegionId"] == call.region
            and InstanceId in ("", event["InstanceId"])
            and (not kinds or event["EventType"]["Name"] in kinds)
            and (not InstanceEventCycleStatus or event["EventCycleStatus"]["Name"] in InstanceEventCycleStatus)
        ]
        if MaxResults is not None or NextToken:
            page, token = by_token(found, NextToken, min(max(MaxResults or 10, 1), PAGE))
            return {"InstanceSystemEventSet": {"InstanceSystemEventType": page}, "NextToken": token}
        page = by_number(found, PageNumber, PageSize, PAGE)
        return {
            "InstanceSystemEventSet": {"InstanceSystemEventType": page},
            "TotalCount": len(found),
            "PageNumber": PageNumber,
            "PageSize": PageSize,
        }

    def DescribeAccountAttributes(
        self, call: Context, *, AttributeName: Sequence[str] = (), ZoneId: str = ""
    ) -> Mapping[str, Any]:
        if len(AttributeName) > 8:
            raise Refused("InvalidParameter")
        values = {
            f"{sort}-{name}": figures[n]
            for name, figures in self._fleet.quotas.items()
            for n, sort in enumerate(("max", "used"))
        }
        items = [
            {"AttributeName": name, "AttributeValues": {"ValueItem": [{"Value": str(value)}]}}
            for name, value in values.items()
            if not AttributeName or name in AttributeName
        ]
        return {"AccountAttributeItems": {"AccountAttributeItem": items}}


LOCAL_NAMES = {
    "cn-beijing": "华北2（北京）", "cn-hangzhou": "华东1（杭州）", "cn-wulanchabu": "华北6（乌兰察布）",
    "cn-shanghai": "华东2（上海）", "ap-southeast-1": "新加坡",
}  # fmt: skip


def read_ids(given: Any) -> list[str]:
    """A JSON list of at most 100 texts. Raises Refused."""
    if not isinstance(given, list) or not all(isinstance(id, str) for id in given) or len(given) > PAGE:
        raise Refused("InvalidInstanceIds.Malformed")
    return given


def _matches(tags: Mapping[str, str], wanted: Sequence[Mapping[str, str]]) -> bool:
    return all(tag["Key"] in tags and tag.get("Value") in (None, tags[tag["Key"]]) for tag in wanted)
