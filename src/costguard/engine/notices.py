"""NoticeRequest: what people should hear, before channels, owners and languages are known.

The daemon turns each into outbox rows in the transaction that stores the actions it came with.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from costguard.domain.action import Action
from costguard.domain.decision import GuardCode, Response, Verdict
from costguard.domain.finding import Finding
from costguard.domain.money import Money
from costguard.domain.notice import NoticeKind
from costguard.engine.afterwards import UnseenWork
from costguard.rules.policy import Rung


@dataclass(frozen=True, slots=True)
class NoticeRequest:
    """One thing to tell.

    ``id`` groups the channel copies; for a ladder's first warning it is the action's ``warning_id``, and the
    delivery of it (by the delivered rule) is the event WARNED. ``key`` is stable for the same fact: an
    outbox that has it already tells nothing new. ``alert_key`` is the ladder's story. ``to`` are the rung's
    targets (channel names, owner names, ``owner``); empty means notify.default. ``do`` is what is announced
    or was done; ``due_at`` when (aware UTC), ``due_in`` how long after delivery, for a first warning.
    ``release_in``: how long after it the provider's own timer releases the box, where the ladder sets one.
    ``why`` is the word for why it was called off (see events).
    ``asked``: somebody had asked for what ``code`` and ``reason`` hold back. ``cost_so_far`` is what the claim has cost
    since it began. ``repeat``: the same fact told again. ``unseen``: work before the call that was not known then.
    """

    id: str
    kind: NoticeKind
    key: str
    alert_key: str
    action: Action
    finding: Finding
    do: Response
    to: tuple[str, ...] = ()
    rung: Rung | None = None
    code: GuardCode = GuardCode.OK
    reason: str = ""
    why: str = ""
    due_at: datetime | None = None
    due_in: timedelta | None = None
    release_in: timedelta | None = None
    not_after: datetime | None = None
    cost_so_far: Money | None = None
    repeat: bool = False
    asked: bool = False
    unseen: UnseenWork | None = None


def refused(row: Action, verdict: Verdict, id: str, *, price: Money | None, now: datetime) -> NoticeRequest:
    """To who asked for a stop at once, when a guard has something against it: told once, however often they answer."""
    assert row.hastened_at is not None, "somebody asked for it"
    return request(
        row, row.finding(), NoticeKind.NOTIFY, id, f"asked:{row.hastened_at:%Y%m%dT%H%M%S}", price=price, now=now,
        to=(row.approved_by,) if row.approved_by else (), code=verdict.code, reason=verdict.reason, asked=True,
    )  # fmt: skip


def request(
    action: Action, finding: Finding, kind: NoticeKind, id: str, about: str, *, price: Money | None, now: datetime,
    story: str = "", **fields: object,
) -> NoticeRequest:  # fmt: skip
    """A request whose key is the ladder, its restart and ``about`` (which fact of it).

    A budget's step has one ``story`` in its period, however often bills and forecasts cross it: then that is the key.
    """
    cost = price.per_hour_for(max(timedelta(), now - action.since)) if price else None
    key = f"{story or f'{action.id}:{action.held_since:%Y%m%dT%H%M%S}'}:{about}"
    values: dict[str, object] = {"do": action.response, "cost_so_far": cost, **fields}
    return NoticeRequest(
        id=id, kind=kind, key=key, alert_key=finding.fingerprint, action=action, finding=finding, **values  # type: ignore[arg-type]
    )  # fmt: skip
