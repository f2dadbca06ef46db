"""The part of PromQL that costguard speaks, evaluated as Prometheus' documentation says; all else is refused.

Selectors with matchers and ranges, ``max|min|sum by (…)``, ``max_over_time``, ``min_over_time``, ``count_over_time``,
``rate``, ``time()``, arithmetic, ``and``, numbers. Ranges are left-open as from Prometheus 3. An instant selector looks
back five minutes, unless a stale marker says that the target is gone.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import TypeAlias

LOOKBACK = 300.0
Labels: TypeAlias = frozenset[tuple[str, str]]
Vector: TypeAlias = dict[Labels, float]
STALE = object()
"""Put as a value: the target went away."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<duration>\d+(?:ms|s|m|h|d))|(?P<number>\d+(?:\.\d+)?)|(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"""
    r"""|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<op>=~|!~|!=|[-+*/=(){}\[\],]))"""
)
_ESCAPES = {"\\": "\\", '"': '"', "n": "\n", "t": "\t"}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# RE2 refuses to escape what has no special meaning but letters, digits and space; Python's re does not.
_BAD_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\([ a-zA-Z0-9])")
_OVER_TIME: Mapping[str, Callable[[list[float]], float]] = {
    "max_over_time": max, "min_over_time": min, "count_over_time": len,
}  # fmt: skip
_FOLD: Mapping[str, Callable[[list[float]], float]] = {"max": max, "min": min, "sum": sum}


class BadQuery(Exception):
    """What Prometheus answers with 400 bad_data."""


class CannotExecute(Exception):
    """What Prometheus answers with 422 execution."""


@dataclass
class Stored:
    """One time series: its labels, the name as ``__name__``, and its samples (Unix seconds) in time order."""

    labels: Mapping[str, str]
    samples: list[tuple[float, object]] = field(default_factory=list)


@dataclass(frozen=True)
class _Selector:
    name: str
    matchers: tuple[tuple[str, str, str], ...]
    range: float | None

    def fits(self, labels: Mapping[str, str]) -> bool:
        if labels["__name__"] != self.name:
            return False
        for label, op, text in self.matchers:
            value = labels.get(label, "")
            same = value == text if op in ("=", "!=") else re.fullmatch(text, value) is not None
            if same is op.startswith("!"):
                return False
        return True


