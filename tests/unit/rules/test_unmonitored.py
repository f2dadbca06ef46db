"""unmonitored: GPU boxes nobody sees, cards nobody sees, and sources that cannot be read at all."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.finding import Judgement, Outcome
from costguard.domain.resource import UNKNOWN_GPUS, Resource, State
from costguard.domain.snapshot import SourceState
from costguard.domain.usage import Metric
from costguard.rules.unmonitored import UNMONITORED, UnmonitoredWhen, judge
from costguard.testing.builders import HOUR, NOW, cny, make_resource, make_snapshot, make_source, make_windows, usd

WHEN = UnmonitoredWhen.model_validate({"for": "2h"})


def look(
    box: Resource, util: float | Iterable[float] | None = None, others: tuple[Resource, ...] = (), **fields: Any
) -> Judgement:
    windows = {} if util is None else make_windows(box, {Metric.GPU_UTIL: util}, length=2 * HOUR)
    snapshot = make_snapshot(box, *others, usage={box.ref: windows}, **fields)
    return next(iter(judge(WHEN, [box, *others], snapshot)))


def test_a_box_without_an_agent_is_told_with_its_share_of_the_spend() -> None:
    """A10: the agent is not installed: nobody can tell, and that is said."""
    box = make_resource("i-1", price=cny("30"))
    other = make_resource("i-2", price=usd("10"))
    always = ((NOW - timedelta(days=900), "7"),)
    answer = look(box, others=(other,), exchange_rates={"USD": always})
    assert (answer.outcome, answer.reason, answer.since) == (Outcome.FIRES, "unseen", NOW - 2 * HOUR)
    assert answer.evidence["share"] == 0.3
    assert answer.evidence["provider"] == "simulated"
    assert not UNMONITORED.may_stop


@pytest.mark.parametrize(
    ("box", "util", "expected"),
    [
        ({}, [0.0] * 8, "clear: seen"),
        ({}, [50.0] * 7, "fires: some_cards_unseen"),
        ({"started_at": NOW - HOUR}, None, "clear: just_started"),
        ({"started_at": None}, None, "unknown: start_unknown"),
        ({"state": State.STOPPED}, None, "clear: not_running"),
        ({"cards": 0}, None, "clear: no_gpu"),
        ({"gpus": UNKNOWN_GPUS}, None, "unknown: gpu_count_unknown"),
        ({"price": None}, None, "fires: unseen"),
    ],
)
def test_what_is_seen_and_what_is_not(box: dict[str, Any], util: Any, expected: str) -> None:
    answer = look(make_resource(**box), util)
    assert f"{answer.outcome.value}: {answer.reason}" == expected


@pytest.mark.parametrize("state", [SourceState.DENIED, SourceState.FAILED])
def test_a_source_that_cannot_be_read_is_not_a_missing_agent(state: SourceState) -> None:
    """M01: the metric API is denied: unknown, and the source has an alert of its own."""
    answer = look(make_resource(), sources=(make_source("usage", state=state),))
    assert (answer.outcome, answer.reason) == (Outcome.UNKNOWN, f"usage_{state.value}")


def test_a_stale_source_is_unknown_too() -> None:
    answer = look(make_resource(), sources=(make_source("usage", fetched_at=NOW - 3 * HOUR),))
    assert answer.outcome is Outcome.UNKNOWN


def test_a_box_that_a_metrics_source_sees_is_seen() -> None:
    box = make_resource("i-1", cards=2)
    windows = make_windows(box, {Metric.GPU_UTIL: [0.0, 0.0]}, length=2 * HOUR)
    told = {
        spec: tuple(replace(w, series=replace(w.series, source="prometheus:dcgm")) for w in found)
        for spec, found in windows.items()
    }
    (answer,) = judge(WHEN, [box], make_snapshot(box, usage={box.ref: told}))
    assert (answer.outcome, answer.reason) == (Outcome.CLEAR, "seen")


@pytest.mark.parametrize(
    ("state", "account", "expected"),
    [
        (SourceState.OK, "prod", (Outcome.FIRES, "unseen")),
        (SourceState.FAILED, "prod", (Outcome.UNKNOWN, "prometheus_failed")),
        (SourceState.DENIED, "prod", (Outcome.UNKNOWN, "prometheus_denied")),
        (SourceState.FAILED, "dev", (Outcome.FIRES, "unseen")),
    ],
)
def test_a_metrics_source_that_cannot_be_read_makes_unknown_what_it_could_have_told_of(
    state: SourceState, account: str, expected: tuple[Outcome, str]
) -> None:
    """It is told once, as a source; each box that it might have seen is no news. Of other accounts' boxes the source
    never tells, so its failure changes nothing about them."""
    box = make_resource("i-1")
    usual = make_snapshot(box).sources
    dcgm = make_source("prometheus", account="dcgm", region="-", state=state)
    (answer,) = judge(WHEN, [box], make_snapshot(box, sources=(*usual, dcgm), told_by={account: frozenset({"dcgm"})}))
    assert (answer.outcome, answer.reason) == expected
