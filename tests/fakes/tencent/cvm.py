"""CVM's instances and reads: pages by offset that shift, newest first, and states that end as the clock moves on."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.tencent.box import Box
from tests.fakes.tencent.wire import Context, Filter, Refused, one_of, page, read_filters, to_z

PAGE = 100
REGION_NAMES = {
    "ap-beijing": "华北地区(北京)", "ap-shanghai": "华东地区(上海)", "ap-guangzhou": "华南地区(广州)",
    "ap-shanghai-fsi": "华东地区(上海金融)",
}  # fmt: skip
_FILTERS = (
    "zone", "project-id", "vpc-id", "instance-id", "instance-name", "instance-charge-type", "instance-state",
    "private-ip-address", "public-ip-address", "tag-key", "tag-value", "tag:", "creation-start-time",
    "creation-end-time",
)  # fmt: skip
# The documentation knows no SPOTPAID here.
_CHARGE_FILTER = ("PREPAID", "POSTPAID_BY_HOUR", "CDHPAID", "CDCPAID")


@dataclass
class Timer:
    """A booked destruction."""

    id: str
    instance: str
    at: datetime
    status: str = "UNDO"


class Fleet:
    """The instances of all regions. Tests set the switches; operations read them.

    ``after_page``: what happens right after each next page of a listing, one a page (a box is made, one goes …);
    ``sold_out``: types that cannot be started; ``busy``: ids with a task under way elsewhere;
    ``total_off``: what TotalCount says too much.
    """

    def __init__(self, clock: FakeClock, regions: Sequence[str]) -> None:
        self.clock, self.regions = clock, regions
        self.boxes: dict[str, Box] = {}
        self.timers: dict[str, Timer] = {}
        self.quotas = {"postpaid": (64, 500), "prepaid": (8, 200), "spot": (96, 400)}
        self.sold_out: set[str] = set()
        self.busy: set[str] = set()
        self.after_page: list[Callable[[], object]] = []
        self.total_off = 0
        self._made = 0

    def add(self, region: str, type: str, **fields: Any) -> Box:
        """Running, made five hours ago, unless said otherwise."""
        self._made += 1
        ago = self.clock.now() - timedelta(hours=5)
        given: dict[str, Any] = {"state": "RUNNING", "tags": {}, "created": ago, "zone": zones(region)[0], **fields}
        box = Box(f"ins-{self._made:08x}", region, type=type, serial=self._made, **given)
        if box.state == "STOPPED" and "stop_charging" not in fields and box.may_stop_charging():
            box.stop_charging = "KEEP_CHARGING"
        if box.takes():
            box.since = box.since or self.clock.now()
        self.boxes[box.id] = box
        return box

    def here(self, region: str) -> list[Box]:
        """The region's boxes as they are now, newest first."""
        self.ripen()
        return [box for box in reversed(self.boxes.values()) if box.region == region]

    def take(self, region: str, ids: Sequence[str]) -> list[Box]:
        """Raises Refused for an id that is none, or not one of this region's."""
        check_ids(ids)
        if len(ids) > PAGE:
            raise Refused("InvalidParameterValue.LimitExceeded", "InstanceIds has more than 100 values.")
        self.ripen()
        found = [self.boxes[id] for id in dict.fromkeys(ids) if id in self.boxes and self.boxes[id].region == region]
        missing = set(ids) - {box.id for box in found}
        if missing:
            raise Refused("InvalidInstanceId.NotFound", f"The instance IDs `{sorted(missing)}` do not exist.")
        return found

    def ripen(self) -> None:
        now = self.clock.now()
        for timer in self.timers.values():
            if timer.status == "UNDO" and timer.at <= now:
                timer.status = "DONE"
                self.boxes.pop(timer.instance, None)
        for box in list(self.boxes.values()):
            box.ripen(now)
            if box.is_gone(now):
                del self.boxes[box.id]

    def settle(self) -> None:
        """Moves the clock until no transition is under way."""
        self.ripen()
        while spans := [way[0] for box in self.boxes.values() if box.since and (way := box.takes())]:
            self.clock.advance(max(spans))
            self.ripen()

    def reclaim(self, id: str) -> None:
        """The market takes a spot box: the guest knows for two minutes, then it is gone from all listings."""
        self.boxes[id].reclaim_at = self.clock.now() + timedelta(minutes=2)


