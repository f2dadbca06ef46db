"""Steps of a budget: one message for those that are reached at once, and one story for each whatever is edited."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.budget import Spend
from costguard.domain.notice import NoticeKind
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import local_midnight
from costguard.rules.policy import Policy
from costguard.rules.registry import parse_policy
from costguard.testing.builders import HOUR, cny, make_snapshot
from tests.unit.engine.stage import Cycles

ZONE = ZoneInfo("Asia/Shanghai")
DAY = timedelta(days=1)
START = datetime(2026, 6, 20, 4, 0, tzinfo=UTC)
TELL = ({"do": "notify"},)


def budget(respond: Iterable[dict[str, Any]] = TELL, match: Any = None, **when: Any) -> Policy:
    document = {"name": "month", "rule": "budget", "when": {"amount": "1000 CNY", "forecast_at": [], **when}}
    return parse_policy({**document, "match": match or "all", "respond": [*respond]})


def at(now: datetime, *amounts: str, first: int = 2) -> Snapshot:
    """What was spent on the days from the ``first`` of June on."""
    days = [local_midnight(date(2026, 6, first + n), ZONE) for n in range(len(amounts))]
    rows = tuple(
        Spend("prod", None, "compute", day, day + DAY, cny(amount), estimated=False)
        for day, amount in zip(days, amounts, strict=True)
    )
    return make_snapshot(now=now, timezone="Asia/Shanghai", spend=rows)


def told(cycles: Cycles) -> list[str]:
    return [f"{request.kind.value} {request.finding.threshold}" for request in cycles.told]


def test_steps_that_are_reached_at_once_are_told_once_by_the_highest() -> None:
    """J01: a budget that is first looked at when it is far over; the lower steps are never told later."""
    cycles = Cycles([budget()])
    for hours in range(3):
        cycles.cycle(at(START + hours * HOUR, "300", "300", "300"))
    assert told(cycles) == ["notify 80%"]
    assert sorted((row.threshold, row.rung) for row in cycles.open) == [("50%", 1), ("80%", 1)]
    assert [line.text for line in cycles.ledger if "same time" in line.text] == [
        f"{cycles.open[0].policy} 50% is told with 80%, which was reached at the same time"
    ]
    cycles.cycle(at(START + 4 * HOUR, "300", "300", "300", "300"))
    assert told(cycles) == ["notify 80%", "notify 100%"]


def test_a_step_that_only_a_suspect_day_reaches_speaks_for_no_other() -> None:
    """I13: 100 % is reached by what looks like a mistake in the bill, 50 % without it."""
    usual = ["40"] * 14
    cycles = Cycles([budget(at=["50%", "80%", "100%", "200%"])])
    cycles.cycle(at(START, *usual, "1500"))
    assert told(cycles) == ["notify 200%", "notify 50%"]


@pytest.mark.parametrize(
    ("respond", "expected"),
    [
        ([{"at": "50%", "do": "notify", "to": ["a"]}, {"at": "100%", "do": "notify", "to": ["a", "b"]}], ["100%"]),
        ([{"at": "50%", "do": "notify", "to": ["a"]}, {"at": "100%", "do": "notify", "to": ["b"]}], ["100%", "50%"]),
        ([{"at": "50%", "do": "notify", "to": ["team"]}, {"at": "100%", "do": "notify"}], ["100%", "50%"]),
        ([{"at": "50%", "do": "notify"}, {"at": "100%", "after": "1h", "do": "notify"}], ["50%"]),
        ([{"at": "50%", "do": "notify"}, {"at": "80%", "do": "notify"}], ["80%"]),
    ],
)  # fmt: skip
def test_whoever_would_hear_of_a_lower_step_alone_hears_of_it(respond: list[Any], expected: list[str]) -> None:
    cycles = Cycles([budget(respond)])
    cycles.cycle(at(START, "600", "600"))
    assert [request.finding.threshold for request in cycles.told] == expected


@pytest.mark.parametrize(
    ("steps", "forecast_at", "spent", "expected"),
    [
        (["50%"], ["80%", "100%"], "45", ["50%", "forecast:100%"]),  # what is spent, and what will be
        (["100%"], ["100%"], "60", ["100%"]),
        (["100%"], ["150%"], "60", ["100%", "forecast:150%"]),
    ],
)
def test_a_forecast_says_nothing_of_what_is_spent(
    steps: list[str], forecast_at: list[str], spent: str, expected: list[str]
) -> None:
    cycles = Cycles([budget(at=steps, forecast_at=forecast_at)])
    cycles.cycle(at(START, *[spent] * 19, first=1))
    assert [request.finding.threshold for request in cycles.told] == expected


def test_a_days_bill_that_settles_below_its_estimate_is_no_recovery() -> None:
    """I19 J01: with a discount each midnight takes a little back; who heard of a step does not hear that all is fine
    hours before it is reached again, when it is told no more."""
    cycles = Cycles([budget()])
    cycles.cycle(at(START, "810"))
    for hours in (1, 2, 3):
        cycles.cycle(at(START + hours * HOUR, "775"))
    cycles.cycle(at(START + 4 * HOUR, "805"))
    assert [request.kind for request in cycles.told] == [NoticeKind.NOTIFY] * 2
    assert len({request.key for request in cycles.told}) == 1, "the same word again is told once"
    for hours in (5, 6, 7):
        cycles.cycle(at(START + hours * HOUR, "490"))
    assert told(cycles)[2:] == ["cleared 80%"], "50% is as good as reached; 80% is not"


def test_steps_that_recover_at_once_are_told_once_by_the_lowest() -> None:
    """I12."""
    cycles = Cycles([budget()])
    cycles.cycle(at(START, "900"))
    for hours in (1, 2, 3):
        cycles.cycle(at(START + hours * HOUR, "900", "-200"))
    assert told(cycles) == ["notify 80%", "cleared 80%"]
    for hours in (4, 5):
        cycles.cycle(at(START + hours * HOUR, "900"))
    for hours in (6, 7, 8):
        cycles.cycle(at(START + hours * HOUR, "900", "-600"))
    assert told(cycles)[-1] == "cleared 50%"
    assert told(cycles).count("cleared 80%") == 1


@pytest.mark.parametrize(
    ("edited", "same"),
    [
        (budget([{"do": "notify", "to": ["ops"]}]), True),
        (budget([{"at": "100%", "do": "warn"}, {"at": "100%", "after": "2h", "do": "stop"}, {"do": "notify"}]), True),
        (budget(at=["30%", "80%", "100%"], forecast_at=["120%"]), True),
        (budget(amount="1100 CNY"), False),
        (budget(basis="cash"), False),
        (budget(services=["comp*"]), False),
        (budget(match={"accounts": ["prod"]}), False),
    ],
)
def test_a_step_is_told_anew_only_when_its_money_is_another(edited: Policy, same: bool) -> None:
    """J01: who hears of it and what is done about it change nothing of what was told; the outbox takes a key once."""
    first, second = Cycles([budget()]), Cycles([edited])
    for cycles in (first, second):
        cycles.cycle(at(START, "900"))
    (before,), (after,) = ([request.key for request in cycles.told] for cycles in (first, second))
    assert edited.content_hash != budget().content_hash
    assert (before == after) is same
