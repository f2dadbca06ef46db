"""The guards' truth table: each guard alone, their order, and what wins."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from datetime import date as day
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from costguard.domain.action import Action
from costguard.domain.decision import Answer, GuardCode, Response, Verdict
from costguard.domain.resource import INSTEAD, ChargeType, Ends, Gpus, Kind, Resource, State, StopEffect
from costguard.domain.snapshot import Keep, PowerEvent, SourceState, SourceStatus
from costguard.domain.time import Calendar, Calendars
from costguard.engine.evaluate import prepare
from costguard.engine.guard import GUARDS, Case, answer_of, answers, guard, inventory_alarm, restarts
from costguard.engine.settings import EngineSettings
from costguard.rules.policy import Policy, Rung
from costguard.rules.registry import RULES, parse_policy
from costguard.testing.builders import (
    HOUR,
    MINUTE,
    NOW,
    make_account,
    make_action,
    make_finding,
    make_resource,
    make_snapshot,
    make_source,
)  # fmt: skip
from tests.unit.engine.stage import busy, idle_policy, lifetime_policy, quiet

STOP = Rung(do=Response.STOP)


def case(
    resource: Resource | None = None,
    *,
    policy: Policy | None = None,
    rung: Rung = STOP,
    account: dict[str, Any] | None = None,
    snapshot: dict[str, Any] | None = None,
    settings: EngineSettings | None = None,
    action: Action | None = None,
    usage: Any = None,
    **fields: Any,
) -> Case:
    """A case that every guard allows: due, warned, idle, armed; tests change one thing."""
    box = resource or make_resource()
    facts = make_snapshot(box, usage={box.ref: quiet(box) if usage is None else usage}, **(snapshot or {}))
    defaults: dict[str, Any] = {"due_at": NOW - MINUTE, "must_warn": True}
    return Case(
        prepare(policy or idle_policy()), make_finding(box), action or make_action(warned_at=NOW - HOUR), rung,
        resource=box, account=make_account(**(account or {})), snapshot=facts, settings=settings or EngineSettings(),
        **{**defaults, **fields},
    )  # fmt: skip


def box(**fields: Any) -> Resource:
    return make_resource(**fields)


def pair(ref: Any, hours_ago: float, *, actor: str | None = "li") -> tuple[PowerEvent, PowerEvent]:
    at = NOW - timedelta(hours=hours_ago)
    return PowerEvent(ref, at, "stop", ours=True), PowerEvent(ref, at + 10 * MINUTE, "start", ours=False, actor=actor)


REF = make_resource().ref
NIGHT = [{"days": "daily", "from": "20:00", "to": "07:00", "timezone": "Asia/Shanghai"}]
LOST_DISK = StopEffect(Ends.YES, lost=("local_disk",))

TABLE: list[tuple[GuardCode, Case]] = [
    (GuardCode.OK, case()),
    (GuardCode.STALE, case(snapshot={"sources": ()})),
    (GuardCode.STALE, case(snapshot={"sources": (make_source(fetched_at=NOW - 11 * MINUTE),)})),
    (GuardCode.OK, case(snapshot={"sources": (make_source(fetched_at=NOW - 10 * MINUTE),)})),
    (GuardCode.STALE, case(snapshot={"sources": (make_source(state=SourceState.FAILED),)})),
    (GuardCode.STALE, case(snapshot={"sources": (make_source(), make_source("usage", state=SourceState.DENIED))})),
    (GuardCode.OK, case(snapshot={"sources": (make_source(), make_source("usage", state=SourceState.DENIED))},
                        policy=lifetime_policy())),
    (GuardCode.STALE, case(box(observed_at=NOW - HOUR), snapshot={"now": NOW})),
    (GuardCode.PROTECTED, case(box(tags={"costguard": "keep"}))),
    (GuardCode.PROTECTED, case(box(tags=None))),
    (GuardCode.PROTECTED, case(box(protected="disableApiStop"))),
    (GuardCode.PROTECTED, case(snapshot={"keeps": {REF: Keep(REF, NOW + HOUR, "li", "demo", NOW)}})),
    (GuardCode.FENCED, case(box(name="PROD-1"), settings=EngineSettings(fence_names=("prod-*",)))),
    (GuardCode.FENCED, case(box(tags={"Env": "Prod"}), settings=EngineSettings(fence_tags={"env": ("prod",)}))),
    (GuardCode.OK, case(box(tags={"env": "dev"}), settings=EngineSettings(fence_tags={"env": ("prod",)}))),
    (GuardCode.SELF, case(snapshot={"self_ids": frozenset({"i-1"})})),
    (GuardCode.BUSY, case(usage=busy(make_resource()))),
    (GuardCode.BUSY, case(usage=quiet(make_resource(), cpu=3.0), policy=lifetime_policy())),
    (GuardCode.OK, case(usage=busy(make_resource()),
                        policy=lifetime_policy(when={"max_age": "1h", "when_busy": "stop"}))),
    (GuardCode.UNKNOWN, case(usage={})),
    (GuardCode.UNKNOWN, case(usage={}, policy=lifetime_policy(when={"max_age": "1h", "when_busy": "stop"}))),
    (GuardCode.OK, case(usage={}, policy=lifetime_policy(when={"max_age": "1h", "when_unknown": "stop"}))),
    (GuardCode.BUSY, case(usage={}, snapshot={"heartbeats": {REF: NOW + HOUR}})),
    (GuardCode.OK, case(usage=quiet(make_resource(), cpu=9.0), policy=idle_policy(when={"cpu_below": "off"}))),
    (GuardCode.GROUP_MEMBER, case(box(group="asg-1"))),
    (GuardCode.GROUP_MEMBER, case(box(tags={"aws:autoscaling:groupName": "a"}),
                                  account={"group_tags": ("aws:autoscaling:groupName",)})),
    (GuardCode.GROUP_MEMBER, case(box(tags={"kubernetes.io/cluster/train": "owned"}))),
    (GuardCode.OK, case(box(group="asg-1"), rung=Rung(do=Response.TAG, key="a", value="b"))),
    (GuardCode.UNSUPPORTED, case(account={"capabilities": {}})),
    (GuardCode.UNSUPPORTED, case(account={"capabilities": {"stop": "not_written"}})),
    (GuardCode.OK, case(account={"capabilities": {"stop": "partial: vms only"}})),
    (GuardCode.UNSUPPORTED, case(account={"stoppable": frozenset({Kind.NOTEBOOK})})),
    (GuardCode.UNSUPPORTED, case(box(charge_type=ChargeType.UNKNOWN))),
    (GuardCode.UNSUPPORTED, case(rung=Rung(do=Response.RELEASE))),
    (GuardCode.OK, case(rung=Rung(do=Response.RELEASE), account={"allow_release": True})),
    (GuardCode.SAVES_NOTHING, case(box(stop_effect=StopEffect(Ends.NO, note="prepaid")))),
    (GuardCode.SAVES_NOTHING, case(box(stop_effect=StopEffect(Ends.UNKNOWN)))),
    (GuardCode.SAVES_NOTHING, case(box(stop_effect=None))),
    (GuardCode.OK, case(box(stop_effect=StopEffect(Ends.PARTLY)))),
    (GuardCode.LOSES_DATA, case(box(stop_effect=LOST_DISK))),
    (GuardCode.OK, case(box(stop_effect=StopEffect(Ends.YES, lost=("public_ip", "memory", "capacity"))))),
    (GuardCode.TOO_YOUNG, case(box(started_at=NOW - 10 * MINUTE), usage={},
                               policy=lifetime_policy(when={"max_age": "1m", "when_unknown": "stop"}))),
    (GuardCode.TOO_YOUNG, case(box(started_at=None), usage={},
                               policy=lifetime_policy(when={"max_age": "1m", "when_unknown": "stop"}))),
    (GuardCode.COOLDOWN, case(snapshot={"power_events": {REF: (*pair(REF, 9), *pair(REF, 3))}})),
    (GuardCode.OK, case(snapshot={"power_events": {REF: (*pair(REF, 25), *pair(REF, 3))}})),
    (GuardCode.OUTSIDE_HOURS, case(policy=idle_policy(limits={"only_during": [{**NIGHT[0], "to": "20:30",
                                                                               "from": "20:15"}]}))),
    (GuardCode.OK, case(policy=idle_policy(limits={"only_during": NIGHT}))),
    (GuardCode.NOT_WARNED, case(action=make_action(warned_at=None), due_at=None)),
    (GuardCode.NOT_WARNED, case(must_warn=False)),
    (GuardCode.OK, case(must_warn=False, rung=Rung(do=Response.STOP, unwarned=True))),
    (GuardCode.OK, case(must_warn=False, rung=Rung(do=Response.TAG, key="a", value="b"))),
    (GuardCode.NOT_DUE, case(due_at=NOW + MINUTE)),
    (GuardCode.OK, case(due_at=NOW)),
    (GuardCode.NOT_DUE, case(action=make_action(warned_at=NOW - HOUR, retry_at=NOW + MINUTE))),
    (GuardCode.OK, case(action=make_action(warned_at=NOW - HOUR, retry_at=NOW))),
    (GuardCode.LIMIT, case(limit=Verdict(Answer.DEFER, GuardCode.LIMIT, "full", NOW + HOUR))),
    (GuardCode.INVENTORY, case(snapshot={"sources": (make_source(count=0, previous_count=1),)})),
    (GuardCode.INVENTORY, case(snapshot={"sources": (make_source(count=5, previous_count=10),)})),
    (GuardCode.OK, case(snapshot={"sources": (make_source(count=6, previous_count=10),)})),
    (GuardCode.APPROVAL, case(rung=Rung(do=Response.STOP, approve=True))),
    (GuardCode.OK, case(rung=Rung(do=Response.STOP, approve=True),
                        action=make_action(warned_at=NOW - HOUR, approved_by="boss"))),
    (GuardCode.PAUSED, case(snapshot={"paused_until": NOW + MINUTE})),
    (GuardCode.OK, case(snapshot={"paused_until": NOW})),
    (GuardCode.LEASE, case(snapshot={"is_leader": False})),
    (GuardCode.NOT_ARMED, case(dry=GuardCode.NOT_ARMED)),
    (GuardCode.DRY_RUN, case(dry=GuardCode.DRY_RUN)),
]  # fmt: skip


@pytest.mark.parametrize("kind", [Kind.ENDPOINT, Kind.ADDRESS, Kind.JOB])
def test_a_kind_that_cannot_be_stopped_is_named(kind: Kind) -> None:
    answer = guard(case(make_resource(kind=kind), account={"stoppable": frozenset({Kind.VM})}))
    assert (answer.code, answer.reason) == (GuardCode.UNSUPPORTED, f"no {kind.value} can be stopped at simulated")


@pytest.mark.parametrize("do", [Response.STOP, Response.RELEASE, Response.SET_RELEASE_TIME])
@pytest.mark.parametrize("rule", [name for name, kind in RULES.items() if not kind.may_stop])
def test_a_rule_that_only_tells_ends_nothing_whatever_its_policy_says(rule: str, do: Response) -> None:
    """C07: the configuration refuses such a rung; here it is refused although it got in."""
    telling = parse_policy(next(iter(YAML(typ="safe").load(RULES[rule].example)["policies"])))
    able = dict.fromkeys(("stop", "release", "set_release_time"), "full")
    off = box(state=State.STOPPED, stop_effect=StopEffect(Ends.NO, ("compute",)))
    asked = case(off, policy=telling, rung=Rung.model_validate({"do": do, "in": "24h"}),
                 account={"allow_release": True, "capabilities": able})  # fmt: skip
    answer = answer_of(asked, GuardCode.UNSUPPORTED)
    assert answer is not None
    assert (answer.answer, answer.reason) == (Answer.DENY, f"rule {rule} only tells; it never ends anything")


@pytest.mark.parametrize(("code", "given"), TABLE, ids=lambda v: v.value if isinstance(v, GuardCode) else "")
def test_each_guard_alone(code: GuardCode, given: Case) -> None:
    """C04, C05, C07, C08, C21, C24, C29, M12, M18: one thing is wrong, and its guard says so."""
    verdict = guard(given)
    assert verdict.code is code
    assert (verdict.answer is Answer.ALLOW) is (code is GuardCode.OK)
    assert (verdict.reason == "") is (code is GuardCode.OK)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({}, "member of asg-1: scale the group instead"),
        ({INSTEAD: "lower its size"}, "member of asg-1: lower its size"),
    ],
)
def test_a_member_of_a_group_hears_what_to_do_instead(attributes: dict[str, str], said: str) -> None:
    """C04: in the provider's own words where the adapter tells them."""
    assert guard(case(box(group="asg-1", attributes=attributes))).reason == said


