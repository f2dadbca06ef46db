"""When a row of a bill was known, and what a box cost before costguard first looked at it."""

from datetime import timedelta

from costguard.app.books import known_at, unrecorded
from costguard.domain.budget import Basis, Interval, Spend
from costguard.domain.resource import ChargeType, State
from costguard.engine.history import Run
from costguard.testing.builders import NOW, cny, make_resource

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
ROW = Spend("prod", None, "ecs", NOW - 9 * DAY, NOW - 8 * DAY, cny("5"), estimated=False, basis=Basis.PAYABLE)


def test_a_row_is_known_from_the_first_import_after_its_day() -> None:
    imports = [ROW.end - DAY, ROW.end + 9 * HOUR, ROW.end + 2 * DAY]
    assert known_at(ROW, imports, DAY) == ROW.end + 9 * HOUR


def test_bills_that_were_first_imported_much_later_came_as_late_as_their_provider_is() -> None:
    """A newcomer's import of a whole year says nothing of when the provider had told it."""
    assert known_at(ROW, [NOW], DAY) == ROW.end + DAY
    assert known_at(ROW, [], DAY) == ROW.end + DAY


def test_a_row_after_the_last_import_is_not_known_earlier_than_its_provider_tells() -> None:
    assert known_at(ROW, [ROW.end - DAY], 2 * DAY) == ROW.end + 2 * DAY


def test_runs_tell_what_a_box_cost_before_it_was_first_seen() -> None:
    box = make_resource("i-1")
    seen = Interval(box.ref, State.RUNNING, ChargeType.ON_DEMAND, NOW - DAY, None, cny("3"))
    early = Run(NOW - 5 * DAY, NOW - 4 * DAY, ((NOW - 5 * DAY, cny("1")), (NOW - 5 * DAY + HOUR, cny("2"))))
    late = Run(NOW - 2 * DAY, None, ((NOW - 2 * DAY, cny("2")),))
    found = [(i.started, i.ended, i.per_hour) for i in unrecorded([box], {box.ref: (early, late)}, [seen])]
    assert found == [
        (NOW - 5 * DAY, NOW - 5 * DAY + HOUR, cny("1")),
        (NOW - 5 * DAY + HOUR, NOW - 4 * DAY, cny("2")),
        (NOW - 2 * DAY, NOW - DAY, cny("2")),
    ]


def test_a_box_that_was_never_recorded_is_told_by_its_runs_alone() -> None:
    box = make_resource("i-1")
    run = Run(NOW - 2 * DAY, None, ((NOW - 2 * DAY, cny("2")),))
    (one,) = unrecorded([box], {box.ref: (run,)}, [])
    assert (one.started, one.ended) == (NOW - 2 * DAY, None)
