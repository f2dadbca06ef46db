"""Recheck: the live read right before the call decides, and says why not."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode
from costguard.domain.resource import Resource, State
from costguard.domain.snapshot import Keep
from costguard.engine.evaluate import Prepared, evaluate, prepare, with_live
from costguard.engine.events import Event, EventKind
from costguard.engine.plan import PlanFacts
from costguard.engine.recheck import ladder_of, recheck, rung_of
from costguard.engine.settings import EngineSettings
from costguard.rules.policy import Policy
from costguard.testing.builders import HOUR, MINUTE, NOW, make_account, make_resource
from tests.unit.engine.stage import SETTINGS, Cycles, busy, idle_policy, snapshot_of

BOX = make_resource(tags={"role": "dev"})
POLICY = idle_policy(match={"tags": {"role": ["dev"]}})
SAVE = {"on": "instance", "run": "/opt/ckpt.sh", "timeout": "2h"}
HOOKED = idle_policy(
    match={"tags": {"role": ["dev"]}}, respond=[{"do": "warn"}, {"after": "30m", "do": "stop", "hook": SAVE}]
)
NOW_DUE = NOW + 30 * MINUTE
NOTHING = PlanFacts()


def started(settings: EngineSettings = SETTINGS, policy: Policy = POLICY) -> Cycles:
    cycles = Cycles([policy], settings)
    cycles.cycle(snapshot_of(BOX))
    cycles.deliver(NOW)
    cycles.cycle(snapshot_of(BOX, now=NOW_DUE))
    assert cycles.row.state is ActionState.VALIDATING
    return cycles


def look(
    live: Resource | None = BOX, *, ready: Prepared | None = None, row: Action | None = None,
    others: tuple[Action, ...] = (), settings: EngineSettings = SETTINGS, now: Any = NOW_DUE,
    began: PlanFacts = NOTHING, **facts: Any,
) -> Event:  # fmt: skip
    row = row or started().row
    matched = evaluate([POLICY], snapshot_of(BOX, now=now))
    snapshot = snapshot_of(*([live] if live else []), now=now, **facts)
    return recheck(row, ready or prepare(POLICY), snapshot, (row, *others), settings, matched, began)


def test_it_holds_and_brings_fresh_evidence() -> None:
    event = look()
    assert (event.kind, event.waste) == (EventKind.HOLDS, BOX.price)
    assert event.evidence is not None
    assert event.evidence["gpu_util_max"] == 0.5


@pytest.mark.parametrize(
    ("began", "answer"),
    [
        (PlanFacts(restarted_at=NOW - MINUTE), EventKind.HOLDS),
        (PlanFacts(restarted_at=NOW + MINUTE), EventKind.REFUSED),
    ],
)
def test_a_resume_after_the_warning_warns_first(began: PlanFacts, answer: EventKind) -> None:
    event = look(began=began)
    assert event.kind is answer
    if answer is EventKind.REFUSED:
        assert event.verdict is not None
        assert event.verdict.code is GuardCode.NOT_WARNED


@pytest.mark.parametrize(("owner", "answer"), [("li", EventKind.HOLDS), ("he", EventKind.REFUSED)])
def test_who_has_it_since_the_warning_is_warned_first(owner: str, answer: EventKind) -> None:
    row = replace(started().row, heard={"li": NOW})
    event = look(replace(BOX, owner=owner), row=row)
    assert event.kind is answer
    if answer is EventKind.REFUSED:
        assert event.verdict is not None
        assert (event.verdict.code, event.reason) == (
            GuardCode.NOT_WARNED, "its owner is now he, who was not warned yet",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("live", "facts", "why"),
    [
        (replace(BOX, started_at=NOW_DUE - MINUTE), {}, "started it again"),
        (replace(BOX, tags={"role": "prod"}), {}, "does not match"),
        (replace(BOX, state=State.STOPPED), {}, "it does not run"),
        (replace(BOX, state=State.GONE), {}, "gone"),
        (None, {}, "gone"),
        (BOX, {"usage": {BOX.ref: busy(BOX, end=NOW_DUE)}}, "GPU use reached 80.0%"),
        (BOX, {"heartbeats": {BOX.ref: NOW_DUE + HOUR}}, "a job said that it is alive"),
    ],
)
def test_a_changed_situation_ends_the_ladder(live: Resource | None, facts: dict[str, Any], why: str) -> None:
    """M12: the user restarted, retagged, used or deleted the box a minute ago, and our listing is older."""
    event = look(live, **facts)
    assert event.kind is EventKind.CHANGED
    assert why in event.reason


@pytest.mark.parametrize(
    ("live", "facts", "code"),
    [
        (replace(BOX, tags={"role": "dev", "costguard": "keep"}), {}, GuardCode.PROTECTED),
        (BOX, {"keeps": {BOX.ref: Keep(BOX.ref, NOW_DUE + HOUR, "li", "demo", NOW_DUE)}}, GuardCode.PROTECTED),
        (replace(BOX, protected="disableApiStop"), {}, GuardCode.PROTECTED),
        (replace(BOX, tags={"role": "dev"}, group="asg"), {}, GuardCode.GROUP_MEMBER),
        (BOX, {"usage": {BOX.ref: {}}}, GuardCode.UNKNOWN),
        (BOX, {"paused_until": NOW_DUE + HOUR}, GuardCode.PAUSED),
        (BOX, {"is_leader": False}, GuardCode.LEASE),
        (BOX, {"accounts": {"prod": make_account(armed=False)}}, GuardCode.NOT_ARMED),
        (BOX, {"accounts": {"prod": make_account(enforce=False)}}, GuardCode.DRY_RUN),
        (BOX, {"disputed_until": {BOX.ref: NOW_DUE + HOUR}}, GuardCode.DRY_RUN),
    ],
)
def test_every_guard_is_asked_again(live: Resource, facts: dict[str, Any], code: GuardCode) -> None:
    event = look(live, **facts)
    assert event.kind is EventKind.REFUSED
    assert event.verdict is not None
    assert event.verdict.code is code


def test_unreadable_tags_leave_it_alone() -> None:
    """C21: the policy's tag test cannot be told any more."""
    assert look(replace(BOX, tags=None)).kind is EventKind.CHANGED


