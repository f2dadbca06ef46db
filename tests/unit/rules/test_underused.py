"""underused: advice for boxes that work: fewer cards, faster data, a smaller box."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.finding import Judgement, Outcome
from costguard.domain.resource import UNKNOWN_GPUS, State
from costguard.domain.usage import Metric, Statistic
from costguard.rules.underused import UNDERUSED, UnderusedWhen, judge
from costguard.testing.builders import NOW, cny, make_resource, make_series, make_snapshot, make_window, make_windows

DAY = timedelta(hours=24)
WHEN = UnderusedWhen.model_validate({"for": "24h", "gpu_util_below": "30%"})


def look(
    util: float | Iterable[float] | None, cpu: float | None = None, disk: float | None = None, **box: Any
) -> Judgement:
    resource = make_resource(**{"cards": 4, "started_at": NOW - 5 * DAY, "price": cny("8"), **box})
    values: dict[Metric, Any] = {Metric.GPU_UTIL: util, Metric.CPU_CORES: cpu, Metric.DISK: disk}
    windows = make_windows(resource, {m: v for m, v in values.items() if v is not None}, length=DAY)
    (answer,) = judge(WHEN, [resource], make_snapshot(resource, usage={resource.ref: windows}))
    return answer


def test_cards_that_nobody_uses() -> None:
    """A24: per card, although nothing is idle as a whole."""
    answer = look([90.0, 80.0, 0.0, 4.9])
    assert (answer.outcome, answer.reason) == (Outcome.FIRES, "cards_unused")
    assert answer.evidence["cards_unused"] == 2
    assert answer.evidence["advice"] == "fewer_cards"
    assert answer.evidence["gpu_util_mean"] == 85.0, "of the cards in use"
    assert answer.waste_per_hour == cny("4"), "half of the cards"
    assert not UNDERUSED.may_stop


@pytest.mark.parametrize(
    ("cpu", "disk", "advice"),
    [
        (1.0, None, "smaller"),
        (80.0, None, "starved"),
        (None, 200e6, "starved"),
        (None, None, "smaller"),
        (60.0, 1e6, "smaller"),
    ],
)
def test_low_use_is_starved_or_too_large(cpu: float | None, disk: float | None, advice: str) -> None:
    answer = look([20.0, 25.0, 10.0, 29.0], cpu, disk)
    assert (answer.outcome, answer.reason, answer.evidence["advice"]) == (Outcome.FIRES, "low_mean", advice)


@pytest.mark.parametrize(
    ("util", "box", "expected"),
    [
        ([30.0] * 4, {}, "clear: well_used"),
        ([0.0] * 4, {}, "clear: idle"),
        ([20.0] * 3, {}, "unknown: gpu_util_card_without_samples"),
        (None, {}, "unknown: gpu_util_no_samples"),
        ([20.0] * 4, {"started_at": NOW - DAY / 2}, "clear: just_started"),
        ([20.0] * 4, {"started_at": None}, "unknown: start_unknown"),
        ([20.0] * 4, {"state": State.STOPPED}, "clear: not_running"),
        (None, {"cards": 0}, "clear: no_gpu"),
        (None, {"gpus": UNKNOWN_GPUS}, "unknown: gpu_count_unknown"),
    ],
)
def test_what_is_not_underused(util: Any, box: dict[str, Any], expected: str) -> None:
    answer = look(util, **box)
    assert f"{answer.outcome.value}: {answer.reason}" == expected


def test_a_mean_over_the_cards_tells_the_mean_but_no_single_card() -> None:
    """A30: one busy card of eight reads as a low mean; that no card is unused is not known, so none is named."""
    resource = make_resource(started_at=NOW - 5 * DAY)
    series = replace(make_series(resource.ref, statistic=Statistic.MEAN), cards=8)
    windows = {
        spec: (make_window(12.0, series=series, length=DAY),)
        for spec in UNDERUSED.needs(WHEN)
        if spec.metric is Metric.GPU_UTIL
    }
    (answer,) = judge(WHEN, [resource], make_snapshot(resource, usage={resource.ref: windows}))
    assert (answer.outcome, answer.reason, answer.evidence["cards_unused"]) == (Outcome.FIRES, "low_mean", 0)


def test_half_a_day_of_samples_is_not_a_day() -> None:
    resource = make_resource(cards=1, started_at=NOW - 5 * DAY)
    windows = make_windows(resource, {Metric.GPU_UTIL: [20.0]}, length=DAY, coverage=0.5)
    (answer,) = judge(WHEN, [resource], make_snapshot(resource, usage={resource.ref: windows}))
    assert answer.outcome is Outcome.UNKNOWN
