"""Scope: which money a policy speaks of, for rules whose subject is not a resource.

Spend of a resource that is there goes by the resource. What no resource stands for (an account's rest, a balance,
something that is gone) goes by what is known of it: account, provider, region, owner, team; a match that asks for
more does not speak of it.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from costguard.domain.budget import Spend
from costguard.domain.resource import Kind, Resource, ResourceRef, State
from costguard.domain.snapshot import Snapshot
from costguard.rules.match import Matcher

_NEVER = datetime.min.replace(tzinfo=UTC)


def scoped(matcher: Matcher, matched: Sequence[Resource], snapshot: Snapshot) -> Snapshot:
    """The snapshot with the spend, balances and quotas that a policy speaks of, and no others."""
    refs = {resource.ref for resource in matched}
    known: dict[tuple[str, ResourceRef | None, str | None, str | None], bool] = {}

    def speaks_of(account: str, ref: ResourceRef | None, region: str, owner: str | None, team: str | None) -> bool:
        facts = snapshot.accounts.get(account)
        return (
            matcher.decide(_stand_in(account, facts.provider if facts else "", ref, region, owner, team), facts) is True
        )

    def counts(row: Spend) -> bool:
        if row.ref is not None and row.ref in snapshot.resources:
            return row.ref in refs
        key = (row.account, row.ref, row.owner, row.team)
        if key not in known:
            known[key] = speaks_of(row.account, row.ref, "", row.owner, row.team)
        return known[key]

    return replace(
        snapshot,
        spend=tuple(row for row in snapshot.spend if counts(row)),
        balances=tuple(b for b in snapshot.balances if speaks_of(b.account, None, "", None, None)),
        quotas=tuple(q for q in snapshot.quotas if speaks_of(q.account, None, q.region, None, None)),
    )


def _stand_in(
    account: str, provider: str, ref: ResourceRef | None, region: str, owner: str | None, team: str | None
) -> Resource:
    """A resource of which nothing else is known; its tags count as unreadable."""
    ref = ref or ResourceRef(provider, account, region, Kind.RESERVATION, "")
    return Resource(ref, "", State.UNKNOWN, "", _NEVER, tags=None, owner=owner, team=team)
