"""Reading: a profile's queries over a span, for all boxes at once, as samples of the boxes that they belong to.

One query for each metric, whatever the number of boxes. Points lie on whole steps of Unix time, so that reading a span
again gives the same samples; the step that is under way is read as far as it has come, and again when it is over. A box
of which two machines tell at once (two cards with one number, two hosts with one label value) is refused as a whole:
whose use it is cannot be known.
"""

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from costguard.domain.resource import Resource, ResourceRef
from costguard.domain.usage import MONITOR, Series, UsageSample
from costguard.prometheus.client import Line, Prometheus
from costguard.prometheus.join import Join, join, matcher, values_of
from costguard.prometheus.profiles import Expression, Profile, Query, Selection, peak

# Two cards may share one number for a moment when a machine is replaced, never for two points.
_SHARED = 2
# A gauge may be read a little above its end.
_SLACK = 1.02
_NAMED = 3
# A slice that was told of within this time is still there: whoever takes one apart is believed a day later.
_SLICES = timedelta(days=1)

Card = tuple[ResourceRef, int | None]
Part = tuple[str, str]
"""A slice: its physical card, and its own number on it."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one read gave. ``matched``: boxes with at least one series. ``ambiguous``: why a box is refused, a sentence.
    ``unmatched``: label values that fit no running box. ``notes``: what is wrong with a part of the answer;
    ``partial``: a part of it may be missing, so that it shows work and proves no rest. ``cut``: boxes with a card that
    is cut into slices."""

    samples: tuple[UsageSample, ...] = ()
    matched: frozenset[ResourceRef] = frozenset()
    ambiguous: Mapping[ResourceRef, str] = field(default_factory=dict)
    unmatched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cut: frozenset[ResourceRef] = frozenset()
    partial: bool = False


@dataclass(frozen=True, slots=True)
class _Placed:
    """A series of an answer with the box and the card (None: the whole box) that it speaks of; ``slice`` is the number
    of the part of the card, empty for a whole one."""

    line: Line
    ref: ResourceRef
    card: int | None
    unit: str
    slice: str


