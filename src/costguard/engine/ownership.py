"""Ownership: whose a resource is, and how that is known.

A claim by a person beats tags, tags beat names, and the account's owner is for what carries no tag. Knows
nothing of routes or channels.
"""

from collections.abc import Mapping
from dataclasses import replace

from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.snapshot import AccountFacts, Snapshot
from costguard.engine.settings import Owner
from costguard.rules.globs import folded, folded_tag, glob

OWNER_TAG = "owner"
TEAM_TAG = "team"


def owner_of(
    resource: Resource, owners: tuple[Owner, ...], account: AccountFacts | None = None, claimed: str | None = None
) -> tuple[str | None, str]:
    """(owner, how it was found); (None, "") when nobody is known.

    ``found_by``: ``claim``, ``tag owner=zw``, ``name zw-*``, ``provider`` (the adapter told), ``account``.
    A value of the ``owner`` tag that no configured owner lists is itself the owner's name.
    """
    if claimed:
        return claimed, "claim"
    tags = resource.tags or {}
    for owner in owners:
        for key, values in owner.tags.items():
            found = folded_tag(tags, key)
            if found is not None and folded(found[1]) in {folded(v) for v in values}:
                return owner.name, f"tag {found[0]}={found[1]}"
    if (found := folded_tag(tags, OWNER_TAG)) and found[1].strip():
        named = next((o.name for o in owners if folded(o.name) == folded(found[1])), found[1].strip())
        return named, f"tag {found[0]}={found[1]}"
    for owner in owners:
        for pattern in owner.names:
            if glob((pattern,)).match(resource.name):
                return owner.name, f"name {pattern}"
    if resource.owner:
        return resource.owner, "provider"
    if account is not None and account.owner:
        return account.owner, "account"
    return None, ""


def whose(resource: Resource, snapshot: Snapshot) -> str | None:
    """Who is warned of a box of the snapshot: its owner, else its account's; None when nobody is known."""
    account = snapshot.accounts.get(resource.ref.account)
    return resource.owner or (account.owner if account is not None else None)


def with_owner(resource: Resource, owners: tuple[Owner, ...], claimed: str | None = None) -> Resource:
    """The resource with ``owner`` and ``team`` as matching and rules read them.

    The account's own owner and team are left to their readers: they do not make an untagged box tagged.
    """
    owner, _ = owner_of(resource, owners, None, claimed)
    team = resource.team
    if team is None and (found := folded_tag(resource.tags or {}, TEAM_TAG)):
        team = found[1].strip() or None
    if team is None and owner is not None:
        team = next((o.team for o in owners if o.name == owner), None)
    if owner == resource.owner and team == resource.team:
        return resource
    return replace(resource, owner=owner, team=team)


def with_owners(snapshot: Snapshot, owners: tuple[Owner, ...], claims: Mapping[ResourceRef, str]) -> Snapshot:
    """The snapshot with every resource's owner and team known as well as they can be."""
    resources = {ref: with_owner(r, owners, claims.get(ref)) for ref, r in snapshot.resources.items()}
    return replace(snapshot, resources=resources)