class Query:
    """A parsed expression. Raises BadQuery for what Prometheus, or this part of it, does not know."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._run = self._and()
        if self._at != len(self._tokens):
            raise BadQuery(f"parse error: unexpected {self._tokens[self._at][1]!r}")

    def at(self, store: Iterable[Stored], now: float) -> Vector | float:
        """The value at one moment. Raises CannotExecute."""
        return self._run(list(store), now)

    # The grammar, the loosest first. Each rule gives a function of (store, now).

    def _and(self):
        left = self._sum()
        while self._take("name", "and"):
            left = _both(left, self._sum())
        return left

    def _sum(self):
        left = self._product()
        while op := self._take("op", "+", "-"):
            left = _arithmetic(op, left, self._product())
        return left

    def _product(self):
        left = self._one()
        while op := self._take("op", "*", "/"):
            left = _arithmetic(op, left, self._one())
        return left

    def _one(self):
        if number := self._take("number"):
            return lambda store, now: float(number)
        if self._take("op", "("):
            inner = self._and()
            self._need("op", ")")
            return inner
        name = self._need("name")
        if name in _FOLD:
            return self._aggregate(name)
        if self._peek("op", "("):
            return self._call(name)
        selector = self._selector(name)
        if selector.range is not None:
            raise BadQuery("invalid expression type: range vector")
        return lambda store, now: _instant(selector, store, now)

    def _aggregate(self, name: str):
        self._need("name", "by")
        self._need("op", "(")
        by = [self._need("name")]
        while self._take("op", ","):
            by.append(self._need("name"))
        if len(set(by)) != len(by):
            raise BadQuery("a label is named twice")
        self._need("op", ")")
        self._need("op", "(")
        inner = self._and()
        self._need("op", ")")
        return lambda store, now: _folded(_FOLD[name], tuple(by), _vector(inner(store, now)))

    def _call(self, name: str):
        self._need("op", "(")
        if name == "time":
            self._need("op", ")")
            return lambda store, now: now
        if name not in _OVER_TIME and name != "rate":
            raise BadQuery(f"parse error: unknown function with name {name!r}")
        selector = self._selector(self._need("name"))
        if selector.range is None:
            raise BadQuery(f"expected type range vector in call to function {name!r}, got instant vector")
        self._need("op", ")")
        fold = _OVER_TIME.get(name)

        def run(store: list[Stored], now: float) -> Vector:
            found: Vector = {}
            for one in store:
                if not selector.fits(one.labels):
                    continue
                points = _range(one, now - selector.range, now)
                value = (
                    fold([v for _, v in points]) if fold and points else None if fold else _rate(points, selector, now)
                )
                if value is not None:
                    _put(found, _without_name(one.labels), float(value))
            return found

        return run

    def _selector(self, name: str) -> _Selector:
        matchers = []
        if self._take("op", "{"):
            while not self._take("op", "}"):
                if matchers:
                    self._need("op", ",")
                    if self._take("op", "}"):
                        break
                label, op, text = self._need("name"), self._need("op", "=", "!=", "=~", "!~"), self._string()
                if "~" in op:
                    if _BAD_ESCAPE.search(text.replace(r"\d", "").replace(r"\w", "")):
                        raise BadQuery("error parsing regexp: invalid escape sequence")
                    try:
                        re.compile(text)
                    except re.error as error:
                        raise BadQuery(f"error parsing regexp: {error}") from None
                matchers.append((label, op, text))
        length = None
        if self._take("op", "["):
            length = _seconds(self._need("duration"))
            self._need("op", "]")
        return _Selector(name, tuple(matchers), length)

    def _string(self) -> str:
        text = self._need("string")[1:-1]
        out, at = "", 0
        while at < len(text):
            if text[at] == "\\":
                at += 1
                if text[at] not in _ESCAPES:
                    raise BadQuery(f"parse error: unknown escape sequence U+{ord(text[at]):04X}")
                out += _ESCAPES[text[at]]
            else:
                out += text[at]
            at += 1
        return out

    def _peek(self, kind: str, *texts: str) -> bool:
        if self._at >= len(self._tokens):
            return False
        found, text = self._tokens[self._at]
        return found == kind and (not texts or text in texts)

    def _take(self, kind: str, *texts: str) -> str | None:
        if not self._peek(kind, *texts):
            return None
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _need(self, kind: str, *texts: str) -> str:
        text = self._take(kind, *texts)
        if text is None:
            got = self._tokens[self._at][1] if self._at < len(self._tokens) else "end of input"
            raise BadQuery(f"parse error: unexpected {got!r}, expected {texts or kind}")
        return text


def _tokens(text: str) -> Iterable[tuple[str, str]]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise BadQuery(f"parse error: unexpected character at {at}")
        assert match.lastgroup is not None
        yield match.lastgroup, match[match.lastgroup]
        at = match.end()


def _seconds(text: str) -> float:
    unit = text.lstrip("0123456789")
    return float(text.removesuffix(unit)) * _SECONDS[unit]


def _range(one: Stored, after: float, until: float) -> list[tuple[float, float]]:
    return [(at, value) for at, value in _between(one, after, until) if value is not STALE]  # type: ignore[misc]


def _between(one: Stored, after: float, until: float) -> list[tuple[float, object]]:
    low = bisect_right(one.samples, after, key=itemgetter(0))
    return one.samples[low : bisect_right(one.samples, until, low, key=itemgetter(0))]


def _instant(selector: _Selector, store: list[Stored], now: float) -> Vector:
    found: Vector = {}
    for one in store:
        if selector.fits(one.labels):
            recent = [value for _, value in _between(one, now - LOOKBACK, now)]
            if recent and recent[-1] is not STALE:
                found[frozenset(one.labels.items())] = recent[-1]  # type: ignore[assignment]
    return found


def _rate(points: list[tuple[float, float]], selector: _Selector, now: float) -> float | None:
    """As Prometheus extrapolates: to the ends of the range, but not further than half a gap between samples."""
    if len(points) < 2 or selector.range is None:
        return None
    rise = sum(b - a if b >= a else b for (_, a), (_, b) in pairwise(points))
    first, last, start = points[0][0], points[-1][0], now - selector.range
    sampled = last - first
    gap = sampled / (len(points) - 1)
    before, after = first - start, now - last
    before = gap / 2 if before >= gap * 1.1 else before
    after = gap / 2 if after >= gap * 1.1 else after
    if rise > 0 and points[0][1] >= 0:
        before = min(before, sampled * points[0][1] / rise)
    return rise * (sampled + before + after) / sampled / selector.range


def _arithmetic(op: str, left, right):
    def apply(a: float, b: float) -> float:
        if op == "/":
            return a / b if b else math.nan if not a or math.isnan(a) else math.copysign(math.inf, a)
        return a + b if op == "+" else a - b if op == "-" else a * b

    def run(store: list[Stored], now: float) -> Vector | float:
        a, b = left(store, now), right(store, now)
        if isinstance(a, float) and isinstance(b, float):
            return apply(a, b)
        if isinstance(a, float):
            return {_bare(labels): apply(a, value) for labels, value in b.items()}
        if isinstance(b, float):
            return {_bare(labels): apply(value, b) for labels, value in a.items()}
        one, other = _matched(a), _matched(b)
        return {labels: apply(value, other[labels]) for labels, value in one.items() if labels in other}

    return run


def _both(left, right):
    def run(store: list[Stored], now: float) -> Vector:
        other = {_bare(labels) for labels in _vector(right(store, now))}
        return {labels: value for labels, value in _vector(left(store, now)).items() if _bare(labels) in other}

    return run


def _folded(fold: Callable[[list[float]], float], by: tuple[str, ...], vector: Vector) -> Vector:
    groups: dict[Labels, list[float]] = {}
    for labels, value in vector.items():
        key = frozenset((name, text) for name, text in labels if name in by and text)
        groups.setdefault(key, []).append(value)
    return {labels: float(fold(values)) for labels, values in groups.items()}


def _matched(vector: Vector) -> Vector:
    found: Vector = {}
    for labels, value in vector.items():
        _put(found, _bare(labels), value)
    return found


def _put(into: Vector, labels: Labels, value: float) -> None:
    if labels in into:
        raise CannotExecute("vector cannot contain metrics with the same labelset")
    into[labels] = value


def _vector(value: Vector | float) -> Vector:
    if isinstance(value, float):
        raise BadQuery("expected type instant vector, got scalar")
    return value


def _bare(labels: Labels) -> Labels:
    return frozenset(pair for pair in labels if pair[0] != "__name__")


def _without_name(labels: Mapping[str, str]) -> Labels:
    return frozenset((k, v) for k, v in labels.items() if k != "__name__" and v)
