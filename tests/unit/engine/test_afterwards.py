"""What samples that came after a stop show of the time before it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Response
from costguard.domain.ledger import LedgerKind
from costguard.domain.usage import Metric, UsageSample
from costguard.engine.afterwards import UnseenWork, levels_asked, unseen_work, wait, written_down
from costguard.engine.evaluate import Prepared, prepare
from costguard.testing.builders import (
    HOUR,
    MINUTE,
    NOW,
    make_action,
    make_finding,
    make_resource,
    make_sample,
    make_series,
)
from tests.unit.engine.stage import idle_policy, lifetime_policy

BOX = make_resource(started_at=NOW - 20 * HOUR)
SECOND = timedelta(seconds=1)
CALL = NOW + 20 * SECOND
IDLE = prepare(idle_policy())
HOOK = {"on": "instance", "run": "/opt/ckpt.sh", "timeout": "10m"}
HOOKED = prepare(
    idle_policy(respond=[{"do": "warn"}, {"after": "30m", "do": "stop", "hook": HOOK}])
)  # fmt: skip


def stop(ready: Prepared = IDLE, **changes: Any) -> Action:
    finding = replace(make_finding(BOX), policy=ready.policy.name, policy_hash=ready.hash)
    fields: dict[str, Any] = {
        "response": Response.STOP, "state": ActionState.DONE, "rung": 1, "started_at": BOX.started_at,
        "executed_at": CALL,
    }  # fmt: skip
    return replace(make_action(finding), **{**fields, **changes})


def sample(
    at: datetime, value: float = 90.0, metric: Metric = Metric.GPU_UTIL, period: timedelta = MINUTE
) -> UsageSample:
    return make_sample(make_series(BOX.ref, metric, 0 if metric is Metric.GPU_UTIL else None), at, value, period)


def seen(*samples: UsageSample, ready: Prepared = IDLE, **changes: Any) -> UnseenWork | None:
    return unseen_work(stop(ready, **changes), ready, samples, {Metric.GPU_UTIL: 5 * MINUTE})


def test_work_in_the_minutes_before_the_call_is_found_with_its_beginning() -> None:
    found = seen(
        sample(NOW - 2 * MINUTE, 0.0), sample(NOW - MINUTE, 60.0), sample(NOW, 97.0),
        sample(NOW, 3.0, Metric.CPU_CORES), sample(NOW, 100.0, Metric.NETWORK),
    )  # fmt: skip
    assert found == UnseenWork(
        NOW - 2 * MINUTE, 3 * MINUTE, ((Metric.GPU_UTIL, 97.0, 5.0), (Metric.CPU_CORES, 3.0, 1.0))
    )
    assert found.evidence == {
        "began": NOW - 2 * MINUTE, "before": 3 * MINUTE, "gpu_util_max": 97.0, "gpu_util_below": 5.0,
        "cpu_cores_max": 3.0, "cpu_cores_below": 1.0,
    }  # fmt: skip


def test_what_is_missing_or_idle_says_nothing() -> None:
    assert seen() is None
    assert seen(sample(NOW, 4.9), sample(NOW, 0.9, Metric.CPU_CORES)) is None
    assert seen(sample(NOW, 90.0, Metric.GPU_MEMORY)) is None, "the guard does not ask it"


@pytest.mark.parametrize(
    ("at", "metric", "counts"),
    [
        (NOW, Metric.GPU_UTIL, True),
        (NOW + MINUTE, Metric.GPU_UTIL, True),  # the period in which the call was made
        (NOW + 2 * MINUTE, Metric.GPU_UTIL, False),
        (NOW, Metric.CPU_CORES, True),
        (NOW + MINUTE, Metric.CPU_CORES, False),  # the shutdown works too
        (NOW + MINUTE, Metric.NETWORK, False),
        (NOW + MINUTE, Metric.DISK, False),
        (CALL - 5 * SECOND, Metric.CPU_CORES, False),  # by a clock that may be a little behind
        (CALL - 29 * MINUTE, Metric.GPU_UTIL, True),
        (CALL - 30 * MINUTE, Metric.GPU_UTIL, False),  # what the guard was never asked of
    ],
)
def test_which_samples_are_of_the_time_before_the_call(at: datetime, metric: Metric, counts: bool) -> None:
    assert (seen(sample(at, 1e9, metric)) is not None) is counts


def test_a_source_that_tells_no_period_has_the_usual_one() -> None:
    found = seen(sample(NOW, period=timedelta(0)))
    assert found is not None
    assert found.began == NOW - 5 * MINUTE


def test_samples_of_another_run_say_nothing() -> None:
    assert seen(sample(NOW), started_at=NOW) is None
    assert seen(sample(NOW), started_at=NOW - SECOND) is None, "its boot is in it"
    assert seen(sample(NOW), started_at=NOW - MINUTE) is not None
    assert seen(sample(NOW), started_at=None) is None
    assert seen(sample(NOW), executed_at=None) is None


def test_before_a_hook_its_own_load_is_nobodys_work() -> None:
    """Nor is that of the period in which it began, whatever the metric."""
    began = CALL - 5 * MINUTE
    for at in (NOW - 4 * MINUTE, NOW, NOW + MINUTE):
        assert seen(sample(at), ready=HOOKED, hook_started_at=began) is None
    found = seen(sample(NOW - 5 * MINUTE), ready=HOOKED, hook_started_at=began)
    assert found is not None
    assert (found.began, found.before) == (NOW - 6 * MINUTE, 7 * MINUTE)
    assert seen(sample(NOW), ready=HOOKED, hook_started_at=None) is None


def test_a_look_at_the_box_is_no_load_of_its_own() -> None:
    """It began before the call, as a hook does, and works as little as anybody who only looks."""
    looks = prepare(idle_policy(respond=[{"do": "warn"}, {"after": "30m", "do": "stop", "look": True}]))
    assert seen(sample(NOW), ready=looks, hook_started_at=CALL - MINUTE) is not None


def test_a_policy_asks_its_own_tests_and_none_where_work_forbids_nothing() -> None:
    own = prepare(idle_policy(when={"for": "45m", "gpu_util_below": "20%", "cpu_below": "off"}))
    assert levels_asked(own)[Metric.GPU_UTIL] == 20.0
    assert not levels_asked(own).keys() & {Metric.CPU_CORES, Metric.DISK}
    assert seen(sample(NOW, 15.0), ready=own) is None
    assert levels_asked(prepare(lifetime_policy()))[Metric.CPU_CORES] == 1.0
    through = prepare(lifetime_policy(when={"max_age": "1h", "when_busy": "stop"}))
    assert levels_asked(through) == {}
    assert seen(sample(NOW), ready=through) is None
    assert levels_asked(prepare(lifetime_policy(when={"max_age": "1h", "when_unknown": "stop"}))) != {}


@pytest.mark.parametrize(
    ("delays", "monitors", "expected"),
    [
        ({}, (), 5 * MINUTE),
        ({Metric.GPU_UTIL: 2 * MINUTE}, (), 8 * MINUTE),
        ({Metric.GPU_UTIL: 2 * MINUTE, Metric.CPU_CORES: 3 * MINUTE}, (), 13 * MINUTE),
        ({Metric.GPU_MEMORY: HOUR}, (), 5 * MINUTE),
        ({Metric.GPU_UTIL: MINUTE}, ((4 * MINUTE, MINUTE), (MINUTE, MINUTE)), 10 * MINUTE),
        ({Metric.GPU_UTIL: HOUR}, (), 20 * MINUTE),
    ],
)
def test_how_long_the_late_samples_are_waited_for(
    delays: dict[Metric, timedelta], monitors: tuple[Any, ...], expected: timedelta
) -> None:
    """By the slowest of those that are asked, and no longer than anybody waits."""
    assert wait(levels_asked(IDLE), delays, {Metric.CPU_CORES: 5 * MINUTE}, monitors) == expected


def test_the_ledger_has_it_in_one_sentence() -> None:
    found = seen(sample(NOW), sample(NOW, 2.5, Metric.CPU_CORES))
    assert found is not None
    line = written_down(stop(), found, NOW + 5 * MINUTE)
    assert (line.kind, line.action_id, line.policy) == (LedgerKind.UNSEEN_WORK, stop().id, "idle-dev")
    assert line.text == (
        "it had begun to work within 2m before the stop, which only later samples show: GPU use reached 90.0% "
        "(idle is below 5.0%)"
    )
    assert line.evidence == found.evidence