class CvmReads:
    """Operations of version 2017-03-12 that change nothing."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def DescribeRegions(self, call: Context) -> Mapping[str, Any]:
        return told_regions(self._fleet.regions)

    def DescribeZones(self, call: Context) -> Mapping[str, Any]:
        return told_zones(call.region)

    def DescribeInstances(
        self,
        call: Context,
        *,
        InstanceIds: Sequence[str] = (),
        Filters: Sequence[Filter] = (),
        Offset: int = 0,
        Limit: int = 20,
    ) -> Mapping[str, Any]:
        """Ids that do not exist are left out, not refused."""
        one_of(InstanceIds, Filters, "InstanceIds")
        check_ids(InstanceIds)
        wanted = read_filters(Filters, _FILTERS)
        if not set(wanted.get("instance-charge-type", ())) <= set(_CHARGE_FILTER):
            raise Refused("InvalidFilter", "The value of the filter `instance-charge-type` is not supported.")
        boxes = [
            box
            for box in self._fleet.here(call.region)
            if (not InstanceIds or box.id in InstanceIds)
            and all(_holds(box, name, values) for name, values in wanted.items())
        ]
        told = [box.described() for box in page(boxes, Offset, Limit, PAGE, call.paging)]
        if self._fleet.after_page and not InstanceIds:
            self._fleet.after_page.pop(0)()
        return {"TotalCount": len(boxes) + self._fleet.total_off, "InstanceSet": told}

    def DescribeInstancesStatus(
        self, call: Context, *, InstanceIds: Sequence[str] = (), Offset: int = 0, Limit: int = 20
    ) -> Mapping[str, Any]:
        one_of(InstanceIds, (), "InstanceIds")
        check_ids(InstanceIds)
        boxes = [box for box in self._fleet.here(call.region) if not InstanceIds or box.id in InstanceIds]
        told = [{"InstanceId": b.id, "InstanceState": b.state} for b in page(boxes, Offset, Limit)]
        return {"TotalCount": len(boxes), "InstanceStatusSet": told}

    def DescribeInstancesActionTimer(
        self,
        call: Context,
        *,
        ActionTimerIds: Sequence[str] = (),
        InstanceIds: Sequence[str] = (),
        TimerAction: str = "TerminateInstances",
        StartActionTime: str = "",
        EndActionTime: str = "",
        StatusList: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        """Its filters say ``YYYY-MM-DD hh:mm:ss``, its answers ``…Z``."""
        for text in (StartActionTime, EndActionTime):
            if text and not re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text):
                raise Refused("InvalidParameterValue", f"The time `{text}` is not valid.")
        self._fleet.ripen()
        found = [
            {
                "ActionTimerId": timer.id, "InstanceId": timer.instance, "TimerAction": "TerminateInstances",
                "ActionTime": to_z(timer.at), "Status": timer.status, "Externals": None,
            }
            for timer in self._fleet.timers.values()
            if (not ActionTimerIds or timer.id in ActionTimerIds)
            and (not InstanceIds or timer.instance in InstanceIds)
            and (not StatusList or timer.status in StatusList)
            and (not StartActionTime or f"{timer.at:%Y-%m-%d %H:%M:%S}" >= StartActionTime)
            and (not EndActionTime or f"{timer.at:%Y-%m-%d %H:%M:%S}" <= EndActionTime)
        ]  # fmt: skip
        return {"ActionTimers": found}

    def DescribeAccountQuota(self, call: Context, *, Filters: Sequence[Filter] = ()) -> Mapping[str, Any]:
        """Per zone; spot in vCPUs."""
        wanted = read_filters(Filters, ("zone", "quota-type"))
        here = [zone for zone in zones(call.region) if zone in wanted.get("zone", [zone])]
        kinds = wanted.get("quota-type", ["PostPaidQuotaSet", "PrePaidQuotaSet", "SpotPaidQuotaSet"])
        sets: dict[str, Any] = {"ImageQuotaSet": None, "DisasterRecoverGroupQuotaSet": None}
        for name, key in (("PostPaid", "postpaid"), ("PrePaid", "prepaid"), ("SpotPaid", "spot")):
            used, total = self._fleet.quotas[key]
            row = {"UsedQuota": used, "RemainingQuota": total - used, "TotalQuota": total}
            row |= {"OnceQuota": 100} if key == "prepaid" else {}
            told = [{**row, "Zone": zone} for zone in here]
            sets[f"{name}QuotaSet"] = told if f"{name}QuotaSet" in kinds else None
        return {"AppId": 1251000000, "AccountQuotaOverview": {"Region": call.region, "AccountQuota": sets}}


def zones(region: str) -> tuple[str, str]:
    return f"{region}-3", f"{region}-6"


def told_regions(regions: Sequence[str]) -> Mapping[str, Any]:
    told = [
        {"Region": region, "RegionName": REGION_NAMES.get(region, region), "RegionState": "AVAILABLE"}
        for region in regions
    ]
    return {"TotalCount": len(told), "RegionSet": told}


def told_zones(region: str) -> Mapping[str, Any]:
    told = [
        {"Zone": zone, "ZoneName": zone, "ZoneId": f"80000{zone[-1]}", "ZoneState": "AVAILABLE"}
        for zone in zones(region)
    ]
    return {"TotalCount": len(told), "ZoneSet": told}


def check_ids(ids: Sequence[str]) -> None:
    for id in ids:
        if not re.fullmatch(r"ins-[0-9a-z]{8}", id):
            raise Refused("InvalidInstanceId.Malformed", f"The instance ID `{id}` is malformed.")


def _holds(box: Box, name: str, values: Sequence[str]) -> bool:
    if name.startswith("tag:"):
        return box.tags.get(name[4:]) in values
    if name.startswith("creation-"):
        made = to_z(box.created)
        return made >= values[0] if name == "creation-start-time" else made <= values[0]
    told = box.described()
    found = {
        "zone": [box.zone],
        "project-id": ["0"],
        "vpc-id": [told["VirtualPrivateCloud"].get("VpcId")],
        "instance-id": [box.id],
        "instance-name": [box.name],
        "instance-charge-type": [box.charge],
        "instance-state": [box.state],
        "private-ip-address": told["PrivateIpAddresses"],
        "public-ip-address": [box.public_ip],
        "tag-key": list(box.tags),
        "tag-value": list(box.tags.values()),
    }[name]
    return not set(found).isdisjoint(values)
