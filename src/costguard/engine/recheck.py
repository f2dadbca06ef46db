"""Recheck: right before acting, and again after a hook, the same rule and the same guards on a live read.

The snapshot it gets holds the resource as just read; after a hook, its usage ends at the hook's start
(the hook itself is work), and a second one tells what came after the hook. The answer is the event for the lifecycle.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from costguard.domain.action import Action
from costguard.domain.decision import Answer, GuardCode, Verdict
from costguard.domain.finding import Judgement, Outcome
from costguard.domain.resource import State
from costguard.domain.snapshot import Snapshot
from costguard.engine.activity import WINDOW
from costguard.engine.effective import dry_run_code
from costguard.engine.evaluate import Evaluation, Prepared, evaluate
from costguard.engine.events import Event, EventKind
from costguard.engine.guard import Case, answer_of, defer, deny, guard
from costguard.engine.ladder import Ladder
from costguard.engine.limits import Limits
from costguard.engine.onsite import preparation
from costguard.engine.plan import PlanFacts, new_owner, passed_on, starts_again
from costguard.engine.settings import EngineSettings
from costguard.rules.policy import Rung
from costguard.rules.reasons import sentence

# A look at the box is there for the minutes that no source tells of yet: older, it says no more than they do.
_LOOK_LIFE = timedelta(minutes=5)
# How late a source may tell of what it saw.
_DELAY = timedelta(minutes=15)


def ladder_of(action: Action, ready: Prepared) -> Ladder:
    """The ladder that a row climbs."""
    return ready.ladder(action.subject.type, action.threshold)


def rung_of(action: Action, ready: Prepared) -> Rung:
    """The rung that a row in flight carries out."""
    return ladder_of(action, ready).rungs[action.rung]


def audience(action: Action, ready: Prepared | None) -> tuple[str, ...]:
    """Who heard a row's first warning hears the rest of its story. ``ready`` None: its policy is another one now."""
    if ready is None:
        return ()
    ladder = ladder_of(action, ready)
    first = ladder.first_warning
    rung = ladder.rungs[first] if first is not None else ladder.rungs[min(action.rung, len(ladder.rungs) - 1)]
    return rung.to or ()


def recheck(
    action: Action,
    ready: Prepared | None,
    snapshot: Snapshot,
    others: Iterable[Action],
    settings: EngineSettings,
    matched: Evaluation,
    facts: PlanFacts,
    later: Snapshot | None = None,
    *,
    waited: bool = False,
) -> Event:
    """HOLDS, CHANGED or REFUSED for a row in validating or revalidating.

    ``ready`` is the row's policy as configured now (None: removed). ``snapshot`` holds the live resource, its
    owner resolved (:func:`costguard.engine.ownership.with_owner`). ``others`` are the open rows and those executed
    within the hour; the row itself is left out. ``matched`` is the last cycle's evaluation, for shares. Of
    ``facts`` only what makes a ladder start again is asked. Who has the box by now is warned first. ``later`` has the
    use since the hook's time was over, where that has passed: work since then is somebody's.
    ``waited``: the process that started the hook or the look has waited for its result.
    The caller adds token, lease token and hook to HOLDS.
    """
    if ready is None or ready.hash != action.policy_hash:
        return Event(EventKind.CHANGED, "the policy is another one now", "policy")
    ref = action.subject.ref
    resource = snapshot.resources.get(ref) if ref is not None else None
    if resource is None or resource.state is State.GONE:
        return Event(EventKind.CHANGED, "the resource is gone", "gone")
    if resource.started_at != action.started_at:
        return Event(EventKind.CHANGED, "somebody started it again", "restarted")
    evaluation = evaluate([ready], snapshot)
    answer = _answer(action, evaluation)
    if answer is None:
        return Event(EventKind.CHANGED, "the policy does not match it any more", "policy")
    since = _answer(action, evaluate([ready], later)) if later is not None else None
    for told in (answer, since):
        if told is not None and told.outcome is Outcome.CLEAR:
            return Event(EventKind.CHANGED, f"it no longer holds: {sentence(told.reason, told.evidence)}", "busy")
    if answer.outcome is Outcome.UNKNOWN:
        return Event(EventKind.REFUSED, verdict=deny(GuardCode.UNKNOWN, sentence(answer.reason, answer.evidence)))
    ladder = ladder_of(action, ready)
    limits = Limits(matched, snapshot, settings, (other for other in others if other.id != action.id))
    case = Case(
        ready, replace(action.finding(), evidence=answer.evidence), action, ladder.rungs[action.rung],
        ladder.due(action, action.rung), ladder.warned_before(action.rung), resource,
        snapshot.accounts.get(resource.ref.account), snapshot, settings,
        dry_run_code(ready.policy, action.subject, snapshot, settings),
        limits.ask(action.policy, resource.ref.account, dry=False) if action.response.ends_billing else None,
    )  # fmt: skip
    verdict = _aged(case) or guard(case)
    if verdict.answer is Answer.ALLOW and later is not None:
        verdict = _since_hook(replace(case, snapshot=later)) or verdict
    if verdict.answer is Answer.ALLOW and starts_again(action, resource, snapshot, facts):
        verdict = defer(
            GuardCode.NOT_WARNED, "it was kept, costguard was paused, or its clock was set; people are warned again"
        )
    if verdict.answer is Answer.ALLOW and not waited:
        verdict = _looked_long_ago(case) or verdict
    owner = new_owner(action, ladder, resource, snapshot, settings)
    if verdict.answer is Answer.ALLOW and owner is not None:
        verdict = passed_on(owner)
    if verdict.answer is not Answer.ALLOW:
        return Event(EventKind.REFUSED, verdict.reason, verdict=verdict)
    return Event(EventKind.HOLDS, evidence=answer.evidence, waste=answer.waste_per_hour)


def _aged(case: Case) -> Verdict | None:
    """A warning that people no longer remember starts no stop: the plan warns again."""
    if case.must_warn and case.due_at is not None:
        # A hook may take long; it began in time.
        asked = case.action.hook_started_at or case.snapshot.now
        if asked > case.due_at + case.settings.warning_life:
            return defer(GuardCode.NOT_WARNED, "the warning is too old; people are warned again")
    return None


def _looked_long_ago(case: Case) -> Verdict | None:
    """A look by itself whose result was heard late, by a daemon that was away: the box is looked at again."""
    began = case.action.hook_started_at
    if began is None or case.rung.hook is not None or case.snapshot.now <= began + _LOOK_LIFE:
        return None
    return defer(GuardCode.STALE, "what the look at the box saw is too old; it is looked at again")


def _since_hook(case: Case) -> Verdict | None:
    """What the box's sources say against it since its hook. Whom nobody sees any more is unknown, once there was time
    to see."""
    began = case.action.hook_started_at
    assert began is not None, "it had a hook"
    hook = preparation(case.rung, case.ready.activity)
    assert hook is not None, "the policy is the one that started it"
    unseen = case.snapshot.now > began + hook.timeout + WINDOW + _DELAY
    asked = (GuardCode.BUSY, GuardCode.UNKNOWN) if unseen else (GuardCode.BUSY,)
    return next((verdict for code in asked if (verdict := answer_of(case, code)) is not None), None)


def _answer(action: Action, evaluation: Evaluation) -> Judgement | None:
    for answer in evaluation.judgements.get(action.policy, ()):
        if answer.subject == action.subject and answer.threshold == action.threshold:
            return answer
    return None
