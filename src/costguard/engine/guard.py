"""Guards: everything that may keep a rung from acting, in one fixed order, one small function each.

The first deny wins; without one the longest defer wins; a dry run is only said when all others allow. To
change when costguard dares to act, change one function here and its row in the truth table.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

from costguard.domain.action import Action
from costguard.domain.decision import ALLOW, Answer, GuardCode, Response, Verdict
from costguard.domain.finding import Finding
from costguard.domain.resource import INSTEAD, ChargeType, Ends, Kind, Resource, State
from costguard.domain.snapshot import AccountFacts, Snapshot, SourceState, SourceStatus
from costguard.domain.time import next_opening
from costguard.engine.activity import Activity, Seen, activity_of
from costguard.engine.clusters import cluster_of
from costguard.engine.evaluate import Prepared
from costguard.engine.fence import fence
from costguard.engine.protection import protection_of
from costguard.engine.settings import EngineSettings
from costguard.rules.globs import folded_tag
from costguard.rules.kind import running_since
from costguard.rules.policy import Policy, Rung, StopWhen

_FAR = datetime(9999, 1, 1, tzinfo=UTC)
_ABLE = frozenset({"full", "partial"})
_WORKS = frozenset({Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT})
_NEEDS = {
    Response.STOP: "stop",
    Response.RELEASE: "release",
    Response.SET_RELEASE_TIME: "set_release_time",
    Response.TAG: "tags",
}
_LOST_DATA = frozenset({"local_disk"})


@dataclass(frozen=True)
class Case:
    """One rung of one ladder that would act on one resource, and all that guards may ask.

    ``resource`` None: it is not there. ``must_warn``: a warning comes before this rung in the ladder.
    ``limit`` is the limits' answer (they compare ladders with each other, so they are asked outside).
    ``dry`` is the effective dry run's code, None for a real ladder.
    """

    ready: Prepared
    finding: Finding
    action: Action
    rung: Rung
    due_at: datetime | None
    must_warn: bool
    resource: Resource | None
    account: AccountFacts | None
    snapshot: Snapshot
    settings: EngineSettings
    dry: GuardCode | None = None
    limit: Verdict | None = None

    @property
    def ends(self) -> bool:
        """Whether the rung ends work on the box, now or by a timer."""
        return self.rung.do.ends_box

    @cached_property
    def seen(self) -> Seen | None:
        """What its sources say of it, by the policy's own tests; asked by two guards."""
        if self.resource is None:
            return None
        return activity_of(self.resource, self.snapshot, self.ready.activity)


Guard = Callable[[Case], Verdict | None]


def deny(code: GuardCode, reason: str, until: datetime | None = None) -> Verdict:
    return Verdict(Answer.DENY, code, reason, until)


def defer(code: GuardCode, reason: str, until: datetime | None = None) -> Verdict:
    return Verdict(Answer.DEFER, code, reason, until)


def _stale(case: Case) -> Verdict | None:
    resource, snapshot = case.resource, case.snapshot
    if resource is None:
        return deny(GuardCode.STALE, "the resource is not in the inventory")
    status = snapshot.source(resource.ref.account, resource.ref.region, "inventory")
    if status is None or not status.fresh(snapshot.now):
        return deny(GuardCode.STALE, _aged(status, "inventory"))
    if snapshot.now - resource.observed_at > 2 * status.interval:
        return deny(GuardCode.STALE, "the resource was last seen more than two polls ago")
    usage = snapshot.source(resource.ref.account, resource.ref.region, "usage")
    if case.ready.needs and usage is not None and not usage.fresh(snapshot.now):
        return deny(GuardCode.STALE, _aged(usage, "usage"))
    return None


def _aged(status: SourceStatus | None, source: str) -> str:
    if status is None:
        return f"the {source} of its account and region was never read"
    if status.state is SourceState.OK:
        return f"the {source} of its account and region is older than two polls"
    return f"the {source} of its account and region could not be read ({status.state.value})"


def _protected(case: Case) -> Verdict | None:
    if case.resource is None:
        return None
    found = protection_of(case.resource, case.snapshot)
    return deny(GuardCode.PROTECTED, found.why, found.until) if found else None


