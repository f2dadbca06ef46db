"""waste: unattached, orphaned, stopped long ago, never asked; how long it has been so must be known."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from costguard.domain.finding import Judgement, Outcome
from costguard.domain.resource import Ends, Kind, Resource, State, StopEffect
from costguard.domain.usage import Metric
from costguard.rules.waste import WASTE, WasteWhen, judge
from costguard.testing.builders import HOUR, NOW, cny, make_resource, make_snapshot, make_source, make_windows, usd

DAY = timedelta(days=1)
WEEK = 7 * DAY


def thing(kind: Kind, id: str = "x-1", **fields: Any) -> Resource:
    return make_resource(id, kind=kind, cards=0, **{"price": cny("0.5"), "created_at": NOW - 90 * DAY, **fields})


def look(resource: Resource, *others: Resource, when: dict[str, Any] | None = None, **fields: Any) -> Judgement:
    rule = WasteWhen.model_validate(when or {})
    (answer,) = judge(rule, [resource], make_snapshot(resource, *others, **fields))
    return answer


def said(*args: Any, **fields: Any) -> str:
    answer = look(*args, **fields)
    return f"{answer.outcome.value}: {answer.reason}"


@pytest.mark.parametrize("kind", [Kind.DISK, Kind.ADDRESS])
def test_what_belongs_to_nothing_for_long_enough(kind: Kind) -> None:
    """B04: the second timer runs from when it lost its box, and the storage has a price."""
    answer = look(thing(kind, attributes={"detached_at": (NOW - 8 * DAY).isoformat()}, size_gib=500))
    assert (answer.outcome, answer.reason, answer.since) == (Outcome.FIRES, "unattached", NOW - 8 * DAY)
    assert answer.evidence["cost_per_day"] == cny("12")
    assert answer.evidence["cost"] == cny("96")
    assert answer.waste_per_hour == cny("0.5")
    assert said(thing(kind, depends_on="i-1")) == "clear: attached"


def test_since_when_must_be_known() -> None:
    """What was unhooked an hour ago is not old because it was made long ago."""
    disk = thing(Kind.DISK)
    assert said(disk) == "unknown: unattached_since_unknown"
    assert said(thing(Kind.DISK, attributes={"detached_at": "yesterday"})) == "unknown: unattached_since_unknown"
    assert (
        said(thing(Kind.DISK, attributes={"detached_at": "2026-01-01T00:00:00"})) == "unknown: unattached_since_unknown"
    )
    assert said(disk, unattached_since={disk.ref: NOW - HOUR}) == "clear: not_long_enough"
    assert said(disk, unattached_since={disk.ref: NOW - WEEK}) == "fires: unattached"


def test_a_box_stopped_long_ago_and_what_still_costs() -> None:
    """B04: the second timer runs from the stop, and what goes on being billed is named."""
    box = make_resource("i-1", state=State.STOPPED, stopped_at=NOW - 15 * DAY)
    disk = thing(Kind.DISK, "d-1", depends_on="i-1", name="data")
    elsewhere = thing(Kind.DISK, "d-2", depends_on="i-1", account="other")
    answer = look(box, disk, elsewhere)
    assert (answer.outcome, answer.reason) == (Outcome.FIRES, "stopped")
    assert answer.evidence["parts"] == ("data",)
    assert answer.waste_per_hour == cny("0.5"), "the stop ended the box's own bill"
    billed = make_resource("i-1", state=State.STOPPED, stopped_at=NOW - 15 * DAY, stop_effect=StopEffect(Ends.NO))
    assert look(billed, disk).waste_per_hour == cny("35.24")
    dollars = thing(Kind.DISK, "d-1", depends_on="i-1", price=usd("1"))
    assert look(billed, dollars).waste_per_hour is None, "two currencies have no sum"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"state": State.RUNNING}, "clear: not_stopped"),
        ({"state": State.STOPPED, "stopped_at": NOW - 13 * DAY}, "clear: not_long_enough"),
        ({"state": State.STOPPED, "stopped_at": None}, "unknown: stopped_since_unknown"),
        ({"state": State.UNKNOWN}, "unknown: state_unknown"),
        ({"state": State.GONE}, "clear: gone"),
        ({"state": State.STOPPED, "stopped_at": NOW - 15 * DAY, "kind": Kind.NOTEBOOK}, "fires: stopped"),
    ],
)
def test_boxes(fields: dict[str, Any], expected: str) -> None:
    assert said(make_resource(**fields)) == expected


def test_a_snapshot_whose_disk_is_gone() -> None:
    snapshot = thing(Kind.SNAPSHOT, attributes={"volume": "d-1"})
    listed = (make_source("inventory.disk"),)
    assert said(snapshot, sources=listed) == "fires: orphan"
    assert said(snapshot, thing(Kind.DISK, "d-1"), sources=listed) == "clear: attached"
    assert said(snapshot) == "unknown: disks_not_listed", "nobody looked for disks"
    assert said(thing(Kind.SNAPSHOT), sources=listed) == "unknown: source_unknown"
    young = thing(Kind.SNAPSHOT, attributes={"volume": "d-1"}, created_at=NOW - DAY)
    assert said(young, sources=listed) == "clear: not_long_enough"
    ageless = thing(Kind.SNAPSHOT, attributes={"volume": "d-1"}, created_at=None)
    assert said(ageless, sources=listed) == "unknown: age_unknown"


def test_an_endpoint_that_nobody_asks() -> None:
    def endpoint(requests: float | None, **fields: Any) -> str:
        box = make_resource(kind=Kind.ENDPOINT, **{"started_at": NOW - 30 * DAY, **fields})
        windows = {} if requests is None else make_windows(box, {Metric.CONNECTIONS: requests}, length=WEEK)
        return said(box, usage={box.ref: windows})

    assert endpoint(0.0) == "fires: no_requests"
    assert endpoint(0.01) == "clear: requests"
    assert endpoint(None) == "unknown: requests_no_samples"
    assert endpoint(0.0, started_at=NOW - DAY) == "clear: just_started"
    assert endpoint(0.0, started_at=None) == "unknown: start_unknown"
    assert endpoint(0.0, state=State.STOPPED) == "clear: not_running"


def test_only_the_kinds_that_are_asked_for() -> None:
    disk = thing(Kind.DISK, attributes={"detached_at": (NOW - 8 * DAY).isoformat()})
    assert said(disk, when={"kinds": ["address"]}) == "clear: another_kind"
    assert said(thing(Kind.BUCKET)) == "clear: another_kind"
    assert WASTE.needs(WasteWhen.model_validate({"kinds": ["disk"]})) == frozenset()
    assert len(WASTE.needs(WasteWhen())) == 1


@pytest.mark.parametrize(
    "when", [{"kinds": ["gateway"]}, {"kinds": []}, {"unattached_for": "0d"}, {"stopped_for": "0h"}]
)
def test_mistakes_are_refused(when: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WasteWhen.model_validate(when)
