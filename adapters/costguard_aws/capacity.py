"""Which instance takes a place in a capacity reservation: pure.

A reservation bills used or not, so stopping what runs in one saves nothing. EC2 names the reservation at the instance;
it does so a moment after an instance has begun to run in one, which is when the reservation's own free places tell.

Facts: EC2 User Guide "On-Demand Capacity Reservations": an `open` reservation takes every instance with its attributes
(type, platform, zone, tenancy) that does not decline, those included that ran before the reservation was made.
"""

from collections.abc import Mapping, Sequence
from typing import Any

# DescribeCapacityReservations filters that leave those an instance may have been taken into without naming one.
OPEN = {"state": "active", "instance-match-criteria": "open"}


def named(item: Mapping[str, Any]) -> str | None:
    """The reservation or block that DescribeInstances names."""
    return item.get("CapacityBlockId") or item.get("CapacityReservationId") or None


def may_be_open(item: Mapping[str, Any]) -> bool:
    """Whether a running on-demand instance that names no reservation would be taken into an open one."""
    wish = (item.get("CapacityReservationSpecification") or {}).get("CapacityReservationPreference") or "open"
    state = (item.get("State") or {}).get("Name")
    return named(item) is None and wish == "open" and not item.get("InstanceLifecycle") and state in _RUNS


def runs_in(item: Mapping[str, Any], reservations: Sequence[Mapping[str, Any]]) -> str | None:
    """The id of the reservation that pays for the instance: the named one, else an open one that has a place free.

    A full reservation has its instances already, and EC2 names it at each of them.
    """
    if not may_be_open(item):
        return named(item)
    for reservation in reservations:
        if _takes(reservation, item):
            return str(reservation.get("CapacityReservationId") or "") or None
    return None


_RUNS = frozenset({"pending", "running"})


def _takes(reservation: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """What EC2 does not tell of the instance counts as matching: a stop that saves nothing is the worse mistake."""
    placement = item.get("Placement") or {}
    group, wanted = placement.get("GroupName") or "", reservation.get("PlacementGroupArn") or ""
    pairs = (
        (reservation.get("InstanceType"), item.get("InstanceType")),
        (reservation.get("AvailabilityZone"), placement.get("AvailabilityZone")),
        (reservation.get("InstancePlatform"), item.get("PlatformDetails")),
        (reservation.get("Tenancy"), placement.get("Tenancy")),
        (reservation.get("OutpostArn") or "-", item.get("OutpostArn") or "-"),
    )
    return (
        reservation.get("State") == "active"
        and reservation.get("InstanceMatchCriteria") == "open"
        and reservation.get("ReservationType") != "capacity-block"
        and (reservation.get("AvailableInstanceCount") or 0) > 0
        and all(mine is None or yours is None or mine == yours for mine, yours in pairs)
        and (not wanted or wanted.endswith(f":placement-group/{group}"))
    )
