"""The eight lines' numbers: those of the audit, and what was wasted, on hand-made facts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import Subject
from costguard.domain.money import Money
from costguard.domain.resource import Resource
from costguard.engine.audit import AuditFacts, month_bounds
from costguard.engine.report import changes, report
from costguard.rules.currency import Rates
from costguard.testing.builders import cny, make_action, make_resource

ZONE = ZoneInfo("Asia/Shanghai")
START, END = month_bounds("2026-02", ZONE)
NOW = datetime(2026, 3, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def facts(*actions: Action, resources: tuple[Resource, ...] = (), **more: Any) -> AuditFacts:
    rates = Rates("CNY", {"USD": [(START, "7")]})
    return AuditFacts(
        "2026-02", START, END, NOW, ZONE, rates, resources, (), actions=actions, language="zh", **more
    )  # fmt: skip


def wasting(id: str, begins: timedelta, ends: timedelta | None, price: Money | None = None, **more: Any) -> Action:
    """A ladder that began to hold ``begins`` after the month's start."""
    box = make_resource(id, name=f"name-{id}")
    closed = {} if ends is None else {"state": ActionState.CANCELLED, "ended_at": START + ends}
    return make_action(
        id=f"act-{id}-{more.get('policy', '')}", subject=Subject.of(box), since=START + begins,
        waste_per_hour=price or cny("10"), **{"state": ActionState.WARNED, **closed, **more},
    )  # fmt: skip


def wasted(*actions: Action) -> list[tuple[str, str, int]]:
    found = report(facts(*actions)).numbers["wasted"]
    return [(one["name"], one["amount"]["amount"], one["span"]["seconds"] // 3600) for one in found]


class TestWasted:
    def test_from_when_it_held_to_when_it_no_longer_did_within_the_month(self) -> None:
        month = int((END - START) / HOUR)
        assert wasted(
            wasting("a", 5 * HOUR, 8 * HOUR),
            wasting("b", -9 * HOUR, 2 * HOUR, cny("1")),
            wasting("c", 10 * HOUR, None, cny("0.5")),
        ) == [("name-c", str((month - 10) / 2).removesuffix(".0"), month - 10), ("name-a", "30", 3), ("name-b", "2", 2)]

    def test_two_policies_that_find_the_same_count_once(self) -> None:
        first = wasting("a", HOUR, 4 * HOUR, policy="idle")
        again = wasting("a", 6 * HOUR, 8 * HOUR, policy="idle")
        other = wasting("a", HOUR, 3 * HOUR, policy="lifetime")
        assert wasted(first, replace(again, id="again"), other) == [("name-a", "50", 5)]

    def test_a_dry_run_that_would_have_stopped_goes_on_wasting(self) -> None:
        """Its row has in ended_at when it would have stopped."""
        dry = wasting("a", HOUR, None, dry_run=True, state=ActionState.RECORDED, ended_at=START + 2 * HOUR)
        assert wasted(dry)[0][2] == int((END - START) / HOUR) - 1

    def test_three_at_most_in_one_currency_and_never_what_has_no_rate(self) -> None:
        assert wasted(
            *(wasting(name, HOUR, 2 * HOUR, Money.of(n, "USD")) for n, name in enumerate("abcd", 1)),
            wasting("e", HOUR, 2 * HOUR, Money.of(99, "EUR")),
        ) == [("name-d", "28", 1), ("name-c", "21", 1), ("name-b", "14", 1)]

    def test_what_began_afterwards_is_not_of_the_month(self) -> None:
        assert wasted(wasting("a", END - START + HOUR, None)) == []


def next_step(*actions: Action, **more: Any) -> dict[str, Any]:
    step: dict[str, Any] = report(facts(*actions, **more)).numbers["next"]
    return step


class TestNextStep:
    """The first of these that there is: what is broken before what waits before what could be better."""

    failed = wasting("f", HOUR, None, state=ActionState.FAILED)
    approval = wasting("p", HOUR, None, code=GuardCode.APPROVAL)
    dry = wasting("d", HOUR, None, dry_run=True, state=ActionState.RECORDED, ended_at=START + 2 * HOUR)
    over = {"policy": "month", "key": "", "state": "over", "spent": None, "amount": None, "used": 110, "forecast": None}
    nobodys = (make_resource("n", name="name-n", price=cny("3")), make_resource("m", name="name-m", price=cny("9")))

    def test_in_this_order(self) -> None:
        everything = (self.failed, self.approval, self.dry)
        more: dict[str, Any] = {"budgets": [self.over], "resources": self.nobodys}
        assert next_step(*everything, **more)["code"] == "failed"
        assert next_step(*everything[1:], **more) == {
            "code": "approve", "name": "name-p", "id": "p", "action": "act-p-", "count": 1,
        }  # fmt: skip
        assert next_step(self.dry, **more) == {"code": "budget", "name": "month"}
        assert next_step(self.dry, resources=self.nobodys) == {
            "code": "owners", "count": 2, "name": "name-m", "id": "m",
        }  # fmt: skip
        assert next_step(self.dry)["code"] == "enforce"
        assert next_step(self.dry)["name"] == self.dry.policy
        assert next_step() == {"code": "nothing"}

    def test_a_failure_that_a_later_stop_made_good_is_none(self) -> None:
        again = replace(
            self.failed, id="later", state=ActionState.DONE, created_at=self.failed.created_at + HOUR,
            ended_at=START + 5 * HOUR,
        )  # fmt: skip
        assert next_step(self.failed, again)["code"] == "nothing"


def test_stops_are_those_of_the_month_that_were_really_made() -> None:
    done = wasting("a", HOUR, 2 * HOUR, state=ActionState.DONE, executed_at=START + 2 * HOUR)
    numbers = report(
        facts(
            done,
            replace(done, id="earlier", executed_at=START - HOUR),
            replace(done, id="dry", dry_run=True),
            replace(done, id="note", response=Response.NOTIFY),
            replace(done, id="wrong", disputed_by="li"),
        )
    ).numbers
    assert (numbers["stops"], numbers["false_stops"]) == (2, 1)


def test_both_languages_say_the_same_decisions() -> None:
    told = report(facts(resources=TestNextStep.nobodys))
    assert set(told.documents) == {"zh", "en"}
    decisions = told.numbers["decisions"]
    assert "没有负责人" in decisions["zh"][0]
    assert "no owner" in decisions["en"][0]
    assert told.final is False


def numbers(**changed: Any) -> dict[str, Any]:
    money = {"amount": "100.004", "currency": "CNY"}
    return {"amount": money, "billed": None, "saved": money, "owners": [{"key": "li", "amount": money}]} | changed


def yuan(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "CNY"}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (numbers(), []),
        (numbers(amount=yuan("100.001"), billed=yuan("0")), []),
        (numbers(amount=yuan("100.01")), [{"what": "amount", "from": yuan("100.004"), "to": yuan("100.01")}]),
        (numbers(billed=yuan("99")), [{"what": "billed", "from": None, "to": yuan("99")}]),
        (
            numbers(owners=[{"key": "wang", "amount": yuan("500")}]),
            [
                {"what": "owner", "key": "wang", "from": None, "to": yuan("500")},
                {"what": "owner", "key": "li", "from": yuan("100.004"), "to": None},
            ],
        ),
    ],
)
def test_what_a_person_would_see_change(after: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    assert changes(numbers(), after) == expected
