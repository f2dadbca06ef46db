"""anomaly: days far above their like, with a floor in money; new things that are dear at once."""

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from costguard.domain.budget import Spend
from costguard.domain.finding import Judgement, Outcome
from costguard.domain.money import Money
from costguard.domain.time import local_midnight
from costguard.rules.anomaly import ANOMALY, AnomalyWhen, judge, usual
from costguard.testing.builders import HOUR, cny, make_resource, make_snapshot, usd

ZONE = ZoneInfo("Asia/Shanghai")
TODAY = date(2026, 6, 18)
NOW = local_midnight(TODAY, ZONE) + 12 * HOUR
DAY = timedelta(days=1)


def row(back: int, money: Money, **fields: Any) -> Spend:
    start = local_midnight(TODAY - back * DAY, ZONE)
    defaults = {"account": "prod", "ref": None, "service": "compute", "estimated": False}
    return Spend(start=start, end=start + DAY, money=money, **{**defaults, **fields})


def steady(days: int, amount: str = "1000", **fields: Any) -> list[Spend]:
    return [row(n, cny(amount), **fields) for n in range(2, days + 2)]


def look(rows: list[Spend], when: dict[str, Any] | None = None, **fields: Any) -> dict[str, Judgement]:
    snapshot = make_snapshot(*fields.pop("boxes", ()), now=NOW, timezone="Asia/Shanghai", spend=tuple(rows), **fields)
    found = judge(AnomalyWhen.model_validate(when or {}), list(snapshot.resources.values()), snapshot)
    return {answer.subject.id: answer for answer in found}


def said(rows: list[Spend], when: dict[str, Any] | None = None, **fields: Any) -> dict[str, str]:
    return {id: f"{a.outcome.value}: {a.reason}" for id, a in look(rows, when, **fields).items()}


def test_a_day_far_above_its_like() -> None:
    answer = look([*steady(28), row(1, cny("1500"))])["compute 2026-06-17"]
    assert (answer.outcome, answer.reason) == (Outcome.FIRES, "far_above_usual")
    assert answer.since == answer.started_at == local_midnight(TODAY - DAY, ZONE)
    assert (answer.evidence["median"], answer.evidence["over"]) == (cny("1000"), cny("500"))
    assert answer.evidence["drivers"] == (("compute", cny("1500")),)
    assert ANOMALY.repeat_after is None
    assert not ANOMALY.may_stop


@pytest.mark.parametrize(
    ("amount", "when", "expected"),
    [
        ("1199", {}, "clear: usual"),
        ("1500", {"floor": "501 CNY/day"}, "clear: usual"),
        ("1500", {"floor": "500 CNY/day"}, "fires: far_above_usual"),
        ("1250", {"sensitivity": "low"}, "clear: usual"),
        ("1250", {"sensitivity": "high"}, "fires: far_above_usual"),
        ("0", {}, "clear: usual"),
    ],
)
def test_deviations_and_the_floor(amount: str, when: dict[str, Any], expected: str) -> None:
    assert said([*steady(28), row(1, cny(amount))], when)["compute 2026-06-17"] == expected


def test_today_is_told_as_soon_as_it_is_too_much() -> None:
    assert said([*steady(28), row(1, cny("1000")), row(0, cny("3000"))])["compute 2026-06-18"].startswith("fires")
    assert said([*steady(28), row(1, cny("1000")), row(0, cny("300"))])["compute 2026-06-18"] == "clear: usual"


def test_quiet_weekends_do_not_make_every_monday_an_anomaly() -> None:
    days = {TODAY - n * DAY: cny("0" if (TODAY - n * DAY).weekday() >= 5 else "1000") for n in range(1, 29)}
    monday = usual(days, date(2026, 6, 15) + 7 * DAY)
    assert monday is not None
    assert (monday.median, monday.days) == (1000 * 10**9, 4)
    saturday = usual(days, date(2026, 6, 20))
    assert saturday is not None
    assert saturday.median == 0


def test_the_first_ten_days_are_unknown() -> None:
    assert said([*steady(8), row(1, cny("9999"))])["compute 2026-06-17"] == "unknown: short_history"
    assert said([*steady(10), row(1, cny("9999"))])["compute 2026-06-17"].startswith("fires")


def test_services_accounts_and_teams_are_looked_at_by_themselves() -> None:
    rows = [
        *steady(28),
        *steady(28, service="storage"),
        *steady(28, account="dev", team="nlp"),
        row(1, cny("9000"), team="nlp"),
    ]
    found = look(rows)
    fired = {(a.subject.account, a.subject.id) for a in found.values() if a.outcome is Outcome.FIRES}
    assert fired == {("prod", "compute 2026-06-17"), ("", "team nlp 2026-06-17")}
    assert found["storage 2026-06-17"].outcome is Outcome.CLEAR


def test_money_without_a_rate_is_not_part_of_it() -> None:
    rows = [*steady(28), row(1, cny("1000")), row(1, usd("99999"))]
    assert said(rows)["compute 2026-06-17"] == "unknown: no_rate"
    always = ((datetime.min.replace(tzinfo=ZoneInfo("UTC")), "7"),)
    assert said(rows, exchange_rates={"USD": always})["compute 2026-06-17"].startswith("fires")


def test_a_new_thing_that_is_dear_from_its_first_hour() -> None:
    when = {"new_above": "50 CNY/h"}
    boxes = (
        make_resource("dear", created_at=NOW - HOUR, price=cny("80"), creator="ram/li"),
        make_resource("cheap", created_at=NOW - HOUR, price=cny("50")),
        make_resource("old", created_at=NOW - 25 * HOUR, price=cny("80")),
        make_resource("unpriced", created_at=NOW - HOUR, price=None),
        make_resource("ageless", created_at=None, price=cny("80")),
        make_resource("dollars", created_at=NOW - HOUR, price=usd("80")),
    )
    assert said([], when, boxes=boxes) == {
        "new dear": "fires: new_and_dear",
        "new cheap": "clear: cheap_enough",
        "new unpriced": "unknown: price_unknown",
        "new dollars": "unknown: no_rate",
    }
    assert said([], boxes=boxes) == {}


@given(st.permutations(range(28)))
def test_the_order_of_days_changes_nothing(order: list[int]) -> None:
    rows = [row(n + 2, cny(str(900 + 7 * n))) for n in range(28)]
    assert look([rows[n] for n in order]) == look(rows)


@pytest.mark.parametrize(
    "when", [{"sensitivity": "extreme"}, {"floor": "200 CNY"}, {"floor": "0 CNY/day"}, {"new_above": "5 CNY/gpu/h"}]
)
def test_mistakes_are_refused(when: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AnomalyWhen.model_validate(when)
