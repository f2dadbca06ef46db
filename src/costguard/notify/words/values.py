"""Values of evidence as short text, the same in every language but for durations and times."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from costguard.domain.money import Money
from costguard.notify.doc import Doc
from costguard.notify.story import clean
from costguard.notify.words.base import Words
from costguard.rules.reasons import METRIC_NAMES, amount

_WHOLE = re.compile(r"\.0(?=\D)")
_RATES = (("GB/s", 1e9), ("MB/s", 1e6), ("KB/s", 1e3))


def signals(seen: Doc) -> list[tuple[str, str, str]]:
    """What showed work, by ``gpu_util_max``, ``gpu_util_below`` and so on: the metric, its highest value, and below
    which it is idle."""
    found = []
    for metric in METRIC_NAMES:
        most, below = seen.get(f"{metric}_max"), seen.get(f"{metric}_below")
        if isinstance(most, int | float) and isinstance(below, int | float):
            found.append((metric, _short(metric, most), _short(metric, below)))
    return found


def _short(metric: str, value: float) -> str:
    return _WHOLE.sub("", amount(metric, value))


class Values:
    """The evidence of one finding, read key by key; a missing or odd value is an empty text."""

    def __init__(self, evidence: Mapping[str, Any], words: Words, now: datetime, zone: ZoneInfo) -> None:
        self.evidence, self.words, self.now, self.zone = evidence, words, now, zone

    def __contains__(self, key: str) -> bool:
        return self.evidence.get(key) not in (None, "", ())

    def number(self, key: str) -> float | None:
        value = self.evidence.get(key)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def plain(self, key: str) -> str:
        """A number without trailing zeros, or the text as it is."""
        value = self.number(key)
        return f"{value:.4g}" if value is not None else clean(self.evidence.get(key) or "")

    def percent(self, key: str) -> str:
        value = self.number(key)
        return f"{value:.1f}".removesuffix(".0") + "%" if value is not None else ""

    def fraction(self, key: str) -> str:
        """A part of one as whole percent; with one digit more where that would read as nothing."""
        value = self.number(key)
        if value is None:
            return ""
        return f"{value:.1%}" if 0 < value < 0.01 else f"{value:.0%}"

    def cores(self, key: str) -> str:
        value = self.number(key)
        return f"{value:.2f}".rstrip("0").rstrip(".") if value is not None else ""

    def rate(self, key: str) -> str:
        """Bytes per second."""
        value = self.number(key)
        if value is None:
            return ""
        for unit, size in _RATES:
            if value >= size:
                return f"{value / size:.1f}".removesuffix(".0") + f" {unit}"
        return f"{value:.0f} B/s"

    def money(self, key: str) -> str:
        value = self.evidence.get(key)
        return self.words.money(value) if isinstance(value, Money) else ""

    def span(self, key: str) -> str:
        value = self.evidence.get(key)
        return self.words.duration(value) if isinstance(value, timedelta) else ""

    def at(self, key: str) -> str:
        value = self.evidence.get(key)
        return self.words.when(value, self.now, self.zone) if isinstance(value, datetime) else ""

    def ago(self, key: str) -> str:
        """How old an instant is."""
        value = self.evidence.get(key)
        return self.words.duration(self.now - value) if isinstance(value, datetime) else ""

    def listed(self, key: str) -> str:
        value = self.evidence.get(key)
        items = value if isinstance(value, tuple) else (value,) if value else ()
        return self.words.list_comma.join(clean(item) for item in items)

    def pairs(self, key: str) -> str:
        """Names with a value each."""
        value = self.evidence.get(key)
        items = [item for item in value if isinstance(item, tuple)] if isinstance(value, tuple) else []
        return self.words.list_comma.join(" ".join(self.show(part) for part in item) for item in items)

    def any(self, key: str) -> str:
        """A value of unknown meaning, readable."""
        return self.show(self.evidence.get(key))

    def show(self, value: Any) -> str:
        match value:
            case None | "" | ():
                return ""
            case bool():
                return str(value).lower()
            case Money():
                return self.words.money(value)
            case datetime():
                return self.words.when(value, self.now, self.zone)
            case timedelta():
                return self.words.duration(value)
            case int() | float() | Decimal():
                return f"{value:.4g}" if isinstance(value, float) else str(value)
            case tuple():
                shown = [self.show(item) for item in value[:6]]
                rest = len(value) - len(shown)
                return self.words.list_comma.join(shown) + (f" +{rest}" if rest else "")
            case Mapping():
                return self.words.list_comma.join(f"{clean(k)} {self.show(v)}" for k, v in list(value.items())[:6])
        return clean(value)
