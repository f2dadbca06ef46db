"""Clock times for people: always with their zone, never with an abbreviation (CST is four zones)."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_BEIJING = frozenset({"Asia/Shanghai", "Asia/Chongqing", "Asia/Harbin", "PRC"})


def is_beijing(zone: ZoneInfo) -> bool:
    """Whether the zone keeps Beijing time by name."""
    return zone.key in _BEIJING


def offset(at: datetime) -> str:
    """``UTC``, ``UTC+8``, ``UTC-3:30`` of an aware local time."""
    span = at.utcoffset() or timedelta(0)
    minutes = int(span.total_seconds() // 60)
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '-'}{hours}{f':{rest:02d}' if rest else ''}"


def minutes_of(span: timedelta) -> int:
    """Whole minutes, rounded to the nearest, never negative."""
    return max(0, round(span.total_seconds() / 60))
