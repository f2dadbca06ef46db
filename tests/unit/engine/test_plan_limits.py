"""Plan: how much at once, who goes first, and that a dry run is the same plan."""

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costguard.domain.action import ActionState
from costguard.domain.decision import GuardCode
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Resource
from costguard.engine.evaluate import evaluate
from costguard.engine.events import Event, EventKind
from costguard.engine.settings import EngineSettings
from costguard.rules.policy import Policy
from costguard.testing.builders import HOUR, MINUTE, NOW, cny, make_account, make_resource, usd
from tests.unit.engine.stage import SETTINGS, Cycles, busy, idle_policy, lifetime_policy, quiet, snapshot_of

S = ActionState
DUE = NOW + 30 * MINUTE


def fleet(count: int, **fields: Any) -> list[Resource]:
    """Boxes of rising price: the last one wastes most."""
    return [make_resource(f"i-{i:03d}", price=cny(str(i + 1)), cards=1, **fields) for i in range(count)]


def due(boxes: list[Resource], policies: list[Policy], config: EngineSettings, **facts: Any) -> Cycles:
    cycles = Cycles(policies, config)
    cycles.cycle(snapshot_of(*boxes, **facts))
    for row in cycles.open:
        if not row.dry_run:
            cycles.deliver(NOW, row)
    cycles.cycle(snapshot_of(*boxes, now=DUE, **facts))
    return cycles


def flying(cycles: Cycles) -> list[str]:
    return sorted(row.subject.id for row in cycles.open if row.state.in_flight)


def test_five_of_eighty_and_the_rest_say_when() -> None:
    """M18: limit 5 and 80 candidates: the five most wasteful; the rest deferred with the reason."""
    cycles = due(fleet(80), [idle_policy()], EngineSettings(per_hour=5, share=None))
    assert flying(cycles) == [f"i-{i:03d}" for i in range(75, 80)]
    deferred = [d for d in cycles.last.decisions if d.verdict.code is GuardCode.LIMIT]
    assert len(deferred) == 75
    assert {d.verdict.until for d in deferred} == {DUE + HOUR}
    assert "5" in deferred[0].verdict.reason


@pytest.mark.parametrize(
    ("boxes", "limits", "config", "started"),
    [
        (20, {"share": "20%"}, EngineSettings(per_hour=None, share=None), 4),
        (4, {"share": "20%"}, EngineSettings(per_hour=None, share=None), 1),
        (20, {"share": "20%", "per_hour": 3}, EngineSettings(per_hour=None, share=None), 3),
        (20, {}, EngineSettings(per_hour=5, share=25.0), 5),
        (12, {}, EngineSettings(per_hour=5, share=25.0), 3),
        (20, {"per_hour": 9}, EngineSettings(per_hour=2, share=None), 2),
        (20, {}, EngineSettings(per_hour=None, share=None), 20),
    ],
)
def test_the_smallest_limit_holds(boxes: int, limits: dict[str, Any], config: EngineSettings, started: int) -> None:
    cycles = due(fleet(boxes), [idle_policy(limits=limits)], config)
    assert len(flying(cycles)) == started


def test_the_share_is_counted_per_account() -> None:
    boxes = fleet(8) + [make_resource(f"b-{i}", account="other", cards=1) for i in range(4)]
    cycles = due(boxes, [idle_policy()], EngineSettings(per_hour=None, share=25.0))
    assert [s[0] for s in flying(cycles)] == ["b", "i", "i"]


def test_failed_calls_and_what_is_in_flight_count_for_an_hour() -> None:
    boxes = fleet(4)
    config = EngineSettings(per_hour=2, share=None)
    cycles = due(boxes, [idle_policy()], config)
    for row in cycles.open:
        if row.state.in_flight:
            row = cycles.send(Event(EventKind.HOLDS), DUE, row)
            row = cycles.send(Event(EventKind.HOLDS, token=row.id), DUE, row)
            cycles.send(Event(EventKind.REJECTED, "no right"), DUE, row)
    assert flying(cycles) == []
    cycles.cycle(snapshot_of(*boxes, now=DUE + 29 * MINUTE))
    assert flying(cycles) == [], "two failed calls used the hour up"
    cycles.cycle(snapshot_of(*boxes, now=DUE + 20 * MINUTE + HOUR))
    assert {n.kind for n in cycles.last.notices} == {NoticeKind.WARN}, "by then the warnings are too old"


def test_most_wasteful_first_across_currencies_and_unknown_prices_last() -> None:
    boxes = [
        make_resource("cheap", price=cny("6"), cards=1), make_resource("dollars", price=usd("1"), cards=1),
        make_resource("unpriced", price=None, cards=1),
        make_resource("no-rate", price=replace(usd("9"), currency="EUR"), cards=1),
    ]  # fmt: skip
    rates = {"exchange_rates": {"USD": ((NOW - HOUR, "7.1"),)}}
    for most, first in ((1, ["dollars"]), (2, ["cheap", "dollars"])):
        cycles = due(boxes, [idle_policy()], EngineSettings(per_hour=most, share=None), **rates)
        assert flying(cycles) == first


