"""What a person sees of the fleet: one ladder of several, always the same; no promise that a guard will not keep."""

from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.daemon.fleet import OFF, _ladders, fleet, see
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, State
from costguard.testing.builders import HOUR, MINUTE, NOW, make_action, make_resource, make_snapshot
from costguard.testing.clock import FakeClock
from tests.daemon.rig import IDLE, Cloud, configure, start
from tests.unit.daemon.test_levers import only

KEY = make_action().subject.key


def ladder(policy: str, **fields: object) -> Action:
    known = {
        "id": policy, "policy": policy, "state": ActionState.WARNED, "code": GuardCode.NOT_DUE,
        "response": Response.STOP, "due_at": NOW + HOUR, "updated_at": NOW,
    }  # fmt: skip
    return replace(make_action(), **{**known, **fields})  # type: ignore[arg-type]


SOON = ladder("b-soon", due_at=NOW + MINUTE)
LATE = ladder("a-late")
TOLD = ladder("told", response=Response.NOTIFY, due_at=NOW)
DRY = ladder("dry", state=ActionState.RECORDED, dry_run=True, due_at=NOW)
BUSY = ladder("busy", code=GuardCode.BUSY, due_at=NOW)
RELEASE = ladder("release", response=Response.RELEASE, due_at=NOW)
OLD = ladder("old", state=ActionState.FAILED, updated_at=NOW - HOUR)
NEW = ladder("new", state=ActionState.FAILED)


@pytest.mark.parametrize(
    ("ladders", "shown"),
    [
        ((SOON, LATE), "b-soon"),
        ((LATE, ladder("b-late")), "a-late"),
        ((TOLD, LATE), "a-late"),
        ((DRY, LATE), "a-late"),
        ((BUSY, LATE, TOLD), "a-late"),
        ((RELEASE, LATE), "a-late"),
        ((NEW, OLD), "new"),
        ((NEW, LATE), "a-late"),
        ((replace(LATE, state=ActionState.EXECUTING), SOON), "a-late"),
        ((replace(SOON, state=ActionState.SUPERSEDED), LATE), "a-late"),
    ],
)
def test_of_several_ladders_the_same_one_is_shown(ladders: tuple[Action, ...], shown: str) -> None:
    """Whichever was written last, and in whatever order they are read."""
    for minutes in range(2):
        touched = [replace(one, updated_at=one.updated_at + minutes * n * MINUTE) for n, one in enumerate(ladders)]
        found = touched if ladders[0] is NEW and ladders[-1] is OLD else list(ladders)
        for order in permutations(found):
            assert _ladders(order, (), ())[KEY].policy == shown


def test_a_ladder_that_will_never_act_gives_way_to_one_that_may() -> None:
    assert _ladders((SOON, LATE), (), {"b-soon"})[KEY].policy == "a-late"


def test_a_dry_run_does_not_promise_what_a_guard_denies_for_good(
    app: App, cloud: Cloud, clock: FakeClock, tmp_path: Path
) -> None:
    """The answer stays not_due, as the contract says; what is shown names the guard that will deny it."""
    cloud.boxes["a"].group = "asg-1"
    app.close()
    dry = start(configure(tmp_path, "http://127.0.0.1:9", mode="dry_run"), cloud, clock)
    try:
        dry.lead.round()
        clock.advance(timedelta(seconds=40))
        dry.lead.round()
        dry.poll()
        (decision,) = dry.decide().plan.decisions
        assert (decision.verdict.code, decision.verdict.never) == (GuardCode.NOT_DUE, GuardCode.GROUP_MEMBER)
        assert decision.verdict.reason.endswith("and then it is refused: member of asg-1: scale the group instead")
        assert only(dry).code is GuardCode.NOT_DUE
        with dry.database.read() as conn:
            (row,) = fleet(conn, clock.now(), ())
        assert row.barred is GuardCode.GROUP_MEMBER
        cloud.boxes["a"].group = None
        clock.advance(5 * MINUTE)
        dry.lead.round()
        dry.poll()
        dry.decide()
        with dry.database.read() as conn:
            (row,) = fleet(conn, clock.now(), ())
        assert row.barred is None
    finally:
        dry.close()


def test_the_second_policys_ladder_ends_in_plain_words(
    app: App, cloud: Cloud, clock: FakeClock, tmp_path: Path
) -> None:
    """Two policies on one box: what is left to the other is nothing."""
    from costguard.app.once import run_once

    url = app.config.settings.channels[0]
    app.close()
    both = IDLE + IDLE.replace("policies:\n", "").replace("idle-dev", "idle-too").replace("30m", "40m")
    config = configure(tmp_path, url.url.get_secret_value(), policies=both)  # type: ignore[union-attr]
    two = start(config, cloud, clock)
    try:
        run_once(two)
        clock.advance(31 * MINUTE)
        run_once(two)
        clock.advance(5 * MINUTE)
        run_once(two)
        with two.database.read() as conn:
            from costguard.store import actions

            found = {a.policy: a for a in actions.list_actions(conn)}
        assert found["idle-dev"].state is ActionState.DONE
        assert found["idle-too"].state is ActionState.SUPERSEDED
        assert found["idle-too"].reason == "it is off now: nothing is left for this policy to do"
    finally:
        two.close()


def test_a_box_whose_stop_is_under_way_is_no_box_without_data() -> None:
    """What it costs until then is known; the chart had a grey bump at each stop."""
    boxes = [
        make_resource("stopping", state=State.STOPPING),
        make_resource("prepaid", state=State.STOPPED, charge_type=ChargeType.PREPAID),
        make_resource("starting", state=State.PENDING),
    ]
    seen, burn = see(make_snapshot(*boxes))
    assert {what for what, _ in seen.values()} == {OFF}
    price = boxes[0].price
    assert price is not None
    assert (burn.active, burn.idle, burn.unknown) == (Money.zero("CNY"), price + price, price)
