"""Samples: what a replay reads, in pieces of time whose samples fit into little memory, whatever their period."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

from sqlalchemy import Connection

from costguard.domain.usage import Series
from costguard.engine.history import Piece, Track
from costguard.store import usage

_PIECE = 1_000_000  # samples
_FINE = timedelta(minutes=1)
_LEAST, _LONGEST = timedelta(hours=2), timedelta(days=7)


def pieces(
    conn: Connection, known: Mapping[int, Series], until: datetime, progress: Callable[[str], None], low: datetime
) -> Iterator[Piece]:
    """The samples of these series (by their numbers) with ``low`` < at ≤ ``until``; ``progress`` hears of each date.

    The first piece is cut as if there were a sample each minute; what one held tells how long the next one is.
    """
    length = _bounded(_FINE * (_PIECE // max(1, len(known))))
    while low < until:
        high, read = min(low + length, until), 0
        progress(f"{low:%Y-%m-%d}")

        def counted(tracks: Iterator[Track]) -> Iterator[Track]:
            nonlocal read
            for track in tracks:
                read += len(track.at)
                yield track

        yield high, counted(usage.tracks(conn, known, low, high))
        length = _bounded((high - low) * (_PIECE / read)) if read else _LONGEST
        low = high


def _bounded(length: timedelta) -> timedelta:
    return min(max(length, _LEAST), _LONGEST)
