"""still_billed: off and still charged, at once, whoever stopped it; and never a reason to end anything."""

from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.finding import Judgement, Outcome
from costguard.domain.resource import ChargeType, Ends, Kind, Resource, State, StopEffect
from costguard.domain.snapshot import PowerEvent
from costguard.rules.still_billed import STILL_BILLED, StillBilledWhen, judge
from costguard.testing.builders import HOUR, NOW, cny, make_resource, make_snapshot

KEPT = StopEffect(Ends.NO, ("compute", "disks"), stop_again=True)


def off(**fields: Any) -> Resource:
    return make_resource(**{"state": State.STOPPED, "price": cny("30"), "stop_effect": KEPT, **fields})


def look(resource: Resource, *events: PowerEvent) -> Judgement:
    (answer,) = judge(StillBilledWhen(), [resource], make_snapshot(resource, power_events={resource.ref: events}))
    return answer


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "fires: still_billed"),
        ({"charge_type": ChargeType.SPOT}, "fires: still_billed"),
        ({"kind": Kind.NOTEBOOK}, "fires: still_billed"),
        ({"price": None}, "fires: still_billed"),
        ({"stop_effect": StopEffect(Ends.YES, ("disks",))}, "clear: billing_ended"),
        ({"stop_effect": StopEffect(Ends.PARTLY)}, "clear: billing_ended"),
        ({"stop_effect": StopEffect(Ends.UNKNOWN)}, "unknown: billing_unknown"),
        ({"stop_effect": None}, "unknown: billing_unknown"),
        ({"stop_effect": StopEffect(Ends.NO, ("reservation", "disks"))}, "clear: paid_anyway"),
        ({"charge_type": ChargeType.PREPAID}, "clear: paid_anyway"),
        ({"charge_type": ChargeType.RESERVED}, "clear: paid_anyway"),
        ({"charge_type": ChargeType.OWNED}, "clear: paid_anyway"),
        ({"state": State.RUNNING}, "clear: not_stopped"),
        ({"state": State.STOPPING}, "clear: not_stopped"),
        ({"state": State.PENDING}, "unknown: state_unknown"),
        ({"state": State.UNKNOWN}, "unknown: state_unknown"),
        ({"kind": Kind.DISK}, "clear: another_kind"),
    ],
)
def test_who_is_off_and_still_charged(fields: dict[str, Any], said: str) -> None:
    """C07: what a stop was never to end is paid anyway; what the provider does not tell is unknown."""
    answer = look(off(**fields))
    assert f"{answer.outcome.value}: {answer.reason}" == said


def test_what_it_costs_and_since_when_in_the_providers_word() -> None:
    answer = look(off(stopped_at=NOW - 3 * HOUR))
    assert answer.waste_per_hour == cny("30")
    assert answer.since == NOW - 3 * HOUR
    assert (answer.evidence["stopped_for"], answer.evidence["cost"]) == (3 * HOUR, cny("90"))
    assert answer.evidence["stop_again"] is True


def test_since_when_as_somebody_saw_it() -> None:
    """Alibaba Cloud and Tencent Cloud tell no time of a stop: the event counts, else the first look."""
    box = off(stopped_at=None)
    stop = PowerEvent(box.ref, NOW - 2 * HOUR, "stop", ours=False)
    start = PowerEvent(box.ref, NOW - HOUR, "start", ours=False)
    late = PowerEvent(box.ref, NOW + HOUR, "stop", ours=False)
    assert look(box, stop, late).since == NOW - 2 * HOUR
    for events in ((), (stop, start)):
        answer = look(box, *events)
        assert answer.outcome is Outcome.FIRES
        assert answer.since == NOW
        assert "stopped_for" not in answer.evidence
    assert look(off(stopped_at=NOW + timedelta(seconds=5))).since == NOW


def test_without_a_price_it_is_a_finding_all_the_same() -> None:
    answer = look(off(price=None, stopped_at=NOW - HOUR))
    assert answer.waste_per_hour is None
    assert answer.evidence["cost"] is None


def test_it_may_not_stop() -> None:
    assert not STILL_BILLED.may_stop
