"""What a person sees of the fleet: each resource with its activity, its keep and its ladder.

The cycle writes how it saw activity and what an hour costs; commands, API and pages read it from there,
so that all of them say the same.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any

from sqlalchemy import Connection

from costguard.daemon.documents import FleetRow
from costguard.daemon.listing import COMPUTE
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import Decision, GuardCode, Response
from costguard.domain.money import Money
from costguard.domain.resource import Resource, ResourceRef, State
from costguard.domain.snapshot import Snapshot
from costguard.engine.activity import Activity, activity_of
from costguard.engine.ownership import with_owner
from costguard.engine.settings import Owner
from costguard.rules.burn import billed_per_hour
from costguard.rules.currency import Rates
from costguard.store import actions, inventory, kv, levers

_ACTIVITY = "fleet/activity"
_BURN = "fleet/burn"
_NEVER = "fleet/never"
_POINTS = 2_000
_RECENT = timedelta(hours=24)
OFF = "off"
_ENDING = frozenset({State.STOPPING, State.STOPPED})
# The guards' codes of a ladder that only waits for its time.
TIMED = frozenset({GuardCode.OK, GuardCode.NOT_DUE, GuardCode.NOT_WARNED, GuardCode.DRY_RUN, GuardCode.NOT_ARMED})


@dataclass(frozen=True, slots=True)
class Burn:
    """What the fleet costs per hour at ``at``, in the reporting currency, by activity of the box.

    A box that stops, or is off and billed all the same, is idle. ``apart`` are amounts of currencies without a rate.
    """

    at: datetime
    active: Money
    idle: Money
    unknown: Money
    apart: tuple[Money, ...] = ()

    @property
    def total(self) -> Money:
        return self.active + self.idle + self.unknown


def see(snapshot: Snapshot) -> tuple[Mapping[ResourceRef, tuple[str, str]], Burn]:
    """Activity and its reason for every resource that can work, and the burn. Pure."""
    rates = Rates(snapshot.currency, snapshot.exchange_rates)
    seen: dict[ResourceRef, tuple[str, str]] = {}
    sums: dict[str, list[Money]] = {activity.value: [] for activity in Activity}
    for resource in snapshot.resources.values():
        activity = Activity.UNKNOWN.value
        if resource.ref.kind in COMPUTE:
            if resource.state is State.RUNNING:
                found = activity_of(resource, snapshot)
                activity = found.activity.value
                seen[resource.ref] = (activity, found.reason)
            else:
                # What is billed while it stops, or although it is off, does no work. One that starts may soon.
                activity = (Activity.IDLE if resource.state in _ENDING else Activity.UNKNOWN).value
                seen[resource.ref] = (OFF, "")
        elif resource.depends_on:
            # A disk or address works for the box it is attached to.
            activity = Activity.ACTIVE.value
        else:
            activity = Activity.IDLE.value
        if cost := billed_per_hour(resource):
            sums[activity].append(cost)
    totals = {activity: rates.total(amounts, snapshot.now) for activity, amounts in sums.items()}
    apart = tuple(money for found in totals.values() for money in found.apart)
    burn = Burn(snapshot.now, totals["active"].money, totals["idle"].money, totals["unknown"].money, apart)
    return seen, burn


def record(
    conn: Connection,
    seen: Mapping[ResourceRef, tuple[str, str]],
    burn: Burn,
    decisions: Iterable[Decision] = (),
) -> None:
    """Writes what the cycle saw, which ladders a guard will never let act, and one point of the burn each minute."""
    never = {d.action_id: d.verdict.never.value for d in decisions if d.verdict.never is not None}
    kv.put(conn, _NEVER, never, burn.at)
    kv.put(conn, _ACTIVITY, {str(ref): list(what) for ref, what in seen.items()}, burn.at)
    known = kv.get(conn, _BURN)
    points = list(known["points"]) if known else []
    if not points or burn.at.timestamp() - points[-1][0] >= 60:
        points.append([burn.at.timestamp(), burn.active.nanos, burn.idle.nanos, burn.unknown.nanos])
    if len(points) > _POINTS:
        # Old points thin out: every second one of the older half goes.
        half = len(points) // 2
        points = points[:half:2] + points[half:]
    kv.put(conn, _BURN, {"currency": burn.active.currency, "points": points}, burn.at)


def burns(conn: Connection) -> tuple[str, Sequence[Sequence[Any]]]:
    """(currency, [[unix seconds, active, idle, unknown in nanos per hour] …]) oldest first."""
    known = kv.get(conn, _BURN)
    return ("", ()) if known is None else (known["currency"], known["points"])


def fleet(conn: Connection, now: datetime, owners: tuple[Owner, ...]) -> tuple[FleetRow, ...]:
    """Every resource with what is thought of it: those about to be stopped first, then the dearest."""
    seen = kv.get(conn, _ACTIVITY) or {}
    keeps = levers.keeps(conn, now)
    claims = levers.claims(conn)
    known = inventory.resources(conn)
    off = {str(r.ref) for r in known if r.state is not State.RUNNING}
    never = {key: GuardCode(code) for key, code in (kv.get(conn, _NEVER) or {}).items()}
    ladders = _ladders(actions.list_actions(conn, since=now - _RECENT), off, never)
    rows = []
    for stored in known:
        claimed = claims.get(stored.ref)
        resource = with_owner(stored, owners, claimed.owner if claimed else None)
        activity, reason = seen.get(str(resource.ref)) or (_activity_of(resource), "")
        if resource.ref.kind in COMPUTE and resource.state is not State.RUNNING:
            activity, reason = OFF, ""
        action = ladders.get(str(resource.ref))
        barred = never.get(action.id) if action else None
        rows.append(FleetRow(resource, activity, reason, keeps.get(resource.ref), action, barred))
    return tuple(sorted(rows, key=_rank))


def activity(conn: Connection, resource: Resource) -> str:
    """What the last cycle saw a box do: an :class:`Activity`, or :data:`OFF`."""
    if resource.ref.kind in COMPUTE and resource.state is not State.RUNNING:
        return OFF
    seen = (kv.get(conn, _ACTIVITY) or {}).get(str(resource.ref))
    return seen[0] if seen else _activity_of(resource)


def _activity_of(resource: Resource) -> str:
    if resource.ref.kind in COMPUTE:
        return Activity.UNKNOWN.value
    return Activity.ACTIVE.value if resource.depends_on else Activity.IDLE.value


def _ladders(found: Iterable[Action], off: Collection[str], never: Collection[str]) -> Mapping[str, Action]:
    """The ladder that matters most of each subject, the same one until something happens.

    In flight first; of a box that is ``off`` the one that stopped it; then, as the plan chooses, a real one that stops,
    that nothing keeps from it, the mildest, the earliest, by name; of those that ended the newest.
    """
    chosen: dict[str, Action] = {}
    for action in found:
        if action.state in (ActionState.CANCELLED, ActionState.SUPERSEDED):
            continue
        known = chosen.get(action.subject.key)
        if known is None or _order(action, off, never) < _order(known, off, never):
            chosen[action.subject.key] = action
    return chosen


def _order(action: Action, off: Collection[str], never: Collection[str]) -> tuple[bool | int | float | str, ...]:
    stopped = action.state is ActionState.DONE and action.response.ends_billing and action.subject.key in off
    first = (not action.state.in_flight, not stopped, action.state.terminal, not action.response.ends_billing)
    if action.state.terminal:
        return (*first, -action.updated_at.timestamp(), action.id)
    refused = action.code not in TIMED or action.id in never
    due = action.due_at.timestamp() if action.due_at else inf
    return (*first, action.dry_run, refused, action.response is not Response.STOP, due, action.policy, action.id)


def _rank(row: FleetRow) -> tuple[int, int, str]:
    action = row.action
    waiting = action is not None and action.response is not Response.NOTIFY and not action.state.terminal
    order = 0 if waiting else 1
    if row.activity == OFF:
        order = 3
    elif row.resource.ref.kind not in COMPUTE:
        order = 2
    price = row.resource.price.nanos if row.resource.price else 0
    return order, -price, str(row.resource.ref)
