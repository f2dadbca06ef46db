"""Plan: a box that passes to somebody else in the middle of a ladder."""

from dataclasses import replace

from costguard.domain.action import ActionState
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import NoticeKind
from costguard.engine.plan import Plan
from costguard.testing.builders import MINUTE, NOW, make_resource
from tests.unit.engine.stage import Cycles, idle_policy, snapshot_of

BOX = make_resource()
S = ActionState


def owned(cycles: Cycles, minutes: float, owner: str | None, *, arrives: bool = True) -> Plan:
    """A cycle in which the box is ``owner``'s; a new warning arrives at once."""
    now = NOW + minutes * MINUTE
    plan = cycles.cycle(snapshot_of(replace(BOX, owner=owner), now=now))
    if arrives and any(n.kind is NoticeKind.WARN for n in plan.notices):
        cycles.deliver(now)
    return plan


def warned_in(plan: Plan) -> bool:
    return any(n.kind is NoticeKind.WARN for n in plan.notices)


def test_a_new_owner_is_warned_for_the_whole_grace_before_the_stop() -> None:
    """Whether by a claim, by a tag or by the configuration; also who came after nobody."""
    for before in ("li", None):
        cycles = Cycles([idle_policy()])
        owned(cycles, 0, before)
        assert warned_in(owned(cycles, 25, "he"))
        assert not warned_in(owned(cycles, 26, "he")), "once"
        owned(cycles, 54, "he")
        assert (cycles.row.state, cycles.row.due_at) == (S.WARNED, NOW + 55 * MINUTE)
        assert [line.text for line in cycles.ledger if line.kind is LedgerKind.SYSTEM] == [
            "its owner is now he, who was not warned yet: it starts again"
        ]
        owned(cycles, 55, "he")
        assert cycles.row.state is S.VALIDATING


def test_an_owner_who_is_gone_puts_nothing_off() -> None:
    cycles = Cycles([idle_policy()])
    owned(cycles, 0, "li")
    assert not warned_in(owned(cycles, 10, None))
    owned(cycles, 30, None)
    assert cycles.row.state is S.VALIDATING


def test_tags_that_flap_between_people_who_were_warned_put_nothing_off() -> None:
    cycles = Cycles([idle_policy()])
    warnings = [minute for minute in range(31) if warned_in(owned(cycles, minute, ("li", "he")[minute % 2]))]
    assert warnings == [0, 1], "each of them once"
    owned(cycles, 31, "he")
    assert cycles.row.state is S.VALIDATING


def test_an_owner_whose_warning_never_arrived_or_is_forgotten_is_warned_again() -> None:
    cycles = Cycles([idle_policy()])
    owned(cycles, 0, "li")
    owned(cycles, 1, "he", arrives=False)
    assert warned_in(owned(cycles, 2, "wu"))
    assert warned_in(owned(cycles, 3, "he")), "the first one never reached them"
    cycles = Cycles([idle_policy()])
    owned(cycles, 0, "li")
    owned(cycles, 85, "he")
    assert warned_in(owned(cycles, 95, "li")), "an hour after what they were told nobody expects it"


def test_a_dry_run_starts_again_for_a_new_owner_and_ends_once() -> None:
    cycles = Cycles([idle_policy(mode="dry_run")])
    owned(cycles, 0, "li")
    owned(cycles, 10, "he")
    owned(cycles, 35, "he")
    assert cycles.row.ended_at is None
    owned(cycles, 40, "he")
    owned(cycles, 41, "wu")
    assert [line.text for line in cycles.ledger if line.text.startswith("would stop")] == ["would stop"]
