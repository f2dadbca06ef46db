"""What a stop does, before it and after it."""

from typing import Any

import pytest

from costguard.domain.resource import Ends, Kind, Resource
from costguard_aliyun.effects import stop_effect
from tests.unit.aliyun.helpers import box, ref, resource


def effect(**fields: Any) -> Any:
    return resource(box(**fields)).stop_effect


def test_economical_mode_ends_the_bill_and_gives_up_the_capacity() -> None:
    """C07."""
    found = effect()
    assert (found.compute_billing_ends, found.still_billed) == (Ends.YES, ("disks",))
    assert (found.lost, found.restart_risk) == (("capacity",), True)


def test_addresses_are_told_apart() -> None:
    assert effect(public_ip="47.93.0.1").lost == ("public_ip", "capacity")
    eip = {"EipAddress": {"AllocationId": "eip-1", "IpAddress": "39.96.0.1"}}
    assert effect(extra=eip).still_billed == ("disks", "public_ip")


@pytest.mark.parametrize(
    ("fields", "billed", "word"),
    [
        ({"charge": "PrePaid"}, ("reservation", "disks"), "subscription"),
        ({"network": "classic"}, ("compute", "disks"), "classic"),
        ({"type": "ecs.gn5-c8g1.4xlarge"}, ("compute", "disks"), "local disks"),
        ({"type": "ecs.re6p.2xlarge"}, ("compute", "disks"), "persistent memory"),
        ({"extra": {"DedicatedHostAttribute": {"DedicatedHostId": "dh-1"}}}, ("reservation", "disks"), "host"),
        (
            {"extra": {"EcsCapacityReservationAttr": {"CapacityReservationId": "crp-1"}}},
            ("reservation", "disks"),
            "reservation",
        ),
    ],
)
def test_what_a_stop_saves_nothing_on(fields: dict[str, Any], billed: tuple[str, ...], word: str) -> None:
    """C05: ECS stops it without an error and bills on."""
    found = effect(**fields)
    assert (found.compute_billing_ends, found.still_billed) == (Ends.NO, billed)
    assert word in found.note


def test_an_unknown_charge_type_has_an_unknown_effect() -> None:
    assert effect(charge="PayByTheMoon").compute_billing_ends is Ends.UNKNOWN


def test_spot_is_asked_and_verified() -> None:
    found = effect(spot="SpotAsPriceGo")
    assert found.compute_billing_ends is Ends.YES
    assert "StoppedMode" in found.note


@pytest.mark.parametrize(
    ("mode", "ends"),
    [
        ("StopCharging", Ends.YES),
        ("KeepCharging", Ends.NO),
        ("Not-applicable", Ends.NO),
        ("HalfCharging", Ends.UNKNOWN),
        ("", Ends.UNKNOWN),
    ],
)
def test_of_a_stopped_box_the_mode_tells(mode: str, ends: Ends) -> None:
    """C07: stopped but still charged is a finding."""
    assert effect(state="Stopped", stopped_mode=mode).compute_billing_ends is ends


def test_another_stop_helps_where_economical_mode_fits() -> None:
    """C07: what to do about a box that is off and still charged."""
    off = {"state": "Stopped", "stopped_mode": "KeepCharging"}
    assert effect(**off).stop_again
    assert effect(**off, spot="SpotAsPriceGo").stop_again
    assert not effect(**off, type="ecs.gn5-c8g1.4xlarge").stop_again
    assert not effect(**off, network="classic").stop_again


def test_a_running_boxs_mode_tells_nothing() -> None:
    """Every running one shows Not-applicable."""
    assert effect(stopped_mode="Not-applicable").compute_billing_ends is Ends.YES


def test_a_stopped_subscription_is_paid_for() -> None:
    assert effect(charge="PrePaid", state="Stopped", stopped_mode="StopCharging").compute_billing_ends is Ends.NO


def test_a_disk_cannot_be_stopped() -> None:
    disk: Resource = resource(box(), ref=ref("d-1", Kind.DISK))
    assert stop_effect(disk).compute_billing_ends is Ends.NO