def test_a_dry_run_walks_the_same_ladders_and_would_stop_the_same_boxes() -> None:
    """C18: one planner; enforcing carries out what the dry run recorded."""
    boxes = [*fleet(12), make_resource("kept", tags={"costguard": "keep"}), make_resource("busy")]
    config = EngineSettings(per_hour=3, share=None)
    usage = {"usage": {boxes[-1].ref: busy(boxes[-1], end=NOW)}}
    real = due(boxes, [idle_policy()], config, **usage)
    dry = due(boxes, [idle_policy(mode="dry_run")], config, **usage)
    would = sorted(r.subject.id for r in dry.open if r.ended_at is not None)
    assert would == flying(real)
    assert not [r for r in dry.open if r.state is not S.RECORDED]
    assert dry.told == []
    codes = {d.subject.id: d.verdict.code for d in dry.last.decisions}
    assert {codes[i] for i in would} == {GuardCode.DRY_RUN}
    assert codes["kept"] is GuardCode.PROTECTED
    assert {c for i, c in codes.items() if i not in would and i != "kept"} == {GuardCode.LIMIT}
    lines = [line.text for line in dry.ledger if line.kind is LedgerKind.RECORDED]
    assert lines.count("would stop") == 3


def test_a_dry_run_is_not_due_before_its_time_and_one_row_is_updated() -> None:
    cycles = Cycles([idle_policy(mode="dry_run")])
    box = make_resource(tags={"costguard": "keep"})
    for minutes, code in ((0, GuardCode.NOT_DUE), (29, GuardCode.NOT_DUE), (30, GuardCode.PROTECTED)):
        cycles.cycle(snapshot_of(box, now=NOW + minutes * MINUTE))
        assert cycles.decision.verdict.code is code
        assert cycles.decision.due_at == DUE
    assert len(cycles.rows) == 1


def test_the_next_hour_of_a_dry_run_records_the_next_boxes() -> None:
    cycles = due(fleet(6), [idle_policy(mode="dry_run")], EngineSettings(per_hour=2, share=None))
    cycles.cycle(snapshot_of(*fleet(6), now=DUE + HOUR))
    assert sum(r.ended_at is not None for r in cycles.open) == 4


def test_a_dry_run_never_uses_up_a_real_place() -> None:
    boxes = fleet(4)
    policies = [idle_policy("dry", mode="dry_run"), idle_policy("real")]
    cycles = due(boxes, policies, EngineSettings(per_hour=2, share=None))
    assert len(flying(cycles)) == 2
    assert {r.policy for r in cycles.open if r.state.in_flight} == {"real"}


def test_not_armed_says_so() -> None:
    cycles = due(fleet(1), [idle_policy()], SETTINGS, accounts={"prod": make_account(armed=False)})
    assert cycles.decision.verdict.code is GuardCode.NOT_ARMED


@settings(max_examples=settings.default.max_examples * 3 // 10)
@given(st.integers(0, 2**32), st.integers(1, 4), st.booleans())
def test_permuting_policies_and_resources_changes_nothing(seed: int, per_hour: int, dry: bool) -> None:
    """M04: findings, verdicts and who acts are the same in any order."""
    random = Random(seed)
    boxes = [
        make_resource(
            f"i-{i}",
            cards=random.choice([0, 1, 2]),
            price=cny(str(random.choice([1, 5, 9]))),
            tags={"role": random.choice(["dev", "ci"])},
            started_at=NOW - timedelta(hours=random.choice([0, 2, 50])),
        )
        for i in range(8)
    ]
    usage = {b.ref: random.choice([busy(b), quiet(b), {}, quiet(b, cpu=None)]) for b in boxes}
    mode = "dry_run" if dry else "enforce"
    policies = [
        idle_policy("idle-all", mode=mode),
        idle_policy("idle-dev", match={"tags": {"role": ["dev"]}}, when={"for": "45m", "cpu_only": True}),
        lifetime_policy("old", mode=mode, when={"max_age": "1h", "when_unknown": "stop"}),
        idle_policy("told", respond=[{"do": "notify"}]),
    ]

    def outcome(order: list[Resource], rules: list[Policy]) -> object:
        cycles = Cycles(rules, EngineSettings(per_hour=per_hour, share=None))
        cycles.cycle(snapshot_of(*order, usage=usage))
        for row in sorted(cycles.open, key=lambda r: (r.policy, r.subject.id)):
            if row.warning_id is not None:
                cycles.deliver(NOW, row)
        cycles.cycle(snapshot_of(*order, now=DUE, usage={b.ref: usage[b.ref] for b in order}))
        decisions = [
            (d.policy, d.subject.id, d.response, d.verdict.answer, d.verdict.code, d.due_at)
            for d in cycles.last.decisions
        ]
        rows = sorted((r.policy, r.subject.id, r.state, r.code, r.rung) for r in cycles.rows.values())
        return decisions, rows, evaluate(rules, snapshot_of(*order, usage=usage)).findings

    first = outcome(boxes, policies)
    for _ in range(2):
        random.shuffle(boxes)
        random.shuffle(policies)
        assert outcome(boxes, policies) == first


def test_a_real_and_a_dry_policy_do_not_hold_each_other() -> None:
    cycles = due(fleet(1), [idle_policy("a", mode="dry_run"), lifetime_policy("b")], SETTINGS)
    codes = {d.policy: d.verdict.code for d in cycles.last.decisions}
    assert codes == {"a": GuardCode.DRY_RUN, "b": GuardCode.OK}
