"""Evaluate: policies do not see each other, and neither do resources."""

from datetime import timedelta

from costguard.domain.finding import Outcome
from costguard.domain.usage import Metric, WindowSpec
from costguard.engine.activity import ACTIVITY_WINDOWS
from costguard.engine.evaluate import evaluate, prepare, windows_needed
from costguard.rules.registry import parse_policy
from costguard.testing.builders import make_resource
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