def test_the_order_is_the_contracts() -> None:
    assert [code for code, _ in GUARDS] == [code for code in GuardCode if code is not GuardCode.OK]
    assert {code for code, _ in TABLE} == set(GuardCode), "each code is reached by the table"


def test_the_first_deny_wins_over_later_ones_and_over_every_defer() -> None:
    everything = case(
        make_resource(tags={"costguard": "keep"}, group="asg"),
        due_at=NOW + HOUR,
        snapshot={"paused_until": NOW + HOUR, "is_leader": False},
    )
    assert guard(everything).code is GuardCode.PROTECTED
    assert guard(replace(everything, resource=make_resource())).code is GuardCode.PAUSED


def test_the_longest_defer_wins() -> None:
    hours = idle_policy(limits={"only_during": [{"from": "23:00", "to": "23:30", "timezone": "Asia/Shanghai"}]})
    given = case(policy=hours, due_at=NOW + MINUTE)
    assert guard(given).code is GuardCode.OUTSIDE_HOURS
    assert guard(given).until == datetime(2026, 3, 5, 15, tzinfo=UTC)
    assert guard(replace(given, due_at=NOW + 9 * HOUR)).code is GuardCode.NOT_DUE
    unwarned = replace(given, action=make_action(warned_at=None), due_at=None)
    assert guard(unwarned).code is GuardCode.NOT_WARNED, "nobody knows how long"


