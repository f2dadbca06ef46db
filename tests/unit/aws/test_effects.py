"""What a stop does to each sort of instance."""

from decimal import Decimal
from typing import Any

import pytest

from costguard.domain.resource import ChargeType, Ends, Gpus, Kind, Resource, State
from costguard.testing.clock import NOON
from costguard_aws.effects import stop_effect
from tests.unit.aws.helpers import ref

T4 = Gpus("T4", Decimal(1))


def vm(charge: ChargeType = ChargeType.ON_DEMAND, gpus: Gpus | None = None, **attributes: str) -> Resource:
    return Resource(
        ref("i-1"), "box", State.RUNNING, "running", NOON, charge_type=charge, gpus=gpus,
        attributes={"root_device": "ebs", **attributes},
    )  # fmt: skip


ROWS: list[tuple[Resource, Ends, tuple[str, ...], tuple[str, ...], bool]] = [
    (vm(), Ends.YES, ("disks",), (), False),
    (vm(gpus=T4), Ends.YES, ("disks",), (), True),
    (vm(public_ip="ephemeral"), Ends.YES, ("disks",), ("public_ip",), False),
    (vm(public_ip="elastic"), Ends.YES, ("disks", "public_ip"), (), False),
    (vm(local_disk="yes"), Ends.YES, ("disks",), ("local_disk",), False),
    (vm(hibernation="configured"), Ends.YES, ("disks",), ("memory",), False),
    (vm(hibernation="asked"), Ends.YES, ("disks",), (), False),
    (vm(root_device="instance-store"), Ends.NO, ("compute",), ("local_disk",), False),
    (vm(capacity_reservation="cr-1", gpus=T4), Ends.NO, ("reservation", "disks"), (), False),
    (vm(tenancy="host"), Ends.NO, ("reservation", "disks"), (), False),
    (vm(tenancy="dedicated"), Ends.YES, ("disks",), (), False),
    (vm(ChargeType.RESERVED, lifecycle="capacity-block"), Ends.NO, ("reservation", "disks"), (), False),
    (vm(ChargeType.SPOT, spot_request_type="one-time", spot_request_state="active"), Ends.NO, ("compute",), (), False),
    (
        vm(ChargeType.SPOT, spot_request_type="persistent", spot_request_state="active", public_ip="ephemeral"),
        Ends.YES, ("disks",), ("public_ip", "capacity"), True,
    ),
    (
        vm(ChargeType.SPOT, spot_request_type="persistent", spot_request_state="disabled"),
        Ends.YES, ("disks",), ("capacity",), True,
    ),
    (vm(ChargeType.SPOT, spot_request_type="persistent", spot_request_state="cancelled"), Ends.UNKNOWN, (), (), False),
    (vm(ChargeType.SPOT, spot_request_type="sporadic", spot_request_state="active"), Ends.UNKNOWN, (), (), False),
    (vm(ChargeType.SPOT), Ends.UNKNOWN, (), (), False),
    (vm(ChargeType.UNKNOWN, lifecycle="lifecycle-of-2027"), Ends.UNKNOWN, (), (), False),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "ends", "still_billed", "lost", "risk"), ROWS)
def test_the_effect_of_a_stop(
    resource: Resource, ends: Ends, still_billed: tuple[str, ...], lost: tuple[str, ...], risk: bool
) -> None:
    """C05, C06, C12: told per instance, unknown wherever AWS says something new."""
    effect = stop_effect(resource)
    assert (effect.compute_billing_ends, effect.still_billed, effect.lost, effect.restart_risk) == (
        ends, still_billed, lost, risk,
    )  # fmt: skip
    if ends is not Ends.YES or "hibernation" in resource.attributes:
        assert effect.note


@pytest.mark.parametrize("kind", [Kind.DISK, Kind.SNAPSHOT, Kind.ADDRESS, Kind.GATEWAY, Kind.RESERVATION])
def test_what_has_no_power_state_is_not_stopped(kind: Kind) -> None:
    known: dict[str, Any] = {"name": "x", "state": State.RUNNING, "raw_state": "available", "observed_at": NOON}
    assert stop_effect(Resource(ref("x-1", kind), **known)).compute_billing_ends is Ends.NO
