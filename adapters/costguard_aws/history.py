"""The History role: who started and stopped an instance, from EC2's own fields and, where allowed, CloudTrail."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from costguard.domain.resource import ResourceRef
from costguard.domain.snapshot import PowerEvent
from costguard.domain.time import utc
from costguard.errors import NotFound, PermissionDenied, Unsupported
from costguard_aws.client import Api
from costguard_aws.instances import transition_at
from costguard_aws.inventory import InventoryRole

# StateReason.Code → who. The user is told by name only by CloudTrail.
ACTORS = {
    "Client.UserInitiatedShutdown": "user",
    "Client.UserInitiatedHibernate": "user",
    "Client.InstanceInitiatedShutdown": "guest",
    "Server.ScheduledStop": "aws",
    "Server.SpotInstanceShutdown": "aws",
    "Server.SpotInstanceTermination": "aws",
    "Server.InsufficientInstanceCapacity": "aws",
    "Client.VolumeLimitExceeded": "aws",
}

_EVENTS = {"RunInstances": "start", "StartInstances": "start", "StopInstances": "stop"}
_PAGE_CAP = 10  # CloudTrail allows two look-ups a second


class HistoryRole:
    """Power events of one instance."""

    def __init__(self, api: Api, inventory: InventoryRole) -> None:
        self._api, self._inventory = api, inventory

    def power_events(self, ref: ResourceRef, since: datetime) -> Sequence[PowerEvent]:
        """Oldest first. CloudTrail's 90 days of events by name; without the permission, the last start and stop only.

        `ours` is False throughout: whether a call was costguard's is known from its own actions.
        """
        try:
            events = list(self._trail(ref, since))
        except (PermissionDenied, Unsupported):
            events = []
        known = {event.what for event in events}
        events += [e for e in self._last(ref) if e.what not in known and e.at >= since]
        return sorted(events, key=lambda event: event.at)

    def _trail(self, ref: ResourceRef, since: datetime) -> Iterator[PowerEvent]:
        for page in self._api.pages(
            "cloudtrail",
            ref.region,
            "LookupEvents",
            "Events",
            cap=_PAGE_CAP,
            LookupAttributes=[{"AttributeKey": "ResourceName", "AttributeValue": ref.id}],
            StartTime=since,
            EndTime=self._api.clock.now(),
        ):
            for event in page:
                what, at = _EVENTS.get(event.get("EventName") or ""), event.get("EventTime")
                if what is not None and at is not None:
                    yield PowerEvent(ref, utc(at), what, ours=False, actor=event.get("Username"))

    def _last(self, ref: ResourceRef) -> Iterator[PowerEvent]:
        try:
            item = self._inventory.instance(ref)
        except NotFound:
            return
        launched, state = item.get("LaunchTime"), (item.get("State") or {}).get("Name")
        if launched is not None:
            yield PowerEvent(ref, utc(launched), "start", ours=False)
        at = transition_at(item)
        if at is not None and state in {"stopping", "stopped"}:
            code = (item.get("StateReason") or {}).get("Code") or ""
            yield PowerEvent(ref, at, "stop", ours=False, actor=ACTORS.get(code))
