"""The lifecycle table: each state and event, and what must never happen."""

from dataclasses import replace
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Answer, GuardCode, Response, Verdict
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import NoticeKind
from costguard.engine.events import Event, EventKind, Look, event_for
from costguard.engine.lifecycle import TABLE, Do, IllegalEvent, advance
from costguard.engine.settings import EngineSettings
from costguard.errors import (
    AuthFailed,
    BadResponse,
    InvalidState,
    NotFound,
    PermissionDenied,
    ProviderError,
    QuotaExceeded,
    Throttled,
    TimedOut,
    Unavailable,
    Unsupported,
)  # fmt: skip
from costguard.testing.builders import HOUR, MINUTE, NOW, make_action

S, K = ActionState, EventKind
SETTINGS = EngineSettings()
LATE = NOW + SETTINGS.verify_deadline
BUSY = Verdict(Answer.DENY, GuardCode.BUSY, "works")


def row(state: ActionState, **fields: Any) -> Action:
    defaults: dict[str, Any] = {"warned_at": NOW - HOUR, "warning_id": "w", "rung": 1, "deadline": LATE}
    if state in (S.EXECUTING, S.IN_DOUBT, S.VERIFYING):
        defaults |= {"token": "t", "executed_at": NOW}
    return make_action(state=state, **{**defaults, **fields})


HOOK = {"hook": True, "hook_timeout": 10 * MINUTE}

# state, event → state, do
STEPS: list[tuple[ActionState, Event, ActionState, Do]] = [
    (S.WARNED, Event(K.DUE), S.VALIDATING, Do.LOOK),
    (S.PROPOSED, Event(K.DUE), S.VALIDATING, Do.LOOK),
    (S.DEFERRED, Event(K.DUE), S.VALIDATING, Do.LOOK),
    (S.WARNED, Event(K.KEEP), S.CANCELLED, Do.NOTHING),
    (S.WARNED, Event(K.CANCEL), S.CANCELLED, Do.NOTHING),
    (S.WARNED, Event(K.SUPERSEDE), S.SUPERSEDED, Do.NOTHING),
    (S.WARNED, Event(K.APPROVE), S.WARNED, Do.NOTHING),
    (S.WARNED, Event(K.RECOVER), S.WARNED, Do.NOTHING),
    (S.RECORDED, Event(K.SUPERSEDE), S.SUPERSEDED, Do.NOTHING),
    (S.RECORDED, Event(K.KEEP), S.CANCELLED, Do.NOTHING),
    (S.VALIDATING, Event(K.HOLDS), S.REVALIDATING, Do.LOOK),
    (S.VALIDATING, Event(K.HOLDS, **HOOK), S.PREPARING, Do.HOOK),  # type: ignore[arg-type]
    (S.VALIDATING, Event(K.CHANGED), S.SUPERSEDED, Do.NOTHING),
    (S.VALIDATING, Event(K.REFUSED, verdict=BUSY), S.DEFERRED, Do.NOTHING),
    (S.VALIDATING, Event(K.KEEP), S.CANCELLED, Do.NOTHING),
    (S.VALIDATING, Event(K.RECOVER), S.VALIDATING, Do.LOOK),
    (S.PREPARING, Event(K.HOOK_STARTED, run="r"), S.PREPARING, Do.NOTHING),
    (S.PREPARING, Event(K.HOOK_SAVED), S.REVALIDATING, Do.LOOK),
    (S.PREPARING, Event(K.HOOK_BUSY), S.CANCELLED, Do.NOTHING),
    (S.PREPARING, Event(K.HOOK_FAILED), S.DEFERRED, Do.NOTHING),
    (S.PREPARING, Event(K.HOOK_FAILED, go_on=True), S.REVALIDATING, Do.LOOK),
    (S.PREPARING, Event(K.KEEP), S.CANCELLED, Do.NOTHING),
    (S.PREPARING, Event(K.CHANGED), S.SUPERSEDED, Do.NOTHING),
    (S.PREPARING, Event(K.THROTTLED), S.DEFERRED, Do.NOTHING),
    (S.PREPARING, Event(K.RECOVER), S.DEFERRED, Do.NOTHING),
    (S.PREPARING, Event(K.RECOVER, go_on=True), S.REVALIDATING, Do.LOOK),
    (S.REVALIDATING, Event(K.HOLDS, token="t2"), S.EXECUTING, Do.CALL),
    (S.REVALIDATING, Event(K.CHANGED), S.SUPERSEDED, Do.NOTHING),
    (S.REVALIDATING, Event(K.REFUSED, verdict=BUSY), S.DEFERRED, Do.NOTHING),
    (S.REVALIDATING, Event(K.KEEP), S.CANCELLED, Do.NOTHING),
    (S.REVALIDATING, Event(K.RECOVER), S.REVALIDATING, Do.LOOK),
    (S.EXECUTING, Event(K.ACCEPTED), S.VERIFYING, Do.VERIFY),
    (S.EXECUTING, Event(K.THROTTLED), S.DEFERRED, Do.NOTHING),
    (S.EXECUTING, Event(K.REJECTED), S.DEFERRED, Do.NOTHING),
    (S.EXECUTING, Event(K.LOST), S.IN_DOUBT, Do.VERIFY),
    (S.EXECUTING, Event(K.RECOVER), S.IN_DOUBT, Do.VERIFY),
    (S.EXECUTING, Event(K.KEEP), S.EXECUTING, Do.NOTHING),
    (S.IN_DOUBT, Event(K.LOOKED, look=Look.UNCHANGED), S.IN_DOUBT, Do.VERIFY),
    (S.IN_DOUBT, Event(K.LOOKED, look=Look.UNDERWAY), S.VERIFYING, Do.VERIFY),
    (S.IN_DOUBT, Event(K.LOOKED, look=Look.ENDED), S.DONE, Do.NOTHING),
    (S.IN_DOUBT, Event(K.LOOKED, look=Look.RESTARTED), S.SUPERSEDED, Do.NOTHING),
    (S.IN_DOUBT, Event(K.LOOKED, look=Look.GONE), S.SUPERSEDED, Do.NOTHING),
    (S.IN_DOUBT, Event(K.RECOVER), S.IN_DOUBT, Do.VERIFY),
    (S.VERIFYING, Event(K.LOOKED, look=Look.UNDERWAY), S.VERIFYING, Do.VERIFY),
    (S.VERIFYING, Event(K.LOOKED, look=Look.ENDED), S.DONE, Do.NOTHING),
    (S.VERIFYING, Event(K.LOOKED, look=Look.ENDED_BILLED), S.DONE, Do.NOTHING),
    (S.VERIFYING, Event(K.LOOKED, look=Look.RESTARTED), S.SUPERSEDED, Do.NOTHING),
    (S.VERIFYING, Event(K.RECOVER), S.VERIFYING, Do.VERIFY),
    (S.VERIFYING, Event(K.CANCEL), S.VERIFYING, Do.NOTHING),
]