def _fenced(case: Case) -> Verdict | None:
    why = fence(case.resource, case.settings) if case.resource is not None else None
    return deny(GuardCode.FENCED, why) if why is not None else None


def _self(case: Case) -> Verdict | None:
    if case.resource is not None and case.resource.ref.id in case.snapshot.self_ids:
        return deny(GuardCode.SELF, "costguard itself runs here")
    return None


def _works(case: Case) -> bool:
    resource = case.resource
    return case.ends and resource is not None and resource.ref.kind in _WORKS and resource.state is not State.STOPPED


def _activity(case: Case, wanted: Activity, code: GuardCode, choice: str) -> Verdict | None:
    if not _works(case):
        return None
    when = case.ready.policy.when
    if isinstance(when, StopWhen) and getattr(when, choice) == "stop":
        return None
    seen = case.seen
    return deny(code, seen.reason) if seen is not None and seen.activity is wanted else None


def _busy(case: Case) -> Verdict | None:
    return _activity(case, Activity.ACTIVE, GuardCode.BUSY, "when_busy")


def _unknown(case: Case) -> Verdict | None:
    return _activity(case, Activity.UNKNOWN, GuardCode.UNKNOWN, "when_unknown")


def _group_member(case: Case) -> Verdict | None:
    resource = case.resource
    if resource is None or not case.ends:
        return None
    if resource.group is not None:
        instead = resource.attributes.get(INSTEAD, "scale the group instead")
        return deny(GuardCode.GROUP_MEMBER, f"member of {resource.group}: {instead}")
    for key in case.account.group_tags if case.account else ():
        if (found := folded_tag(resource.tags or {}, key)) is not None:
            return deny(GuardCode.GROUP_MEMBER, f"the tag {found[0]}={found[1]} marks a member of a group")
    if (cluster := cluster_of(resource, case.snapshot)) is not None:
        name, instead = cluster
        return deny(GuardCode.GROUP_MEMBER, f"member of {name}: {instead}")
    return None


def _unsupported(case: Case) -> Verdict | None:
    resource, account, do = case.resource, case.account, case.rung.do
    if case.ends and not case.ready.kind.may_stop:
        return deny(GuardCode.UNSUPPORTED, f"rule {case.ready.kind.name} only tells; it never ends anything")
    if resource is None or account is None:
        return deny(GuardCode.UNSUPPORTED, "nothing is known of its account")
    capability = _NEEDS.get(do)
    said = account.capabilities.get(capability, "unknown") if capability else "full"
    if said.split(":")[0] not in _ABLE:
        return deny(GuardCode.UNSUPPORTED, f"{account.provider} says {capability}: {said}")
    if do is Response.STOP and resource.ref.kind not in account.stoppable:
        return deny(GuardCode.UNSUPPORTED, f"no {resource.ref.kind.value} can be stopped at {account.provider}")
    if do in (Response.RELEASE, Response.SET_RELEASE_TIME) and not account.allow_release:
        return deny(GuardCode.UNSUPPORTED, "the account does not say allow_release: true")
    if case.ends and resource.charge_type is ChargeType.UNKNOWN:
        return deny(GuardCode.UNSUPPORTED, "its charge type is not known")
    return None


def _saves_nothing(case: Case) -> Verdict | None:
    resource = case.resource
    if resource is None or case.rung.do is not Response.STOP:
        return None
    effect = resource.stop_effect
    if effect is None or effect.compute_billing_ends is Ends.UNKNOWN:
        return deny(GuardCode.SAVES_NOTHING, "whether a stop ends its bill is not known")
    if effect.compute_billing_ends is Ends.NO:
        return deny(GuardCode.SAVES_NOTHING, f"a stop does not end its bill ({effect.note or 'as its provider says'})")
    return None


def _loses_data(case: Case) -> Verdict | None:
    resource = case.resource
    if resource is None or case.rung.do is not Response.STOP or resource.stop_effect is None:
        return None
    lost = sorted(_LOST_DATA.intersection(resource.stop_effect.lost).difference(case.rung.accept_loss))
    if not lost:
        return None
    what = ", ".join(lost)
    return deny(GuardCode.LOSES_DATA, f"a stop loses {what}, and the rung does not say accept_loss: [{what}]")


