"""expiry: prepaid ends, their use and their renewal."""

from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.finding import Judgement, Outcome
from costguard.domain.resource import ChargeType, Resource, State
from costguard.rules.expiry import EXPIRY, ExpiryWhen, judge
from costguard.testing.builders import NOW, cny, make_resource, make_snapshot

DAY = timedelta(days=1)


def prepaid(**fields: Any) -> Resource:
    return make_resource(**{"charge_type": ChargeType.PREPAID, "expires_at": NOW + 10 * DAY, **fields})


def look(box: Resource, **fields: Any) -> Judgement:
    (answer,) = judge(ExpiryWhen(), [box], make_snapshot(box, **fields))
    return answer


def test_an_end_within_fifteen_days_with_use_and_renewal() -> None:
    box = prepaid(attributes={"auto_renew": "yes"}, price=cny("10"))
    answer = look(box, month_use={box.ref: 3.2})
    assert (answer.outcome, answer.reason, answer.since) == (Outcome.FIRES, "soon", NOW - 5 * DAY)
    assert answer.evidence["auto_renew"] is True
    assert answer.evidence["use_mean"] == 3.2
    assert answer.evidence["month_cost"] == cny(
        str(10 * 24 * (NOW.replace(month=NOW.month % 12 + 1, day=1) - NOW.replace(day=1)).days)
    )
    assert not EXPIRY.may_stop


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"expires_at": NOW + 15 * DAY}, "fires: soon"),
        ({"expires_at": NOW + 15 * DAY + timedelta(seconds=1)}, "clear: not_soon"),
        ({"expires_at": NOW - DAY}, "fires: expired"),
        ({"expires_at": None}, "unknown: expiry_unknown"),
        ({"charge_type": ChargeType.ON_DEMAND}, "clear: not_prepaid"),
        ({"charge_type": ChargeType.UNKNOWN}, "unknown: charge_type_unknown"),
        ({"charge_type": ChargeType.RESERVED}, "fires: soon"),
        ({"state": State.GONE}, "clear: gone"),
        ({"state": State.STOPPED}, "fires: soon"),
    ],
)
def test_what_ends_and_when(fields: dict[str, Any], expected: str) -> None:
    answer = look(prepaid(**fields))
    assert f"{answer.outcome.value}: {answer.reason}" == expected


def test_what_nobody_tells_is_unknown_and_said_so() -> None:
    evidence = look(prepaid()).evidence
    assert evidence["auto_renew"] is None
    assert evidence["use_mean"] is None
