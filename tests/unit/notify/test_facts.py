"""Facts: plain JSON, the costs computed where they are not given, no saving without confirmation."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from costguard.domain.decision import Response
from costguard.notify.document import next_morning
from costguard.notify.facts import failed_facts, result_facts, warning_facts
from costguard.notify.samples import SAMPLE_NOW, SAMPLE_ZONE, sample_action, sample_facts, sample_resource


@pytest.mark.parametrize("name", sample_facts())
def test_facts_are_plain_json(name: str) -> None:
    facts = sample_facts()[name]
    assert json.loads(json.dumps(facts)) == facts


@pytest.mark.parametrize(
    ("now", "zone", "expected"),
    [
        (datetime(2026, 3, 5, 13, 0, tzinfo=UTC), "Asia/Shanghai", datetime(2026, 3, 6, 1, 0, tzinfo=UTC)),
        (datetime(2026, 3, 5, 0, 59, tzinfo=UTC), "Asia/Shanghai", datetime(2026, 3, 5, 1, 0, tzinfo=UTC)),
        (datetime(2026, 3, 5, 1, 0, tzinfo=UTC), "Asia/Shanghai", datetime(2026, 3, 6, 1, 0, tzinfo=UTC)),
        # Over the night in which the clocks go forward it is 09:00 an hour earlier.
        (datetime(2026, 3, 8, 2, 0, tzinfo=UTC), "America/New_York", datetime(2026, 3, 8, 13, 0, tzinfo=UTC)),
    ],
)
def test_next_morning(now: datetime, zone: str, expected: datetime) -> None:
    assert next_morning(now, zone) == expected


def test_costs_come_from_the_price() -> None:
    box = sample_resource()
    facts = warning_facts(
        action=sample_action(box), resource=box, do=Response.STOP, now=SAMPLE_NOW, timezone=SAMPLE_ZONE
    )
    assert facts["since_cost"] == {"amount": "35.898", "currency": "CNY"}
    assert facts["morning_cost"] == {"amount": "416.88", "currency": "CNY"}


def test_an_unknown_price_stays_unknown() -> None:
    box = replace(sample_resource(), price=None)
    facts = warning_facts(
        action=sample_action(box), resource=box, do=Response.STOP, now=SAMPLE_NOW, timezone=SAMPLE_ZONE
    )
    assert "price" not in facts
    assert "morning_cost" not in facts


@pytest.mark.parametrize(
    ("do", "confirmed", "told"), [("stop", True, True), ("stop", False, False), ("tag", True, False)]
)
def test_a_saving_is_named_only_when_billing_ended(do: str, confirmed: bool, told: bool) -> None:
    """C06: the provider must have confirmed it."""
    box = sample_resource()
    facts = result_facts(
        action=sample_action(box), resource=box, do=Response(do), now=SAMPLE_NOW, timezone=SAMPLE_ZONE,
        confirmed=confirmed,
    )  # fmt: skip
    assert ("morning_saved" in facts) is told


def test_a_failure_counts_at_least_one_attempt() -> None:
    box = sample_resource()
    facts = failed_facts(
        action=sample_action(box), resource=box, do=Response.STOP, now=SAMPLE_NOW, timezone=SAMPLE_ZONE, error="no"
    )
    assert facts["attempts"] == 1
