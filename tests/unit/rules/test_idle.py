"""idle: a working box is never idle, whatever is missing."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from costguard.domain.finding import Judgement, Outcome
from costguard.domain.resource import UNKNOWN_GPUS, Ends, Gpus, Resource, State, StopEffect
from costguard.domain.snapshot import PowerEvent, Snapshot
from costguard.domain.usage import Metric, Statistic, WindowSpec
from costguard.rules.idle import IDLE, IdleWhen, judge, needs
from costguard.testing.builders import (
    HOUR,
    MINUTE,
    NOW,
    cny,
    make_resource,
    make_series,
    make_snapshot,
    make_window,
    make_windows,
)  # fmt: skip

FOR = 2 * HOUR
QUIET: dict[Metric, Any] = {Metric.GPU_UTIL: [0.5] * 8, Metric.CPU_CORES: 0.2, Metric.NETWORK: 1000.0}


def when(**fields: Any) -> IdleWhen:
    return IdleWhen.model_validate(fields)


def one(resource: Resource, values: dict[Metric, Any] | None, rule: IdleWhen | None = None, **fields: Any) -> Judgement:
    rule = rule or when()
    usage = {} if values is None else {resource.ref: make_windows(resource, values, length=rule.length)}
    snapshot = make_snapshot(resource, usage=usage, **fields)
    (answer,) = judge(rule, [resource], snapshot)
    return answer


def test_a_quiet_box_is_idle_with_all_its_evidence() -> None:
    answer = one(make_resource(), QUIET)
    assert (answer.outcome, answer.reason, answer.since) == (Outcome.FIRES, "idle", NOW - FOR)
    assert answer.waste_per_hour == cny("34.74")
    evidence = dict(answer.evidence)
    assert evidence.pop("cards") == tuple((i, 0.5) for i in range(8))
    assert evidence == {
        "window": FOR, "last_at": NOW, "gpu_util_max": 0.5, "gpu_util_below": 5.0, "cpu_cores_max": 0.2,
        "cpu_cores_below": 1.0, "network_max": 1000.0, "network_below": 1e6, "gpu_util_mean": 0.5, "source": "cloud",
        "samples": 120, "expected": 120, "coverage": 1.0, "window_start": NOW - FOR, "window_end": NOW,
        "started_at": NOW - 24 * HOUR, "price": cny("34.74"), "idle_cost": cny("69.48"), "cards_expected": 8,
        "cards_idle": 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "outcome", "reason"),
    [
        ({Metric.GPU_UTIL: [0.5] * 7 + [99.0]}, Outcome.CLEAR, "gpu_util_busy"),
        ({Metric.GPU_UTIL: [0.5] * 7 + [5.0]}, Outcome.CLEAR, "gpu_util_busy"),
        ({Metric.GPU_UTIL: [4.9] * 8}, Outcome.FIRES, "idle"),
        ({Metric.GPU_UTIL: [0.5] * 7}, Outcome.UNKNOWN, "gpu_util_card_without_samples"),
        ({Metric.GPU_UTIL: None}, Outcome.UNKNOWN, "gpu_util_no_samples"),
        ({Metric.CPU_CORES: 1.0}, Outcome.CLEAR, "cpu_cores_busy"),
        ({Metric.CPU_CORES: None}, Outcome.UNKNOWN, "cpu_cores_no_samples"),
        ({Metric.NETWORK: 2e6}, Outcome.CLEAR, "network_busy"),
        ({Metric.NETWORK: None}, Outcome.UNKNOWN, "network_no_samples"),
        ({Metric.GPU_UTIL: None, Metric.CPU_CORES: 50.0}, Outcome.CLEAR, "cpu_cores_busy"),
    ],
)
def test_every_test_must_hold_and_missing_is_unknown(change: dict[Metric, Any], outcome: Outcome, reason: str) -> None:
    """A01, A10, M03: data loading at 0 % GPU, a missing agent, a card that works or that nobody sees."""
    values = {metric: value for metric, value in (QUIET | change).items() if value is not None}
    answer = one(make_resource(), values)
    assert (answer.outcome, answer.reason) == (outcome, reason)


def test_a_box_that_may_have_gpus_is_not_judged_by_its_cpus() -> None:
    """A10, G11: cpu_only speaks of boxes without GPUs, not of those whose GPUs nobody describes."""
    box, rule = make_resource(gpus=UNKNOWN_GPUS), when(cpu_only=True)
    quiet = {Metric.CPU_CORES: 0.2, Metric.NETWORK: 1000.0}
    answer = one(box, quiet, rule)
    assert (answer.outcome, answer.reason) == (Outcome.UNKNOWN, "gpu_util_cards_unknown")
    assert one(make_resource(cards=0), quiet, rule).outcome is Outcome.FIRES


def test_no_windows_at_all_is_unknown() -> None:
    """M01: the metric API is denied on every call."""
    answer = one(make_resource(), None)
    assert (answer.outcome, answer.reason) == (Outcome.UNKNOWN, "gpu_util_no_samples")
    assert answer.waste_per_hour is None


def test_only_the_boxes_whose_metrics_failed_are_unknown() -> None:
    """M02: two of a hundred metric calls fail."""
    boxes = [make_resource(f"i-{i}") for i in range(100)]
    usage = {b.ref: make_windows(b, QUIET, length=FOR) for b in boxes[2:]}
    answers = list(judge(when(), boxes, make_snapshot(*boxes, usage=usage)))
    assert [a.outcome for a in answers] == [Outcome.UNKNOWN] * 2 + [Outcome.FIRES] * 98


def test_off_is_written_to_not_ask() -> None:
    rule = when(cpu_below="off", network_below="off")
    assert one(make_resource(), {Metric.GPU_UTIL: [0.1] * 8}, rule).outcome is Outcome.FIRES
    assert needs(rule) == {WindowSpec(Metric.GPU_UTIL, FOR)}


def test_a_burst_between_polls_counts() -> None:
    """A06: 20 s of 90 % in a source's own history: the maximum decides, never the mean."""
    box = make_resource(cards=1)
    usage = make_windows(box, {Metric.GPU_UTIL: [0.0], Metric.CPU_CORES: 0.1, Metric.NETWORK: 1.0}, length=FOR)
    spec = WindowSpec(Metric.GPU_UTIL, FOR)
    usage[spec] = (make_window(0.3, series=make_series(box.ref, gpu_index=0), length=FOR, max=90.0),)
    (answer,) = judge(when(), [box], make_snapshot(box, usage={box.ref: usage}))
    assert (answer.outcome, answer.evidence["gpu_util_max"]) == (Outcome.CLEAR, 90.0)


