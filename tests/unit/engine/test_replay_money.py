"""Replays of policies about money: when each would have been told, by what was known at the time."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import permutations
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.budget import Basis, Interval, Spend
from costguard.domain.charge import Balance
from costguard.domain.resource import ChargeType, Ends, Resource, State, StopEffect
from costguard.engine.evaluate import prepare
from costguard.engine.history import Books, History, Run
from costguard.engine.replay import replay
from costguard.engine.replay_money import FINEST, Note, replay_money
from costguard.rules.policy import Policy
from costguard.rules.registry import parse_policy
from costguard.testing.builders import cny, make_account, make_resource
from tests.unit.engine.stage import SETTINGS

ZONE = ZoneInfo("Asia/Shanghai")
SINCE = datetime(2026, 6, 8, tzinfo=ZONE)  # a Monday, at its local midnight
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
UNTIL = SINCE + 5 * DAY


def policy(rule: str, when: dict[str, Any], *rungs: dict[str, Any], name: str = "", **fields: Any) -> Policy:
    return parse_policy(
        {
            "name": name or rule, "rule": rule, "match": "all", "when": when,
            "respond": list(rungs) or [{"do": "notify"}], **fields,
        }
    )  # fmt: skip


def history(box: Resource, *, runs: tuple[Run, ...] | None = None, **books: Any) -> History:
    """A box at 10 CNY an hour that has run since long before."""
    price = box.price or cny("10")
    runs = (Run(SINCE - 40 * DAY, None, ((SINCE - 40 * DAY, price),)),) if runs is None else runs
    intervals = tuple(Interval(box.ref, State.RUNNING, box.charge_type, run.started, run.ended, price) for run in runs)
    return History(
        SINCE, UNTIL, {"prod": make_account()}, {box.ref: box}, {box.ref: runs}, lambda low: (),
        books=Books(**{"intervals": intervals, **books}),
    )  # fmt: skip


def notes(past: History, *policies: Policy) -> list[Note]:
    return list(replay_money(map(prepare, policies), past, SETTINGS).notes)


def box(**fields: Any) -> Resource:
    return make_resource("i-1", cards=1, **{"price": cny("10"), "created_at": SINCE - 60 * DAY, **fields})


def billed(day: datetime, amount: str) -> Spend:
    return Spend("prod", None, "gateway", day, day + DAY, cny(amount), estimated=False, basis=Basis.PAYABLE)


def test_a_budget_of_a_day_is_told_each_day_when_it_is_reached() -> None:
    """10 CNY an hour: 100 CNY are gone at ten in the morning, 230 an hour before midnight; 241 never."""
    when = {"amount": "230 CNY", "period": "day", "at": ["43.4783%", "100%"], "forecast_at": []}
    found = notes(history(box()), policy("budget", when))
    mornings = [n for n in found if n.finding.threshold == "43.4783%"]
    evenings = [n for n in found if n.finding.threshold == "100%"]
    assert [n.at.astimezone(ZONE).date() for n in mornings] == [(SINCE + n * DAY).date() for n in range(5)]
    for number, (morning, evening) in enumerate(zip(mornings, evenings, strict=True)):
        assert timedelta() <= morning.at - (SINCE + number * DAY + 10 * HOUR) <= FINEST
        assert timedelta() <= evening.at - (SINCE + number * DAY + 23 * HOUR) <= FINEST
    assert not notes(history(box()), policy("budget", {**when, "amount": "241 CNY", "at": ["100%"]}))


def test_a_step_is_told_once_in_its_period() -> None:
    """1,000 CNY a week are reached after 100 hours, and never told again."""
    when = {"amount": "1000 CNY", "period": "week", "at": ["100%"], "forecast_at": []}
    (note,) = notes(history(box()), policy("budget", when))
    assert timedelta() <= note.at - (SINCE + 100 * HOUR) <= FINEST
    assert note.until is None


def test_a_late_bill_is_not_known_early() -> None:
    """A bill of Tuesday that came on Thursday at three is counted from then on, and not before."""
    arrived = SINCE + 3 * DAY + 15 * HOUR
    past = history(box(), bills=((arrived, billed(SINCE + DAY, "9000")),))
    when = {"amount": "5000 CNY", "period": "week", "at": ["100%"], "forecast_at": []}
    (note,) = notes(past, policy("budget", when))
    assert timedelta() <= note.at - arrived <= FINEST


def test_a_bill_that_is_known_only_after_the_history_changes_nothing() -> None:
    past = history(box(), bills=((UNTIL + HOUR, billed(SINCE, "9000")),))
    when = {"amount": "5000 CNY", "period": "week", "at": ["100%"], "forecast_at": []}
    assert not notes(past, policy("budget", when))


def test_a_day_that_began_before_the_history_counts_for_its_month() -> None:
    """June began seven days earlier: 1,680 CNY at the first look."""
    when = {"amount": "1600 CNY", "period": "month", "at": ["100%"], "forecast_at": []}
    (note,) = notes(history(box()), policy("budget", when))
    assert note.at == SINCE


def test_the_stops_of_a_budget_are_left_out_and_said() -> None:
    when = {"amount": "100 CNY", "period": "day", "at": ["100%"], "forecast_at": []}
    stops = policy("budget", when, {"do": "warn"}, {"after": "1h", "do": "stop"}, name="cap")
    one = box()
    result = replay([stops], history(one), SETTINGS)
    assert not result.stops
    assert result.partly == {"cap": "budget_stops"}
    assert result.told["cap"] == len(result.notes) == 5
    assert result.matched == {"cap": 1}


def test_a_balance_is_told_by_what_was_recorded_then() -> None:
    """500 CNY are enough, 400 are not: told at the balance of Wednesday noon; on Friday somebody had paid."""
    noon = SINCE + 2 * DAY + 12 * HOUR
    balances = [
        Balance("prod", cny(amount), None, at)
        for amount, at in (
            ("600", SINCE),
            ("600", SINCE + DAY),
            ("400", noon),
            ("400", noon + DAY),
            ("900", noon + 2 * DAY),
        )
    ]
    past = history(box(), balances=tuple(balances))
    (note,) = notes(past, policy("balance", {"amount_below": "500 CNY"}))
    assert timedelta() <= note.at - noon <= FINEST
    assert note.until is not None
    assert note.until >= noon + 2 * DAY


def test_a_subscription_is_told_when_its_end_is_near() -> None:
    prepaid = box(charge_type=ChargeType.PREPAID, expires_at=SINCE + 17 * DAY)
    (note,) = notes(history(prepaid), policy("expiry", {"prepaid_within": "15d"}))
    assert timedelta() <= note.at - (SINCE + 2 * DAY) <= FINEST


def test_a_box_that_was_off_and_billed_is_told_when_it_went_off() -> None:
    off = SINCE + 2 * DAY + 7 * HOUR
    one = box(stop_effect=StopEffect(Ends.NO))
    past = history(one, runs=(Run(SINCE - DAY, off, ((SINCE - DAY, cny("10")),)),))
    (note,) = notes(past, policy("still_billed", {}))
    assert timedelta() <= note.at - off <= FINEST


def test_a_box_is_not_there_before_it_was_made_nor_after_it_was_gone() -> None:
    young = box(created_at=SINCE + DAY, stop_effect=StopEffect(Ends.NO))
    (note,) = notes(history(young, runs=()), policy("still_billed", {}))
    assert timedelta() <= note.at - (SINCE + DAY) <= FINEST
    gone = box(state=State.GONE, stop_effect=StopEffect(Ends.NO), observed_at=SINCE - HOUR)
    assert not notes(history(gone, runs=()), policy("still_billed", {}))


def test_a_sudden_day_is_told_on_that_day() -> None:
    """Five CNY a day for a month, and 900 on Wednesday, known on Thursday at noon."""
    days = [(SINCE + n * DAY, billed(SINCE + (n - 1) * DAY, "5")) for n in range(-30, 3)]
    past = history(
        box(), intervals=(), bills=(*days, (SINCE + 3 * DAY + 12 * HOUR, billed(SINCE + 2 * DAY, "900")))
    )  # fmt: skip
    (note,) = notes(past, policy("anomaly", {"sensitivity": "medium", "floor": "200 CNY/day"}))
    assert note.at.astimezone(ZONE).date() == (SINCE + 3 * DAY).date()


def test_the_order_of_policies_changes_nothing() -> None:
    policies = [
        policy("budget", {"amount": "100 CNY", "period": "day", "forecast_at": []}, name="day"),
        policy("budget", {"amount": "900 CNY", "period": "week", "forecast_at": ["100%"]}, name="week"),
        policy("expiry", {"prepaid_within": "15d"}),
    ]
    past = history(box(charge_type=ChargeType.PREPAID, expires_at=SINCE + 17 * DAY))
    shown = [
        [(n.finding.policy, n.finding.threshold, n.at, n.until) for n in notes(past, *order)]
        for order in permutations(policies)
    ]
    assert shown[0]
    by_place = [sorted(one) for one in shown]
    assert by_place.count(by_place[0]) == len(by_place)


@pytest.mark.parametrize("amount", ["100", "170", "235"])
def test_every_half_hour_finds_the_same_as_few_looks(amount: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The looks that are left out would have said nothing new."""
    when = {"amount": f"{amount} CNY", "period": "day", "at": ["50%", "100%"], "forecast_at": []}
    past = replace(history(box()), until=SINCE + 2 * DAY)
    few = notes(past, policy("budget", when))
    monkeypatch.setattr("costguard.engine.replay_money.EVERY", timedelta(minutes=15))
    many = notes(past, policy("budget", when))
    assert [(n.finding.subject.id, n.finding.threshold) for n in few] == [
        (n.finding.subject.id, n.finding.threshold) for n in many
    ]
    assert all(abs(a.at - b.at) <= FINEST for a, b in zip(few, many, strict=True))
