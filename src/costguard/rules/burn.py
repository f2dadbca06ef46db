"""Burn: what resources cost per hour as they are right now."""

from collections.abc import Collection

from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, Ends, Resource, State
from costguard.domain.snapshot import Snapshot, SourceState

ALWAYS_BILLED = frozenset({ChargeType.PREPAID, ChargeType.RESERVED, ChargeType.OWNED})


def billed_per_hour(resource: Resource) -> Money | None:
    """What the resource costs per hour as it is now; None when that is not known.

    A stopped box costs nothing only where its own ``stop_effect`` says that compute billing ends.
    """
    if resource.price is None:
        return None
    nothing = Money.zero(resource.price.currency)
    match resource.state:
        case State.GONE | State.DELETING:
            return nothing
        case State.STOPPED:
            if resource.charge_type in ALWAYS_BILLED:
                return resource.price
            ends = resource.stop_effect.compute_billing_ends if resource.stop_effect else Ends.UNKNOWN
            if ends is Ends.YES:
                return nothing
            return resource.price if ends is Ends.NO else None
        case _:
            return resource.price


def behind(snapshot: Snapshot, accounts: Collection[str], feeds: Collection[str]) -> bool:
    """Whether some source of these accounts that has told something is old by now, or fails: what is not there may
    only be missing."""
    return any(
        status.account in accounts
        and status.source.split(".")[0] in feeds
        and status.count
        and status.state is not SourceState.SKIPPED
        and not status.fresh(snapshot.now)
        for status in snapshot.sources
    )