@pytest.mark.parametrize(("state", "event", "after", "do"), STEPS, ids=lambda v: getattr(v, "value", ""))
def test_the_table(state: ActionState, event: Event, after: ActionState, do: Do) -> None:
    change = advance(row(state), event, NOW, SETTINGS)
    assert (change.action.state, change.do) == (after, do)
    assert change.action.state.terminal is (change.action.ended_at is not None)


def test_the_table_is_covered_and_has_no_way_to_a_call_but_one() -> None:
    tested = {(state, event.kind) for state, event, _, _ in STEPS}
    waiting = {S.PROPOSED, S.WARNED, S.DEFERRED, S.RECORDED}
    untested = {(s, k) for s, k in TABLE if (s, k) not in tested and s not in waiting}
    assert {k for _, k in untested} <= {K.CANCEL, K.KEEP, K.WARNED}
    assert [s for s, _, _, do in STEPS if do is Do.CALL] == [S.REVALIDATING]
    assert (S.RECORDED, K.DUE) not in TABLE, "a dry run never starts"


@pytest.mark.parametrize(("state", "kind"), list(product([s for s in S if s.terminal], K)))
def test_terminal_stays_terminal(state: ActionState, kind: EventKind) -> None:
    """Whatever comes late."""
    ended = make_action(state=state)
    assert advance(ended, Event(kind), NOW).action is ended


@pytest.mark.parametrize(
    ("state", "kind"),
    [(s, k) for s, k in product(S, K) if not s.terminal and (s, k) not in TABLE],
)
def test_what_cannot_happen_is_refused(state: ActionState, kind: EventKind) -> None:
    with pytest.raises(IllegalEvent):
        advance(row(state), Event(kind), NOW)


