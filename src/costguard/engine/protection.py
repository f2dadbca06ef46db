"""Protection: what people said must stay. Every doubt protects.

Reserved tags are compared folded (no case, spaces, ``-`` ``_`` ``:`` alike); the raw tag is always shown.
"""

import re
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime, timedelta
from datetime import time as clock_time
from zoneinfo import ZoneInfo

from costguard.domain.resource import Resource
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import utc
from costguard.engine.activity import Activity, activity_of
from costguard.rules.fields import parse_zone
from costguard.rules.globs import folded

_KEEP = frozenset({"costguard_keep", "costguard_exempt"})
_UNTIL = "costguard_keep_until"
_PLAIN = "costguard"
_YES = frozenset({"keep", "kept", "exempt", "true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})
# The value that deploy/iam ties the right to stop to: it asks to be looked after, not to be left alone.
_MANAGED = "managed"
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:(?:[Tt]|\s+)([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?\s*(Z|z|UTC|[+-][0-9]{2}:?[0-9]{2}|[A-Za-z_]+/[A-Za-z_/+-]+)?)?"
)


@dataclass(frozen=True, slots=True)
class Protection:
    """Why a resource must stay. ``malformed``: the tag could not be read, so its owner must be told.

    ``until`` is when it ends (aware UTC), None for one without a known end. ``raw`` is the tag as written.
    """

    why: str
    until: datetime | None = None
    raw: str = ""
    malformed: bool = False


def parse_until(text: str, zone: ZoneInfo) -> datetime | None:
    """The instant of a ``keep-until`` tag (aware UTC). A date alone is the end of that day; no zone is ``zone``.

    None: for ever, which is what people mean by the calendar's last year. Raises ValueError for anything else: other
    words, impossible dates, zone abbreviations (CST is four zones), digits that are not ASCII.
    """
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise ValueError(f"not a time: {text!r}")
    year, month, day, hour, minute, second, where = match.groups()
    date = datetime(int(year), int(month), int(day), tzinfo=UTC).date()
    if date.year == MAXYEAR:
        return None
    if hour is None:
        local = datetime.combine(date + timedelta(days=1), clock_time(), tzinfo=zone)
    else:
        wall = clock_time(int(hour), int(minute), int(second or 0))
        local = datetime.combine(date, wall, tzinfo=_zone(where, zone))
    # A wall clock time that occurs twice means the later one: a doubt keeps longer.
    return max(utc(local), utc(local.replace(fold=1)))


def _zone(where: str | None, default: ZoneInfo) -> ZoneInfo | None:
    if where is None:
        return default
    if where in ("Z", "z", "UTC"):
        return ZoneInfo("UTC")
    if where[0] in "+-":
        return datetime.strptime(where, "%z").tzinfo  # type: ignore[return-value]
    return parse_zone(where)


def protection_of(resource: Resource, snapshot: Snapshot, *, use_windows: bool = True) -> Protection | None:
    """The first thing that protects the resource, None if nothing does.

    ``use_windows`` False leaves out the question whether an ``until_idle`` keep has ended.
    """
    if resource.tags is None:
        return Protection("its tags cannot be read")
    for key in sorted(resource.tags):
        if found := _tag(key, resource.tags[key], snapshot):
            return found
    keep = snapshot.keeps.get(resource.ref)
    if keep is not None and keep.until > snapshot.now and not (use_windows and keep_ended(resource, snapshot)):
        return Protection(f"kept by {keep.by}: {keep.reason}", keep.until)
    if resource.protected is not None:
        return Protection(f"protected at the provider: {resource.protected}")
    return None


def keep_ended(resource: Resource, snapshot: Snapshot) -> bool:
    """Whether a keep ``until_idle`` has ended: the box was idle for a whole window after the promise."""
    keep = snapshot.keeps.get(resource.ref)
    if keep is None or not keep.until_idle:
        return False
    seen = activity_of(resource, snapshot)
    return seen.activity is Activity.IDLE and seen.since is not None and seen.since >= keep.at


def promise_ended(resource: Resource, snapshot: Snapshot) -> datetime | None:
    """When what a keep tag, or a keep ``until_idle``, promised came to its end; None without one that has.

    Of a keep that fell idle the beginning is known, and does as well: no ladder from before it goes on.
    """
    ends = [snapshot.keeps[resource.ref].at] if keep_ended(resource, snapshot) else []
    for key, value in (resource.tags or {}).items():
        if folded(key) == _UNTIL:
            try:
                until = parse_until(value, ZoneInfo(snapshot.timezone))
            except ValueError:
                # It keeps, and its owner is told.
                continue
            ends += [until] if until is not None else []
    return max((at for at in ends if at <= snapshot.now), default=None)


def _tag(key: str, value: str, snapshot: Snapshot) -> Protection | None:
    name, said, raw = folded(key), folded(value), f"{key}={value}"
    if name == _UNTIL:
        try:
            until = parse_until(value, ZoneInfo(snapshot.timezone))
        except ValueError:
            return Protection(f"the tag {raw} cannot be read, so it keeps", None, raw, malformed=True)
        return Protection(f"the tag {raw}", until, raw) if until is None or until > snapshot.now else None
    if name in _KEEP:
        # The key alone says it; only a plain no takes it back.
        return None if said in _NO else Protection(f"the tag {raw}", None, raw)
    if name == _PLAIN and said not in _NO and said != _MANAGED:
        if said in _YES:
            return Protection(f"the tag {raw}", None, raw)
        return Protection(f"the tag {raw} cannot be read, so it keeps", None, raw, malformed=True)
    return None