@dataclass(frozen=True, slots=True)
class Reader:
    """One configured source. ``where`` are further label matchers that every series must fit."""

    name: str
    api: Prometheus
    profile: Profile
    how: Join
    step: timedelta
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def asks(self) -> str:
        """Whom it asks for which boxes, as one short word: with another one, the same label may mean another box."""
        where = urlsplit(self.api.endpoint.url)
        how = [self.how.label, self.how.to, sorted(self.how.mapping.items()), sorted(self.where.items())]
        told = json.dumps([where.scheme, where.hostname, where.port, where.path, *how])
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def read(
        self, boxes: Sequence[Resource], since: datetime, until: datetime, only: Collection[Resource] = ()
    ) -> Found:
        """The steps from the one in which ``since`` lies to that of ``until``, of ``boxes``, which are all that run;
        ``only``: of these alone.

        Raises ProviderError when any of the queries fails: half of what a rule asks for is worse than none.
        """
        start = floor(since, self.step) + self.step
        end = ceil(until, self.step)
        if start > end:
            return Found()
        values = {value for box in only for value in values_of(box, self.how)}
        if only and not values:
            return Found()
        notes: list[str] = []
        ask = _Asker(self, start, end, matcher(values, self.how), notes)
        answers = [(query, ask(query.expression)) for query in self.profile.queries]
        numbers = _numbers(ask(peak(self.profile.numbers)), self) if self.profile.numbers else {}
        cut = [line for line in ask(peak(self.profile.mig_mode)) if _is_on(line)] if self.profile.mig_mode else []
        before = [(query, ask.slices(query.slices)) for query in self.profile.queries if query.slices]
        # What is missing may be half of a sum, or the one card at work.
        partial = bool(notes)
        every = {line.labels.get(self.how.label, "") for _, lines in answers for line in lines}
        joined = join((value for value in every if value), boxes, self.how)
        placed = [(q, list(self._place(lines, joined.boxes, numbers, notes))) for q, lines in answers]
        whole = list(self._place(cut, joined.boxes, numbers, notes))
        known = {q: list(self._place(lines, joined.boxes, numbers, notes)) for q, lines in before}
        told = [p for found in (*(found for _, found in placed), *known.values()) for p in found]
        sliced = {(p.ref, p.card) for p in told if p.slice} | {(p.ref, p.card) for p in whole}
        begun = {box.ref: box.started_at for box in boxes}
        ambiguous = {
            ref: f"{self.how.label}={value!r} fits {len(refs)} boxes: {', '.join(r.id for r in refs[:_NAMED])}"
            for value, refs in joined.ambiguous.items()
            for ref in refs
        }
        series: dict[Series, dict[datetime, float]] = {}
        for query, found in placed:
            for (ref, card), lines in _by_card(found).items():
                clash = _clash(lines, begun[ref])
                if clash:
                    ambiguous.setdefault(ref, self._two(card, clash))
                dead = query.blind_under_mig and (ref, card) in sliced
                values_at, parts = self._values(query, lines, begun[ref], dead, notes)
                partly = values_at if query.partial or partial else {}
                if query in known and not partial:
                    there = {(p.unit, p.slice) for p in known[query] if (p.ref, p.card) == (ref, card)}
                    if partly := {at: values_at[at] for at in _unseen(parts, there, values_at)}:
                        notes.append(f"not every slice of card {card} of {ref.id} is told of")
                wholly = {at: value for at, value in values_at.items() if at not in partly}
                for cards, points in ((1, wholly), (0, partly)):
                    if points:
                        series[self._series(query, ref, card, cards)] = points
        samples = tuple(
            UsageSample(one, at, value, self.step)
            for one, points in series.items()
            if one.ref not in ambiguous
            for at, value in sorted(points.items())
        )
        matched = frozenset(p.ref for _, found in placed for p in found) - ambiguous.keys()
        return Found(
            samples, matched, ambiguous, joined.unmatched, tuple(dict.fromkeys(notes)),
            frozenset(r for r, _ in sliced), partial,
        )  # fmt: skip

    def _place(
        self, lines: Iterable[Line], boxes: Mapping[str, ResourceRef], numbers: Mapping[tuple[str, str], int],
        notes: list[str],
    ) -> Iterator[_Placed]:  # fmt: skip
        profile = self.profile
        for line in lines:
            value = line.labels.get(self.how.label, "")
            ref = boxes.get(value)
            if ref is None:
                continue
            unit = line.labels.get(profile.unit, "") if profile.unit else ""
            card: int | None = None
            if profile.of_cards:
                found = numbers.get((value, unit)) if profile.card is None else _digits(line.labels.get(profile.card))
                if found is None:
                    notes.append(f"a series of {value} does not tell the number of its card")
                    continue
                card = found
            yield _Placed(
                line, ref, card, unit or f"{value} {line.labels.get('instance', '')}",
                line.labels.get(profile.slice, "") if profile.slice else "",
            )  # fmt: skip

    def _values(
        self, query: Query, lines: Iterable[_Placed], begun: datetime | None, dead: bool, notes: list[str]
    ) -> tuple[dict[datetime, float], dict[Part, set[datetime]]]:
        """The highest of what all series of one card say at each point, in our unit, since the box began; and when each
        of its slices was told of."""
        found: dict[datetime, float] = {}
        parts: dict[Part, set[datetime]] = {}
        for placed in lines:
            told = parts.setdefault((placed.unit, placed.slice), set()) if placed.slice else set[datetime]()
            for at, raw in placed.line.points:
                value = raw * query.scale
                if begun is not None and at <= begun:
                    continue
                if value < 0 or (query.top is not None and value > query.top * _SLACK):
                    notes.append(
                        f"{query.metric.value} of {placed.ref.id} was {value:g}: no measurement, or not this profile"
                    )
                elif value or not dead:
                    value = value if query.top is None else min(value, query.top)
                    found[at] = max(value, found.get(at, value))
                    told.add(at)
        return found, parts

    def _series(self, query: Query, ref: ResourceRef, card: int | None, cards: int) -> Series:
        source = f"{MONITOR}{self.name}" + (f"/{query.facet}" if query.facet else "")
        return Series(ref, query.metric, card, source, query.statistic, cards)

    def _two(self, card: int | None, units: Sequence[str]) -> str:
        what = "machines" if card is None else f"cards with the number {card}"
        return f"two {what} tell of it at once: {', '.join(units[:_NAMED])}"


