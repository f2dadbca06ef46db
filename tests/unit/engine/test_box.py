"""A box in a replay: when there was work, when there was rest, and what its windows hold."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from costguard.domain.usage import Metric, WindowSpec
from costguard.engine.box import Box, levels_of
from costguard.engine.evaluate import prepare
from costguard.engine.history import Run, Track, micros
from costguard.rules.kind import ActivityTests
from costguard.testing.builders import NOW, make_account, make_resource, make_series
from tests.unit.engine.stage import MIN, idle_policy

HOUR = timedelta(hours=1) // timedelta(microseconds=1)
START = micros(NOW)
DELAY = 2 * MIN


def minute(at: float) -> int:
    return START + int(at * 60_000_000)


def box(gpu: Sequence[tuple[float, float]], **fields: Any) -> Box:
    """A box with samples of its card at these (minute, value); GPU use arrives two minutes late."""
    resource = make_resource("i-1", cards=1, started_at=NOW - timedelta(days=1))
    account = make_account(metric_delay={Metric.GPU_UTIL: DELAY})
    made = Box(0, resource, (Run(NOW - timedelta(days=1)),), ("idle-dev",), account, **fields)
    made.add(
        Track.of(make_series(resource.ref, Metric.GPU_UTIL, 0), [(minute(at), value, 60_000_000) for at, value in gpu])
    )
    return made


LEVELS = levels_of(prepare(idle_policy()))


def test_work_is_known_as_late_as_its_source_tells_it() -> None:
    assert LEVELS is not None
    made = box([(0, 90.0), (1, 0.0), (2, 5.0)])
    assert made.busy(LEVELS) == [minute(2), minute(4)]
    assert made.next_busy(LEVELS, minute(2), minute(60)) == minute(4)
    assert made.next_busy(LEVELS, minute(4), minute(60)) is None


def test_a_rest_is_complete_when_its_whole_time_has_been_quiet() -> None:
    assert LEVELS is not None
    made = box([(0, 90.0), (90, 90.0), (100, 90.0)])
    assert list(made.rests(LEVELS, HOUR, minute(0), minute(120))) == [minute(62)]
    assert made.quiet(LEVELS, minute(62), HOUR)
    assert not made.quiet(LEVELS, minute(61), HOUR)


def test_a_rest_that_reaches_over_two_pieces_is_told_once() -> None:
    assert LEVELS is not None
    made = box([(0, 90.0)])
    assert list(made.rests(LEVELS, HOUR, minute(0), minute(30))) == []
    assert list(made.rests(LEVELS, HOUR, minute(30), minute(90))) == [minute(62)]
    assert list(made.rests(LEVELS, HOUR, minute(90), minute(150))) == []


def test_half_an_hour_of_quiet_is_what_the_busy_guard_waits_for() -> None:
    made = box([(0, 90.0), (20, 90.0), (80, 90.0)])
    assert made.next_quiet(ActivityTests(), minute(1), minute(200)) == minute(52)
    assert made.next_quiet(ActivityTests(), minute(60), minute(200)) == minute(112)


def test_the_next_work_is_told_by_its_own_time_and_not_by_its_arrival() -> None:
    made = box([(0, 90.0), (50, 90.0)])
    assert made.next_work(ActivityTests(), minute(10), minute(100)) == minute(50)
    assert made.next_work(ActivityTests(), minute(10), minute(40)) is None


def test_windows_end_where_the_source_has_told_and_begin_with_the_run() -> None:
    made = box([(at, float(at)) for at in range(1, 61)])
    spec = WindowSpec(Metric.GPU_UTIL, 30 * MIN)
    (window,) = made.windows(NOW + 60 * MIN)[spec]
    assert (window.samples, window.max, window.last_at) == (30, 58.0, NOW + 58 * MIN)
    assert (window.start, window.end, window.expected) == (NOW + 28 * MIN, NOW + 58 * MIN, 30)
    made.start(NOW + 50 * MIN)
    (window,) = made.windows(NOW + 60 * MIN)[spec]
    assert (window.samples, window.first_at) == (8, NOW + 51 * MIN)


def test_no_single_card_forbids_a_policy_that_asks_for_any() -> None:
    assert levels_of(prepare(idle_policy(when={"for": "45m", "cards": "any"}))) is None
