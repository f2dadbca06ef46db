"""Runs: when a box ran, put together from what was recorded, told by its provider, and seen in its samples.

What costguard saw itself counts first; before it first looked, what the provider tells of starts and stops; without
that, a box ran where it has samples.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from costguard.domain.budget import Interval
from costguard.domain.money import Money
from costguard.domain.resource import Resource, State
from costguard.domain.snapshot import PowerEvent
from costguard.engine.history import Run, Track, moment

_SAME = timedelta(minutes=10)
_GAP = timedelta(minutes=30)

Span = tuple[datetime, datetime | None]
Rates = Sequence[tuple[datetime, Money | None]]


def runs_of(
    resource: Resource,
    states: Sequence[Interval],
    events: Sequence[PowerEvent],
    seen: Iterable[tuple[datetime, datetime]] = (),
    prices: Rates = (),
) -> tuple[Run, ...]:
    """The runs of a box in time order.

    ``states`` are its recorded intervals, ``events`` its starts and stops, both in time order; ``seen`` the spans in
    which it has samples. ``prices`` are change points of its price for the time before the records; what was
    recorded beats them.
    """
    recorded = _recorded(states, events)
    first = states[0].started if states else None
    at_first = first is not None and bool(recorded) and recorded[0][0] == first
    earlier, since = _told(resource, [e for e in events if first is None or e.at <= first], first)
    if at_first and first is not None:
        recorded[0] = (_began(resource, since, first), recorded[0][1])
    elif since is not None:
        earlier.append((since, first))
    spans = [*earlier, *recorded]
    if not earlier and since is None:
        spans = _with_seen(seen, spans)
    return tuple(Run(a, b, _rates(resource, a, b, states, prices)) for a, b in spans if b is None or a < b)


def seen_spans(track: Track) -> list[tuple[datetime, datetime]]:
    """The stretches in which a series has samples without a gap of half an hour."""
    spans: list[tuple[datetime, datetime]] = []
    if not track.at:
        return spans
    start = track.at[0]
    for a, b in track.gaps(_GAP):
        spans.append((moment(start - track.period(start)), moment(a)))
        start = b
    spans.append((moment(start - track.period(start)), moment(track.at[-1])))
    return spans


def _recorded(states: Sequence[Interval], events: Sequence[PowerEvent]) -> list[Span]:
    """Running intervals joined where they touch, and cut where a start inside tells of a restart."""
    joined: list[Span] = []
    for interval in states:
        if interval.state is not State.RUNNING:
            continue
        if joined and joined[-1][1] == interval.started:
            joined[-1] = (joined[-1][0], interval.ended)
        else:
            joined.append((interval.started, interval.ended))
    starts = [e.at for e in events if e.what == "start"]
    cut: list[Span] = []
    for begin, end in joined:
        marks = [begin, *(at for at in starts if begin + _SAME < at and (end is None or at < end - _SAME))]
        cut += [*pairwise(marks), (marks[-1], end)]
    return cut


def _told(
    resource: Resource, events: Sequence[PowerEvent], until: datetime | None
) -> tuple[list[Span], datetime | None]:
    """The runs that the events before the records tell of, and the start of one that had not ended by then."""
    spans: list[Span] = []
    begun: datetime | None = None
    for number, event in enumerate(events):
        if event.what == "start":
            if begun is not None:
                spans.append((begun, event.at))
            begun = event.at
        else:
            begun = begun if begun is not None else resource.created_at if number == 0 else None
            if begun is not None:
                spans.append((begun, event.at))
            begun = None
    if begun is None and until is None and not events and resource.state is State.RUNNING:
        begun = resource.started_at
    return spans, begun


def _began(resource: Resource, told: datetime | None, first: datetime) -> datetime:
    """When the run began that was going on at the first look; that look itself when nobody tells."""
    if told is not None:
        return told
    return resource.started_at if resource.started_at is not None and resource.started_at <= first else first


def _with_seen(seen: Iterable[tuple[datetime, datetime]], known: Sequence[Span]) -> list[Span]:
    """The runs, with what samples show of the time before the first; what reaches up to it is the same run."""
    spans: list[Span] = list(known)
    for begin, end in sorted(seen, reverse=True):
        if not spans or end < spans[0][0] - _GAP:
            spans.insert(0, (begin, end))
        elif begin < spans[0][0]:
            spans[0] = (begin, spans[0][1])
    return spans


def _rates(
    resource: Resource, start: datetime, end: datetime | None, states: Sequence[Interval], prices: Rates
) -> tuple[tuple[datetime, Money | None], ...]:
    """What was recorded, and before that what the prices tell."""
    running = [i for i in states if i.state is State.RUNNING and (i.ended is None or i.ended > start)]
    inside = [(i.started, i.per_hour) for i in running if end is None or i.started < end]
    before = inside[0][1] if inside else resource.price
    recorded_from = inside[0][0] if inside else end
    known = [(at, rate) for at, rate in prices if recorded_from is None or at < recorded_from]
    early = [rate for at, rate in known if at <= start]
    points: list[tuple[datetime, Money | None]] = [(start, early[-1] if early else before)]
    points += [(at, rate) for at, rate in known if start < at]
    for at, rate in inside:
        if rate != points[-1][1] and at > points[-1][0]:
            points.append((at, rate))
    return tuple(points)