def test_a_dry_run_is_not_due_before_its_time_and_only_says_dry_run_when_all_others_allow() -> None:
    """C18: the code is the first other guard's."""
    kept = case(make_resource(tags={"costguard": "keep"}), due_at=NOW + MINUTE, dry=GuardCode.DRY_RUN)
    assert guard(kept).code is GuardCode.NOT_DUE
    assert guard(replace(kept, due_at=NOW)).code is GuardCode.PROTECTED
    full = Verdict(Answer.DEFER, GuardCode.LIMIT, "full", NOW + HOUR)
    assert guard(case(dry=GuardCode.NOT_ARMED, limit=full)).code is GuardCode.LIMIT
    assert guard(case(dry=GuardCode.NOT_ARMED)).code is GuardCode.NOT_ARMED


@pytest.mark.parametrize(
    ("usage", "code"), [(busy(make_resource()), GuardCode.BUSY), ({}, GuardCode.UNKNOWN), (None, None)]
)
def test_a_dry_run_does_not_promise_a_stop_of_work(usage: Any, code: GuardCode | None) -> None:
    """Still not due; but whoever reads it learns that the box would be left alone, as it would be for real."""
    verdict = guard(case(policy=lifetime_policy(), usage=usage, due_at=NOW + MINUTE, dry=GuardCode.DRY_RUN))
    assert (verdict.code, verdict.never) == (GuardCode.NOT_DUE, code)
    assert (", and then it is refused: " in verdict.reason) is (code is not None)


