"""What a message about a resource says, before language and markup: the builders of a notice's ``facts``.

Rendering happens at the moment of sending, so "in 30 min" is true when it is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from costguard.domain.action import Action
from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import Evidence, Finding, Subject
from costguard.domain.money import Money
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Resource, StopEffect
from costguard.notify.document import Facts, about, document, effect_of, located, next_morning


@dataclass(frozen=True, slots=True)
class Held:
    """Why something is not done. ``code`` is a guard's, ``reason`` its sentence.

    ``asked``: somebody had asked for it at once. ``tag``: as it stands there, where it cannot be read. ``restarts``:
    how often ``by`` started the box again.
    """

    code: GuardCode
    reason: str
    asked: bool = False
    tag: str = ""
    restarts: int = 0
    by: tuple[str, ...] = ()


def warning_facts(
    *,
    action: Action,
    resource: Resource | None,
    do: Response,
    now: datetime,
    timezone: str,
    due_at: datetime | None = None,
    due_in: timedelta | None = None,
    owner: str | None = None,
    owner_found_by: str = "",
    price: Money | None = None,
    since_idle_cost: Money | None = None,
    by_morning_cost: Money | None = None,
    stop_effect: StopEffect | None = None,
    hook: str | None = None,
    hook_timeout: timedelta | None = None,
    look: bool = False,
    release_in: timedelta | None = None,
    keep_max: timedelta = timedelta(days=7),
    dry_run: bool = False,
    links: Mapping[str, str] | None = None,
) -> Facts:
    """A warning of a later ``do``. ``release_in`` (from delivery): when the provider's own timer would release the box.

    ``look``: the box itself is looked at right before.
    ``due_in`` (from delivery) is for the first warning of a ladder, whose delivery starts the grace;
    ``due_at`` for later ones, when the time is fixed. ``owner_found_by`` says how the owner is known:
    ``tag owner=zw``, ``name zw-*``, ``creator``, ``account``, ``claim``. Costs left out are computed from
    ``price``. ``links``: ``page`` (details) and ``keep`` (a page with a button).
    """
    price = price or (resource.price if resource else None)
    effect = stop_effect or (resource.stop_effect if resource else None)
    if price is not None and since_idle_cost is None:
        since_idle_cost = price.per_hour_for(max(timedelta(0), now - action.since))
    if price is not None and by_morning_cost is None:
        by_morning_cost = price.per_hour_for(next_morning(now, timezone) - now)
    return document(
        NoticeKind.WARN, now, timezone, dry_run, links,
        dedup=f"rung {action.rung}",
        **about(action, resource),
        do=do, due_at=due_at, due_in=due_in, owner=owner, owner_found_by=owner_found_by,
        price=price, since_cost=since_idle_cost, morning_cost=by_morning_cost,
        morning=next_morning(now, timezone),
        effect=effect_of(effect), hook=hook, hook_timeout=hook_timeout, look=look or None, release_in=release_in,
        keep_max=keep_max,
    )  # fmt: skip


def notify_facts(
    *,
    finding: Finding,
    resource: Resource | None = None,
    now: datetime,
    timezone: str,
    action_id: str | None = None,
    owner: str | None = None,
    owner_found_by: str = "",
    dry_run: bool = False,
    links: Mapping[str, str] | None = None,
    dedup: str = "",
    do: Response | None = None,
    held: Held | None = None,
) -> Facts:
    """A finding that is told and promises nothing, of any rule and any kind of subject. ``action_id``: its ladder.

    ``held``: the message is that ``do`` does not happen, and why.
    """
    return document(
        NoticeKind.NOTIFY, now, timezone, dry_run, links,
        dedup=dedup or finding.threshold or "open",
        **{**about(finding, resource), "action_id": action_id},
        owner=owner, owner_found_by=owner_found_by,
        price=resource.price if resource else None,
        do=do if held else None, held=asdict(held) if held else None,
    )  # fmt: skip


def approval_facts(
    *,
    action: Action,
    resource: Resource | None,
    do: Response,
    now: datetime,
    timezone: str,
    owner: str | None = None,
    price: Money | None = None,
    stop_effect: StopEffect | None = None,
    links: Mapping[str, str] | None = None,
) -> Facts:
    """A rung with ``approve: true`` waits for somebody's yes."""
    effect = stop_effect or (resource.stop_effect if resource else None)
    return document(
        NoticeKind.APPROVAL, now, timezone, action.dry_run, links,
        dedup=f"rung {action.rung}", **about(action, resource), do=do, owner=owner,
        price=price or (resource.price if resource else None), effect=effect_of(effect),
    )  # fmt: skip


