"""Walking one ladder: the requests for people and what they say."""

from dataclasses import replace
from datetime import timedelta

from costguard.domain.decision import GuardCode, Response
from costguard.domain.notice import NoticeKind
from costguard.engine.settings import EngineSettings
from costguard.engine.walk import ADVISE, HUSH
from costguard.testing.builders import HOUR, MINUTE, NOW, cny, make_resource
from tests.unit.engine.stage import SETTINGS, Cycles, idle_policy, snapshot_of

BOX = make_resource()


def test_a_request_carries_what_a_message_needs() -> None:
    cycles = Cycles([idle_policy()])
    (told,) = cycles.cycle(snapshot_of(BOX)).notices
    assert told.finding.evidence["gpu_util_max"] == 0.5
    assert told.cost_so_far == cny("26.055"), "45 minutes of idleness"
    assert told.action.id == cycles.row.id
    assert told.alert_key == cycles.row.fingerprint
    assert told.rung is not None
    assert (told.do, told.due_in) == (Response.STOP, timedelta(minutes=30))


def test_keys_are_stable_for_a_fact_and_new_after_a_restart() -> None:
    """J01, J03: the outbox has each fact once, whatever happens between two cycles."""
    first, second = Cycles([idle_policy()]), Cycles([idle_policy()])
    (a,) = first.cycle(snapshot_of(BOX)).notices
    (b,) = second.cycle(snapshot_of(BOX)).notices
    assert a.key == b.key
    (again,) = first.cycle(snapshot_of(BOX, now=NOW + HOUR), restarted_at=NOW + MINUTE).notices
    assert again.key != a.key
    assert again.id != a.id


def test_notices_before_the_first_warning_and_after_it() -> None:
    policy = idle_policy(
        respond=[
            {"do": "notify", "to": ["ops"]}, {"after": "5m", "do": "warn"}, {"after": "10m", "do": "notify"},
            {"after": "20m", "do": "stop"},
        ]
    )  # fmt: skip
    cycles = Cycles([policy])
    assert [n.kind for n in cycles.cycle(snapshot_of(BOX)).notices] == [NoticeKind.NOTIFY]
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 4 * MINUTE)).notices == ()
    (warning,) = cycles.cycle(snapshot_of(BOX, now=NOW + 5 * MINUTE)).notices
    assert (warning.kind, warning.due_in) == (NoticeKind.WARN, 20 * MINUTE)
    cycles.deliver(NOW + 6 * MINUTE)
    assert [n.kind for n in cycles.cycle(snapshot_of(BOX, now=NOW + 16 * MINUTE)).notices] == [NoticeKind.NOTIFY]
    cycles.cycle(snapshot_of(BOX, now=NOW + 26 * MINUTE))
    assert cycles.row.state.in_flight


def test_a_warning_without_anything_to_announce_is_told_as_a_notice() -> None:
    cycles = Cycles([idle_policy(respond=[{"do": "warn"}])], EngineSettings(repeat=None))
    (told,) = cycles.cycle(snapshot_of(BOX)).notices
    assert told.kind is NoticeKind.NOTIFY
    assert cycles.cycle(snapshot_of(BOX, now=NOW + 99 * HOUR)).notices == ()


def test_a_dry_run_tells_nobody() -> None:
    for respond in ([{"do": "notify"}], [{"do": "warn"}, {"after": "30m", "do": "stop"}]):
        cycles = Cycles([idle_policy(mode="dry_run", respond=respond)], SETTINGS)
        for minutes in (0, 30, 60):
            assert cycles.cycle(snapshot_of(BOX, now=NOW + minutes * MINUTE)).notices == ()
        assert cycles.decision.verdict.code is GuardCode.DRY_RUN


def test_a_stop_is_not_announced_for_reasons_that_pass_and_advised_against_for_those_that_stay() -> None:
    assert not set(HUSH) & set(ADVISE)
    assert {GuardCode.BUSY, GuardCode.UNKNOWN}.isdisjoint({*HUSH, *ADVISE}), "the warning goes out"


def test_who_asked_for_a_stop_at_once_is_told_of_the_limit_once() -> None:
    """A place was free when they pressed; the cycle gives it to another box."""
    one, other = make_resource("a"), make_resource("b", price=cny("99"))
    cycles = Cycles([idle_policy()], EngineSettings(per_hour=1, share=None))
    cycles.cycle(snapshot_of(one, other))
    for row in cycles.open:
        cycles.deliver(NOW, row)
    soon = NOW + 5 * MINUTE
    for row in cycles.open:
        cycles.rows[row.id] = replace(row, hastened_at=soon, due_at=soon, approved_by="li")
    told = []
    for minutes in range(5, 9):
        told += cycles.cycle(snapshot_of(one, other, now=NOW + minutes * MINUTE)).notices
    (refused,) = told
    assert (refused.kind, refused.code, refused.to, refused.asked) == (
        NoticeKind.NOTIFY, GuardCode.LIMIT, ("li",), True,
    )  # fmt: skip
    assert refused.reason == "limit reached: per_hour over all policies is 1"
    assert refused.action.subject.id == "a", "the dearer one goes first"
