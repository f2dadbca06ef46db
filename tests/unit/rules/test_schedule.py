"""schedule: edges, both nights on which clocks change, holidays, and what is caught up."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from costguard.domain.finding import Judgement, Outcome
from costguard.domain.resource import State
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import Calendar, Calendars
from costguard.rules.schedule import SCHEDULE, OffTime, ScheduleWhen, judge, off_time
from costguard.testing.builders import cny, make_resource, make_snapshot

SHANGHAI, LONDON = ZoneInfo("Asia/Shanghai"), ZoneInfo("Europe/London")
MIN = timedelta(minutes=1)
NIGHT = {"off": [{"days": "workdays", "from": "20:00", "to": "08:00"}, {"days": "restdays"}]}


def when(**changes: Any) -> ScheduleWhen:
    return ScheduleWhen.model_validate({**NIGHT, **changes})


def at(text: str, zone: ZoneInfo = SHANGHAI) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)


def moment(now: datetime, started: datetime | None, **fields: Any) -> Snapshot:
    box = make_resource(started_at=started, observed_at=now)
    return make_snapshot(box, **{"now": now, "timezone": "Asia/Shanghai", "last_run": now - MIN, **fields})


def only(rule: ScheduleWhen, snapshot: Snapshot) -> Judgement:
    (answer,) = judge(rule, list(snapshot.resources.values()), snapshot)
    return answer


def said(rule: ScheduleWhen, now: str, started: str | None = "2026-06-11T09:00", **fields: Any) -> str:
    answer = only(rule, moment(at(now), at(started) if started else None, **fields))
    return answer.reason if answer.outcome is Outcome.CLEAR else f"{answer.outcome.value}: {answer.reason}"


@pytest.mark.parametrize(
    ("now", "started", "expected"),
    [
        ("2026-06-11T19:59", "2026-06-11T09:00", "on_time"),
        ("2026-06-11T20:00", "2026-06-11T09:00", "fires: off_time"),
        ("2026-06-12T07:59", "2026-06-11T09:00", "fires: off_time"),
        ("2026-06-12T08:00", "2026-06-11T09:00", "on_time"),
        ("2026-06-11T21:00", "2026-06-11T20:30", "started_after"),
        ("2026-06-12T20:00", "2026-06-11T20:30", "fires: off_time"),
        ("2026-06-11T21:00", None, "unknown: start_unknown"),
    ],
)
def test_what_counts_is_the_edge(now: str, started: str | None, expected: str) -> None:
    assert said(when(), now, started) == expected


def test_evidence_says_since_when_until_when_and_for_how_much() -> None:
    answer = only(when(), moment(at("2026-06-11T20:30"), at("2026-06-11T09:00")))
    assert answer.since == answer.evidence["off_since"] == at("2026-06-11T20:00")
    assert answer.evidence["off_until"] == at("2026-06-12T08:00")
    assert answer.evidence["cost_until_on"] == cny("399.51")  # 11.5 h at 34.74
    assert answer.waste_per_hour == cny("34.74")


def test_a_box_that_does_not_run_is_clear() -> None:
    box = make_resource(state=State.STOPPED)
    (answer,) = judge(when(), [box], make_snapshot(box, now=at("2026-06-11T21:00")))
    assert (answer.outcome, answer.reason) == (Outcome.CLEAR, "not_running")


@pytest.mark.parametrize(
    ("now", "last_run", "catch_up", "expected"),
    [
        ("2026-06-11T20:01", "2026-06-11T18:59", "30m", "fires: off_time"),
        ("2026-06-11T20:30", "2026-06-11T18:59", "30m", "fires: off_time"),
        ("2026-06-11T20:31", "2026-06-11T18:59", "30m", "edge_missed"),
        ("2026-06-11T20:31", "2026-06-11T18:59", "90m", "fires: off_time"),
        ("2026-06-11T21:00", None, "30m", "edge_missed"),
        ("2026-06-11T20:10", None, "30m", "fires: off_time"),
    ],
)
def test_an_edge_missed_while_down_is_caught_up_for_a_while(
    now: str, last_run: str | None, catch_up: str, expected: str
) -> None:
    """M08: the daemon ran at 18:59 and then late; the edge is caught up within the grace."""
    fields = {"last_run": at(last_run) if last_run else None}
    assert said(when(catch_up=catch_up), now, **fields) == expected


def test_a_missed_edge_stays_missed_in_the_cycles_after() -> None:
    """M08: once, not at each poll."""
    gap = (at("2026-06-11T18:59"), at("2026-06-11T21:00"))
    assert said(when(), "2026-06-11T21:01", gaps=(gap,)) == "edge_missed"
    assert said(when(catch_up="3h"), "2026-06-11T21:01", gaps=(gap,)) == "fires: off_time"
    assert said(when(), "2026-06-12T20:00", gaps=(gap,)) == "fires: off_time", "the next edge is a new one"


def test_an_edge_that_was_seen_goes_on_over_a_later_gap() -> None:
    gap = (at("2026-06-12T23:50"), at("2026-06-13T03:00"))
    answer = only(when(), moment(at("2026-06-13T03:01"), at("2026-06-12T09:00"), gaps=(gap,)))
    assert (answer.outcome, answer.since) == (Outcome.FIRES, at("2026-06-12T20:00"))


def test_on_beats_off_and_its_end_is_an_edge() -> None:
    rule = when(on=[{"days": ["sat"], "from": "10:00", "to": "18:00"}])
    assert said(rule, "2026-06-13T12:00", "2026-06-13T09:30") == "on_time"
    assert said(rule, "2026-06-13T09:59", "2026-06-12T09:00") == "fires: off_time"
    assert said(rule, "2026-06-13T18:00", "2026-06-13T09:30") == "fires: off_time"
    assert said(rule, "2026-06-13T19:00", "2026-06-13T18:30") == "started_after"


@pytest.mark.parametrize(
    ("line", "inside", "outside"),
    [
        ({"days": "daily", "from": "20:00"}, "2026-06-11T23:59", "2026-06-12T00:00"),
        ({"days": "daily", "to": "08:00"}, "2026-06-11T07:59", "2026-06-11T08:00"),
        ({"days": "mon-fri", "from": "20:00", "to": "08:00"}, "2026-06-13T07:59", "2026-06-13T08:00"),
        ({"days": ["sat", "sun"]}, "2026-06-13T00:00", "2026-06-15T00:00"),
        ({"days": "fri-mon"}, "2026-06-12T00:00", "2026-06-16T00:00"),
    ],
)
def test_one_sided_and_over_midnight(line: dict[str, Any], inside: str, outside: str) -> None:
    """D01, D09: the weekday is that of the local date on which a line begins."""
    rule = when(off=[line])
    assert off_time(rule, at(inside), SHANGHAI, Calendars()) is not None
    assert off_time(rule, at(outside), SHANGHAI, Calendars()) is None


def test_equal_ends_and_a_short_catch_up_are_refused() -> None:
    """D09."""
    with pytest.raises(ValidationError, match="equal"):
        when(off=[{"from": "20:00", "to": "20:00"}])
    with pytest.raises(ValidationError, match="at least 10m"):
        when(catch_up="5m")


@pytest.mark.parametrize(
    ("night", "hours"),
    [("2026-03-28", 11), ("2026-10-24", 13), ("2026-06-11", 12)],
    ids=["clocks go forward", "clocks go back", "any night"],
)
def test_both_nights_on_which_clocks_change(night: str, hours: int) -> None:
    """D03: 19:00 to 07:00 in London is 11, 13 and 12 hours long, and begins at 19:00 on the wall each time."""
    rule = when(off=[{"days": "daily", "from": "19:00", "to": "07:00", "timezone": "Europe/London"}])
    begin = at(f"{night}T19:00", LONDON)
    off = off_time(rule, begin + timedelta(hours=2), SHANGHAI, Calendars())
    assert off == OffTime((begin,), begin + timedelta(hours=hours))
    assert off_time(rule, begin - MIN, SHANGHAI, Calendars()) is None


def test_times_that_a_clock_skips_or_repeats() -> None:
    """D03: 01:30 in London does not exist on 29 March and exists twice on 25 October."""
    rule = when(off=[{"days": "daily", "from": "01:30", "to": "05:00", "timezone": "Europe/London"}])
    spring = off_time(rule, at("2026-03-29T03:00", LONDON), SHANGHAI, Calendars())
    assert spring is not None
    assert spring.edges == (datetime(2026, 3, 29, 1, 0, tzinfo=UTC),), "the first instant after the gap"
    autumn = off_time(rule, at("2026-10-25T04:00", LONDON), SHANGHAI, Calendars())
    assert autumn is not None
    assert autumn.edges == (datetime(2026, 10, 25, 0, 30, tzinfo=UTC),), "the first of the two"


HOLIDAY = Calendar(frozenset({date(2026, 6, 11)}), frozenset({date(2026, 6, 13)}), frozenset({2026}))


def test_holidays_are_off_and_make_up_days_are_worked() -> None:
    """D13: a Thursday off, and a Saturday worked for it."""
    fields = {"calendars": Calendars({"CN": HOLIDAY}, "Asia/Shanghai", "CN")}
    assert said(when(), "2026-06-11T14:00", "2026-06-10T09:00", **fields) == "fires: off_time"
    assert said(when(), "2026-06-13T14:00", "2026-06-13T09:00", **fields) == "on_time"
    assert said(when(holidays=None), "2026-06-11T14:00", "2026-06-11T09:00", **fields) == "on_time"


@pytest.mark.parametrize(
    ("zone", "line_zone", "country", "holidays", "expected"),
    [
        ("Asia/Shanghai", None, "CN", {}, "fires: off_time"),
        ("Europe/Berlin", None, None, {}, "on_time"),
        ("America/New_York", None, None, {"holidays": "CN"}, "fires: off_time"),
        ("Europe/Berlin", None, "CN", {}, "fires: off_time"),  # its country is written in costguard.yaml
        ("Asia/Shanghai", "Europe/Berlin", "CN", {}, "on_time"),
        ("Europe/Berlin", "Asia/Shanghai", None, {}, "fires: off_time"),
        ("Asia/Shanghai", None, "CN", {"holidays": None}, "on_time"),
    ],
)
def test_whose_holidays_count_when_nobody_says(
    zone: str, line_zone: str | None, country: str | None, holidays: dict[str, Any], expected: str
) -> None:
    """D13: those of the clocks that a line goes by; a Thursday off in China is a workday in Berlin."""
    rule = when(off=[{"days": "restdays", "timezone": line_zone}], **holidays)
    calendars = Calendars({"CN": HOLIDAY}, zone, country)
    noon = datetime(2026, 6, 11, 12, tzinfo=ZoneInfo(line_zone or zone)).astimezone(UTC)
    answer = only(rule, moment(noon, noon - timedelta(days=2), calendars=calendars, timezone=zone))
    assert f"{answer.outcome.value}: {answer.reason}".removeprefix("clear: ") == expected


def test_a_year_without_data_falls_back_to_weekdays_and_says_so() -> None:
    """D12."""
    fields = {"calendars": Calendars({"CN": HOLIDAY}, "Asia/Shanghai", "CN")}
    answer = only(when(), moment(at("2027-01-01T21:00"), at("2027-01-01T09:00"), **fields))
    assert answer.outcome is Outcome.FIRES
    assert answer.evidence["holidays_unknown"] is True
    known = only(when(), moment(at("2026-06-12T21:00"), at("2026-06-12T09:00"), **fields))
    assert "holidays_unknown" not in known.evidence


ZONES = ("Asia/Shanghai", "Europe/London", "America/New_York", "Australia/Lord_Howe", "Pacific/Kiritimati", "UTC")
LINES = (
    {"days": "workdays", "from": "20:00", "to": "08:00"},
    {"days": "restdays"},
    {"days": "daily", "from": "02:30", "to": "03:15"},
    {"days": "mon-fri", "from": "18:30"},
    {"days": ["sun"], "to": "12:00"},
)
MOMENTS = st.integers(0, 9 * 365 * 1440).map(lambda minutes: datetime(2024, 1, 1, tzinfo=UTC) + minutes * MIN)
CALENDARS = st.builds(
    lambda off, work: Calendar(frozenset(off), frozenset(work) - frozenset(off)),
    st.lists(st.dates(date(2024, 1, 1), date(2032, 12, 31)), max_size=20),
    st.lists(st.dates(date(2024, 1, 1), date(2032, 12, 31)), max_size=20),
)


@given(
    MOMENTS,
    st.sampled_from(ZONES),
    st.lists(st.sampled_from(LINES), min_size=1, max_size=3),
    st.lists(st.sampled_from(LINES), max_size=1),
    CALENDARS,
)
def test_off_time_is_what_the_lines_cover(
    now: datetime, name: str, off: list[dict[str, Any]], on: list[dict[str, Any]], calendar: Calendar
) -> None:
    """Over 2024–2032 in six zones: off exactly where a line of off covers the moment and none of on does."""
    rule, zone = when(off=off, on=on, holidays="XX"), ZoneInfo(name)

    def covered(moment: datetime) -> bool:
        return any(x.to_range(zone).covers(moment, calendar) for x in rule.off) and not any(
            x.to_range(zone).covers(moment, calendar) for x in rule.on
        )

    found = off_time(rule, now, zone, Calendars({"XX": calendar}))
    assert (found is not None) == covered(now)
    if found is not None:
        assert list(found.edges) == sorted(found.edges)
        assert all(covered(edge) for edge in found.edges)
        assert found.edges[-1] <= now
        assert found.until is None or (found.until > now and not covered(found.until))
        assert found.until is None or covered(found.until - MIN)


@given(MOMENTS, st.sampled_from(ZONES), st.integers(1, 400))
def test_one_night_is_one_edge(now: datetime, name: str, minutes: int) -> None:
    """However often it is looked at: the same edge all night, so one ladder."""
    rule, zone = when(off=[{"days": "daily", "from": "20:00", "to": "08:00"}]), ZoneInfo(name)
    first = off_time(rule, now, zone, Calendars())
    later = off_time(rule, now + minutes * MIN, zone, Calendars())
    if first is not None and first.until is not None and now + minutes * MIN < first.until:
        assert later == first


def test_the_kind_may_stop_and_asks_for_no_windows() -> None:
    assert SCHEDULE.may_stop
    assert SCHEDULE.needs(when()) == frozenset()
