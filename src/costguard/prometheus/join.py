"""The join: which box a label's value means. Pure; a value that fits two boxes means neither, is refused, and said."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from costguard.domain.resource import Resource, ResourceRef

To = Literal["any", "id", "name", "private_ip", "hostname"]
_PORT = re.compile(r"^(?:\[(?P<v6>[0-9A-Fa-f:]+)\]|(?P<host>[^:]+)):\d{1,5}$")


@dataclass(frozen=True, slots=True)
class Join:
    """``label`` holds what ``to`` says; ``mapping`` (value → a box's id, name or full ref) beats it."""

    label: str
    to: To = "any"
    mapping: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Joined:
    """``boxes``: the values that mean exactly one box. ``ambiguous``: those that fit several. ``unmatched``: those that
    fit none that runs."""

    boxes: Mapping[str, ResourceRef]
    ambiguous: Mapping[str, tuple[ResourceRef, ...]]
    unmatched: tuple[str, ...]


def join(values: Iterable[str], boxes: Sequence[Resource], how: Join) -> Joined:
    """What each value means among ``boxes`` (those that run)."""
    known: dict[str, set[ResourceRef]] = {}
    named: dict[str, set[ResourceRef]] = {}
    for box in boxes:
        for key in _names(box, how.to):
            known.setdefault(key, set()).add(box.ref)
        for key in (box.ref.id, box.name, str(box.ref)):
            named.setdefault(key, set()).add(box.ref)
    found: dict[str, ResourceRef] = {}
    ambiguous: dict[str, tuple[ResourceRef, ...]] = {}
    unmatched: list[str] = []
    for value in sorted(set(values)):
        if value in how.mapping:
            refs = named.get(how.mapping[value], set())
        else:
            refs = known.get(value, set()) | known.get(_host(value), set())
        if len(refs) > 1:
            ambiguous[value] = tuple(sorted(refs))
        elif refs:
            found[value] = next(iter(refs))
        else:
            unmatched.append(value)
    return Joined(found, ambiguous, tuple(unmatched))


def values_of(box: Resource, how: Join) -> frozenset[str]:
    """Every value, without a port, that may mean this box."""
    mapped = {value for value, name in how.mapping.items() if name in (box.ref.id, box.name, str(box.ref))}
    return frozenset(mapped | (_names(box, how.to) - how.mapping.keys()))


def matcher(values: Collection[str], how: Join) -> str:
    """A PromQL matcher of the label for these values, each with or without a port; for no values: any value at all."""
    if not values:
        return f'{how.label}!=""'
    # The port is outside of what is escaped; a bracketed IPv6 address may stand before it.
    either = "|".join(_escaped(value) for value in sorted(values))
    text = rf"\[?({either})\]?(:[0-9]+)?".replace("\\", "\\\\").replace('"', '\\"')
    return f'{how.label}=~"{text}"'


def _names(box: Resource, to: To) -> set[str]:
    facts = box.attributes
    found = {
        "id": {box.ref.id},
        "name": {box.name},
        "private_ip": set(facts.get("private_ip", "").split(",")),
        "hostname": set(facts.get("hostname", "").split(",")),
    }
    chosen = found.values() if to == "any" else (found[to],)
    return {name for names in chosen for name in names if name}


def _host(value: str) -> str:
    """``10.0.0.5:9400`` is the target of a scrape; its host is what a box is called."""
    match = _PORT.match(value)
    return (match["v6"] or match["host"]) if match else value


def _escaped(text: str) -> str:
    """For RE2, which takes fewer escapes than Python's own."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)