def test_a_mean_over_all_cards_is_no_proof() -> None:
    """A30: Tencent gives only the mean; 4.9 % may be one card of eight at 39 %."""
    box = make_resource()
    usage = make_windows(box, {Metric.CPU_CORES: 0.1, Metric.NETWORK: 1.0}, length=FOR)
    series = make_series(box.ref, cards=8, statistic=Statistic.MEAN)
    for value, outcome in ((4.9, Outcome.UNKNOWN), (0.6, Outcome.FIRES), (6.0, Outcome.CLEAR)):
        usage[WindowSpec(Metric.GPU_UTIL, FOR)] = (make_window(value, series=series, length=FOR),)
        (answer,) = judge(when(), [box], make_snapshot(box, usage={box.ref: usage}))
        assert answer.outcome is outcome, value


def test_a_short_history_is_no_verdict() -> None:
    """A29, M14: a policy over hours, a box with minutes of data."""
    box = make_resource()
    usage = {box.ref: make_windows(box, QUIET, length=FOR, coverage=0.1)}
    (answer,) = judge(when(), [box], make_snapshot(box, usage=usage))
    assert (answer.outcome, answer.reason) == (Outcome.UNKNOWN, "gpu_util_low_coverage")


@pytest.mark.parametrize(
    ("up", "outcome", "reason"),
    [
        (40 * MINUTE, Outcome.CLEAR, "just_started"),
        (FOR + 19 * MINUTE, Outcome.CLEAR, "just_started"),
        (FOR + 20 * MINUTE, Outcome.FIRES, "idle"),
    ],
)
def test_the_idle_clock_starts_after_the_boot_grace(up: timedelta, outcome: Outcome, reason: str) -> None:
    """A01, A04: Friday's samples do not make Monday's box idle."""
    answer = one(make_resource(started_at=NOW - up), QUIET)
    assert (answer.outcome, answer.reason) == (outcome, reason)


