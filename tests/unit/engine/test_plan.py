"""Plan: ladders from the first finding to the handed-over stop, and everything that ends or restarts them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.action import ActionState
from costguard.domain.decision import Answer, GuardCode, Response
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Ends, Resource, State, StopEffect
from costguard.domain.snapshot import Keep, PowerEvent
from costguard.domain.usage import Metric
from costguard.engine.activity import WINDOW
from costguard.engine.events import Event, EventKind, Look
from costguard.engine.settings import EngineSettings
from costguard.testing.builders import HOUR, MINUTE, NOW, make_account, make_resource, make_windows
from tests.unit.engine.stage import FOR, Cycles, busy, idle_policy, keep_at, lifetime_policy, snapshot_of, warned

BOX = make_resource()
S = ActionState


def test_the_grace_starts_with_the_delivery_not_with_the_finding() -> None:
    """J20, M13: no stop until a warning was delivered; then the full grace."""
    cycles = Cycles([idle_policy()])
    plan = cycles.cycle(snapshot_of(BOX))
    (told,) = plan.notices
    assert (told.kind, told.due_in, told.do, told.to) == (
        NoticeKind.WARN, 30 * MINUTE, Response.STOP, ("owner", "ops"),
    )  # fmt: skip
    assert (cycles.row.state, cycles.row.warning_id, cycles.decision.verdict.code) == (
        S.PROPOSED, told.id, GuardCode.NOT_WARNED,
    )  # fmt: skip
    for minutes in (60, 600):
        assert cycles.cycle(snapshot_of(BOX, now=NOW + minutes * MINUTE)).notices == ()
        assert cycles.decision.verdict.code is GuardCode.NOT_WARNED
    late = NOW + 600 * MINUTE
    cycles.deliver(late)
    cycles.cycle(snapshot_of(BOX, now=late + 29 * MINUTE))
    assert (cycles.row.state, cycles.decision.verdict.code) == (S.WARNED, GuardCode.NOT_DUE)
    assert cycles.decision.due_at == late + 30 * MINUTE
    cycles.cycle(snapshot_of(BOX, now=late + 30 * MINUTE))
    assert (cycles.row.state, cycles.decision.verdict.answer) == (S.VALIDATING, Answer.ALLOW)


def test_a_late_delivery_of_an_older_warning_starts_nothing() -> None:
    cycles = Cycles([idle_policy()])
    cycles.cycle(snapshot_of(BOX))
    assert cycles.send(Event(EventKind.WARNED, warning_id="another"), NOW).warned_at is None


def test_a_second_warning_is_told_at_its_time_and_names_the_moment() -> None:
    policy = idle_policy(
        respond=[{"do": "warn"}, {"after": "15m", "do": "warn", "to": ["owner"]}, {"after": "30m", "do": "stop"}]
    )
    cycles = warned([policy])
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 14 * MINUTE)).notices == ()
    (again,) = cycles.cycle(snapshot_of(BOX, now=NOW + 15 * MINUTE)).notices
    assert (again.kind, again.due_at, again.not_after) == (NoticeKind.WARN, NOW + 30 * MINUTE, NOW + 30 * MINUTE)
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 16 * MINUTE)).notices == ()


def test_two_looks_with_new_data_clear_a_finding_and_people_are_told() -> None:
    """A busy sample twice; the same sample seen twice is one."""
    cycles = warned()
    usage = {BOX.ref: busy(BOX, end=NOW + MINUTE)}
    cycles.cycle(snapshot_of(BOX, now=NOW + MINUTE, usage=usage))
    assert cycles.row.clear_count == 1
    cycles.cycle(snapshot_of(BOX, now=NOW + 2 * MINUTE, usage=usage))
    assert cycles.row.clear_count == 1
    plan = cycles.cycle(snapshot_of(BOX, now=NOW + 3 * MINUTE, usage={BOX.ref: busy(BOX, end=NOW + 3 * MINUTE)}))
    assert cycles.open == ()
    assert [n.kind for n in plan.notices] == [NoticeKind.CLEARED]
    assert [r.state for r in cycles.rows.values()] == [S.SUPERSEDED]


def test_one_busy_look_then_idle_again_starts_the_count_over() -> None:
    cycles = warned()
    cycles.cycle(snapshot_of(BOX, now=NOW + MINUTE, usage={BOX.ref: busy(BOX, end=NOW + MINUTE)}))
    cycles.cycle(snapshot_of(BOX, now=NOW + 2 * MINUTE))
    assert cycles.row.clear_count == 0
    assert cycles.row.warned_at == NOW


def test_unknown_neither_acts_nor_clears() -> None:
    """M01, A10: data that stops coming holds the ladder where it is."""
    cycles = warned()
    for minutes in (10, 20, 30, 40):
        cycles.cycle(snapshot_of(BOX, now=NOW + minutes * MINUTE, usage={BOX.ref: {}}))
        assert (cycles.decision.verdict.code, cycles.row.clear_count) == (GuardCode.UNKNOWN, 0)
        assert not cycles.row.state.in_flight
    assert sum(line.code == "unknown" for line in cycles.ledger) == 1


def test_a_restart_by_a_human_is_another_ladder() -> None:
    """M12, A04."""
    cycles = warned()
    again = replace(BOX, started_at=NOW + 5 * MINUTE)
    cycles.cycle(snapshot_of(again, now=NOW + 30 * MINUTE))
    assert cycles.open == ()
    cycles.cycle(snapshot_of(again, now=NOW + 5 * HOUR))
    assert cycles.row.started_at == NOW + 5 * MINUTE
    assert cycles.row.warned_at is None


def test_a_changed_policy_is_another_ladder_with_a_full_grace() -> None:
    """A05: never straight to a stop because a number got smaller."""
    cycles = warned()
    cycles.policies = [idle_policy(when={"for": "30m"})]
    plan = cycles.cycle(snapshot_of(BOX, now=NOW + HOUR))
    assert [u.state for u in plan.updates] == [S.SUPERSEDED]
    assert [n.kind for n in plan.notices] == [NoticeKind.CLEARED, NoticeKind.WARN]
    assert cycles.row.warned_at is None


@pytest.mark.parametrize("gone", ["policy", "match", "resource", "stopped"])
def test_what_a_ladder_was_about_may_go_away(gone: str) -> None:
    policy = idle_policy(match={"tags": {"role": ["dev"]}})
    box = replace(BOX, tags={"role": "dev"})
    cycles = warned([policy], box)
    now = NOW + 31 * MINUTE
    match gone:
        case "policy":
            cycles.policies = [lifetime_policy(when={"max_age": "900h"})]
            cycles.cycle(snapshot_of(box, now=now))
        case "match":
            cycles.cycle(snapshot_of(replace(box, tags={"role": "prod"}), now=now))
        case "resource":
            cycles.cycle(snapshot_of(now=now))
        case "stopped":
            cycles.cycle(snapshot_of(replace(box, state=State.STOPPED, started_at=None), now=now))
    assert [r.state for r in cycles.rows.values()] == [S.SUPERSEDED]
    if gone == "stopped":
        assert [told.why for told in cycles.last.notices] == ["off"], "it is still there"


@pytest.mark.parametrize("account", [{"armed": False}, {"enforce": False}])
def test_arming_starts_a_new_ladder_with_a_real_warning(account: dict[str, Any]) -> None:
    """Disarm → arm, dry run → enforce."""
    cycles = Cycles([idle_policy()])
    off = {"accounts": {"prod": make_account(**account)}}
    assert cycles.cycle(snapshot_of(BOX, **off)).notices == ()
    assert cycles.row.state is S.RECORDED
    plan = cycles.cycle(snapshot_of(BOX, now=NOW + HOUR))
    assert [n.kind for n in plan.notices] == [NoticeKind.WARN]
    assert {r.state for r in cycles.rows.values()} == {S.SUPERSEDED, S.PROPOSED}


def test_a_warning_older_than_its_due_time_by_an_hour_is_given_again() -> None:
    cycles = warned()
    cycles.cycle(snapshot_of(BOX, now=NOW + 30 * MINUTE + HOUR))
    assert cycles.row.state is S.VALIDATING, "an hour is not yet too old"
    cycles = warned()
    plan = cycles.cycle(snapshot_of(BOX, now=NOW + 31 * MINUTE + HOUR))
    assert [n.kind for n in plan.notices] == [NoticeKind.WARN]
    assert cycles.row.state is S.PROPOSED


def test_outside_its_hours_a_policy_warns_so_that_the_stop_falls_into_them() -> None:
    """NOW is 20:00 in Shanghai; the policy acts from 22:00."""
    hours = [{"from": "22:00", "to": "07:00", "timezone": "Asia/Shanghai"}]
    cycles = Cycles([idle_policy(limits={"only_during": hours})])
    assert cycles.cycle(snapshot_of(BOX)).notices == ()
    verdict = cycles.decision.verdict
    assert (verdict.code, verdict.until) == (GuardCode.OUTSIDE_HOURS, NOW + 90 * MINUTE)
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 89 * MINUTE)).notices == ()
    (told,) = cycles.cycle(snapshot_of(BOX, now=NOW + 90 * MINUTE)).notices
    assert told.kind is NoticeKind.WARN
    cycles.deliver(NOW + 90 * MINUTE)
    cycles.cycle(snapshot_of(BOX, now=NOW + 2 * HOUR))
    assert cycles.row.state is S.VALIDATING


@pytest.mark.parametrize("mode", ["enforce", "dry_run"])
def test_a_warning_that_waits_for_its_hours_promises_no_stop_that_never_comes(mode: str) -> None:
    hours = [{"from": "22:00", "to": "07:00", "timezone": "Asia/Shanghai"}]
    cycles = Cycles([idle_policy(mode=mode, limits={"only_during": hours})])
    cycles.cycle(snapshot_of(replace(BOX, stop_effect=StopEffect(Ends.NO, note="prepaid"))))
    verdict = cycles.decision.verdict
    assert (verdict.code, verdict.never) == (GuardCode.OUTSIDE_HOURS, GuardCode.SAVES_NOTHING)
    kept_until_then = {"keeps": {BOX.ref: Keep(BOX.ref, NOW + HOUR, "slack:U012", "training", NOW)}}
    cycles = Cycles([idle_policy(mode=mode, limits={"only_during": hours})])
    cycles.cycle(snapshot_of(BOX, **kept_until_then))
    assert cycles.decision.verdict.never is None


@pytest.mark.parametrize(
    ("box", "code"),
    [
        (replace(BOX, stop_effect=StopEffect(Ends.NO, note="prepaid")), GuardCode.SAVES_NOTHING),
        (replace(BOX, group="ess-1"), GuardCode.GROUP_MEMBER),
        (replace(BOX, stop_effect=StopEffect(Ends.YES, lost=("local_disk",))), GuardCode.LOSES_DATA),
    ],
)
def test_a_stop_that_will_never_come_is_not_announced(box: Resource, code: GuardCode) -> None:
    """C04, C07: advice in place of a warning; told once; never in flight."""
    cycles = Cycles([idle_policy()])
    (told,) = cycles.cycle(snapshot_of(box)).notices
    assert (told.kind, told.code) == (NoticeKind.NOTIFY, code)
    for minutes in (1, 60, 600):
        assert cycles.cycle(snapshot_of(box, now=NOW + minutes * MINUTE)).notices == ()
        assert cycles.decision.verdict.code is code
    assert cycles.row.state in (S.PROPOSED, S.DEFERRED)


def test_busy_holds_the_stop_while_the_warning_goes_out() -> None:
    """when_busy: hold: the warning goes out, the stop is denied with code busy."""
    cycles = Cycles([lifetime_policy()])
    plan = cycles.cycle(snapshot_of(BOX, usage={BOX.ref: busy(BOX)}))
    assert [n.kind for n in plan.notices] == [NoticeKind.WARN]
    cycles.deliver(NOW)
    late = NOW + 31 * MINUTE
    cycles.cycle(snapshot_of(BOX, now=late, usage={BOX.ref: busy(BOX, end=late)}))
    assert (cycles.row.state, cycles.decision.verdict.code) == (S.DEFERRED, GuardCode.BUSY)


def test_a_box_that_people_start_again_and_again_is_held_and_it_is_told_by_whom() -> None:
    """C33."""
    events = tuple(
        PowerEvent(BOX.ref, NOW - timedelta(hours=h), what, what == "stop", actor=None if what == "stop" else "li")
        for h, what in ((9.0, "stop"), (8.5, "start"), (5.0, "stop"), (4.5, "start"))
    )
    box = replace(BOX, started_at=NOW - timedelta(hours=4.5))
    cycles = Cycles([idle_policy()])
    (told,) = cycles.cycle(snapshot_of(box, power_events={BOX.ref: events})).notices
    assert (told.kind, told.code) == (NoticeKind.NOTIFY, GuardCode.COOLDOWN)
    assert "li" in told.reason


def test_an_approval_is_asked_for_once_and_outlives_the_warnings_age() -> None:
    policy = idle_policy(respond=[{"do": "warn"}, {"after": "30m", "do": "stop", "approve": True}])
    cycles = warned([policy])
    plan = cycles.cycle(snapshot_of(BOX, now=NOW + 30 * MINUTE))
    assert [n.kind for n in plan.notices] == [NoticeKind.APPROVAL]
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 31 * MINUTE)).notices == ()
    cycles.send(Event(EventKind.APPROVE, who="boss"), NOW + 5 * HOUR)
    plan = cycles.cycle(snapshot_of(BOX, now=NOW + 5 * HOUR))
    assert [n.kind for n in plan.notices] == [NoticeKind.WARN], "too old: warned again, still approved"
    cycles.deliver(NOW + 5 * HOUR)
    cycles.cycle(snapshot_of(BOX, now=NOW + 5 * HOUR + 30 * MINUTE))
    assert cycles.row.state is S.VALIDATING


def test_the_mildest_that_ends_the_bill_acts_then_the_earliest_then_by_name() -> None:
    """M04: each policy has its own ladder; one acts on the box."""
    release = idle_policy("a-release", respond=[{"do": "warn"}, {"after": "10m", "do": "release"}])
    slow = idle_policy("b-slow", respond=[{"do": "warn"}, {"after": "20m", "do": "stop"}])
    quick, twin = (idle_policy(n, respond=[{"do": "warn"}, {"after": "15m", "do": "stop"}]) for n in ("d", "c"))
    account = {"accounts": {"prod": make_account(allow_release=True)}}
    cycles = Cycles([release, slow, quick, twin])
    cycles.cycle(snapshot_of(BOX, **account))
    for row in cycles.open:
        cycles.deliver(NOW, row)
    cycles.cycle(snapshot_of(BOX, now=NOW + 25 * MINUTE, **account))
    codes = {d.policy: d.verdict.code for d in cycles.last.decisions}
    assert codes == {
        name: GuardCode.OK if name == "c" else GuardCode.LIMIT for name in ("a-release", "b-slow", "c", "d")
    }
    cycles.cycle(snapshot_of(BOX, now=NOW + 26 * MINUTE, **account))
    assert sum(r.state.in_flight for r in cycles.open) == 1, "one in flight holds the slot"


def test_failures_wait_longer_each_time_and_then_for_a_person() -> None:
    """30 min, 2 h, 8 h, then held: no new ladder while the finding stands."""
    cycles = warned()
    now = NOW + 30 * MINUTE
    for attempt, wait in enumerate((30 * MINUTE, 2 * HOUR, 8 * HOUR, None), 1):
        cycles.cycle(snapshot_of(BOX, now=now))
        if cycles.row.state is not S.VALIDATING:
            cycles.deliver(now)
            now += 30 * MINUTE
            cycles.cycle(snapshot_of(BOX, now=now))
        for event in (
            Event(EventKind.HOLDS), Event(EventKind.HOLDS, token=f"t{attempt}"), Event(EventKind.REJECTED, "no right"),
        ):  # fmt: skip
            row = cycles.send(event, now)
        assert row.attempt == attempt
        assert row.retry_at == (None if wait is None else now + wait)
        now += wait or MINUTE
    assert row.state is S.FAILED
    cycles.cycle(snapshot_of(BOX, now=now))
    assert cycles.open == ()
    assert cycles.decision.verdict.code is GuardCode.APPROVAL


def test_a_cancelled_ladder_stays_cancelled_until_the_finding_clears() -> None:
    cycles = warned()
    cycles.send(Event(EventKind.CANCEL, who="cli:root"), NOW + MINUTE)
    cycles.cycle(snapshot_of(BOX, now=NOW + 2 * MINUTE))
    assert (cycles.open, cycles.decision.verdict.code) == ((), GuardCode.APPROVAL)
    for minutes in (3, 4):
        at = NOW + minutes * MINUTE
        cycles.cycle(snapshot_of(BOX, now=at, usage={BOX.ref: busy(BOX, end=at)}))
    cycles.cycle(snapshot_of(BOX, now=NOW + 2 * HOUR))
    assert cycles.row.state is S.PROPOSED


def test_a_done_stop_is_done_although_the_listing_lags() -> None:
    cycles = warned()
    now = NOW + 30 * MINUTE
    cycles.cycle(snapshot_of(BOX, now=now))
    for event in (
        Event(EventKind.HOLDS), Event(EventKind.HOLDS, token="t"), Event(EventKind.ACCEPTED),
        Event(EventKind.LOOKED, look=Look.ENDED),
    ):  # fmt: skip
        cycles.send(event, now)
    plan = cycles.cycle(snapshot_of(BOX, now=now + MINUTE))
    assert (plan.inserts, plan.notices, plan.decisions) == ((), (), ())


def test_a_ladder_that_only_tells_is_told_again_and_ends_with_a_word() -> None:
    """J01: once, then every repeat; a recovery message when it is over."""
    policy = idle_policy(respond=[{"do": "notify", "to": ["ops"]}])
    cycles = Cycles([policy])
    (told,) = cycles.cycle(snapshot_of(BOX)).notices
    assert (told.kind, told.to, told.repeat) == (NoticeKind.NOTIFY, ("ops",), False)
    assert cycles.decision.response is Response.NOTIFY
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 4 * HOUR - MINUTE)).notices == ()
    (again,) = cycles.cycle(snapshot_of(BOX, now=NOW + 4 * HOUR)).notices
    assert (again.repeat, again.key != told.key, again.alert_key) == (True, True, told.alert_key)
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 4 * HOUR + MINUTE)).notices == ()
    for minutes in (2, 3):
        at = NOW + 4 * HOUR + minutes * MINUTE
        plan = cycles.cycle(snapshot_of(BOX, now=at, usage={BOX.ref: busy(BOX, end=at)}))
    assert [n.kind for n in plan.notices] == [NoticeKind.CLEARED]


def test_the_provider_timer_goes_as_soon_as_a_guard_has_something_against_it() -> None:
    """Named in the warning, set after it, moved by keep, removed by pause and by work."""
    account = {"accounts": {"prod": make_account(allow_release=True)}}
    policy = lifetime_policy(
        when={"max_age": "1h", "backstop": True}, respond=[{"do": "warn"}, {"after": "4h", "do": "stop"}]
    )

    def with_timer() -> Cycles:
        cycles = Cycles([policy])
        cycles.cycle(snapshot_of(BOX, **account))
        cycles.deliver(NOW)
        cycles.cycle(snapshot_of(BOX, now=NOW + MINUTE, **account))
        assert cycles.row.response is Response.SET_RELEASE_TIME
        for event in (
            Event(EventKind.HOLDS), Event(EventKind.HOLDS, token="t"), Event(EventKind.ACCEPTED),
            Event(EventKind.LOOKED, look=Look.ENDED, more=True),
        ):  # fmt: skip
            cycles.send(event, NOW + MINUTE)
        assert (cycles.row.state, cycles.row.rung) == (S.WARNED, 2)
        plan = cycles.cycle(snapshot_of(BOX, now=NOW + 2 * MINUTE, **account))
        assert (plan.timers, cycles.row.response) == ((), Response.STOP)
        return cycles

    now = NOW + 3 * MINUTE
    cycles = with_timer()
    plan = cycles.cycle(snapshot_of(BOX, now=now, usage={BOX.ref: busy(BOX, end=now)}, **account))
    assert [(t.ref, t.at) for t in plan.timers] == [(BOX.ref, None)]
    assert cycles.row.rung == 0
    plan = with_timer().cycle(snapshot_of(BOX, now=now, paused_until=now + HOUR, **account))
    assert [t.at for t in plan.timers] == [None]
    plan = with_timer().cycle(snapshot_of(BOX, now=now, **keep_at(now, now + 5 * HOUR), **account))
    assert [t.at for t in plan.timers] == [now + 29 * HOUR]
    plan = with_timer().cycle(snapshot_of(replace(BOX, started_at=NOW), now=now, **account))
    assert [t.at for t in plan.timers] == [None]


def test_every_refusal_and_deferral_leaves_one_line_per_answer() -> None:
    cycles = warned()
    for minutes in (1, 2, 3):
        cycles.cycle(snapshot_of(BOX, now=NOW + minutes * MINUTE))
    tagged = replace(BOX, tags={"costguard": "keep"})
    for minutes in (4, 5):
        cycles.cycle(snapshot_of(tagged, now=NOW + minutes * MINUTE))
    assert [(line.kind, line.code) for line in cycles.ledger] == [
        (LedgerKind.FINDING, None),
        (LedgerKind.DEFERRED, "not_warned"),
        (LedgerKind.WARNING, None),
        (LedgerKind.REFUSED, "protected"),
    ]
    assert cycles.ledger[0].money == BOX.price


def test_a_row_is_written_only_when_something_changed() -> None:
    cycles = warned()
    cycles.cycle(snapshot_of(BOX, now=NOW + MINUTE))
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 2 * MINUTE)).updates == ()


def test_a_burst_of_gpu_work_in_the_last_half_hour_is_seen_by_the_guard() -> None:
    """A06: the rule's window is stale by a poll, the activity window is not."""
    cycles = warned()
    now = NOW + 30 * MINUTE
    usage = dict(snapshot_of(BOX, now=now).usage[BOX.ref])
    usage.update(make_windows(BOX, {Metric.GPU_UTIL: [0.0] * 7 + [90.0]}, length=WINDOW, end=now))
    cycles.cycle(snapshot_of(BOX, now=now, usage={BOX.ref: usage}))
    assert cycles.decision.verdict.code is GuardCode.BUSY
    assert FOR > WINDOW
    assert EngineSettings().warning_life == HOUR
