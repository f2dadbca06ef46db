"""People: the levers that the scenario's people pull in costguard itself (keep, claim), for whoever plays them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from costguard.domain.resource import Kind
from costguard_simulated.world import World

_DEFAULT_KEEP = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Lever:
    """At ``at`` ``who`` does keep or claim on a machine. ``lasts``: how long a keep holds."""

    at: datetime
    who: str
    do: str
    cloud: str
    region: str
    kind: Kind
    resource_id: str
    resource_name: str
    lasts: timedelta
    reason: str


def due_levers(world: World, since: datetime, until: datetime) -> Sequence[Lever]:
    """The levers with since < at ≤ until (aware UTC), in time order."""
    found: list[Lever] = []
    for act in world.scenario.people:
        if act.do not in ("keep", "claim") or act.at is None:
            continue
        at = world.start + act.at
        if since < at <= until:
            machine = world.named(act.machine)
            found.append(
                Lever(
                    at,
                    act.who,
                    act.do,
                    machine.cloud,
                    machine.region,
                    machine.kind,
                    machine.id,
                    machine.name,
                    act.lasts or _DEFAULT_KEEP,
                    act.reason,
                )
            )
    return sorted(found, key=lambda lever: lever.at)
