"""budget: steps once a period, late and missing bills, odd days, currencies, and the boxes that a step stops."""

from datetime import UTC, date, datetime, timedelta
from itertools import permutations
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from costguard.domain.budget import Spend
from costguard.domain.finding import Judgement, Outcome, SubjectType
from costguard.domain.resource import Kind, State
from costguard.domain.snapshot import Snapshot, SourceState
from costguard.domain.time import local_midnight
from costguard.engine.evaluate import evaluate
from costguard.rules.budget import BUDGET, BudgetWhen, judge
from costguard.rules.registry import parse_policy
from costguard.testing.builders import HOUR, cny, make_resource, make_snapshot, make_source, usd

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 6, 20, 4, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def row(day: str, amount: str, **fields: Any) -> Spend:
    start = local_midnight(date.fromisoformat(day), SHANGHAI)
    defaults = {"account": "prod", "ref": None, "service": "compute", "estimated": False, "money": cny(amount)}
    return Spend(start=start, end=start + DAY, **{**defaults, **fields})


def when(**changes: Any) -> BudgetWhen:
    return BudgetWhen.model_validate({"amount": "1000 CNY", **changes})


def world(*rows: Spend, boxes: tuple[Any, ...] = (), **fields: Any) -> Snapshot:
    return make_snapshot(*boxes, **{"now": NOW, "timezone": "Asia/Shanghai", "spend": rows, **fields})


def answers(rule: BudgetWhen, snapshot: Snapshot) -> dict[str, Judgement]:
    """Threshold → the budget's own answer."""
    found = judge(rule, list(snapshot.resources.values()), snapshot)
    return {a.threshold: a for a in found if a.subject.type is SubjectType.BUDGET}


def said(rule: BudgetWhen, snapshot: Snapshot) -> dict[str, str]:
    return {step: f"{a.outcome.value}: {a.reason}" for step, a in answers(rule, snapshot).items()}


def test_steps_fire_as_spend_reaches_them() -> None:
    found = said(when(forecast_at=[]), world(row("2026-06-02", "500"), row("2026-06-03", "300")))
    assert found == {"50%": "fires: step_reached", "80%": "fires: step_reached", "100%": "clear: below_step"}


def test_what_is_used_is_never_rounded_up_to_a_step() -> None:
    """99.99 % is not told as 100 % while its step is not reached."""
    for amount, used in (("999.90", 99.9), ("1000", 100.0), ("799.99", 79.9), ("-0.01", -0.1)):
        found = answers(when(), world(row("2026-06-02", amount)))
        assert {a.evidence["used"] for a in found.values()} == {used}, amount


def test_a_step_is_one_ladder_for_a_whole_period_and_another_in_the_next() -> None:
    """J01: one per budget, threshold and period, however often it is looked at."""
    rows = (row("2026-06-02", "900"), row("2026-07-02", "900"))
    early, late = world(*rows), world(*rows, now=NOW + 3 * DAY)
    following = world(*rows, now=datetime(2026, 7, 3, 4, 0, tzinfo=UTC))
    one, two, three = (answers(when(), snapshot)["80%"] for snapshot in (early, late, following))
    identity = [(a.subject, a.threshold, a.started_at) for a in (one, two, three)]
    assert identity[0] == identity[1] != identity[2]
    assert one.started_at == local_midnight(date(2026, 6, 1), SHANGHAI)
    assert BUDGET.repeat_after is None


def test_a_late_bill_does_not_open_a_closed_period_again() -> None:
    found = answers(when(), world(row("2026-05-31", "99999"), row("2026-06-01", "1")))
    assert {a.subject.id for a in found.values()} == {"2026-06"}
    assert found["50%"].outcome is Outcome.CLEAR