def test_the_call_is_committed_with_a_fresh_token_before_it_is_made() -> None:
    """C31: at most one call per token."""
    change = advance(row(S.REVALIDATING), Event(K.HOLDS, token="t1", lease_token=7), NOW, SETTINGS)
    action = change.action
    assert (action.token, action.lease_token, action.executed_at) == ("t1", 7, NOW)
    assert action.deadline == NOW + SETTINGS.call_deadline
    assert [line.kind for line in change.ledger] == [LedgerKind.EXECUTED]
    with pytest.raises(IllegalEvent, match="token"):
        advance(row(S.REVALIDATING), Event(K.HOLDS), NOW)
    with pytest.raises(IllegalEvent, match="one call"):
        advance(row(S.REVALIDATING, token="t1"), Event(K.HOLDS, token="t1"), NOW)


@pytest.mark.parametrize("state", [S.IN_DOUBT, S.VERIFYING])
def test_a_deadline_that_passes_is_a_failure(state: ActionState) -> None:
    """C11: the state is looked at before it is called failed."""
    event = Event(K.LOOKED, look=Look.UNCHANGED)
    assert advance(row(state), event, LATE - MINUTE, SETTINGS).action.state is state
    change = advance(row(state), event, LATE, SETTINGS)
    assert (change.action.state, change.action.attempt, change.tell) == (S.DEFERRED, 1, NoticeKind.FAILED)
    assert change.action.retry_at == LATE + 30 * MINUTE


@pytest.mark.parametrize(
    ("attempt", "state", "wait"),
    [(0, S.DEFERRED, 30 * MINUTE), (1, S.DEFERRED, 2 * HOUR), (2, S.DEFERRED, 8 * HOUR), (3, S.FAILED, None)],
)
def test_failures_wait_longer_then_are_held(attempt: int, state: ActionState, wait: timedelta | None) -> None:
    change = advance(row(S.EXECUTING, attempt=attempt), Event(K.REJECTED, "no right"), NOW, SETTINGS)
    assert (change.action.state, change.action.error) == (state, "no right")
    assert change.action.retry_at == (None if wait is None else NOW + wait)
    assert change.tell is NoticeKind.FAILED
    assert [line.kind for line in change.ledger] == [LedgerKind.FAILED]


def test_a_throttle_spends_no_attempt_and_no_place() -> None:
    change = advance(row(S.EXECUTING), Event(K.THROTTLED, after=timedelta(seconds=9)), NOW, SETTINGS)
    assert (change.action.attempt, change.action.executed_at) == (0, None)
    assert change.action.retry_at == NOW + timedelta(seconds=9)
    assert change.tell is None


ERROR = {"provider": "aws", "account": "prod"}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Throttled("slow down", **ERROR), K.THROTTLED),  # type: ignore[arg-type]
        (AuthFailed("x", **ERROR), K.REJECTED), (PermissionDenied("x", **ERROR), K.REJECTED),
        (QuotaExceeded("x", **ERROR), K.REJECTED), (Unsupported("x", **ERROR), K.REJECTED),
        (InvalidState("x", **ERROR), K.LOST), (NotFound("x", **ERROR), K.LOST), (BadResponse("x", **ERROR), K.LOST),
        (TimedOut("x", **ERROR), K.LOST), (Unavailable("x", **ERROR), K.LOST),
    ],
)  # fmt: skip
def test_only_a_refusal_that_did_nothing_is_believed(error: ProviderError, kind: EventKind) -> None:
    """C11, M10: after any other error the state is read first."""
    assert event_for(error).kind is kind


def test_a_hook_that_is_known_to_run_is_waited_for() -> None:
    """C30: stored output, bounded time, no second run."""
    change = advance(row(S.PREPARING, hook_run="r", hook_started_at=NOW), Event(K.RECOVER), NOW, SETTINGS)
    assert (change.action.state, change.do) == (S.PREPARING, Do.HOOK)
    started = advance(row(S.VALIDATING), Event(K.HOLDS, hook=True, hook_timeout=10 * MINUTE), NOW, SETTINGS).action
    assert (started.hook_started_at, started.deadline, started.hook_run) == (NOW, NOW + 10 * MINUTE, None)
    failed = advance(started, Event(K.HOOK_FAILED, "exit 1", output="no space"), NOW + MINUTE, SETTINGS)
    assert (failed.action.hook_output, failed.action.attempt) == ("no space", 1)
    assert "exit 1" in (failed.action.error or "")


