"""Activity: every source together, and every doubt is UNKNOWN."""

from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.resource import UNKNOWN_GPUS
from costguard.domain.usage import Metric
from costguard.engine.activity import ACTIVITY_WINDOWS, WINDOW, Activity, activity_of
from costguard.notify.words.sentences import translated
from costguard.rules.kind import ActivityTests
from costguard.testing.builders import HOUR, MINUTE, NOW, make_resource, make_snapshot, make_windows
from tests.unit.engine.stage import quiet


def seen(resource: Any, usage: Any, tests: ActivityTests | None = None, **fields: Any) -> Activity:
    snapshot = make_snapshot(resource, usage={resource.ref: usage}, **fields)
    return activity_of(resource, snapshot, tests or ActivityTests()).activity


BOX = make_resource()


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (quiet(BOX), Activity.IDLE),
        (quiet(BOX, gpu=[0.0] * 7 + [5.0]), Activity.ACTIVE),
        (quiet(BOX, cpu=1.0), Activity.ACTIVE),
        (quiet(BOX, network=1e6), Activity.ACTIVE),
        (quiet(BOX, gpu=[0.0] * 7), Activity.UNKNOWN),
        (quiet(BOX, gpu=None), Activity.UNKNOWN),
        (quiet(BOX, cpu=None), Activity.UNKNOWN),
        (quiet(BOX, network=None), Activity.UNKNOWN),
        (quiet(BOX, gpu=None, cpu=9.0), Activity.ACTIVE),
        ({}, Activity.UNKNOWN),
        (quiet(BOX, coverage=0.5), Activity.UNKNOWN),
        (quiet(BOX, end=NOW, last_at=NOW - 5 * MINUTE), Activity.UNKNOWN),
        (dict(quiet(BOX)) | make_windows(BOX, {Metric.DISK: 2e7}, length=WINDOW), Activity.ACTIVE),
        (dict(quiet(BOX)) | make_windows(BOX, {Metric.CONNECTIONS: 1.0}, length=WINDOW), Activity.ACTIVE),
        (dict(quiet(BOX)) | make_windows(BOX, {Metric.DISK: 10.0}, length=WINDOW), Activity.IDLE),
    ],
)
def test_the_truth_table(usage: Any, expected: Activity) -> None:
    """A01, A02, A10, M03: sources are OR-ed for work, AND-ed for quiet; missing is UNKNOWN."""
    assert seen(BOX, usage) is expected


def test_a_heartbeat_is_work_until_it_ends() -> None:
    """A02."""
    assert seen(BOX, quiet(BOX), heartbeats={BOX.ref: NOW + MINUTE}) is Activity.ACTIVE
    told = activity_of(BOX, make_snapshot(BOX, heartbeats={BOX.ref: NOW + MINUTE}, timezone="Asia/Shanghai")).reason
    assert told == "a job said that it is alive until 2026-03-05 20:01 (Asia/Shanghai)"
    assert translated(told, "zh") == "有任务报告自己会运行到北京时间 2026-03-05 20:01"
    assert seen(BOX, quiet(BOX), heartbeats={BOX.ref: NOW}) is Activity.IDLE


@pytest.mark.parametrize(("up", "expected"), [(HOUR, Activity.IDLE), (20 * MINUTE, Activity.UNKNOWN)])
def test_a_box_that_just_started_is_not_proven_idle(up: timedelta, expected: Activity) -> None:
    """A04: samples from before the start prove nothing."""
    box = make_resource(started_at=NOW - up)
    assert seen(box, quiet(box)) is expected
    assert seen(make_resource(started_at=None), quiet(BOX)) is Activity.UNKNOWN


def test_a_test_that_is_off_is_not_asked() -> None:
    tests = ActivityTests(cpu_cores=None, network=None, disk=None, connections=None)
    assert seen(BOX, quiet(BOX, cpu=None, network=None), tests) is Activity.IDLE
    assert seen(BOX, quiet(BOX, cpu=50.0, network=None), tests) is Activity.IDLE


def test_a_cpu_box_needs_no_gpu_series_but_believes_one() -> None:
    box = make_resource(cards=0)
    assert seen(box, quiet(box)) is Activity.IDLE
    assert seen(box, quiet(box, gpu=[90.0])) is Activity.ACTIVE
    assert seen(box, quiet(box, gpu=[0.0])) is Activity.UNKNOWN
    nothing = ActivityTests(cpu_cores=None, network=None)
    assert seen(box, quiet(box), nothing) is Activity.UNKNOWN


def test_a_box_that_may_have_gpus_is_not_judged_by_its_cpus() -> None:
    """A10, G11: a type that the provider does not describe."""
    box = make_resource(gpus=UNKNOWN_GPUS)
    assert seen(box, quiet(box, gpu=None)) is Activity.UNKNOWN
    assert seen(box, quiet(box, gpu=[0.0])) is Activity.UNKNOWN
    assert seen(box, quiet(box, gpu=[90.0])) is Activity.ACTIVE
    assert seen(box, quiet(box, gpu=None, cpu=9.0)) is Activity.ACTIVE
    answer = activity_of(box, make_snapshot(box, usage={box.ref: quiet(box, gpu=None)}))
    assert answer.reason == "of GPU use it is not known how many cards there should be"


def test_the_answer_names_its_signals() -> None:
    snapshot = make_snapshot(BOX, usage={BOX.ref: quiet(BOX, cpu=4.0)})
    answer = activity_of(BOX, snapshot)
    assert answer.reason == "CPU use saw work in the last 30 min"
    assert [(name, value) for name, _, value in answer.signals] == [
        ("gpu_util", 0.5), ("cpu_cores", 4.0), ("network", 1000.0),
    ]  # fmt: skip
    assert {spec.length for spec in ACTIVITY_WINDOWS} == {WINDOW}