def test_nothing_that_is_missing_clears_a_step() -> None:
    """I21: no recovery on missing data - not at ten past midnight, not while a source is behind, not without a rate."""
    rule = when(forecast_at=[])
    assert set(said(rule, world()).values()) == {"unknown: no_spend"}
    stale = make_source("charges", state=SourceState.FAILED, count=3)
    assert set(said(rule, world(row("2026-06-02", "1"), sources=(stale,))).values()) == {"unknown: spend_stale"}
    old = make_source("inventory.disk", fetched_at=NOW - 9 * HOUR, count=3)
    assert set(said(rule, world(row("2026-06-02", "1"), sources=(old,))).values()) == {"unknown: spend_stale"}
    empty = make_source("inventory", fetched_at=NOW - 9 * HOUR, count=0)
    assert set(said(rule, world(row("2026-06-02", "1"), sources=(empty,))).values()) == {"clear: below_step"}
    elsewhere = make_source("charges", account="other", state=SourceState.FAILED, count=3)
    assert set(said(rule, world(row("2026-06-02", "1"), sources=(elsewhere,))).values()) == {"clear: below_step"}
    dollars = row("2026-06-02", "0", money=usd("5"))
    assert set(said(rule, world(row("2026-06-02", "1"), dollars)).values()) == {"unknown: no_rate"}


def test_what_is_there_fires_whatever_is_missing() -> None:
    dollars = row("2026-06-02", "0", money=usd("5"))
    found = answers(when(forecast_at=[]), world(row("2026-06-02", "1000"), dollars))
    assert {a.outcome for a in found.values()} == {Outcome.FIRES}
    assert found["100%"].evidence["apart"] == (usd("5"),)


def test_currencies_join_only_by_a_rate() -> None:
    dollars = row("2026-06-02", "0", money=usd("100"))
    rates = {"USD": ((datetime(2020, 1, 1, tzinfo=UTC), "7.1"),)}
    evidence = answers(when(), world(dollars, exchange_rates=rates))["50%"].evidence
    assert evidence["spent"] == cny("710")


def test_an_odd_day_raises_the_alarm_and_stops_nothing() -> None:
    """I13: 1e12 in a bill."""
    rows = [row(f"2026-06-{n:02}", "10") for n in (1, 2, 3, 4)]
    box = make_resource(started_at=NOW - DAY)
    snapshot = world(*rows, row("2026-06-05", "1000000000000"), boxes=(box,))
    found = [a for a in judge(when(), [box], snapshot) if a.threshold == "100%"]
    assert [(a.subject.type.value, a.outcome.value, a.reason) for a in found] == [
        ("budget", "fires", "day_quarantined"),
        ("resource", "unknown", "day_quarantined"),
    ]
    assert found[0].evidence["odd_amount"] == cny("1000000000000")
    assert found[0].evidence["usual_day"] == cny("10")


def test_money_that_is_gone_without_the_odd_day_stops_boxes_all_the_same() -> None:
    rows = [row(f"2026-06-{n:02}", "300") for n in (1, 2, 3, 4)]
    box = make_resource(started_at=NOW - DAY)
    snapshot = world(*rows, row("2026-06-05", "1000000"), boxes=(box,))
    assert [a.outcome for a in judge(when(), [box], snapshot) if a.threshold == "100%"] == [Outcome.FIRES] * 2


def test_boxes_keep_their_own_run_as_identity() -> None:
    box = make_resource(started_at=NOW - DAY)
    stopped = make_resource("i-2", state=State.STOPPED)
    disk = make_resource("d-1", kind=Kind.DISK)
    found = list(judge(when(at=["100%"]), [box, stopped, disk], world(row("2026-06-02", "1000"), boxes=(box,))))
    boxes = {a.subject.id: a for a in found if a.subject.type is SubjectType.RESOURCE}
    assert boxes.keys() == {"i-1", "i-2"}
    assert (boxes["i-1"].outcome, boxes["i-1"].started_at) == (Outcome.FIRES, box.started_at)
    assert boxes["i-1"].waste_per_hour == box.price
    assert (boxes["i-2"].outcome, boxes["i-2"].reason) == (Outcome.CLEAR, "not_running")


def test_the_forecast_counts_what_runs_on() -> None:
    """I19: what was just started shows in the forecast before any bill does."""
    box = make_resource(started_at=NOW - 2 * DAY, price=cny("10"))
    found = answers(when(amount="2900 CNY"), world(row("2026-06-02", "300"), boxes=(box,)))
    hours = 10 * 24 + 12
    assert found["forecast:100%"].evidence["forecast"] == cny(str(300 + 10 * hours))
    assert found["forecast:100%"].outcome is Outcome.CLEAR
    assert said(when(amount="2815 CNY"), world(row("2026-06-02", "300"), boxes=(box,)))["forecast:100%"].startswith(
        "fires"
    )
    assert found["50%"].evidence["gone_at"] is None, "2600 last for 260 hours, and the month has 252"
    gone = answers(when(amount="400 CNY"), world(row("2026-06-02", "300"), boxes=(box,)))["50%"].evidence["gone_at"]
    assert gone == NOW + 10 * HOUR