def result_facts(
    *,
    action: Action,
    resource: Resource | None,
    do: Response,
    now: datetime,
    timezone: str,
    owner: str | None = None,
    price: Money | None = None,
    confirmed: bool = True,
    by_morning_saved: Money | None = None,
    stop_effect: StopEffect | None = None,
    dry_run: bool = False,
    links: Mapping[str, str] | None = None,
) -> Facts:
    """It was done. ``confirmed``: the provider says that compute billing stopped; without that no saving
    is named. ``by_morning_saved`` is an estimate and is called one."""
    price = price or (resource.price if resource else None)
    effect = stop_effect or (resource.stop_effect if resource else None)
    if price is not None and confirmed and by_morning_saved is None and do.ends_billing:
        by_morning_saved = price.per_hour_for(next_morning(now, timezone) - now)
    return document(
        NoticeKind.RESULT, now, timezone, dry_run, links,
        dedup=f"done {action.attempt}", **about(action, resource),
        do=do, owner=owner, price=price, confirmed=confirmed, effect=effect_of(effect),
        done_at=action.ended_at or action.executed_at or now,
        morning_saved=by_morning_saved if confirmed else None, morning=next_morning(now, timezone),
    )  # fmt: skip


def unseen_work_facts(
    *,
    action: Action,
    resource: Resource | None,
    do: Response,
    now: datetime,
    timezone: str,
    began: datetime,
    before: timedelta,
    seen: Evidence,
    owner: str | None = None,
    links: Mapping[str, str] | None = None,
) -> Facts:
    """It was at work, as samples show that came only after ``do``. The work ``began`` within ``before`` the call;
    ``seen`` has ``gpu_util_max``, ``gpu_util_below`` and so on, as the evidence of a finding does."""
    return document(
        NoticeKind.UNSEEN_WORK, now, timezone, action.dry_run, links,
        dedup="unseen work", **about(action, resource),
        do=do, owner=owner, began=began, before=before, seen=dict(seen), done_at=action.executed_at,
    )  # fmt: skip


def failed_facts(
    *,
    action: Action,
    resource: Resource | None,
    do: Response,
    now: datetime,
    timezone: str,
    error: str,
    owner: str | None = None,
    price: Money | None = None,
    retry_at: datetime | None = None,
    hook_output: str | None = None,
    links: Mapping[str, str] | None = None,
) -> Facts:
    """It was tried and did not work: the money still runs. ``error`` is our redacted sentence;
    ``retry_at`` None: nobody tries again until a person looks."""
    return document(
        NoticeKind.FAILED, now, timezone, action.dry_run, links,
        dedup=f"attempt {action.attempt}", **about(action, resource),
        do=do, owner=owner, price=price or (resource.price if resource else None),
        error=error, attempts=max(1, action.attempt), retry_at=retry_at, hook_output=hook_output,
    )  # fmt: skip


def kept_facts(
    *,
    subject: Subject,
    resource: Resource | None = None,
    now: datetime,
    timezone: str,
    by: str,
    until: datetime,
    reason: str = "",
    until_idle: bool = False,
    action: Action | None = None,
    links: Mapping[str, str] | None = None,
) -> Facts:
    """Somebody keeps the resource. ``by`` is the person as recorded (``slack:U012``, ``cli:root``, a name)."""
    return document(
        NoticeKind.KEPT, now, timezone, False, links,
        dedup=f"{by} {until.isoformat()}", **(about(action, resource) if action else located(subject, resource)),
        by=by, until=until, reason=reason, until_idle=until_idle,
    )  # fmt: skip


def cleared_facts(
    *,
    action: Action,
    resource: Resource | None = None,
    now: datetime,
    timezone: str,
    why: str = "busy",
    by: str | None = None,
    links: Mapping[str, str] | None = None,
) -> Facts:
    """What was announced will not happen. ``why`` ∈ busy, restarted, gone, kept, cancelled, policy, changed; ``by`` is
    who called it off. A hook, or a look at the box, that found it at work is named."""
    seen = action.reason if why == "busy" and action.hook_output is not None else None
    return document(
        NoticeKind.CLEARED, now, timezone, action.dry_run, links,
        dedup="cleared", **about(action, resource), do=action.response, why=why, by=by, seen=seen,
    )  # fmt: skip


def no_data_facts(
    *,
    subject: Subject,
    resource: Resource | None = None,
    now: datetime,
    timezone: str,
    since: datetime | None,
    metric: str = "gpu_util",
    price: Money | None = None,
    owner: str | None = None,
    others: Sequence[str] = (),
    links: Mapping[str, str] | None = None,
) -> Facts:
    """Samples stopped coming: what is not seen is never stopped. ``since`` None: there never were any.
    ``others`` names further boxes of the same account in the same state."""
    return document(
        NoticeKind.NO_DATA, now, timezone, False, links,
        dedup="no data", **located(subject, resource), since=since, metric=metric,
        price=price or (resource.price if resource else None), owner=owner, others=list(others),
    )  # fmt: skip
