"""balance: how long the money lasts, through holidays, without what is frozen."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from costguard.domain.charge import Balance
from costguard.domain.finding import Judgement, Outcome, SubjectType
from costguard.domain.resource import ChargeType, Resource, State
from costguard.domain.time import Calendar, Calendars
from costguard.rules.balance import BalanceWhen, judge
from costguard.testing.builders import HOUR, cny, make_resource, make_snapshot, make_source, usd

NOW = datetime(2026, 6, 10, 4, 0, tzinfo=UTC)  # a Wednesday noon in Shanghai
DAY = timedelta(days=1)


def box(price: str = "10", id: str = "i-1", **fields: Any) -> Resource:
    return make_resource(id, **{"price": cny(price), "observed_at": NOW, **fields})


def look(
    when: dict[str, Any],
    available: str,
    *boxes: Resource,
    frozen: str | None = None,
    age: timedelta = HOUR,
    **fields: Any,
) -> Judgement:
    purse = Balance("prod", cny(available), cny(frozen) if frozen else None, NOW - age)
    snapshot = make_snapshot(*boxes, now=NOW, timezone="Asia/Shanghai", balances=(purse,), **fields)
    (answer,) = judge(BalanceWhen.model_validate(when), boxes, snapshot)
    return answer


def said(*args: Any, **fields: Any) -> str:
    answer = look(*args, **fields)
    return f"{answer.outcome.value}: {answer.reason}"


def test_days_left_at_what_runs_now() -> None:
    answer = look({"days_left_below": "3d"}, "600", box())
    assert (answer.outcome, answer.reason) == (Outcome.FIRES, "days_low")
    assert (answer.subject.type, answer.subject.id) == (SubjectType.ACCOUNT, "prod")
    assert answer.evidence["days_left"] == 60 * HOUR
    assert answer.evidence["empty_at"] == NOW + 60 * HOUR
    assert answer.evidence["burn_per_day"] == cny("240")
    assert said({"days_left_below": "3d"}, "720", box()) == "clear: enough"


def test_what_is_missing_of_the_burn_proves_nothing() -> None:
    """I21: a price that is gone, or an inventory that fails, is no recovery; what is known still fires."""
    when = {"days_left_below": "3d"}
    unpriced = replace(box(id="i-2"), price=None)
    assert said(when, "720", box(), unpriced) == "unknown: burn_unknown"
    assert said(when, "600", box(), unpriced) == "fires: days_low"
    assert said(when, "720", box(), replace(unpriced, state=State.STOPPED)) == "clear: enough"
    assert said({"amount_below": "5 CNY"}, "720", unpriced) == "clear: enough", "asks for no burn"
    old = make_source("inventory", fetched_at=NOW - 30 * HOUR, count=1)
    assert said(when, "720", box(), sources=(old,)) == "unknown: burn_unknown"
    assert said(when, "600", box(), sources=(old,)) == "fires: days_low"


def test_frozen_money_is_not_there() -> None:
    assert look({"amount_below": "500 CNY"}, "600", frozen="150").evidence["available"] == cny("450")
    assert said({"amount_below": "500 CNY"}, "600", frozen="150") == "fires: amount_low"
    assert said({"amount_below": "500 CNY"}, "600", frozen="100") == "clear: enough"


@pytest.mark.parametrize(
    "idle",
    [
        box(charge_type=ChargeType.PREPAID), box(charge_type=ChargeType.OWNED), box(state=State.STOPPED),
        box(price="0"), box(account="other"),
    ],
)  # fmt: skip
def test_what_is_paid_for_already_or_elsewhere_burns_nothing(idle: Resource) -> None:
    answer = look({"days_left_below": "3d"}, "1", idle)
    assert (answer.outcome, answer.evidence["days_left"]) == (Outcome.CLEAR, None)


def test_an_empty_or_overdrawn_account_lasts_no_time() -> None:
    assert look({"days_left_below": "3d"}, "-20", box()).evidence["days_left"] == timedelta()
    assert said({"days_left_below": "3d"}, "-20", box()) == "fires: days_low"


def test_what_is_unknown() -> None:
    assert said({"amount_below": "500 CNY"}, "1", age=25 * HOUR) == "unknown: balance_stale"
    assert said({"amount_below": "5 USD"}, "1") == "unknown: no_rate"
    dollars = make_resource("i-2", price=usd("1"), observed_at=NOW)
    assert said({"days_left_below": "3d"}, "99999", dollars) == "unknown: no_rate"
    assert look({"days_left_below": "3d"}, "99999", make_resource(price=None)).evidence["unpriced"] == 1


HOLIDAY = Calendars({"CN": Calendar(frozenset(date(2026, 6, d) for d in (12, 15, 16)), frozenset(), frozenset({2026}))})


def test_rest_days_that_follow_must_be_covered() -> None:
    """D13: from Friday the 12th to Tuesday the 16th nobody tops up, so the money must last to the 17th."""
    plain = {"days_left_below": "2d"}
    assert said(plain, "720", box(), calendars=HOLIDAY) == "clear: enough"
    answer = look({**plain, "cover_holidays": True}, "720", box(), calendars=HOLIDAY)
    assert answer.outcome is Outcome.FIRES
    assert answer.evidence["needed_until"] == datetime(2026, 6, 16, 16, 0, tzinfo=UTC)
    assert said({**plain, "cover_holidays": "CN"}, "1600", box(), calendars=HOLIDAY) == "clear: enough"
    assert said({"days_left_below": "1d", "cover_holidays": True}, "720", box(), calendars=HOLIDAY) == "clear: enough"


@pytest.mark.parametrize(
    "when", [{}, {"amount_below": "500"}, {"days_left_below": "0d"}, {"amount_below": "5 CNY", "cover_holidays": True}]
)
def test_mistakes_are_refused(when: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BalanceWhen.model_validate(when)
