"""Attribution: whose money it was at the time, and for which project.

Tags that appear in mid-month say nothing about the days before.

What nobody stands for stays unallocated. A disk or address without an owner of its own goes to the box it is attached
to; the account's owner and team are for what is left.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from costguard.domain.budget import Interval
from costguard.domain.charge import Charge
from costguard.domain.resource import Kind, Resource, ResourceRef, State
from costguard.engine.ownership import with_owner
from costguard.engine.settings import Owner
from costguard.rules.globs import folded_tag

PROJECT_TAG = "project"
Who = tuple[str | None, str | None]
Tags = Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Claimed:
    """A person's word that a resource is theirs, good from ``at`` on."""

    owner: str
    at: datetime


class Attribution:
    """Owner and team of resources and bill rows at any moment.

    ``history`` holds for each resource whose tags changed what they were until when, oldest first. ``accounts`` maps an
    account to its own (owner, team), ``projects`` to its own project.
    """

    def __init__(
        self,
        resources: Iterable[Resource],
        owners: tuple[Owner, ...],
        claims: Mapping[ResourceRef, Claimed],
        history: Mapping[ResourceRef, Sequence[tuple[datetime, Tags]]],
        accounts: Mapping[str, Who],
        projects: Mapping[str, str | None] | None = None,
    ) -> None:
        self._resources = {r.ref: r for r in resources}
        self._ids = {(r.ref.account, r.ref.id): r.ref for r in self._resources.values()}
        self._owners, self._claims, self._history, self._accounts = owners, claims, history, accounts
        self._projects = projects or {}
        self._known: dict[tuple[object, ...], Who] = {}

    def ref(self, account: str, resource_id: str | None) -> ResourceRef | None:
        """The resource that a bill's id means; None when it was never listed."""
        return None if resource_id is None else self._ids.get((account, resource_id))

    def at(self, ref: ResourceRef, when: datetime) -> Who:
        """(owner, team) of a resource at a moment; the account's own where nobody else is known."""
        return self._with_account(ref.account, self._own(ref, when))

    def name(self, ref: ResourceRef | None) -> str | None:
        """What a listed resource is called."""
        resource = None if ref is None else self._resources.get(ref)
        return None if resource is None else resource.name

    def tags(self, ref: ResourceRef | None, when: datetime) -> Tags:
        """A listed resource's tags at a moment; None where they are not known."""
        resource = None if ref is None else self._resources.get(ref)
        if ref is None or resource is None:
            return None
        past = next((span for span in self._history.get(ref, ()) if when < span[0]), None)
        return resource.tags if past is None else past[1]

    def project(self, ref: ResourceRef, when: datetime) -> str | None:
        """The ``project`` tag of a resource at a moment, else of the box it is attached to, else the account's own."""
        return self._tagged_project(ref, when) or self._projects.get(ref.account)

    def project_of(self, charge: Charge) -> str | None:
        """The project of a bill row: its own tag, else the resource's at that time."""
        if found := _project(charge.tags):
            return found
        ref = self.ref(charge.account, charge.resource_id)
        told = None if ref is None else self._tagged_project(ref, charge.charge_period_start)
        return told or self._projects.get(charge.account)

    def changes(self, ref: ResourceRef) -> list[datetime]:
        """When the answer of :meth:`at` may change, ascending."""
        marks = {until for until, _ in self._history.get(ref, ())}
        if claim := self._claims.get(ref):
            marks.add(claim.at)
        resource = self._resources.get(ref)
        if resource is not None and (box := self._box(resource)) is not None:
            marks |= set(self.changes(box))
        return sorted(marks)

    def of_charge(self, charge: Charge) -> Who:
        """(owner, team) of a bill row: what the bill's own tags tell, the rest as the resource was known at that time.

        A claim that had been made by then beats the tags, as everywhere.
        """
        ref = self.ref(charge.account, charge.resource_id)
        if ref is not None and not charge.tags:
            return self.at(ref, charge.charge_period_start)
        key = (charge.account, charge.resource_id, tuple(sorted(charge.tags.items())))
        if key not in self._known:
            stand_in = Resource(
                ref or ResourceRef(charge.provider, charge.account, charge.region_id or "-", Kind.RESERVATION, "-"),
                charge.resource_name or "",
                State.UNKNOWN,
                "",
                charge.charge_period_start,
                tags=charge.tags,
            )
            found = with_owner(stand_in, self._owners)
            self._known[key] = (found.owner, found.team)
        owner, team = self._known[key]
        theirs = (None, None) if ref is None else self._own(ref, charge.charge_period_start)
        claim = self._claims.get(ref) if ref is not None else None
        if claim is not None and claim.at <= charge.charge_period_start:
            owner, team = theirs
        return self._with_account(charge.account, (owner or theirs[0], team or theirs[1]))

    def intervals(self, intervals: Iterable[Interval], until: datetime) -> list[Interval]:
        """The intervals with owner and team, cut where these change; open ones are looked at up to ``until``."""
        found: list[Interval] = []
        for interval in intervals:
            end = interval.ended or until
            low = interval.started
            for mark in self.changes(interval.ref):
                if low < mark < end:
                    found.append(self._named(replace(interval, started=low, ended=mark)))
                    low = mark
            found.append(self._named(replace(interval, started=low)))
        return found

    def _named(self, interval: Interval) -> Interval:
        owner, team = self.at(interval.ref, interval.started)
        return replace(interval, owner=owner, team=team, project=self.project(interval.ref, interval.started))

    def _tagged_project(self, ref: ResourceRef, when: datetime) -> str | None:
        found = _project(self.tags(ref, when))
        if found is None and (resource := self._resources.get(ref)) and (box := self._box(resource)) is not None:
            return _project(self.tags(box, when))
        return found

    def _own(self, ref: ResourceRef, when: datetime) -> Who:
        resource = self._resources.get(ref)
        if resource is None:
            return None, None
        past = next((span for span in self._history.get(ref, ()) if when < span[0]), None)
        claim = self._claims.get(ref)
        claimed = claim.owner if claim is not None and claim.at <= when else None
        key = (ref, past[0] if past else None, claimed)
        if key not in self._known:
            then = resource if past is None else replace(resource, tags=past[1])
            found = with_owner(then, self._owners, claimed)
            self._known[key] = (found.owner, found.team)
        owner, team = self._known[key]
        if (owner is None or team is None) and (box := self._box(resource)) is not None:
            theirs = self._own(box, when)
            return owner or theirs[0], team or theirs[1]
        return owner, team

    def _box(self, resource: Resource) -> ResourceRef | None:
        """The box that a disk or address is attached to."""
        if resource.depends_on is None or resource.ref.kind in (Kind.VM, Kind.NOTEBOOK, Kind.JOB, Kind.ENDPOINT):
            return None
        box = self.ref(resource.ref.account, resource.depends_on)
        return box if box != resource.ref else None

    def _with_account(self, account: str, who: Who) -> Who:
        owner, team = self._accounts.get(account, (None, None))
        return who[0] or owner, who[1] or team


def _project(tags: Tags) -> str | None:
    found = folded_tag(tags or {}, PROJECT_TAG)
    return None if found is None else found[1].strip() or None
