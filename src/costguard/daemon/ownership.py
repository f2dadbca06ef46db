"""Whose a stored resource is: what people claimed, its tags and name, its provider's word, its account's owner."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection

from costguard.domain.resource import Resource
from costguard.engine.ownership import with_owner
from costguard.engine.settings import Owner
from costguard.store import levers


@dataclass(frozen=True, slots=True)
class Ownership:
    """``owners`` as configured; ``accounts`` maps an account to the owner of what carries no tag."""

    owners: tuple[Owner, ...] = ()
    accounts: Mapping[str, str] = field(default_factory=dict)

    def of(self, conn: Connection, resource: Resource) -> str | None:
        """The owner's name, None when nobody is known."""
        claim = levers.claims(conn).get(resource.ref)
        resolved = with_owner(resource, self.owners, claim.owner if claim else None)
        return resolved.owner or self.accounts.get(resource.ref.account)