def test_an_unknown_start_never_fires() -> None:
    """C19: created_at null, state creating."""
    assert one(make_resource(started_at=None), QUIET).reason == "start_unknown"
    answer = one(make_resource(state=State.PENDING), QUIET)
    assert (answer.outcome, answer.reason) == (Outcome.UNKNOWN, "state_unknown")


@pytest.mark.parametrize("state", [State.STOPPED, State.STOPPING, State.GONE, State.DELETING])
def test_what_does_not_run_is_clear(state: State) -> None:
    """A10: a stopped box without samples is not idle."""
    answer = one(make_resource(state=state), None)
    assert (answer.outcome, answer.reason) == (Outcome.CLEAR, "not_running")


def test_a_start_that_the_listing_does_not_show_yet_restarts_the_clock() -> None:
    """A04, M12: the last start event counts when the listing is older."""
    box = make_resource()
    events = {box.ref: (PowerEvent(box.ref, NOW - HOUR, "start", ours=False, actor="li"),)}
    assert one(box, QUIET, power_events=events).reason == "just_started"
    stopped = {box.ref: (PowerEvent(box.ref, NOW - HOUR, "stop", ours=False),)}
    assert one(box, QUIET, power_events=stopped).outcome is Outcome.FIRES


def test_a_heartbeat_is_work_also_when_it_has_ended_within_the_window() -> None:
    """A02, A26: a job says that it is alive; silence after it starts the clock again."""
    box = make_resource()
    for until, outcome in ((NOW + HOUR, Outcome.CLEAR), (NOW - HOUR, Outcome.CLEAR), (NOW - FOR, Outcome.FIRES)):
        assert one(box, QUIET, heartbeats={box.ref: until}).outcome is outcome


@pytest.mark.parametrize(
    ("cards", "idle", "outcome"),
    [
        ("all", 7, Outcome.CLEAR), ("any", 1, Outcome.FIRES), ("any", 7, Outcome.FIRES), ("any", 0, Outcome.CLEAR),
        ("50%", 4, Outcome.FIRES), ("50%", 3, Outcome.CLEAR), ("51%", 4, Outcome.CLEAR), ("100%", 8, Outcome.FIRES),
    ],
)  # fmt: skip
def test_how_many_cards_must_be_idle(cards: str, idle: int, outcome: Outcome) -> None:
    """A24: one idle or seven of eight, with the waste of those."""
    values = QUIET | {Metric.GPU_UTIL: [0.5] * idle + [90.0] * (8 - idle)}
    answer = one(make_resource(price=cny("8")), values, when(cards=cards))
    assert answer.outcome is outcome
    if outcome is Outcome.FIRES:
        assert answer.waste_per_hour == cny(str(idle))
        assert answer.evidence["cards_idle"] == idle


def test_a_card_that_nobody_sees_is_unknown_for_any_too() -> None:
    values = QUIET | {Metric.GPU_UTIL: [0.5] * 3}
    assert one(make_resource(), values, when(cards="any")).outcome is Outcome.UNKNOWN


def test_memory_and_power_are_vetoes_when_set() -> None:
    """A08: nothing runs, but 40 GiB are resident."""
    rule = when(gpu_memory_below="10%", gpu_power_below="30%")
    power = {Metric.GPU_POWER: [20.0] * 8}
    assert one(make_resource(), QUIET | power, rule).reason == "gpu_memory_no_samples"
    resident = {Metric.GPU_MEMORY: [1.0] * 7 + [50.0]}
    assert one(make_resource(), QUIET | power | resident, rule).reason == "gpu_memory_busy"
    assert one(make_resource(), QUIET | power | {Metric.GPU_MEMORY: [1.0] * 8}, rule).outcome is Outcome.FIRES
    assert one(make_resource(), QUIET | {Metric.GPU_MEMORY: [1.0] * 8, Metric.GPU_POWER: [90.0] * 8}, rule).reason == (
        "gpu_power_busy"
    )