def test_a_policy_that_changed_or_went_away_ends_the_ladder() -> None:
    row = started().row
    matched = evaluate([POLICY], snapshot_of(BOX))
    other = prepare(idle_policy(match={"tags": {"role": ["dev"]}}, when={"for": "46m"}))
    for ready in (None, other):
        event = recheck(row, ready, snapshot_of(BOX, now=NOW_DUE), (row,), SETTINGS, matched, NOTHING)
        assert event.kind is EventKind.CHANGED


def test_the_limit_is_asked_again_without_counting_oneself() -> None:
    settings = EngineSettings(per_hour=1, share=None)
    row = started().row
    assert look(row=row, settings=settings).kind is EventKind.HOLDS
    other = replace(row, id="other", subject=replace(row.subject, id="i-9"), state=ActionState.EXECUTING)
    event = look(row=row, settings=settings, others=(other,))
    assert event.verdict is not None
    assert event.verdict.code is GuardCode.LIMIT


def test_a_warning_that_people_no_longer_remember_starts_no_stop() -> None:
    """A daemon that was down between the plan and the look."""
    late = NOW_DUE + HOUR + MINUTE
    event = look(now=late)
    assert event.verdict is not None
    assert event.verdict.code is GuardCode.NOT_WARNED
    after_hook = replace(started(policy=HOOKED).row, hook_started_at=NOW_DUE)
    event = look(row=after_hook, ready=prepare(HOOKED), now=late)
    assert event.kind is EventKind.HOLDS, "a hook may take long; it began in time"


def test_after_a_hook_only_the_time_before_it_is_judged() -> None:
    """The hook itself is work: the snapshot's windows end where it began."""
    row = replace(started(policy=HOOKED).row, hook_started_at=NOW_DUE)
    now = NOW_DUE + 8 * MINUTE
    before = snapshot_of(BOX, now=NOW_DUE).usage
    assert look(row=row, ready=prepare(HOOKED), now=now, usage=before).kind is EventKind.HOLDS


def test_the_rung_of_a_row() -> None:
    row = started().row
    assert rung_of(row, prepare(POLICY)).after == timedelta(minutes=30)
    assert len(ladder_of(row, prepare(POLICY)).rungs) == 2
    live = replace(BOX, name="new")
    assert with_live(snapshot_of(BOX), live).resources[BOX.ref] is live


def test_a_share_is_of_the_whole_fleet_although_only_one_box_is_read() -> None:
    fleet = [BOX, *(make_resource(f"i-{i + 2}", tags={"role": "dev"}) for i in range(7))]
    policy = idle_policy(match={"tags": {"role": ["dev"]}}, limits={"share": "25%"})
    cycles = Cycles([policy], EngineSettings(per_hour=None, share=25.0))
    cycles.cycle(snapshot_of(*fleet))
    for row in cycles.open:
        cycles.deliver(NOW, row)
    cycles.cycle(snapshot_of(*fleet, now=NOW_DUE))
    flying = [row for row in cycles.open if row.state.in_flight]
    assert len(flying) == 2
    whole = evaluate([policy], snapshot_of(*fleet, now=NOW_DUE))
    for row in flying:
        live = next(box for box in fleet if box.ref.id == row.subject.id)
        alone = snapshot_of(live, now=NOW_DUE)
        event = recheck(row, prepare(policy), alone, cycles.open, cycles.settings, whole, NOTHING)
        assert event.kind is EventKind.HOLDS
