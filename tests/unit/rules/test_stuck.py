"""stuck: busy on paper without power; unknown without power; never a stop."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.finding import Judgement, Outcome
from costguard.domain.resource import UNKNOWN_GPUS, State
from costguard.domain.usage import Metric
from costguard.rules.stuck import STUCK, StuckWhen, judge
from costguard.testing.builders import HOUR, MINUTE, NOW, make_resource, make_snapshot, make_windows

WHEN = StuckWhen.model_validate({"for": "1h"})


def look(
    util: float | Iterable[float] | None, power: float | Iterable[float] | None, cards: int = 2, **fields: Any
) -> Judgement:
    box = make_resource(cards=cards, **fields.pop("box", {}))
    values: dict[Metric, Any] = {Metric.GPU_UTIL: util, Metric.GPU_POWER: power}
    windows = make_windows(box, {metric: value for metric, value in values.items() if value is not None})
    snapshot = make_snapshot(box, usage={box.ref: windows}, **fields)
    (answer,) = judge(WHEN, [box], snapshot)
    return answer


def said(*args: Any, **fields: Any) -> str:
    answer = look(*args, **fields)
    return f"{answer.outcome.value}: {answer.reason}"


def test_full_use_at_idle_power_is_stuck() -> None:
    """A27: util 100, power 47 W of 250 W, no heartbeat: tell the owner; no stop is possible."""
    answer = look([100.0, 100.0], [18.8, 18.8])
    assert (answer.outcome, answer.since) == (Outcome.FIRES, NOW - HOUR)
    assert answer.evidence["cards_stuck"] == 2
    assert answer.evidence["gpu_power_max"] == 18.8
    assert not STUCK.may_stop


@pytest.mark.parametrize(
    ("util", "power", "expected"),
    [
        ([100.0, 100.0], None, "unknown: gpu_power_no_samples"),
        ([100.0, 100.0], [18.0], "unknown: gpu_power_card_without_samples"),
        (None, [18.0, 18.0], "unknown: gpu_util_no_samples"),
        ([100.0], [18.0, 18.0], "unknown: gpu_util_card_without_samples"),
        ([100.0, 100.0], [18.0, 60.0], "clear: gpu_power_drawn"),
        ([100.0, 100.0], [18.0, 40.0], "clear: gpu_power_drawn"),
        ([94.9, 10.0], [18.0, 18.0], "clear: gpu_not_busy"),
        ([95.0, 0.0], [18.0, 18.0], "fires: stuck"),
    ],
)
def test_every_card_is_asked_for_its_power(util: Any, power: Any, expected: str) -> None:
    """A28: where power is absent it says that it cannot tell."""
    assert said(util, power) == expected


def test_one_card_of_many_is_named() -> None:
    answer = look([100.0, 0.0, 0.0, 0.0], [15.0, 15.0, 15.0, 15.0], cards=4)
    assert (answer.evidence["cards_stuck"], answer.evidence["cards_expected"]) == (1, 4)


def test_a_job_that_says_it_is_alive_is_not_stuck() -> None:
    box = make_resource(cards=2)
    assert said([100.0, 100.0], [10.0, 10.0], heartbeats={box.ref: NOW + MINUTE}) == "clear: heartbeat"
    assert said([100.0, 100.0], [10.0, 10.0], heartbeats={box.ref: NOW - 2 * HOUR}) == "fires: stuck"


def test_it_must_have_run_for_the_whole_time() -> None:
    young = {"started_at": NOW - timedelta(minutes=30)}
    assert said([100.0, 100.0], [10.0, 10.0], box=young) == "unknown: just_started"
    assert said([100.0, 100.0], [10.0, 10.0], box={"started_at": None}) == "unknown: start_unknown"
    assert said([100.0, 100.0], [10.0, 10.0], box={"state": State.STOPPED}) == "clear: not_running"
    assert said(None, None, cards=0) == "clear: no_gpu"
    assert said(None, None, box={"gpus": UNKNOWN_GPUS}) == "unknown: gpu_count_unknown"


def test_two_sources_are_never_mixed() -> None:
    box = make_resource(cards=2)
    windows = make_windows(box, {Metric.GPU_UTIL: [100.0, 100.0], Metric.GPU_POWER: [10.0, 10.0]})
    spec, (first, second) = next(iter(windows.items()))
    other = replace(second, series=replace(second.series, source="other"))
    snapshot = make_snapshot(box, usage={box.ref: {**windows, spec: (first, other)}})
    (answer,) = judge(WHEN, [box], snapshot)
    assert (answer.outcome, answer.reason) == (Outcome.UNKNOWN, "gpu_util_card_without_samples")