def test_boxes_without_gpus_are_judged_only_if_asked_to() -> None:
    cpu_box = make_resource(cards=0)
    values = {Metric.CPU_CORES: 0.1, Metric.NETWORK: 10.0}
    assert one(cpu_box, values).reason == "no_gpu"
    assert one(cpu_box, values, when(cpu_only=True)).outcome is Outcome.FIRES
    assert one(cpu_box, {Metric.CPU_CORES: 0.1}, when(cpu_only=True)).reason == "network_no_samples"
    assert one(cpu_box, values | {Metric.GPU_UTIL: [90.0]}, when(cpu_only=True)).reason == "gpu_util_busy"
    hidden = one(cpu_box, values | {Metric.GPU_UTIL: [0.0]}, when(cpu_only=True))
    assert hidden.reason == "gpu_util_cards_unknown", "a type whose cards are not known yet"


def test_waste_is_what_a_stop_would_save() -> None:
    """C07: prepaid: nothing is saved, nothing is claimed."""
    paid = make_resource(stop_effect=StopEffect(Ends.NO))
    assert one(paid, QUIET).waste_per_hour is None
    assert one(make_resource(price=None), QUIET).waste_per_hour is None
    assert one(make_resource(stop_effect=None), QUIET).waste_per_hour == cny("34.74")


def test_a_fractional_card_expects_one_series() -> None:
    box = make_resource(gpus=Gpus("A10", Decimal("0.5")))
    assert one(box, QUIET | {Metric.GPU_UTIL: [0.5]}).outcome is Outcome.FIRES


def test_two_windows_over_one_metric_share_nothing() -> None:
    """A12: 30 m and 24 h in one cycle."""
    box = make_resource()
    short, long = when(**{"for": "30m"}), when(**{"for": "24h"}, boot_grace="0s")
    usage = make_windows(box, QUIET, length=short.length) | make_windows(
        box, QUIET | {Metric.GPU_UTIL: [90.0] * 8}, length=long.length
    )
    snapshot: Snapshot = make_snapshot(box, usage={box.ref: usage})
    assert next(iter(judge(short, [box], snapshot))).outcome is Outcome.FIRES
    assert next(iter(judge(long, [box], snapshot))).outcome is Outcome.CLEAR


@pytest.mark.parametrize(
    "fields",
    [
        {"cards": "most"}, {"cards": "0%"}, {"cards": "120%"}, {"cards": 4}, {"coverage": "120%"},
        {"for": "0m"}, {"for": 45}, {"cpu_only": True, "cpu_below": "off"}, {"gpu_util_below": 5},
        {"network_below": "1"}, {"idle_after": "30m"},
    ],
)  # fmt: skip
def test_nonsense_is_refused(fields: dict[str, Any]) -> None:
    """A22: a unit is required; unknown keys are errors."""
    with pytest.raises(ValidationError):
        when(**fields)


def test_the_defaults_are_the_contract() -> None:
    rule = when()
    assert (rule.gpu_util_below, rule.length, rule.coverage, rule.cards) == (5.0, FOR, 90.0, "all")
    assert (rule.cpu_below, rule.network_below, rule.boot_grace) == (1.0, 1e6, 20 * MINUTE)
    assert IDLE.capabilities(rule) == {"gpu_usage"}
    assert IDLE.capabilities(when(cpu_only=True)) == {"cpu_usage"}


def test_the_busy_guard_asks_the_policys_own_tests() -> None:
    tests = IDLE.activity(when(gpu_util_below="10%", cpu_below="off"))
    assert (tests.gpu_util, tests.cpu_cores, tests.network, tests.disk) == (10.0, None, 1e6, None)
