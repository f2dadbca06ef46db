"""From what the engine wants told to outbox rows: facts of the right kind, routed to people and channels.

Pure: runs inside the transaction that stores the actions it belongs to.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import quote

from costguard.domain.action import ActionState
from costguard.domain.decision import GuardCode
from costguard.domain.finding import SubjectType
from costguard.domain.notice import Notice, NoticeKind
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Keep, Snapshot
from costguard.engine.guard import restarts
from costguard.engine.notices import NoticeRequest
from costguard.engine.ownership import owner_of
from costguard.engine.protection import protection_of
from costguard.engine.settings import EngineSettings
from costguard.notify import facts
from costguard.notify.bulletins import budget_step_facts
from costguard.notify.document import Facts
from costguard.notify.route import Draft, Routing, route


@dataclass(frozen=True, slots=True)
class Drafter:
    """Turns requests into notices for one configuration. ``public_url`` None: messages carry no links."""

    routing: Routing
    settings: EngineSettings
    keep_max: timedelta
    public_url: str | None = None

    def notices(self, request: NoticeRequest, snapshot: Snapshot) -> list[Notice]:
        """The outbox rows of one request; none when no channel is configured."""
        ref = request.action.subject.ref
        resource = snapshot.resources.get(ref) if ref is not None else None
        owner, found_by = self._owner(resource, snapshot)
        draft = Draft(
            kind=_kind(request, snapshot),
            alert_key=request.alert_key,
            key=request.key,
            facts=self._facts(request, resource, snapshot, owner, found_by),
            created_at=snapshot.now,
            to=request.to,
            owner=owner,
            action_id=request.action.id or None,
            not_after=request.not_after,
            dry_run=request.action.dry_run,
        )
        return route(draft, self.routing)

    def _owner(self, resource: Resource | None, snapshot: Snapshot) -> tuple[str | None, str]:
        if resource is None:
            return None, ""
        account = snapshot.accounts.get(resource.ref.account)
        owner, found_by = owner_of(resource, self.settings.owners, account)
        if resource.owner is not None and resource.owner != owner:
            # The snapshot knows better than the tags: somebody claimed it.
            return resource.owner, "claim"
        return owner, found_by

    def _facts(
        self, request: NoticeRequest, resource: Resource | None, snapshot: Snapshot, owner: str | None, found_by: str
    ) -> Facts:
        action, now, zone = request.action, snapshot.now, self.settings.timezone
        links = self._links(request)
        if _is_budget(request):
            over = request.kind is NoticeKind.CLEARED
            return budget_step_facts(finding=request.finding, now=now, timezone=zone, recovered=over, links=links)
        match request.kind:
            case NoticeKind.WARN:
                hook = request.rung.hook if request.rung else None
                return facts.warning_facts(
                    action=action, resource=resource, do=request.do, now=now, timezone=zone, due_at=request.due_at,
                    due_in=request.due_in, owner=owner, owner_found_by=found_by, since_idle_cost=request.cost_so_far,
                    hook=hook.title if hook else None, hook_timeout=hook.timeout if hook else None,
                    look=request.rung is not None and request.rung.look,
                    release_in=request.release_in, keep_max=self.keep_max, links=links,
                )  # fmt: skip
            case NoticeKind.RESULT:
                return facts.result_facts(
                    action=action, resource=resource, do=request.do, now=now, timezone=zone, owner=owner,
                    confirmed=not action.reason, links=links,
                )  # fmt: skip
            case NoticeKind.UNSEEN_WORK if (unseen := request.unseen) is not None:
                return facts.unseen_work_facts(
                    action=action, resource=resource, do=request.do, now=now, timezone=zone, owner=owner,
                    began=unseen.began, before=unseen.before, seen=unseen.evidence, links=links,
                )  # fmt: skip
            case NoticeKind.FAILED:
                return facts.failed_facts(
                    action=action, resource=resource, do=request.do, now=now, timezone=zone, owner=owner,
                    error=action.error or request.reason or action.reason, retry_at=action.retry_at,
                    hook_output=action.hook_output, links=links,
                )  # fmt: skip
            case NoticeKind.APPROVAL:
                return facts.approval_facts(
                    action=action, resource=resource, do=request.do, now=now, timezone=zone, owner=owner, links=links
                )
            case NoticeKind.KEPT if (keep := _keep(request, snapshot)) is not None:
                return facts.kept_facts(
                    subject=action.subject, resource=resource, now=now, timezone=zone, by=keep.by, until=keep.until,
                    reason=keep.reason, until_idle=keep.until_idle, action=action, links=links,
                )  # fmt: skip
            case NoticeKind.KEPT | NoticeKind.CLEARED:
                why = why_cleared(request, resource)
                return facts.cleared_facts(
                    action=action, resource=resource, now=now, timezone=zone, why=why, links=links
                )
            case _:
                held = _held(request, resource, snapshot)
                return facts.notify_facts(
                    finding=request.finding, resource=resource, now=now, timezone=zone, action_id=action.id or None,
                    owner=owner, owner_found_by=found_by, links=links,
                    dedup=request.key if request.repeat or held else "", do=request.do, held=held,
                )  # fmt: skip

    def _links(self, request: NoticeRequest) -> dict[str, str]:
        if self.public_url is None:
            return {}
        return {"page": f"{self.public_url.rstrip('/')}/?resource={quote(request.action.subject.id, safe='')}"}


def _held(request: NoticeRequest, resource: Resource | None, snapshot: Snapshot) -> facts.Held | None:
    """What keeps the request's ``do`` from happening, in parts that both languages have words for."""
    if request.code is GuardCode.OK:
        return None
    held = facts.Held(request.code, request.reason, request.asked)
    if resource is not None and request.code is GuardCode.COOLDOWN:
        times, by = restarts(resource, snapshot)
        return replace(held, restarts=times, by=by)
    if resource is not None and request.code is GuardCode.PROTECTED:
        found = protection_of(resource, snapshot)
        return replace(held, tag=found.raw if found is not None and found.malformed else "")
    return held


def _keep(request: NoticeRequest, snapshot: Snapshot) -> Keep | None:
    ref = request.action.subject.ref
    return snapshot.keeps.get(ref) if ref is not None else None


def _kind(request: NoticeRequest, snapshot: Snapshot) -> NoticeKind:
    """A ladder that ended without a keep is told as called off, whoever ended it; a budget's step as a budget's."""
    if _is_budget(request):
        return NoticeKind.BUDGET
    if request.kind is NoticeKind.KEPT and _keep(request, snapshot) is None:
        return NoticeKind.CLEARED
    return request.kind


def _is_budget(request: NoticeRequest) -> bool:
    told = request.kind in (NoticeKind.NOTIFY, NoticeKind.WARN, NoticeKind.CLEARED)
    return told and request.finding.subject.type is SubjectType.BUDGET


def why_cleared(request: NoticeRequest, resource: Resource | None) -> str:
    """Why what was announced will not happen: one of the words that messages know."""
    action = request.action
    if action.state is ActionState.CANCELLED:
        return {GuardCode.APPROVAL: "cancelled", GuardCode.BUSY: "busy"}.get(action.code, "kept")
    if request.why:
        return request.why
    if resource is None:
        return "gone"
    if resource.started_at != action.started_at:
        return "restarted"
    if request.finding.policy_hash != action.policy_hash:
        return "policy"
    return "busy" if action.clear_count else "changed"


def warning_prefix(action_id: str, held_since: datetime) -> str:
    """How the keys of a ladder's warnings begin since it (re)started; see engine.notices.request."""
    return f"{action_id}:{held_since:%Y%m%dT%H%M%S}:"
