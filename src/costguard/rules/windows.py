"""Windows: what usage windows prove about a metric, and what they do not.

Three answers: BUSY (some sample reached the threshold), QUIET (proven below it for the whole window) and
UNKNOWN. A source is judged on its own and sources are never mixed into one series; any source that
saw work wins. Nothing arriving is UNKNOWN, never zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from costguard.domain.resource import ResourceRef
from costguard.domain.snapshot import Snapshot
from costguard.domain.usage import Metric, Statistic, UsageWindow, WindowSpec, is_facet


class Proof(StrEnum):
    BUSY = "busy"
    QUIET = "quiet"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reading:
    """What all windows of one metric say. ``reason`` is a stable code for BUSY and UNKNOWN.

    For a metric of cards: of ``cards`` at least ``busy`` were seen at work and at least ``quiet`` are proven
    quiet; the rest is unknown. ``windows`` are those of the source that the answer rests on.
    """

    proof: Proof
    reason: str
    windows: tuple[UsageWindow, ...] = ()
    source: str = ""
    cards: int = 0
    busy: int = 0
    quiet: int = 0

    @property
    def max(self) -> float | None:
        return max((w.max for w in self.windows), default=None)

    @property
    def mean(self) -> float | None:
        return sum(w.mean for w in self.windows) / len(self.windows) if self.windows else None

    @property
    def last_at(self) -> datetime | None:
        return max((w.last_at for w in self.windows), default=None)


def windows_of(snapshot: Snapshot, ref: ResourceRef, spec: WindowSpec) -> tuple[UsageWindow, ...]:
    """The windows of every series of a spec; none is an empty tuple.

    Of a box with a card that is cut into slices (MIG), zeros of whole cards are no measurement: they read 0 whatever
    the slices do. Slices are told of by a second way of measuring alone.
    """
    by_spec = snapshot.usage.get(ref)
    windows = by_spec.get(spec, ()) if by_spec is not None else ()
    if ref in snapshot.cut and spec.metric is Metric.GPU_UTIL:
        return tuple(w for w in windows if w.max > 0 or is_facet(w.series.source))
    return windows


def gap_of(window: UsageWindow, length: timedelta, coverage: float) -> str:
    """Why a window cannot prove quiet: a stable code, empty when it can.

    ``coverage`` is the percentage of the expected samples that must be there. The newest sample may be two
    periods old at the end of the window, which already lies the metric's own delay in the past.
    """
    if window.samples <= 0:
        return "no_samples"
    if window.end - window.start < length:
        return "short_window"
    if window.end - window.last_at > 2 * window.period:
        return "stale_samples"
    if window.samples * 100 < coverage * window.expected or window.expected <= 0:
        return "low_coverage"
    return ""


def _one(window: UsageWindow, threshold: float, length: timedelta, coverage: float) -> tuple[Proof, str]:
    """One series against a threshold. A mean over n cards proves quiet only below threshold / n."""
    series = window.series
    if window.max >= threshold:
        return Proof.BUSY, "busy"
    if gap := gap_of(window, length, coverage):
        return Proof.UNKNOWN, gap
    if not series.cards:
        return Proof.UNKNOWN, "partial_samples" if series.gpu_index is None else "card_without_samples"
    if series.cards > 1 and series.statistic is Statistic.MEAN and window.max >= threshold / series.cards:
        return Proof.UNKNOWN, "mean_over_cards"
    return Proof.QUIET, ""


def read_box(windows: Sequence[UsageWindow], threshold: float, length: timedelta, coverage: float) -> Reading:
    """A metric of the whole box (CPU, network, disk): every series of a source must be quiet.

    What tells of a part of it may show work; beside a series that tells of all of it, it says nothing else.
    """
    best: Reading | None = None
    for source, group in _by_source(windows):
        proof, reason = Proof.QUIET, ""
        whole = any(window.series.cards for window in group)
        for window in group:
            one, why = _one(window, threshold, length, coverage)
            if one is Proof.BUSY:
                return Reading(one, why, group, source)
            if one is Proof.UNKNOWN and (window.series.cards or not whole):
                proof, reason = one, reason or why
        if best is None or (best.proof is Proof.UNKNOWN and proof is Proof.QUIET):
            best = Reading(proof, reason, group, source)
    return best or Reading(Proof.UNKNOWN, "no_samples")


def read_cards(
    windows: Sequence[UsageWindow], cards: int | None, threshold: float, length: timedelta, coverage: float
) -> Reading:
    """A metric of cards. ``cards`` is how many the box has; None (not known) never proves quiet.

    Each card needs a series of its own in one source, or one series that covers all of them. Work that
    any source saw counts, whatever the others say.
    """
    groups = _by_source(windows)
    # A source that tells of more cards than the box should have is believed, whatever the others tell of.
    count = max(cards or 1, *(len(_indexes(group)) for _, group in groups), 1)
    told = [_source_cards(source, group, count, threshold, length, coverage) for source, group in groups]
    if not told:
        # One card at least: of no cards at all it could be said that each of them is quiet.
        return Reading(Proof.UNKNOWN, "cards_unknown" if cards is None else "no_samples", cards=cards or 1)
    at_work = frozenset[int]().union(*(one.busy for one in told))
    busy = max(len(at_work), *(one.seen_busy for one in told))
    best = max(told, key=lambda one: one.rest(at_work, count - busy))
    quiet = best.rest(at_work, count - busy)
    if busy:
        loudest = max(told, key=lambda one: one.seen_busy)
        return Reading(Proof.BUSY, "busy", loudest.windows, loudest.source, count, busy, quiet)
    if cards is None:
        return Reading(Proof.UNKNOWN, "cards_unknown", told[0].windows, told[0].source, count)
    if quiet < count:
        reason = best.reason or "card_without_samples"
        return Reading(Proof.UNKNOWN, reason, best.windows, best.source, count, 0, quiet)
    return Reading(Proof.QUIET, "", best.windows, best.source, count, 0, quiet)


@dataclass(frozen=True, slots=True)
class _Told:
    """What one source says: which cards work and which rest, whether a series over all of them does, and why not.

    ``reason``: the first thing that keeps a series of it from proving rest.
    """

    source: str
    windows: tuple[UsageWindow, ...]
    busy: frozenset[int]
    quiet: frozenset[int]
    box_busy: bool
    box_quiet: bool
    reason: str

    @property
    def seen_busy(self) -> int:
        """How many cards work at least."""
        return max(len(self.busy), self.box_busy)

    def rest(self, at_work: frozenset[int], most: int) -> int:
        """How many cards it proves quiet, but for those ``at_work`` by any source; ``most`` can be."""
        return most if self.box_quiet else min(len(self.quiet - at_work), most)


def cards_of(
    snapshot: Snapshot, ref: ResourceRef, spec: WindowSpec, cards: int | None, threshold: float, coverage: float
) -> Reading:
    """What the windows of a metric of cards say of one box."""
    reading = read_cards(windows_of(snapshot, ref, spec), cards, threshold, spec.length, coverage)
    if reading.proof is Proof.UNKNOWN and ref in snapshot.cut and spec.metric is Metric.GPU_UTIL:
        return replace(reading, reason="cut")
    return reading


def _source_cards(
    source: str, group: tuple[UsageWindow, ...], count: int, threshold: float, length: timedelta, coverage: float
) -> _Told:
    """One source: its series per card, and its series that cover several cards at once."""
    states: dict[int, Proof] = {}
    reason = ""
    box_quiet = box_busy = False
    for window in group:
        proof, why = _one(window, threshold, length, coverage)
        index = window.series.gpu_index
        if proof is Proof.UNKNOWN:
            reason = reason or why
        if index is not None:
            states[index] = _stronger(states.get(index), proof)
        elif proof is Proof.BUSY:
            box_busy = True
        elif proof is Proof.QUIET and window.series.cards >= count:
            box_quiet = True
    busy, quiet = (frozenset(i for i, p in states.items() if p is wanted) for wanted in (Proof.BUSY, Proof.QUIET))
    return _Told(source, group, busy, quiet, box_busy, box_quiet, reason)


def _indexes(group: Sequence[UsageWindow]) -> set[int]:
    return {window.series.gpu_index for window in group if window.series.gpu_index is not None}


def _stronger(known: Proof | None, new: Proof) -> Proof:
    """Of two series of one card (a maximum and a mean): work seen by one counts, so does proof by one."""
    for proof in (Proof.BUSY, Proof.QUIET):
        if proof in (known, new):
            return proof
    return Proof.UNKNOWN


def _by_source(windows: Sequence[UsageWindow]) -> list[tuple[str, tuple[UsageWindow, ...]]]:
    """Grouped by source, in the order of the names, so that the order of arrival changes nothing."""
    if not windows:
        return []
    first = windows[0].series.source
    if all(w.series.source == first for w in windows):
        return [(first, tuple(windows))]
    groups: dict[str, list[UsageWindow]] = {}
    for window in windows:
        groups.setdefault(window.series.source, []).append(window)
    return [(source, tuple(groups[source])) for source in sorted(groups)]
