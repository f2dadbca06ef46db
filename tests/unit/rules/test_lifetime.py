"""lifetime: older than allowed, and never on an unknown age."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from costguard.domain.finding import Judgement, Outcome
from costguard.domain.resource import Resource, State
from costguard.domain.snapshot import PowerEvent
from costguard.rules.lifetime import LifetimeWhen, judge
from costguard.testing.builders import HOUR, NOW, cny, make_resource, make_snapshot


def one(resource: Resource, snapshot_fields: dict[str, Any] | None = None, **when: Any) -> Judgement:
    snapshot = make_snapshot(resource, **(snapshot_fields or {}))
    (answer,) = judge(LifetimeWhen.model_validate(when), [resource], snapshot)
    return answer


def test_it_fires_from_the_limit_on_with_what_it_cost_since() -> None:
    answer = one(make_resource(started_at=NOW - 10 * HOUR), max_age="8h")
    assert (answer.outcome, answer.since) == (Outcome.FIRES, NOW - 2 * HOUR)
    assert answer.evidence["over_by"] == 2 * HOUR
    assert answer.evidence["cost"] == cny("69.48")
    assert answer.waste_per_hour == cny("34.74")


@pytest.mark.parametrize(
    ("up", "outcome"), [(8 * HOUR, Outcome.FIRES), (8 * HOUR - timedelta(seconds=1), Outcome.CLEAR)]
)
def test_the_boundary(up: timedelta, outcome: Outcome) -> None:
    assert one(make_resource(started_at=NOW - up), max_age="8h").outcome is outcome


def test_an_unknown_age_never_fires() -> None:
    """C19: an unknown age never satisfies a limit; transitional states are skipped."""
    assert one(make_resource(started_at=None), max_age="1h").reason == "age_unknown"
    assert one(make_resource(created_at=None), max_age="1h", since="creation").outcome is Outcome.UNKNOWN
    assert one(make_resource(state=State.PENDING, started_at=NOW - 9 * HOUR), max_age="1h").outcome is Outcome.UNKNOWN
    assert one(make_resource(state=State.STOPPED), max_age="1h", since="creation").outcome is Outcome.CLEAR


def test_since_creation_or_start() -> None:
    box = make_resource(created_at=NOW - 90 * HOUR, started_at=NOW - HOUR)
    assert one(box, max_age="48h").outcome is Outcome.CLEAR
    assert one(box, max_age="48h", since="creation").outcome is Outcome.FIRES


def test_a_start_seen_later_than_listed_counts() -> None:
    box = make_resource(started_at=NOW - 90 * HOUR)
    events = {box.ref: (PowerEvent(box.ref, NOW - HOUR, "start", ours=False),)}
    assert one(box, {"power_events": events}, max_age="48h").outcome is Outcome.CLEAR


@pytest.mark.parametrize(
    ("tags", "outcome", "reason"),
    [
        ({"costguard:ttl": "2h"}, Outcome.FIRES, "too_old"),
        ({"CostGuard_TTL": " 2H "}, Outcome.FIRES, "too_old"),
        ({"costguard:ttl": "48h"}, Outcome.CLEAR, "young_enough"),
        ({"costguard:ttl": "soon"}, Outcome.UNKNOWN, "ttl_malformed"),
        ({"costguard:ttl": "0h"}, Outcome.UNKNOWN, "ttl_malformed"),
        ({"costguard:ttl": "48"}, Outcome.UNKNOWN, "ttl_malformed"),
        ({"costguard:ttl": "99999999999999d"}, Outcome.UNKNOWN, "ttl_malformed"),
        ({}, Outcome.FIRES, "too_old"),
        (None, Outcome.UNKNOWN, "tags_unreadable"),
    ],
)
def test_a_boxs_own_tag_goes_first(tags: dict[str, str] | None, outcome: Outcome, reason: str) -> None:
    """C24, C26: folded key; a malformed tag never fires."""
    answer = one(make_resource(tags=tags), max_age="8h", tag="costguard:ttl")
    assert (answer.outcome, answer.reason) == (outcome, reason)


@pytest.mark.parametrize(("ago", "missed"), [(16, True), (14, False), (-60, False), (None, False)])
def test_a_timer_of_the_provider_that_did_not_act_is_told(ago: int | None, missed: bool) -> None:
    """B10: a box that runs past its own release time; nobody relies on that timer."""
    at = None if ago is None else NOW - timedelta(minutes=ago)
    answer = one(make_resource(started_at=NOW - 10 * HOUR, auto_release_at=at), max_age="8h")
    assert answer.outcome is Outcome.FIRES
    assert answer.evidence.get("timer_missed") == (at if missed else None)


def test_without_a_limit_of_its_own_a_box_is_left_alone() -> None:
    answer = one(make_resource(), tag="costguard:ttl")
    assert (answer.outcome, answer.reason) == (Outcome.CLEAR, "no_ttl")


def test_some_limit_is_needed() -> None:
    with pytest.raises(ValidationError, match="max_age"):
        LifetimeWhen.model_validate({"since": "start"})