def _too_young(case: Case) -> Verdict | None:
    if not _works(case) or case.resource is None:
        return None
    started = running_since(case.resource, case.snapshot)
    if started is None:
        return deny(GuardCode.TOO_YOUNG, "nobody knows when it started")
    old_enough = started + case.settings.too_young
    if old_enough > case.snapshot.now:
        return defer(GuardCode.TOO_YOUNG, "somebody just started it", old_enough)
    return None


def _cooldown(case: Case) -> Verdict | None:
    if not _works(case) or case.resource is None:
        return None
    pairs, actors = restarts(case.resource, case.snapshot)
    if pairs < case.settings.cooldown_pairs:
        return None
    who = ", ".join(actors) or "somebody"
    return deny(GuardCode.COOLDOWN, f"stopped and started again {pairs} times in 24 h, by {who}")


def restarts(resource: Resource, snapshot: Snapshot) -> tuple[int, tuple[str, ...]]:
    """How often a stop of ours was answered by a start within the last 24 h, and by whom."""
    since = snapshot.now - timedelta(hours=24)
    events = sorted((e for e in snapshot.power_events.get(resource.ref, ()) if e.at >= since), key=lambda e: e.at)
    pairs, stopped = 0, False
    actors: dict[str, None] = {}
    for event in events:
        if event.what == "stop":
            stopped = event.ours
        elif event.what == "start" and stopped:
            pairs, stopped = pairs + 1, False
            if event.actor:
                actors[event.actor] = None
    return pairs, tuple(actors)


def opening_of(policy: Policy, snapshot: Snapshot, settings: EngineSettings, at: datetime) -> datetime | None:
    """When the policy's ``only_during`` is next open: ``at`` if it is or there is none, None if not in 30 days."""
    allowed = policy.limits.only_during
    if allowed is None:
        return at
    lines = [line.to_range(ZoneInfo(settings.timezone)) for line in allowed]
    return next_opening([(line, snapshot.calendars.of(line.timezone)) for line in lines], at)


def _outside_hours(case: Case) -> Verdict | None:
    now = case.snapshot.now
    opening = opening_of(case.ready.policy, case.snapshot, case.settings, now)
    if opening == now:
        return None
    return defer(GuardCode.OUTSIDE_HOURS, "outside the policy's only_during", opening)


def _not_warned(case: Case) -> Verdict | None:
    if case.must_warn:
        if case.action.warned_at is None:
            return defer(GuardCode.NOT_WARNED, "the warning has not been delivered yet")
        return None
    if case.ends and not case.rung.unwarned:
        return deny(GuardCode.NOT_WARNED, "no warning comes before it, and the rung does not say unwarned: true")
    return None


def _not_due(case: Case) -> Verdict | None:
    now, due, retry = case.snapshot.now, case.due_at, case.action.retry_at
    if due is None:
        # Without a delivered warning nothing is ever due; a real ladder says not_warned.
        return defer(GuardCode.NOT_DUE, "it is due some time after the warning") if case.dry is not None else None
    if retry is not None and retry > max(now, due):
        return defer(GuardCode.NOT_DUE, "it failed and is tried again later", retry)
    return defer(GuardCode.NOT_DUE, "the grace has not passed", due) if due > now else None


def _limit(case: Case) -> Verdict | None:
    return case.limit


def _inventory(case: Case) -> Verdict | None:
    if case.resource is None:
        return None
    ref = case.resource.ref
    return inventory_alarm(case.snapshot.source(ref.account, ref.region, "inventory"))


def inventory_alarm(status: SourceStatus | None) -> Verdict | None:
    """INVENTORY when a listing came back empty or halved: an alarm, not a fact."""
    if status is None or status.previous_count is None:
        return None
    before, count = status.previous_count, status.count
    if (count == 0 and before > 0) or (before >= 4 and 2 * count <= before):
        return deny(GuardCode.INVENTORY, f"the inventory fell from {before} to {count} between two polls")
    return None


def _approval(case: Case) -> Verdict | None:
    if case.rung.approve and case.action.approved_by is None:
        return defer(GuardCode.APPROVAL, "waits for an admin's or the owner's yes")
    return None


def _paused(case: Case) -> Verdict | None:
    until = case.snapshot.paused_until
    if until is not None and until > case.snapshot.now:
        return deny(GuardCode.PAUSED, "costguard is paused", until)
    return None