def test_a_hook_that_says_busy_ends_the_ladder_and_restarts_the_clock() -> None:
    change = advance(row(S.PREPARING), Event(K.HOOK_BUSY, output="epoch 3"), NOW, SETTINGS)
    assert (change.busy, change.tell, change.action.code) == (True, NoticeKind.KEPT, GuardCode.BUSY)
    assert change.action.hook_output == "epoch 3"


def test_savings_are_booked_only_on_the_providers_word() -> None:
    """C06, C07."""
    done = advance(row(S.VERIFYING), Event(K.LOOKED, look=Look.ENDED), NOW, SETTINGS)
    assert (done.saving, done.tell) == (True, NoticeKind.RESULT)
    billed = advance(row(S.VERIFYING), Event(K.LOOKED, look=Look.ENDED_BILLED), NOW, SETTINGS)
    assert not billed.saving
    assert "still bills" in billed.action.reason


def test_a_rung_in_the_middle_of_a_ladder_goes_on() -> None:
    tagged = row(S.VERIFYING, response=Response.TAG)
    change = advance(tagged, Event(K.LOOKED, look=Look.ENDED, more=True), NOW, SETTINGS)
    assert (change.action.state, change.action.rung, change.action.token) == (S.WARNED, 2, None)
    assert not change.saving
    last = advance(tagged, Event(K.LOOKED, look=Look.ENDED), NOW, SETTINGS)
    assert last.action.state is S.DONE
    stopped = advance(row(S.VERIFYING), Event(K.LOOKED, look=Look.ENDED, more=True), NOW, SETTINGS)
    assert stopped.action.state is S.DONE, "after a stop nothing follows"


def test_a_release_is_done_when_the_resource_is_gone() -> None:
    gone = Event(K.LOOKED, look=Look.GONE)
    assert advance(row(S.VERIFYING, response=Response.RELEASE), gone, NOW, SETTINGS).action.state is S.DONE
    with pytest.raises(IllegalEvent):
        advance(row(S.VERIFYING), Event(K.LOOKED), NOW)


def test_a_warning_counts_once_and_only_the_one_that_was_asked_for() -> None:
    fresh = row(S.PROPOSED, warned_at=None)
    assert advance(fresh, Event(K.WARNED, warning_id="old"), NOW).action is fresh
    warned = advance(fresh, Event(K.WARNED, warning_id="w", at=NOW - MINUTE), NOW).action
    assert (warned.state, warned.warned_at) == (S.WARNED, NOW - MINUTE)
    assert advance(warned, Event(K.WARNED, warning_id="w"), NOW + HOUR).action is warned
    flying = row(S.VALIDATING)
    assert advance(flying, Event(K.WARNED, warning_id="w"), NOW).action is flying


def test_a_person_who_cancels_holds_the_ladder_and_one_who_keeps_does_not() -> None:
    cancelled = advance(row(S.WARNED), Event(K.CANCEL, who="slack:U1"), NOW)
    assert (cancelled.action.code, cancelled.ledger[0].actor) == (GuardCode.APPROVAL, "slack:U1")
    kept = advance(row(S.WARNED), Event(K.KEEP, who="slack:U1"), NOW)
    assert (kept.action.code, kept.tell) == (GuardCode.PROTECTED, NoticeKind.KEPT)
    unheard = advance(row(S.WARNED, warned_at=None), Event(K.KEEP), NOW)
    assert unheard.tell is None


def test_every_change_of_state_is_dated() -> None:
    for state, event, after, _ in STEPS:
        changed = advance(replace(row(state), updated_at=NOW - HOUR), event, NOW, SETTINGS).action
        assert changed.state is after
        assert state is after or changed.updated_at == NOW


def test_the_page_shows_the_table() -> None:
    """docs/lifecycle.md lists the events of each state."""
    page = (Path(__file__).parents[3] / "docs" / "lifecycle.md").read_text("utf-8")
    section = page.split("## States and events")[1].split("\n## ")[0]
    shown = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 2 and cells[0] in set(S):
            shown[cells[0]] = set(cells[1].split())
    known: dict[str, set[str]] = {}
    for state, kind in TABLE:
        known.setdefault(state.value, set()).add(kind.value)
    assert shown == known
