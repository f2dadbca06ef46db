"""Effects: what a stop does to the bill, case by case."""

from pathlib import Path

import pytest

from costguard.domain.finding import Outcome
from costguard.domain.resource import ChargeType, Ends, Kind, State
from costguard.rules.still_billed import STILL_BILLED, StillBilledWhen
from costguard.testing.builders import make_snapshot
from costguard_simulated.effects import compute_billing_ends
from costguard_simulated.scenario import Personality
from tests.unit.simulated.helpers import clock_at, machine, only, open_up, write


@pytest.mark.parametrize(
    ("personality", "kind", "charge", "local", "ends"),
    [
        ("alibaba", Kind.VM, ChargeType.ON_DEMAND, False, Ends.YES),
        ("alibaba", Kind.VM, ChargeType.ON_DEMAND, True, Ends.NO),
        ("alibaba", Kind.VM, ChargeType.SPOT, False, Ends.YES),
        ("alibaba", Kind.VM, ChargeType.PREPAID, False, Ends.NO),
        ("alibaba", Kind.NOTEBOOK, ChargeType.ON_DEMAND, True, Ends.YES),
        ("tencent", Kind.VM, ChargeType.ON_DEMAND, False, Ends.YES),
        ("tencent", Kind.VM, ChargeType.SPOT, False, Ends.NO),
        ("aws", Kind.VM, ChargeType.ON_DEMAND, True, Ends.YES),
        ("aws", Kind.VM, ChargeType.SPOT, False, Ends.YES),
        ("aws", Kind.VM, ChargeType.UNKNOWN, False, Ends.UNKNOWN),
        ("rack", Kind.VM, ChargeType.OWNED, False, Ends.NO),
    ],
)
def test_when_a_stop_ends_the_compute_bill(
    personality: Personality, kind: Kind, charge: ChargeType, local: bool, ends: Ends
) -> None:
    """C06, C07, C08."""
    assert compute_billing_ends(personality, kind, charge, local_disk=local) is ends


def test_what_is_lost_and_what_goes_on(tmp_path: Path) -> None:
    """C08, C12: the public address changes, and a scarce type may be sold out tomorrow."""
    box = only(open_up(write(tmp_path, machine("a", sku="a100x8", public_ip=True)), clock_at()))
    effect = box.stop_effect
    assert effect is not None
    assert effect.still_billed == ("disks",)
    assert effect.lost == ("memory", "public_ip", "capacity")
    assert effect.restart_risk


def test_a_one_time_spot_machine_cannot_be_stopped(tmp_path: Path) -> None:
    """C05."""
    path = write(tmp_path, machine("a", charge="spot", one_time=True), personality="aws")
    effect = only(open_up(path, clock_at())).stop_effect
    assert effect is not None
    assert (effect.compute_billing_ends, "terminated" in effect.note) == (Ends.NO, True)


def test_the_aws_like_local_disk_is_lost(tmp_path: Path) -> None:
    effect = only(open_up(write(tmp_path, machine("a", sku="local"), personality="aws"), clock_at())).stop_effect
    assert effect is not None
    assert "local_disk" in effect.lost


def test_a_machine_that_is_off_and_still_charged_is_a_finding(tmp_path: Path) -> None:
    """C07: as at Alibaba Cloud, a stop of a type with local disks keeps charging, and so does the simulated bill."""
    off = {"created": "-9d", "stopped": "-1d"}
    path = write(tmp_path, machine("dear", sku="local", **off), machine("free", **off), machine("on", sku="local"))
    boxes = open_up(path, clock_at()).list(Kind.VM, "r1")
    assert {box.name: box.state for box in boxes if box.name != "on"} == dict.fromkeys(("dear", "free"), State.STOPPED)
    answers = STILL_BILLED.judge(StillBilledWhen(), boxes, make_snapshot(*boxes, now=clock_at().now()))
    assert [a.subject.name for a in answers if a.outcome is Outcome.FIRES] == ["dear"]
