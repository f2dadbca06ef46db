"""When a box ran: by the records, by what its provider tells, by its samples."""

from datetime import datetime, timedelta

from costguard.domain.budget import Interval
from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, Resource, State
from costguard.domain.snapshot import PowerEvent
from costguard.engine.history import Track, micros
from costguard.engine.runs import runs_of, seen_spans
from costguard.testing.builders import NOW, cny, make_resource, make_series

TEN = cny("10")


def at(hours: float) -> datetime:
    return NOW + timedelta(hours=hours)


def box(**fields: object) -> Resource:
    return make_resource("i-1", **{"created_at": at(-500), "started_at": None, "price": TEN, **fields})


def interval(start: float, end: float | None, state: State = State.RUNNING, per_hour: Money | None = TEN) -> Interval:
    ended = None if end is None else at(end)
    return Interval(make_resource("i-1").ref, state, ChargeType.ON_DEMAND, at(start), ended, per_hour, False)


def event(hours: float, what: str) -> PowerEvent:
    return PowerEvent(make_resource("i-1").ref, at(hours), what, False)


def spans(*found: object) -> list[tuple[datetime, datetime | None]]:
    return [(run.started, run.ended) for run in runs_of(*found)]  # type: ignore[arg-type]


def test_records_are_joined_where_they_touch_and_end_where_it_stopped() -> None:
    states = [interval(-9, -7), interval(-7, -5), interval(-5, -4, State.STOPPED), interval(-4, None)]
    assert spans(box(started_at=at(-4)), states, [event(-9, "start")]) == [(at(-9), at(-5)), (at(-4), None)]


def test_a_restart_between_two_looks_cuts_a_run() -> None:
    states = [interval(-9, None)]
    events = [event(-9, "start"), event(-3, "start")]
    assert spans(box(started_at=at(-3)), states, events) == [(at(-9), at(-3)), (at(-3), None)]


def test_the_run_at_the_first_look_began_when_the_provider_says() -> None:
    states = [interval(-9, None)]
    assert spans(box(started_at=at(-30)), states, []) == [(at(-30), None)]
    assert spans(box(started_at=at(-30)), states, [event(-20, "start")]) == [(at(-20), None)]


def test_starts_and_stops_before_the_records_are_runs() -> None:
    events = [event(-90, "stop"), event(-80, "start"), event(-70, "stop"), event(-60, "start")]
    found = spans(box(started_at=at(-60)), [interval(-9, None)], events)
    assert found == [(at(-500), at(-90)), (at(-80), at(-70)), (at(-60), None)]


def test_without_either_a_box_ran_where_it_has_samples() -> None:
    series = make_series()
    minutes = [*range(-600, -300), *range(-200, -100)]
    track = Track.of(series, [(micros(NOW + timedelta(minutes=m)), 1.0, 60_000_000) for m in minutes])
    seen = seen_spans(track)
    assert seen == [
        (NOW - timedelta(minutes=601), NOW - timedelta(minutes=301)),
        (NOW - timedelta(minutes=201), NOW - timedelta(minutes=101)),
    ]
    states = [interval(-1, None, State.STOPPED)]
    assert spans(box(state=State.STOPPED), states, [], seen) == list(seen)


def test_samples_do_not_contradict_what_the_provider_tells() -> None:
    seen = [(at(-20), at(-15))]
    events = [event(-12, "start")]
    assert spans(box(started_at=at(-12)), [interval(-9, None)], events, seen) == [(at(-12), None)]


def test_samples_up_to_the_first_look_are_of_that_run() -> None:
    seen = [(at(-40), at(-30)), (at(-20), at(-9.1))]
    assert spans(box(), [interval(-9, None)], [], seen) == [(at(-40), at(-30)), (at(-20), None)]


def test_a_run_costs_what_was_recorded_and_before_that_what_prices_tell() -> None:
    states = [interval(-9, -5), interval(-5, None, per_hour=cny("20"))]
    (run,) = runs_of(box(started_at=at(-30)), states, [], (), [(at(-40), cny("5")), (at(-20), cny("6"))])
    assert [run.rate(at(h)) for h in (-29, -19, -8, -4)] == [cny("5"), cny("6"), TEN, cny("20")]
    assert run.cost(at(-6), at(-4)) == (TEN, cny("20"))


def test_a_run_without_any_price_costs_nothing_that_is_known() -> None:
    (run,) = runs_of(box(price=None, started_at=at(-30)), [interval(-9, None, per_hour=None)], [])
    assert run.cost(at(-6), at(-4)) == ()


def test_a_stopped_box_that_was_never_seen_at_work_has_no_runs() -> None:
    assert runs_of(box(state=State.STOPPED), [interval(-9, None, State.STOPPED)], []) == ()
