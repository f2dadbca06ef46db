"""What people say of a box: a keep by word, by tag or until it is idle, and the pause; each restarts its ladder."""

from dataclasses import replace

from costguard.domain.action import ActionState
from costguard.domain.decision import GuardCode
from costguard.domain.notice import NoticeKind
from costguard.domain.snapshot import Keep
from costguard.testing.builders import HOUR, MINUTE, NOW, make_resource
from tests.unit.engine.stage import Cycles, idle_policy, keep_at, snapshot_of, warned

BOX = make_resource()
S = ActionState


def test_keep_cancels_its_ladder_and_its_end_warns_anew() -> None:
    """K02: kept until then; afterwards a real warning and the full grace."""
    cycles = warned()
    first = cycles.row.id
    keep = keep_at(NOW + MINUTE, NOW + HOUR)
    plan = cycles.cycle(snapshot_of(BOX, now=NOW + 2 * MINUTE, **keep))
    assert cycles.rows[first].state is S.CANCELLED
    assert [n.kind for n in plan.notices] == [NoticeKind.KEPT]
    assert cycles.decision.verdict.code is GuardCode.PROTECTED
    second = cycles.row.id
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 30 * MINUTE, **keep)).notices == ()
    assert cycles.row.id == second, "no new row each cycle"
    plan = cycles.cycle(snapshot_of(BOX, now=NOW + HOUR, **keep))
    assert [n.kind for n in plan.notices] == [NoticeKind.WARN]
    assert cycles.row.held_since == NOW + HOUR
    assert cycles.decision.verdict.code is GuardCode.NOT_WARNED


def test_a_kept_box_without_a_warning_rung_waits_its_time_from_the_keeps_end() -> None:
    policy = idle_policy(respond=[{"after": "1h", "do": "stop", "unwarned": True}])
    cycles = Cycles([policy])
    keep = keep_at(NOW - MINUTE, NOW + 3 * HOUR)
    cycles.cycle(snapshot_of(BOX, **keep))
    cycles.cycle(snapshot_of(BOX, now=NOW + 3 * HOUR, **keep))
    assert cycles.decision.due_at == NOW + 4 * HOUR


def test_the_tag_is_honoured_after_the_warning_and_its_end_warns_anew() -> None:
    cycles = warned()
    tagged = replace(BOX, tags={"costguard": "keep"})
    cycles.cycle(snapshot_of(tagged, now=NOW + 31 * MINUTE))
    assert (cycles.row.state, cycles.decision.verdict.code) == (S.DEFERRED, GuardCode.PROTECTED)
    plan = cycles.cycle(snapshot_of(BOX, now=NOW + 40 * MINUTE))
    assert [n.kind for n in plan.notices] == [NoticeKind.WARN]
    assert cycles.decision.verdict.code is GuardCode.NOT_WARNED


def test_a_malformed_keep_tag_is_told_once() -> None:
    """C26, M06."""
    box = replace(BOX, tags={"costguard:keep-until": "2026-12-01 09:00 CST"})
    cycles = Cycles([idle_policy()])
    (told,) = cycles.cycle(snapshot_of(box)).notices
    assert (told.kind, told.code) == (NoticeKind.NOTIFY, GuardCode.PROTECTED)
    assert "CST" in told.reason
    assert "owner" in told.to
    assert cycles.cycle(snapshot_of(box, now=NOW + MINUTE)).notices == ()


def test_pause_and_resume_start_every_ladder_again() -> None:
    cycles = warned()
    cycles.cycle(snapshot_of(BOX, now=NOW + 31 * MINUTE, paused_until=NOW + 40 * MINUTE))
    assert (cycles.decision.verdict.code, cycles.row.warned_at) == (GuardCode.PAUSED, None)
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 32 * MINUTE, paused_until=NOW + 40 * MINUTE)).updates == ()
    plan = cycles.cycle(snapshot_of(BOX, now=NOW + 40 * MINUTE, paused_until=NOW + 40 * MINUTE))
    assert [n.kind for n in plan.notices] == [NoticeKind.WARN]


def test_a_pause_that_no_cycle_saw_starts_them_again_too() -> None:
    """Resume, restore, arming: the caller says when; once."""
    cycles = warned()
    at = NOW + 20 * MINUTE
    plan = cycles.cycle(snapshot_of(BOX, now=NOW + 31 * MINUTE), restarted_at=at)
    assert [n.kind for n in plan.notices] == [NoticeKind.WARN]
    assert cycles.row.warned_at is None
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 32 * MINUTE), restarted_at=at).notices == ()


def test_keep_until_idle_is_reported_when_it_has_ended() -> None:
    keep = Keep(BOX.ref, NOW + 24 * HOUR, "li", "job", NOW - 2 * HOUR, until_idle=True)
    cycles = Cycles([idle_policy()])
    plan = cycles.cycle(snapshot_of(BOX, keeps={BOX.ref: keep}))
    assert plan.ended_keeps == (BOX.ref,)
    assert [n.kind for n in plan.notices] == [NoticeKind.WARN]
