"""What stopping one EC2 instance does to its bill and its data: pure, from the resource's own fields.

Facts: EC2 User Guide "Stop and start Amazon EC2 instances", "Stop a Spot Instance", "Capacity Reservations".
"""

from costguard.domain.resource import ChargeType, Ends, Kind, Resource, StopEffect

# Keys of Resource.attributes that instances.py writes and this module reads.
LIFECYCLE = "lifecycle"
SPOT_TYPE = "spot_request_type"
SPOT_STATE = "spot_request_state"
ROOT_DEVICE = "root_device"
LOCAL_DISK = "local_disk"
PUBLIC_IP = "public_ip"
CAPACITY_RESERVATION = "capacity_reservation"
TENANCY = "tenancy"
HIBERNATION = "hibernation"


def stop_effect(resource: Resource) -> StopEffect:
    """UNKNOWN wherever AWS said something that this version does not know."""
    if resource.ref.kind is not Kind.VM:
        return StopEffect(Ends.NO, note="only instances can be stopped")
    facts = resource.attributes
    if facts.get(ROOT_DEVICE) == "instance-store":
        return StopEffect(
            Ends.NO, ("compute",), ("local_disk",), note="an instance-store root cannot be stopped, only terminated"
        )
    if resource.charge_type is ChargeType.RESERVED:
        return StopEffect(
            Ends.NO, ("reservation", "disks"), note=f"{facts.get(LIFECYCLE, 'reserved')} capacity is paid for anyway"
        )
    if resource.charge_type is ChargeType.SPOT:
        return _spot(resource)
    if resource.charge_type is not ChargeType.ON_DEMAND:
        return StopEffect(Ends.UNKNOWN, note=f"unknown lifecycle {facts.get(LIFECYCLE, '')!r}")
    if CAPACITY_RESERVATION in facts:
        return StopEffect(
            Ends.NO, ("reservation", "disks"), _lost(resource), note="its capacity reservation bills used or not"
        )
    if facts.get(TENANCY) == "host":
        return StopEffect(Ends.NO, ("reservation", "disks"), _lost(resource), note="its dedicated host bills on")
    return StopEffect(
        Ends.YES, _still_billed(resource), _lost(resource), restart_risk=resource.gpus is not None, note=_note(resource)
    )


def _spot(resource: Resource) -> StopEffect:
    kind, state = resource.attributes.get(SPOT_TYPE), resource.attributes.get(SPOT_STATE)
    if kind == "one-time":
        return StopEffect(Ends.NO, ("compute",), note="a one-time spot instance cannot be stopped, only terminated")
    if kind == "persistent" and state in {"active", "disabled"}:
        lost = (*_lost(resource), "capacity")
        return StopEffect(Ends.YES, _still_billed(resource), lost, restart_risk=True, note=_note(resource))
    return StopEffect(Ends.UNKNOWN, note=f"spot request {kind or 'unknown'}, {state or 'unknown'}")


def _still_billed(resource: Resource) -> tuple[str, ...]:
    return ("disks", "public_ip") if resource.attributes.get(PUBLIC_IP) == "elastic" else ("disks",)


def _note(resource: Resource) -> str:
    return {
        "configured": "it could hibernate, but a stop is plain here: what is in memory is lost",
        "asked": "it is hibernated: what is in memory goes to its root disk",
    }.get(resource.attributes.get(HIBERNATION, ""), "")


def _lost(resource: Resource) -> tuple[str, ...]:
    facts = resource.attributes
    lost = []
    if LOCAL_DISK in facts:
        lost.append("local_disk")
    if facts.get(PUBLIC_IP) == "ephemeral":
        lost.append("public_ip")
    if facts.get(HIBERNATION) == "configured":
        lost.append("memory")  # the account asks for plain stops; whoever configured hibernation expects more
    return tuple(lost)
