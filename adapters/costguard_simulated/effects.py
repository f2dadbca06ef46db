"""Effects: what a stop does to a bill, per cloud, kind and charge type. Pure; the rules are the real clouds' own."""

from costguard.domain.resource import ChargeType, Ends, Kind, Resource, StopEffect
from costguard_simulated.scenario import Personality

STOPPABLE = frozenset({Kind.VM, Kind.NOTEBOOK})


def compute_billing_ends(personality: Personality, kind: Kind, charge: ChargeType, *, local_disk: bool) -> Ends:
    """Alibaba's economical stop and Tencent's STOP_CHARGING leave out machines with local disks, Tencent's also spot;
    prepaid and owned machines are paid for already. A stop of a notebook always ends its bill."""
    if charge in (ChargeType.PREPAID, ChargeType.RESERVED, ChargeType.OWNED) or personality == "rack":
        return Ends.NO
    if charge is ChargeType.UNKNOWN:
        return Ends.UNKNOWN
    excluded = local_disk or (personality == "tencent" and charge is ChargeType.SPOT)
    if excluded and kind is Kind.VM and personality in ("alibaba", "tencent"):
        return Ends.NO
    return Ends.YES


def stop_effect(personality: Personality, resource: Resource) -> StopEffect:
    """From the resource's own fields; ``attributes`` tell local disk, public address and scarcity."""
    facts = resource.attributes
    local_disk = facts.get("local_disk") == "yes"
    ends = compute_billing_ends(personality, resource.ref.kind, resource.charge_type, local_disk=local_disk)
    if facts.get("spot_request") == "one-time":
        return StopEffect(Ends.NO, ("compute", "disks"), note="a one-time spot machine can only be terminated")
    still: list[str] = [] if ends is Ends.YES else ["compute"]
    lost: list[str] = ["memory"]
    if resource.ref.kind is Kind.VM and personality != "rack":
        still.append("disks")
    if local_disk and personality == "aws":
        lost.append("local_disk")
    if facts.get("public_ip") == "yes" and ends is Ends.YES:
        lost.append("public_ip")
    capacity = ends is Ends.YES and (resource.charge_type is ChargeType.SPOT or facts.get("scarce") == "yes")
    if capacity:
        lost.append("capacity")
    notes = {
        ChargeType.PREPAID: "paid in advance",
        ChargeType.RESERVED: "paid in advance",
        ChargeType.OWNED: "own machine: only power is saved",
    }
    return StopEffect(ends, tuple(still), tuple(lost), capacity, notes.get(resource.charge_type, ""))