def test_every_guards_answer_is_listed_for_explain() -> None:
    given = case(make_resource(tags={"costguard": "keep"}, group="asg"), snapshot={"paused_until": NOW + HOUR})
    listed = dict(answers(given))
    assert list(listed) == [code for code, _ in GUARDS]
    against = [code for code, verdict in listed.items() if verdict.answer is not Answer.ALLOW]
    assert against == [GuardCode.PROTECTED, GuardCode.GROUP_MEMBER, GuardCode.PAUSED]
    assert answer_of(given, GuardCode.FENCED) is None


def test_a_resource_that_is_not_there_is_stale() -> None:
    assert guard(replace(case(), resource=None)).code is GuardCode.STALE


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (make_source(fetched_at=NOW - 11 * MINUTE), "the inventory of its account and region is older than two polls"),
        (
            make_source(state=SourceState.FAILED),
            "the inventory of its account and region could not be read (failed)",
        ),
    ],
)
def test_stale_says_whether_the_last_read_failed_or_is_old(source: SourceStatus, why: str) -> None:
    assert guard(case(snapshot={"sources": (source,)})).reason == why


def test_waste_may_be_released_without_activity() -> None:
    """B04: a disk or a stopped box has no use to be looked at, and no stop effect."""
    stopped = make_resource(state=State.STOPPED, stop_effect=None)
    given = case(stopped, rung=Rung(do=Response.RELEASE), account={"allow_release": True}, usage={})
    assert guard(given).code is GuardCode.OK
    disk = make_resource(kind=Kind.DISK, cards=0, stop_effect=None, started_at=None)
    assert guard(case(disk, rung=Rung(do=Response.RELEASE), account={"allow_release": True}, usage={})).code is (
        GuardCode.OK
    )


