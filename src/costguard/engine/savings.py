"""Savings: projected when a stop is decided, booked when the provider confirms that billing ended.

Nothing is booked for what stays billed, for an unknown price, or on our own word alone.
"""

from datetime import datetime, timedelta

from costguard.domain.action import Action, ActionState
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.money import Money
from costguard.domain.resource import Ends, Resource
from costguard.domain.saving import Saving


def saved_per_hour(resource: Resource, still_billed: Money | None = None) -> Money | None:
    """The compute price that ends with a stop, minus what the caller knows to stay billed of it.

    ``resource.price`` is the compute price alone: disks and addresses bill on and are no part of it. Where the
    bill ends only partly, what stays must be known, else None. None also when a stop ends nothing.
    """
    effect = resource.stop_effect
    if resource.price is None or effect is None:
        return None
    match effect.compute_billing_ends:
        case Ends.YES:
            stays = still_billed or Money.zero(resource.price.currency)
        case Ends.PARTLY if still_billed is not None:
            stays = still_billed
        case _:
            return None
    left = resource.price - stays
    return left if left.nanos > 0 else None


def projected(resource: Resource, span: timedelta, still_billed: Money | None = None) -> Money | None:
    """What a stop saves over ``span`` if it is decided now; an estimate, and called one wherever it is shown."""
    per_hour = saved_per_hour(resource, still_billed)
    return per_hour.per_hour_for(span) if per_hour is not None else None


def book(action: Action, resource: Resource, now: datetime, still_billed: Money | None = None) -> Saving | None:
    """The saving of a confirmed stop, running from ``now`` until something ends it.

    ``resource`` is the live read that confirmed the end of billing. None when nothing may be booked: the
    action is not done, was a dry run, or the price is not known.
    """
    per_hour = saved_per_hour(resource, still_billed)
    ref = action.subject.ref
    if per_hour is None or ref is None or action.dry_run or action.state is not ActionState.DONE:
        return None
    return Saving(action.id, ref, action.policy, per_hour, now)


def end(saving: Saving, at: datetime, by: str) -> Saving:
    """The saving, ended (``restarted``, ``released``, ``disputed`` …); one that has ended stays as it is."""
    if saving.until is not None:
        return saving
    return Saving(
        saving.action_id, saving.ref, saving.policy, saving.per_hour, saving.since, max(at, saving.since), by
    )  # fmt: skip


def booked_line(saving: Saving, action: Action, now: datetime) -> LedgerEntry:
    """The ledger line of a booking: its money is what one hour saves from now on."""
    text = f"billing ended: {saving.per_hour} saved per hour from now"
    return LedgerEntry(
        now, LedgerKind.SAVING, action.subject, text, action_id=action.id, policy=action.policy, money=saving.per_hour
    )  # fmt: skip
