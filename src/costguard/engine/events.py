"""Events: what may happen to an action, as the outbox, the plan, the looks and people report it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from costguard.domain.decision import Verdict
from costguard.domain.finding import Evidence
from costguard.domain.money import Money
from costguard.errors import AuthFailed, PermissionDenied, ProviderError, QuotaExceeded, Throttled, Unsupported


class EventKind(StrEnum):
    """What may happen to an action, and who says so."""

    WARNED = "warned"  # the outbox: the first warning counts as delivered
    DUE = "due"  # the plan: due, allowed, and chosen among the policies
    HOLDS = "holds"  # a live look: the finding still fires and the guards allow
    CHANGED = "changed"  # a live look: it no longer does, or the box is another run
    REFUSED = "refused"  # a live look: a guard says no, or not now
    HOOK_STARTED = "hook_started"
    HOOK_SAVED = "hook_saved"  # exit 0
    HOOK_BUSY = "hook_busy"  # exit 75
    HOOK_FAILED = "hook_failed"  # anything else, or no answer in time
    ACCEPTED = "accepted"  # the provider took the call, or it was already so
    THROTTLED = "throttled"  # the provider refused for too many calls: nothing was done
    REJECTED = "rejected"  # the provider refused for good: nothing was done
    LOST = "lost"  # no answer, or one that leaves the outcome open
    LOOKED = "looked"  # a live look after the call
    RECOVER = "recover"  # a new leader, or a new start, found the row
    CANCEL = "cancel"  # a person, by a lever
    APPROVE = "approve"  # a person, where the rung asks for one
    KEEP = "keep"  # a person keeps the resource
    SUPERSEDE = "supersede"  # the plan: cleared, retagged, gone, another policy hash


class Look(StrEnum):
    """What a live read after the call shows. ENDED: as wanted, and the provider says billing ended."""

    UNCHANGED = "unchanged"
    UNDERWAY = "underway"
    ENDED = "ended"
    ENDED_BILLED = "ended_billed"
    GONE = "gone"
    RESTARTED = "restarted"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. Which fields matter depends on ``kind``.

    ``warning_id`` of the request that was delivered (WARNED): an older warning's late delivery starts no grace ·
    ``token``: a fresh request token, ``lease_token`` the leader's (HOLDS in revalidating) · ``hook`` whether the
    rung has one, ``hook_timeout`` its total time (HOLDS in validating) · ``go_on`` on_failure is stop (HOOK_FAILED, and
    RECOVER of a hook) · ``look`` (LOOKED) · ``more`` rungs follow (LOOKED) · ``verdict`` (REFUSED) ·
    ``why`` the reason in a word that messages know: busy, restarted, off, gone, policy (CHANGED, SUPERSEDE) ·
    ``after`` (THROTTLED) · ``who`` (CANCEL, KEEP) · ``reason`` one English sentence · ``run`` the hook's id,
    ``output`` its output · ``evidence``, ``waste`` as the look saw them.
    """

    kind: EventKind
    reason: str = ""
    why: str = ""
    who: str = "costguard"
    warning_id: str | None = None
    token: str | None = None
    lease_token: int | None = None
    hook: bool = False
    hook_timeout: timedelta | None = None
    go_on: bool = False
    look: Look | None = None
    more: bool = False
    verdict: Verdict | None = None
    after: timedelta = timedelta(seconds=5)
    run: str | None = None
    output: str | None = None
    evidence: Evidence | None = None
    waste: Money | None = None
    at: datetime | None = None


def event_for(error: ProviderError) -> Event:
    """The event of a failed call. Only a refusal that certainly did nothing ends the look-out for it."""
    if isinstance(error, Throttled):
        return Event(EventKind.THROTTLED, str(error), after=error.after)
    if isinstance(error, AuthFailed | PermissionDenied | QuotaExceeded | Unsupported):
        return Event(EventKind.REJECTED, str(error))
    return Event(EventKind.LOST, str(error))