def test_holidays_move_only_during() -> None:
    """D13: a Sunday that is worked, a Thursday that is off."""
    workdays = idle_policy(limits={"only_during": [{"days": "workdays", "timezone": "Asia/Shanghai"}]})
    off = Calendars({"CN": Calendar(off=frozenset({day(2026, 3, 5)}), years=frozenset({2026}))}, "Asia/Shanghai", "CN")
    given = case(policy=workdays, snapshot={"calendars": off})
    assert guard(given).code is GuardCode.OUTSIDE_HOURS
    assert guard(given).until == datetime(2026, 3, 5, 16, tzinfo=UTC)
    assert guard(case(policy=workdays, snapshot={"calendars": replace(off, country=None)})).code is GuardCode.OK


def test_a_line_goes_by_the_holidays_of_its_own_clocks() -> None:
    """D13: China's holidays are no rest days in Berlin, whatever the configuration's time zone is."""
    off = Calendars({"CN": Calendar(off=frozenset({day(2026, 3, 5)}), years=frozenset({2026}))}, "Asia/Shanghai", "CN")
    for zone, code in (("Europe/Berlin", GuardCode.OK), ("Asia/Urumqi", GuardCode.OUTSIDE_HOURS)):
        policy = idle_policy(limits={"only_during": [{"days": "workdays", "timezone": zone}]})
        assert guard(case(policy=policy, snapshot={"calendars": off})).code is code


def test_cooldown_names_who_restarts_it() -> None:
    """C33, M12: a stop of ours that a person undoes twice a day is not repeated."""
    resource = make_resource()
    events = (*pair(REF, 9, actor="li"), *pair(REF, 3, actor="wang"))
    snapshot = make_snapshot(resource, power_events={REF: events})
    assert restarts(resource, snapshot) == (2, ("li", "wang"))
    foreign = tuple(replace(e, ours=False) for e in events)
    assert restarts(resource, make_snapshot(resource, power_events={REF: foreign})) == (0, ())


@pytest.mark.parametrize(
    ("count", "before", "alarm"),
    [(0, 1, True), (1, 2, False), (2, 4, True), (3, 4, False), (0, 0, False), (9, None, False)],
)
def test_the_inventory_alarm(count: int, before: int | None, alarm: bool) -> None:
    """G06: zero instances where there were some is an alarm."""
    assert (inventory_alarm(make_source(count=count, previous_count=before)) is not None) is alarm


@given(
    st.sets(
        st.sampled_from(
            ["kept", "fenced", "self", "busy", "unknown", "group", "unarmed", "paused", "follower", "early", "unwarned"]
        )
    )
)
def test_anything_wrong_never_allows(wrong: set[str]) -> None:
    """Whatever is wrong together: allowed means that nothing is."""
    resource = make_resource(
        tags={"costguard": "keep"} if "kept" in wrong else {},
        name="prod-1" if "fenced" in wrong else "box",
        group="g" if "group" in wrong else None,
        gpus=Gpus("A100", Decimal(8)),
    )
    usage = {} if "unknown" in wrong else busy(resource) if "busy" in wrong else quiet(resource)
    given = case(
        resource,
        usage=usage,
        settings=EngineSettings(fence_names=("prod-*",)),
        snapshot={
            "self_ids": frozenset({"i-1"}) if "self" in wrong else frozenset(),
            "paused_until": NOW + HOUR if "paused" in wrong else None,
            "is_leader": "follower" not in wrong,
        },
        dry=GuardCode.NOT_ARMED if "unarmed" in wrong else None,
        due_at=NOW + HOUR if "early" in wrong else NOW,
        action=make_action(warned_at=None if "unwarned" in wrong else NOW - HOUR),
    )
    assert (guard(given).answer is Answer.ALLOW) is (not wrong)
