"""What stopping one CVM does to its bill and its data: pure, from the resource's own fields.

Facts: CVM documentation "No Charges When Shut Down" (关机不收费): only pay-as-you-go instances with cloud disks alone.
Charges for CPU, memory and GPU end, those for disks and bandwidth go on; the capacity is given up and the ordinary
public IP is released. Elsewhere the stop succeeds silently and bills on.
"""

from costguard.domain.resource import ChargeType, Ends, Kind, Resource, State, StopEffect

# Keys of Resource.attributes that instances.py writes and this module reads.
CHARGING_MODE = "stop_charging_mode"
LOCAL_DISK = "local_disk"
PUBLIC_IP = "public_ip"
EIP = "eip"
HOST = "dedicated_host"


def stop_effect(resource: Resource) -> StopEffect:
    """Before a stop: what STOP_CHARGING will do. Of a stopped box: what it did, as StopChargingMode tells."""
    if resource.ref.kind is not Kind.VM:
        return StopEffect(Ends.NO, note="only instances can be stopped")
    if resource.charge_type is ChargeType.PREPAID:
        return StopEffect(Ends.NO, ("reservation", "disks"), note="a subscription is paid for, stopped or not")
    if resource.charge_type is ChargeType.RESERVED:
        return StopEffect(Ends.NO, ("reservation", "disks"), note="its dedicated host or cluster is paid for anyway")
    if resource.charge_type is ChargeType.SPOT:
        return StopEffect(
            Ends.NO, ("compute", "disks"), note="a stopped spot instance is charged on; only its end saves"
        )
    if resource.charge_type is not ChargeType.ON_DEMAND:
        return StopEffect(Ends.UNKNOWN, note="its charge type is not known")
    if resource.state is State.STOPPED:
        return _stopped(resource)
    if LOCAL_DISK in resource.attributes:
        return StopEffect(Ends.NO, ("compute", "disks"), note="a box with local disks is charged on while it is off")
    return _free(resource)


def ends_billing(resource: Resource) -> bool:
    """Whether STOP_CHARGING is real for this box: asked for elsewhere, CVM stops it and charges on, without a word."""
    return resource.charge_type is ChargeType.ON_DEMAND and LOCAL_DISK not in resource.attributes


def _stopped(resource: Resource) -> StopEffect:
    mode = resource.attributes.get(CHARGING_MODE, "")
    if mode == "STOP_CHARGING":
        return _free(resource)
    if mode in {"KEEP_CHARGING", "NOT_APPLICABLE"}:
        note = f"stopped but still charged: StopChargingMode is {mode}"
        return StopEffect(Ends.NO, ("compute", "disks"), note=note, stop_again=ends_billing(resource))
    return StopEffect(Ends.UNKNOWN, note=f"StopChargingMode is {mode or 'not told'}")


def _free(resource: Resource) -> StopEffect:
    facts = resource.attributes
    billed = ("disks", "public_ip") if EIP in facts else ("disks",)
    lost = ("public_ip", "capacity") if PUBLIC_IP in facts else ("capacity",)
    return StopEffect(Ends.YES, billed, lost, restart_risk=True)
