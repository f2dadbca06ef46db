"""What stopping one ECS instance does to its bill and its data: pure, from the resource's own fields.

Facts: ECS User Guide "Economical mode" (StoppedMode StopCharging): charges end for vCPU, memory, GPU, image licence and
the bandwidth of a static public IP; disks and EIPs go on. Where it does not fit, the stop succeeds and bills on.
"""

from costguard.domain.resource import ChargeType, Ends, Kind, Resource, State, StopEffect

# Keys of Resource.attributes that instances.py writes and this module reads.
STOPPED_MODE = "stopped_mode"
NETWORK = "network"
LOCAL_DISK = "local_disk"
PUBLIC_IP = "public_ip"
EIP = "eip"
DEDICATED_HOST = "dedicated_host"
CAPACITY_RESERVATION = "capacity_reservation"

# Instance families with persistent memory, which economical mode leaves out.
PERSISTENT_MEMORY = ("ecs.re6p", "ecs.re7p", "ecs.i4p")


def stop_effect(resource: Resource) -> StopEffect:
    """Before a stop: what economical mode will do. Of a stopped box: what it did, as StoppedMode tells."""
    if resource.ref.kind is not Kind.VM:
        return StopEffect(Ends.NO, note="only instances can be stopped")
    facts = resource.attributes
    if resource.charge_type is ChargeType.PREPAID:
        return StopEffect(Ends.NO, ("reservation", "disks"), note="a subscription is paid for, stopped or not")
    if resource.charge_type not in (ChargeType.ON_DEMAND, ChargeType.SPOT):
        return StopEffect(Ends.UNKNOWN, note="its charge type is not known")
    if facts.get(DEDICATED_HOST):
        return StopEffect(Ends.NO, ("reservation", "disks"), note="its dedicated host bills on")
    if facts.get(CAPACITY_RESERVATION):
        return StopEffect(Ends.NO, ("reservation", "disks"), note="its capacity reservation bills used or not")
    if resource.state is State.STOPPED:
        return _stopped(resource)
    if unfit := _unfit(resource):
        return StopEffect(Ends.NO, ("compute", "disks"), note=f"economical mode does not fit {unfit}")
    return _economical(resource)


def _stopped(resource: Resource) -> StopEffect:
    mode = resource.attributes.get(STOPPED_MODE, "")
    if mode == "StopCharging":
        return _economical(resource)
    if mode in {"KeepCharging", "Not-applicable"}:
        note = f"stopped but still charged: StoppedMode is {mode}"
        return StopEffect(Ends.NO, ("compute", "disks"), note=note, stop_again=_unfit(resource) is None)
    return StopEffect(Ends.UNKNOWN, note=f"StoppedMode is {mode or 'not told'}")


def _unfit(resource: Resource) -> str | None:
    facts = resource.attributes
    if facts.get(LOCAL_DISK):
        return "types with local disks"
    if facts.get(NETWORK) == "classic":
        return "the classic network"
    if (resource.sku or "").startswith(PERSISTENT_MEMORY):
        return "types with persistent memory"
    return None


def _economical(resource: Resource) -> StopEffect:
    facts = resource.attributes
    billed = ("disks", "public_ip") if facts.get(EIP) else ("disks",)
    lost = ("public_ip", "capacity") if facts.get(PUBLIC_IP) else ("capacity",)
    spot = resource.charge_type is ChargeType.SPOT
    note = "StoppedMode after the stop tells whether the market billed on" if spot else ""
    return StopEffect(Ends.YES, billed, lost, restart_risk=True, note=note)