def test_a_forecast_without_history_is_unknown() -> None:
    assert said(when(), world(row("2026-06-20", "1")))["forecast:100%"] == "unknown: no_history"


def test_only_the_services_and_the_basis_that_are_named() -> None:
    rows = (row("2026-06-02", "600", service="Amazon S3"), row("2026-06-02", "500", service="compute"))
    assert answers(when(services="comp*"), world(*rows))["50%"].evidence["spent"] == cny("500")
    assert answers(when(), world(*rows))["50%"].evidence["spent"] == cny("1100")


def test_the_order_of_rows_changes_nothing() -> None:
    rows = (row("2026-06-02", "600"), row("2026-06-03", "1.5"), row("2026-06-03", "7", estimated=True))
    found = [said(when(), world(*shuffled)) for shuffled in permutations(rows)]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"amount": "0 CNY"}, "more than zero"),
        ({"amount": "-5 CNY"}, "more than zero"),
        ({"amount": 500}, "currency"),
        ({"at": ["80%", "50%"]}, "ascend"),
        ({"at": ["50%", "50%"]}, "ascend"),
        ({"at": ["0%"]}, "more than 0%"),
        ({"at": []}, "at least 1"),
        ({"period": "quarter"}, "month"),
        ({"basis": "net"}, "payable"),
    ],
)
def test_mistakes_are_refused(changes: dict[str, Any], words: str) -> None:
    """I12, I23."""
    with pytest.raises(ValidationError, match=words):
        when(**changes)


def test_a_match_says_whose_money_counts() -> None:
    """I24: what carries no team is nobody's share; it is in everybody's budget and in no team's."""
    ours, theirs = make_resource("i-1", team="nlp"), make_resource("i-2", team="vision")
    rows = (
        row("2026-06-02", "1", ref=ours.ref), row("2026-06-02", "2", ref=theirs.ref), row("2026-06-02", "4"),
        row("2026-06-02", "8", account="other"), row("2026-06-02", "16", team="nlp"),
    )  # fmt: skip
    snapshot = world(*rows, boxes=(ours, theirs))

    def spent(match: Any) -> object:
        policy = parse_policy(
            {
                "name": "b",
                "rule": "budget",
                "match": match,
                "when": {"amount": "9 CNY"},
                "respond": [{"do": "notify"}],
            }
        )
        return evaluate([policy], snapshot).judgements["b"][0].evidence["spent"]

    assert spent("all") == cny("31")
    assert spent({"teams": ["nlp"]}) == cny("17")
    assert spent({"accounts": ["prod"]}) == cny("23")
    assert spent({"kinds": ["vm"]}) == cny("3")
    assert spent({"not": {"teams": ["nlp"]}}) == cny("2"), "of the rest nobody can tell whose it is"


def test_boxes_are_only_findings_where_a_rung_is_for_them() -> None:
    box = make_resource(started_at=NOW - DAY)
    snapshot = world(row("2026-06-02", "900"), boxes=(box,))

    def found(*respond: dict[str, Any]) -> list[tuple[str, str]]:
        policy = parse_policy(
            {"name": "b", "rule": "budget", "match": "all", "when": {"amount": "900 CNY"}, "respond": list(respond)}
        )
        return [(f.subject.type.value, f.threshold) for f in evaluate([policy], snapshot).findings]

    told = [("budget", "100%"), ("budget", "50%"), ("budget", "80%"), ("budget", "forecast:100%")]
    assert found({"do": "notify"}) == told
    stop = ({"at": "100%", "do": "warn"}, {"at": "100%", "after": "30m", "do": "stop"})
    assert found(*stop) == [("resource", "100%")]
    assert found({"do": "notify"}, *stop) == [*told, ("resource", "100%")]
