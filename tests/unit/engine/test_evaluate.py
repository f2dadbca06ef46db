"""Evaluate: policies do not see each other, and neither do resources."""

from dataclasses import replace
from datetime import timedelta

from costguard.domain.finding import Outcome
from costguard.domain.resource import State
from costguard.domain.usage import Metric, WindowSpec
from costguard.engine.activity import ACTIVITY_WINDOWS
from costguard.engine.evaluate import evaluate, prepare, windows_needed
from costguard.rules.registry import parse_policy
from costguard.testing.builders import HOUR, NOW, make_resource
from tests.unit.engine.stage import FOR, busy, idle_policy, lifetime_policy, snapshot_of


def test_judgements_of_every_matched_resource_and_findings_in_order() -> None:
    boxes = [make_resource(i, tags={"role": "dev"}) for i in ("b", "a")] + [make_resource("c")]
    snapshot = snapshot_of(*boxes, usage={boxes[0].ref: busy(boxes[0])})
    result = evaluate([lifetime_policy("z"), idle_policy("a", match={"tags": {"role": ["dev"]}})], snapshot)
    assert [(f.policy, f.subject.id) for f in result.findings] == [("a", "a"), ("z", "a"), ("z", "b"), ("z", "c")]
    assert result.matched["a"] == (boxes[0].ref, boxes[1].ref)
    assert [j.outcome for j in result.judgements["a"]] == [Outcome.CLEAR, Outcome.FIRES]
    assert result.findings[0].policy_hash == result.policies["a"].hash


def test_another_policy_in_the_same_cycle_changes_nothing() -> None:
    """M04, A12."""
    box = make_resource()
    alone = evaluate([idle_policy()], snapshot_of(box)).findings
    together = evaluate([idle_policy("other", when={"for": "24h"}), lifetime_policy(), idle_policy()], snapshot_of(box))
    assert [f for f in together.findings if f.policy == "idle-dev"] == list(alone)


def test_the_windows_that_a_snapshot_must_hold() -> None:
    told = parse_policy({"name": "x", "rule": "untagged", "respond": [{"do": "notify"}]})
    assert windows_needed([told]) == frozenset()
    quiet = idle_policy(respond=[{"do": "notify"}])
    assert windows_needed([quiet]) == {WindowSpec(m, FOR) for m in (Metric.GPU_UTIL, Metric.CPU_CORES, Metric.NETWORK)}
    assert windows_needed([lifetime_policy()]) == ACTIVITY_WINDOWS
    assert {s.length for s in windows_needed([idle_policy()])} == {FOR, timedelta(minutes=30)}


def test_a_prepared_policy_may_be_used_again() -> None:
    ready = prepare(idle_policy())
    box = make_resource()
    assert evaluate([ready], snapshot_of(box)).findings == evaluate([idle_policy()], snapshot_of(box)).findings


def test_2500_resources_are_all_judged() -> None:
    """M20."""
    boxes = [make_resource(f"i-{i}", cards=0) for i in range(2500)]
    result = evaluate([lifetime_policy()], snapshot_of(*boxes))
    assert len(result.judgements["old"]) == 2500


def test_a_box_that_is_stuck_creating_waits_alone() -> None:
    """B03: the four beside it are found as if it were not there; once it runs, its own clock begins."""
    boxes = [make_resource(f"i-{n}", started_at=NOW - 9 * HOUR) for n in range(4)]
    stuck = make_resource("i-stuck", state=State.PENDING, raw_state="creating", started_at=None)
    alone = evaluate([idle_policy()], snapshot_of(*boxes)).findings
    both = evaluate([idle_policy()], snapshot_of(*boxes, stuck))
    assert len(alone) == 4
    assert both.findings == alone
    assert [j.outcome for j in both.judgements["idle-dev"] if j.subject.id == "i-stuck"] == [Outcome.UNKNOWN]
    running = replace(stuck, state=State.RUNNING, started_at=NOW - 9 * HOUR)
    late = evaluate([idle_policy()], snapshot_of(*boxes, running)).findings
    assert [f.started_at for f in late if f.subject.id == "i-stuck"] == [NOW - 9 * HOUR]


def test_a_box_that_nobody_ever_saw_at_work_counts_from_its_start() -> None:
    """B06: without any sample it is never idle, but its age counts from its start and its silence is told."""
    box = make_resource(started_at=NOW - 30 * HOUR)
    unseen = parse_policy(
        {"name": "blind", "rule": "unmonitored", "when": {"for": "2h"}, "respond": [{"do": "notify"}]}
    )
    policies = [idle_policy(), lifetime_policy(when={"max_age": "24h"}), unseen]
    result = evaluate(policies, snapshot_of(box, usage={box.ref: {}}))
    assert {f.policy: f.evidence.get("counted_from") for f in result.findings} == {"old": box.started_at, "blind": None}
    assert [j.outcome for j in result.judgements["idle-dev"]] == [Outcome.UNKNOWN]
