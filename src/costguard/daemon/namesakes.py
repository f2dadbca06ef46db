"""One box under two names of its account: what people said of it under one holds under the other.

An account that got another name in the configuration has the same boxes as before, and so have two entries for one
account of a provider. A promise that were lost on the way would end in a stop against it.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from costguard.domain.resource import Kind, ResourceRef

T = TypeVar("T")
Place = tuple[str, str, Kind, str]


@dataclass(frozen=True, slots=True)
class Namesakes:
    """``known`` are the boxes that there are, ``ids`` the configured accounts and their provider's id for them (None:
    it is not configured)."""

    known: frozenset[ResourceRef]
    ids: Mapping[str, str | None]

    def spread(self, said: Mapping[ResourceRef, T], rank: Callable[[T], Any]) -> Mapping[ResourceRef, T]:
        """What was said of boxes, also under their other names; of two words for one box the higher in ``rank``."""
        if not said.keys() - self.known and not self._twice:
            return said
        by_place: dict[Place, list[ResourceRef]] = defaultdict(list)
        for ref in self.known:
            by_place[_place(ref)].append(ref)
        found = dict(said)
        for ref, word in said.items():
            for other in by_place.get(_place(ref), ()):
                if self._same(ref.account, other.account):
                    found[other] = max(found.get(other, word), word, key=rank)
        return found

    @property
    def _twice(self) -> bool:
        told = [id for id in self.ids.values() if id is not None]
        return len(told) > len(set(told))

    def _same(self, said: str, there: str) -> bool:
        """Whether the account in which it was said may be that one: it is no longer configured, or has the same id."""
        return said not in self.ids or (self.ids[said] is not None and self.ids[said] == self.ids[there])


def _place(ref: ResourceRef) -> Place:
    return ref.provider, ref.region, ref.kind, ref.id