def _lease(case: Case) -> Verdict | None:
    return None if case.snapshot.is_leader else deny(GuardCode.LEASE, "another process leads")


def _not_armed(case: Case) -> Verdict | None:
    if case.dry is GuardCode.NOT_ARMED:
        return deny(GuardCode.NOT_ARMED, "the account is not armed: not in enforce_accounts, or not who it should be")
    return None


def _dry_run(case: Case) -> Verdict | None:
    return deny(GuardCode.DRY_RUN, "dry run") if case.dry is GuardCode.DRY_RUN else None


# The order is the contract's; each row is a code and the function that answers for it.
GUARDS: tuple[tuple[GuardCode, Guard], ...] = (
    (GuardCode.STALE, _stale),
    (GuardCode.PROTECTED, _protected),
    (GuardCode.FENCED, _fenced),
    (GuardCode.SELF, _self),
    (GuardCode.BUSY, _busy),
    (GuardCode.UNKNOWN, _unknown),
    (GuardCode.GROUP_MEMBER, _group_member),
    (GuardCode.UNSUPPORTED, _unsupported),
    (GuardCode.SAVES_NOTHING, _saves_nothing),
    (GuardCode.LOSES_DATA, _loses_data),
    (GuardCode.TOO_YOUNG, _too_young),
    (GuardCode.COOLDOWN, _cooldown),
    (GuardCode.OUTSIDE_HOURS, _outside_hours),
    (GuardCode.NOT_WARNED, _not_warned),
    (GuardCode.NOT_DUE, _not_due),
    (GuardCode.LIMIT, _limit),
    (GuardCode.INVENTORY, _inventory),
    (GuardCode.APPROVAL, _approval),
    (GuardCode.PAUSED, _paused),
    (GuardCode.LEASE, _lease),
    (GuardCode.NOT_ARMED, _not_armed),
    (GuardCode.DRY_RUN, _dry_run),
)
# What neither time nor the next look changes: somebody would have to do something.
_FOR_GOOD = (
    GuardCode.PROTECTED, GuardCode.FENCED, GuardCode.SELF, GuardCode.GROUP_MEMBER, GuardCode.UNSUPPORTED,
    GuardCode.SAVES_NOTHING, GuardCode.LOSES_DATA,
)  # fmt: skip
# What a promise for later leaves out as things are: work that goes on, and use that nobody can see.
_AS_IT_IS = (*_FOR_GOOD, GuardCode.BUSY, GuardCode.UNKNOWN)
_LAST = frozenset({GuardCode.NOT_ARMED, GuardCode.DRY_RUN})


def answers(case: Case) -> tuple[tuple[GuardCode, Verdict], ...]:
    """Every guard's own answer, in order, also after one that denies: what ``explain`` lists."""
    return tuple((code, guard(case) or Verdict(Answer.ALLOW, code)) for code, guard in GUARDS)


def guard(case: Case) -> Verdict:
    """The guards' one answer. A dry run before its due time is ``not_due``, whatever the others say; the reason names
    what will keep it from acting even then."""
    if case.dry is not None and (early := _not_due(case)) is not None:
        return promised(case, early, case.due_at)
    longest: Verdict | None = None
    for code, ask in GUARDS:
        if code in _LAST and longest is not None:
            break
        answer = ask(case)
        if answer is None:
            continue
        if answer.answer is Answer.DENY:
            return answer
        if longest is None or (answer.until or _FAR) > (longest.until or _FAR):
            longest = answer
    return longest or ALLOW


def promised(case: Case, early: Verdict, at: datetime | None) -> Verdict:
    """``early``, what it waits for until ``at`` (None: nobody knows), and whether a guard that time alone does not
    change denies it even then."""
    for code in _AS_IT_IS:
        denied = _BY_CODE[code](case)
        if denied is not None and (denied.until is None or at is None or denied.until > at):
            return replace(early, never=code, reason=f"{early.reason}, and then it is refused: {denied.reason}")
    return early


def answer_of(case: Case, code: GuardCode) -> Verdict | None:
    """One guard's answer, None when it allows."""
    return _BY_CODE[code](case)


_BY_CODE = dict(GUARDS)
