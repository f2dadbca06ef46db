"""What a stop does, told before it and read back after it."""

import pytest

from costguard.domain.resource import ChargeType, Ends, Kind, State
from costguard_tencent.effects import ends_billing, stop_effect
from costguard_tencent.instances import Beside
from tests.unit.tencent.helpers import box, ref, resource


def test_pay_as_you_go_with_cloud_disks_ends_the_bill() -> None:
    """C08, C12: and the type may be sold out at the next start."""
    effect = stop_effect(resource(box()))
    assert (effect.compute_billing_ends, effect.still_billed, effect.lost) == (Ends.YES, ("disks",), ("capacity",))
    assert effect.restart_risk


@pytest.mark.parametrize(
    ("elastic", "billed", "lost"),
    [
        (False, ("disks",), ("public_ip", "capacity")),
        (True, ("disks", "public_ip"), ("capacity",)),
        (None, ("disks", "public_ip"), ("public_ip", "capacity")),
    ],
)
def test_the_ordinary_address_goes_and_the_elastic_one_stays(
    elastic: bool | None, billed: tuple[str, ...], lost: tuple[str, ...]
) -> None:
    """Where it is not known which one it is, both are warned of."""
    effect = stop_effect(resource(box(public_ip="43.1.2.3"), Beside(elastic=elastic)))
    assert (effect.still_billed, effect.lost) == (billed, lost)


@pytest.mark.parametrize(
    ("fields", "billed"),
    [
        ({"charge": "PREPAID"}, "reservation"),
        ({"charge": "CDHPAID"}, "reservation"),
        ({"charge": "CDCPAID"}, "reservation"),
        ({"charge": "SPOTPAID"}, "compute"),
        ({"local_data_disk": True}, "compute"),
        ({"type": "GN8.LARGE56"}, "compute"),
    ],
)
def test_where_it_does_not_fit_the_bill_goes_on(fields: dict[str, object], billed: str) -> None:
    """C07: known before the stop."""
    found = resource(box(**fields))
    effect = stop_effect(found)
    assert effect.compute_billing_ends is Ends.NO
    assert billed in effect.still_billed
    assert effect.note
    assert not ends_billing(found)


@pytest.mark.parametrize(
    ("mode", "ends"),
    [
        ("STOP_CHARGING", Ends.YES),
        ("KEEP_CHARGING", Ends.NO),
        ("NOT_APPLICABLE", Ends.NO),
        ("", Ends.UNKNOWN),
        ("SOMETHING_NEW", Ends.UNKNOWN),
    ],
)
def test_a_stopped_box_is_judged_by_what_it_says(mode: str, ends: Ends) -> None:
    """C06, C07: whoever asked for which mode."""
    found = resource(box(state="STOPPED", stop_charging=mode))
    assert found.state is State.STOPPED
    assert stop_effect(found).compute_billing_ends is ends


def test_another_stop_helps_where_stop_charging_fits() -> None:
    """C07: what to do about a box that is off and still charged."""
    assert stop_effect(resource(box(state="STOPPED", stop_charging="KEEP_CHARGING"))).stop_again
    for fields in ({"charge": "SPOTPAID"}, {"local_data_disk": True, "stop_charging": "NOT_APPLICABLE"}):
        effect = stop_effect(resource(box(state="STOPPED", **fields)))
        assert (effect.compute_billing_ends, effect.stop_again) == (Ends.NO, False)


def test_an_unknown_charge_type_is_unknown() -> None:
    found = resource(box(charge="PAYBYTHEMOON"))
    assert found.charge_type is ChargeType.UNKNOWN
    assert stop_effect(found).compute_billing_ends is Ends.UNKNOWN
    assert not ends_billing(found)


def test_only_instances_can_be_stopped() -> None:
    disk = resource(box(), ref=ref("disk-1", Kind.DISK))
    assert stop_effect(disk).compute_billing_ends is Ends.NO