@dataclass(frozen=True, slots=True)
class _Asker:
    """Asks expressions over one span, and keeps what the server warned of."""

    reader: Reader
    start: datetime
    end: datetime
    matched: str
    notes: list[str]

    def __call__(self, expression: Expression) -> tuple[Line, ...]:
        return self._lines(expression, self.reader.step, (), self.end)

    def slices(self, name: str) -> tuple[Line, ...]:
        """Which slices were told of before the span."""
        cut = (f'{self.reader.profile.slice}!=""',)
        return self._lines(peak(name), _SLICES, cut, self.start)

    def _lines(
        self, expression: Expression, over: timedelta, matchers: tuple[str, ...], end: datetime
    ) -> tuple[Line, ...]:
        reader, profile = self.reader, self.reader.profile
        labels = dict.fromkeys(
            filter(None, (reader.how.label, "instance", profile.card, profile.unit, profile.slice))
        )  # fmt: skip
        where = [f'{label}="{_quoted(value)}"' for label, value in sorted(reader.where.items())]
        matched = ", ".join([self.matched, *where, *matchers])
        asked = Selection(tuple(labels), matched, int(over.total_seconds()))
        answer = reader.api.range(expression(asked), self.start, end, reader.step)
        self.notes.extend(f"a part may be missing: {warning}" for warning in answer.warnings)
        return answer.lines


def floor(at: datetime, step: timedelta) -> datetime:
    """The last whole step of Unix time at or before ``at``."""
    seconds = int(step.total_seconds())
    whole = math.floor(at.timestamp()) // seconds * seconds
    return datetime.fromtimestamp(whole, at.tzinfo)


def ceil(at: datetime, step: timedelta) -> datetime:
    """The first whole step of Unix time at or after ``at``."""
    low = floor(at, step)
    return low if low == at else low + step


def _numbers(lines: Iterable[Line], reader: Reader) -> dict[tuple[str, str], int]:
    """(label value, card) → the number that the exporter gives the card."""
    unit = reader.profile.unit or ""
    return {
        (line.labels.get(reader.how.label, ""), line.labels.get(unit, "")): int(line.points[-1][1])
        for line in lines
        if line.points
    }


def _by_card(found: Iterable[_Placed]) -> dict[Card, list[_Placed]]:
    groups: dict[Card, list[_Placed]] = {}
    for placed in found:
        groups.setdefault((placed.ref, placed.card), []).append(placed)
    return groups


def _unseen(
    parts: Mapping[Part, Collection[datetime]], known: Collection[Part], times: Collection[datetime]
) -> set[datetime]:
    """At which of ``times`` some slice is not told of that was there before. Slices of a card that is no longer told of
    at all went with it."""
    units = {unit for unit, _ in parts}
    gone = {part for part in known if part not in parts and part[0] in units}
    missing = set(times) if gone else set[datetime]()
    for part, told in parts.items():
        begun = min(told, default=None)
        missing |= {at for at in times if at not in told and (part in known or (begun is not None and begun < at))}
    return missing


def _clash(lines: Iterable[_Placed], begun: datetime | None) -> list[str]:
    """The units that speak as one card at the same time; empty when at most one does."""
    times: dict[str, set[datetime]] = {}
    for placed in lines:
        at = {at for at, _ in placed.line.points if begun is None or at > begun}
        times.setdefault(placed.unit, set()).update(at)
    units = sorted(times)
    return [
        unit for unit in units if any(other != unit and len(times[unit] & times[other]) >= _SHARED for other in units)
    ]


def _is_on(line: Line) -> bool:
    return any(value == 1 for _, value in line.points)


def _digits(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
