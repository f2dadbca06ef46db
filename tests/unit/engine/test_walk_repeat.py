"""How often people hear what has not changed: a budget's step once a period, advice once a day."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from costguard.domain.budget import Spend
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Resource, State
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import local_midnight
from costguard.rules.registry import parse_policy
from costguard.testing.builders import HOUR, cny, make_resource, make_snapshot, make_source
from tests.unit.engine.stage import Cycles

ZONE = ZoneInfo("Asia/Shanghai")
DAY = timedelta(days=1)
START = datetime(2026, 6, 20, 4, 0, tzinfo=UTC)


def spent(day: date, amount: str) -> Spend:
    start = local_midnight(day, ZONE)
    return Spend("prod", None, "compute", start, start + DAY, cny(amount), estimated=False)


def told(cycles: Cycles) -> list[tuple[NoticeKind, str]]:
    return [(request.kind, request.finding.threshold) for request in cycles.told]


def budget(**when: Any) -> Cycles:
    document = {"name": "month", "rule": "budget", "when": {"amount": "1000 CNY", "forecast_at": [], **when}}
    return Cycles([parse_policy({**document, "respond": [{"do": "notify"}]})])


def at(now: datetime, *rows: Spend, **fields: Any) -> Snapshot:
    return make_snapshot(now=now, timezone="Asia/Shanghai", spend=rows, **fields)


def test_a_step_is_told_once_a_period_however_often_it_is_looked_at() -> None:
    """J01: 100 cycles over 80 %."""
    cycles, rows = budget(), (spent(date(2026, 6, 2), "850"), spent(date(2026, 7, 1), "600"))
    for hours in range(100):
        cycles.cycle(at(START + hours * HOUR, *rows))
    assert told(cycles) == [(NoticeKind.NOTIFY, "80%")]
    cycles.told.clear()
    cycles.cycle(at(datetime(2026, 7, 2, 4, 0, tzinfo=UTC), *rows))
    assert told(cycles) == [(NoticeKind.NOTIFY, "50%")], "July's, and nothing of June"


def test_a_new_period_without_any_bill_is_no_recovery() -> None:
    """I21: ten minutes past midnight nothing has arrived yet."""
    cycles, june = budget(at="50%"), spent(date(2026, 6, 2), "850")
    cycles.cycle(at(START, june))
    for minutes in range(1, 10):
        cycles.cycle(at(datetime(2026, 6, 30, 16, minutes, tzinfo=UTC), june))
    assert told(cycles) == [(NoticeKind.NOTIFY, "50%")]
    assert cycles.open == ()


def test_a_bill_that_is_lost_for_a_while_is_no_recovery_and_no_second_alarm() -> None:
    """A source that fails takes rows away and brings them back: one message."""
    cycles, june = budget(at="50%"), spent(date(2026, 6, 2), "850")
    behind = make_source("charges", fetched_at=START - 30 * HOUR, count=5)
    for hours, rows in enumerate([(june,), (), (), (), (june,)]):
        cycles.cycle(at(START + hours * HOUR, *rows, sources=(behind,)))
    assert told(cycles) == [(NoticeKind.NOTIFY, "50%")]


def test_a_refund_that_is_known_is_a_recovery() -> None:
    """I12: a refund beyond doubt clears the step, and people hear it."""
    cycles = budget(at="50%")
    rows = [spent(date(2026, 6, 2), "850")]
    cycles.cycle(at(START, *rows))
    rows.append(spent(date(2026, 6, 3), "-500"))
    for hours in (1, 2, 3):
        cycles.cycle(at(START + hours * HOUR, *rows))
    assert told(cycles) == [(NoticeKind.NOTIFY, "50%"), (NoticeKind.CLEARED, "50%")]


def test_a_step_is_told_once_a_period_however_often_it_is_crossed() -> None:
    """J01: a refund, and spent again; a forecast that moves about its step: the same key, which is told once."""
    cycles = budget(at="50%")
    rows = [spent(date(2026, 6, 2), "850")]
    for step, more in enumerate(("0", "-500", "500", "-500", "500")):
        rows.append(spent(date(2026, 6, 3 + step), more))
        for minutes in range(4):
            cycles.cycle(at(START + step * HOUR + minutes * timedelta(minutes=1), *rows))
    assert [kind for kind, _ in told(cycles)][:3] == [NoticeKind.NOTIFY, NoticeKind.CLEARED, NoticeKind.NOTIFY]
    assert len({request.key for request in cycles.told}) == 2, "one word of it, and one that it is over"
    over = next(request for request in cycles.told if request.kind is NoticeKind.CLEARED)
    assert over.finding.evidence["spent"] == cny("350"), "the numbers of the recovery"


def test_a_forecast_that_falls_back_is_no_news() -> None:
    cycles = budget(at="100%", forecast_at="100%")
    days = [spent(date(2026, 6, day), "39") for day in range(1, 20)]
    for hour, today in enumerate(("60", "0", "60", "0")):
        for minutes in range(4):
            rows = (*days, spent(date(2026, 6, 20), today))
            cycles.cycle(at(START + hour * HOUR + minutes * timedelta(minutes=1), *rows))
    kinds = {(request.kind, request.finding.threshold) for request in cycles.told}
    assert kinds == {(NoticeKind.NOTIFY, "forecast:100%")}
    assert len({request.key for request in cycles.told}) == 1


def parked(now: datetime) -> Resource:
    return make_resource(state=State.STOPPED, stopped_at=START - 20 * DAY, observed_at=now)


def test_advice_is_told_again_once_a_day() -> None:
    cycles = Cycles([parse_policy({"name": "left", "rule": "waste", "respond": [{"do": "notify"}]})])
    for hours in range(50):
        now = START + hours * HOUR
        cycles.cycle(make_snapshot(parked(now), now=now))
    assert len(cycles.told) == 3, "at first, and after one and two days"
