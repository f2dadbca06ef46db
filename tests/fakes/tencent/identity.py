"""Who one is: STS, the role of a machine, regions by product, and tags by six-part names."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict

from costguard.testing.clock import FakeClock
from tests.fakes.server import Answer
from tests.fakes.tencent.cvm import Fleet, told_regions, told_zones
from tests.fakes.tencent.tc3 import Gate, Session
from tests.fakes.tencent.wire import Context, Refused, to_z

_METADATA = "/latest/meta-data/cam/security-credentials/"
_MOST_TAGS = 10
_PER_BOX = 50


class Tag(TypedDict):
    TagKey: str
    TagValue: str


class TagFilter(TypedDict):
    TagKey: str
    TagValue: list[str]


class Sts:
    """Version 2018-08-13. ``session_length``: what a temporary key lives, whatever was asked for."""

    def __init__(self, clock: FakeClock, gate: Gate, owner: str) -> None:
        self._clock, self._gate, self._owner = clock, gate, owner
        self.caller: Session | None = None
        self.session_length: timedelta | None = None
        self.roles = {"costguard"}
        self._issued = 0

    def GetCallerIdentity(self, call: Context) -> Mapping[str, Any]:
        assert self.caller is not None
        principal = self.caller.principal
        user = principal.rpartition("/")[2]
        return {
            "Arn": f"qcs::{'sts' if principal.startswith('assumed-role') else 'cam'}::uin/{self._owner}:{principal}",
            "AccountId": self._owner,
            "UserId": user,
            "PrincipalId": user,
            "Type": "CAMRole" if principal.startswith("assumed-role") else "CAMUser",
        }

    def AssumeRole(
        self,
        call: Context,
        *,
        RoleArn: str,
        RoleSessionName: str,
        DurationSeconds: int = 7_200,
        Policy: str = "",
        ExternalId: str = "",
    ) -> Mapping[str, Any]:
        if not 1 <= DurationSeconds <= 43_200:
            raise Refused("InvalidParameter.OverTimeError", "The value of DurationSeconds is too large.")
        if not re.fullmatch(r"[\w+=,.@-]{2,128}", RoleSessionName, re.ASCII):
            raise Refused("InvalidParameter.ParamError", "The RoleSessionName is not valid.")
        role = RoleArn.rpartition("/")[2]
        if RoleArn != f"qcs::cam::uin/{self._owner}:roleName/{role}" or role not in self.roles:
            raise Refused("ResourceNotFound.RoleNotFound", "The role does not exist.")
        key, session = self.issue(role, RoleSessionName, timedelta(seconds=DurationSeconds))
        assert session.until is not None
        return {
            "Credentials": {"Token": session.token, "TmpSecretId": key, "TmpSecretKey": session.secret},
            "ExpiredTime": int(session.until.timestamp()),
            "Expiration": to_z(session.until),
        }

    def issue(self, role: str, name: str, length: timedelta) -> tuple[str, Session]:
        """A temporary key and what goes with it."""
        self._issued += 1
        until: datetime = self._clock.now() + (self.session_length or length)
        key = f"AKIDtmpEXAMPLE{self._issued:05}"
        principal = f"assumed-role/{role}/{name}"
        session = Session(f"tmp-secret-{self._issued:05}", f"tmp-token/{self._issued:05}+==", until, principal)
        self._gate.sessions[key] = session
        return key, session


class Metadata:
    """What a machine with a CAM role reads of itself, over plain GET."""

    def __init__(self, sts: Sts) -> None:
        self._sts = sts

    def get(self, path: str) -> Answer:
        role = path.removeprefix(_METADATA)
        if path == _METADATA:
            return Answer(200, "\n".join(sorted(self._sts.roles)).encode(), {"Content-Type": "text/plain"})
        if not path.startswith(_METADATA) or role not in self._sts.roles:
            return Answer(404, b"404 page not found", {"Content-Type": "text/plain"})
        key, session = self._sts.issue(role, "cvm", timedelta(hours=6))
        assert session.until is not None
        body = {
            "TmpSecretId": key, "TmpSecretKey": session.secret, "Token": session.token,
            "ExpiredTime": int(session.until.timestamp()), "Expiration": to_z(session.until), "Code": "Success",
        }  # fmt: skip
        return Answer(200, json.dumps(body).encode(), {"Content-Type": "application/octet-stream"})


class Regions:
    """Version 2022-06-27: which regions a product is sold in."""

    def __init__(self, regions: Sequence[str]) -> None:
        self._regions = regions

    def DescribeRegions(self, call: Context, *, Product: str, Scene: int = 0) -> Mapping[str, Any]:
        if Product not in ("cvm", "cbs", "vpc", "monitor", "tat"):
            raise Refused("InvalidParameter.ParameterError", f"The product `{Product}` is not known.")
        return told_regions(self._regions)

    def DescribeZones(self, call: Context, *, Product: str, Scene: int = 0) -> Mapping[str, Any]:
        told = [zone for region in self._regions for zone in told_zones(region)["ZoneSet"]]
        return {"TotalCount": len(told), "ZoneSet": told}


class Tags:
    """Version 2018-08-13: tags of instances by ``qcs::cvm:REGION:uin/UIN:instance/ins-…``."""

    def __init__(self, fleet: Fleet, owner: str) -> None:
        self._fleet = fleet
        self._form = re.compile(rf"qcs::cvm:([a-z0-9-]+):uin/{owner}:instance/(ins-[0-9a-z]{{8}})")
        self._owner = owner

    def TagResources(self, call: Context, *, ResourceList: Sequence[str], Tags: Sequence[Tag]) -> Mapping[str, Any]:
        if len(ResourceList) > _MOST_TAGS:
            raise Refused("LimitExceeded.ResourceNumPerRequest")
        if len(Tags) > _MOST_TAGS:
            raise Refused("LimitExceeded.TagNumPerRequest")
        keys = [tag["TagKey"] for tag in Tags]
        if len(set(keys)) < len(keys):
            raise Refused("InvalidParameterValue.TagKeyDuplicate")
        for tag in Tags:
            _check_tag(tag)
        failed = []
        for resource in ResourceList:
            box = self._box(resource)
            if box is None:
                failed.append({"Resource": resource, "Code": "ResourceNotFound", "Message": "It does not exist."})
                continue
            tags = {**box.tags, **{tag["TagKey"]: tag["TagValue"] for tag in Tags}}
            if len(tags) > _PER_BOX:
                raise Refused("LimitExceeded.ResourceAttachedTags")
            box.tags = box.tags if call.pretends else tags
        return {"FailedResources": failed}

    def UnTagResources(
        self, call: Context, *, ResourceList: Sequence[str], TagKeys: Sequence[str]
    ) -> Mapping[str, Any]:
        for resource in ResourceList:
            box = self._box(resource)
            if box is not None and not call.pretends:
                box.tags = {key: value for key, value in box.tags.items() if key not in TagKeys}
        return {"FailedResources": []}

    def GetResources(
        self,
        call: Context,
        *,
        ResourceList: Sequence[str] = (),
        TagFilters: Sequence[TagFilter] = (),
        PaginationToken: str = "",
        MaxResults: int = 50,
    ) -> Mapping[str, Any]:
        """The one listing here that has tokens. Untagged resources are not in it."""
        if not 1 <= MaxResults <= 200:
            raise Refused("InvalidParameter")
        if PaginationToken and not re.fullmatch(r"tok\d+", PaginationToken):
            raise Refused("InvalidParameter.PaginationTokenInvalid")
        self._fleet.ripen()
        told = [
            {
                "Resource": f"qcs::cvm:{box.region}:uin/{self._owner}:instance/{box.id}",
                "Tags": [{"TagKey": key, "TagValue": value} for key, value in box.tags.items()],
            }
            for box in self._fleet.boxes.values()
            if box.tags
            and all(
                f["TagKey"] in box.tags and (not f["TagValue"] or box.tags[f["TagKey"]] in f["TagValue"])
                for f in TagFilters
            )
        ]
        told = [row for row in told if not ResourceList or row["Resource"] in ResourceList]
        first = int(PaginationToken[3:] or 0) if PaginationToken else 0
        end = first + MaxResults
        return {"ResourceTagMappingList": told[first:end], "PaginationToken": f"tok{end}" if end < len(told) else ""}

    def _box(self, resource: str) -> Any:
        found = self._form.fullmatch(resource)
        if found is None:
            raise Refused("InvalidParameterValue.ResourceDescriptionError", f"`{resource}` is not a six-part name.")
        self._fleet.ripen()
        box = self._fleet.boxes.get(found[2])
        return box if box is not None and box.region == found[1] else None


def _check_tag(tag: Tag) -> None:
    if not tag["TagKey"]:
        raise Refused("InvalidParameterValue.TagKeyEmpty")
    if tag["TagKey"].startswith(("qcs:", "project")) or tag["TagKey"].startswith("tencentcloud:"):
        raise Refused("InvalidParameterValue.ReservedTagKey")
    if len(tag["TagKey"]) > 127:
        raise Refused("InvalidParameterValue.TagKeyLengthExceeded")
    if len(tag["TagValue"]) > 255:
        raise Refused("InvalidParameterValue.TagValueLengthExceeded")
