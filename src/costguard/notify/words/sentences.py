"""One English sentence of the engine, the rules or an adapter in the reader's language.

JSON, the ledger and the database hold the English one; this finds its Chinese by the catalogue of pairs. What is not
in it (a provider's answer, what a person wrote) stays as it is.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from string import Formatter

from costguard.notify.words import notes_zh, sentences_zh
from costguard.notify.words import terms_zh as t
from costguard.rules import reasons
from costguard.rules.reasons import Pair

_UNITS = {"s": "秒", "m": "分钟", "h": "小时", "d": "天", "w": "周"}
_SPAN = re.compile(r"(?:\d+[smhdw])+")
_PART = re.compile(r"(\d+)([smhdw])")
# A space stands between a character and a letter or digit.
_WIDE, _NARROW = re.compile(r"[\u3400-\u9fff]"), re.compile(r"[A-Za-z0-9%]")
# Longer ones are not of the engine's making alone; what a hook printed must not keep a message busy.
_LONGEST = 1000

_METRICS = dict(reasons.METRIC_NAMES.values())
PAIRS: tuple[Pair, ...] = (*sentences_zh.PAIRS, *notes_zh.PAIRS, *reasons.PAIRS)


def translated(sentence: str, language: str) -> str:
    """``sentence``, in English, in ``language``; as it is in English and where the catalogue does not have it."""
    return _chinese(sentence) if language == "zh" else sentence


def _chinese(sentence: str) -> str:
    return _known(sentence) or sentence


def _known(sentence: str) -> str | None:
    """The Chinese of a sentence, None for one that is not in the catalogue."""
    plain, patterns = _catalogue()
    if sentence in plain or len(sentence) > _LONGEST:
        return plain.get(sentence)
    for pattern, told in patterns:
        if (match := pattern.fullmatch(sentence)) and (values := _carried(match)) is not None:
            return _filled(told, values)
    return None


@cache
def _catalogue() -> tuple[Mapping[str, str], tuple[tuple[re.Pattern[str], str], ...]]:
    """Sentences without placeholders; the others as patterns, those with the most words of their own first."""
    plain = {english: chinese for english, chinese in PAIRS if "{" not in english}
    others = sorted((pair for pair in PAIRS if "{" in pair[0]), key=_own, reverse=True)
    return plain, tuple((_pattern(english), chinese) for english, chinese in others)


def _own(pair: Pair) -> int:
    return sum(len(literal) for literal, *_ in Formatter().parse(pair[0]))


def _pattern(english: str) -> re.Pattern[str]:
    parts = (
        re.escape(literal) + (f"(?P<{name}>.*?)" if name else "") for literal, name, *_ in Formatter().parse(english)
    )
    return re.compile("".join(parts), re.DOTALL)


def _carried(match: re.Match[str]) -> Mapping[str, str] | None:
    """The values in Chinese; None when one of them shows that this is another sentence."""
    values = {name: _KINDS.get(name, str)(value) for name, value in match.groupdict().items()}
    known = {name: value for name, value in values.items() if value is not None}
    return known if len(known) == len(values) else None


def _filled(chinese: str, values: Mapping[str, str]) -> str:
    text = ""
    for literal, name, *_ in Formatter().parse(chinese):
        text = _joined(_joined(text, literal), values[name] if name else "")
    return text


def _joined(left: str, right: str) -> str:
    ends, begins = left[-1:], right[:1]
    apart = (_WIDE.match(ends) and _NARROW.match(begins)) or (_NARROW.match(ends) and _WIDE.match(begins))
    return f"{left} {right}" if apart else left + right


def _one_of(table: Mapping[str, str]) -> Callable[[str], str | None]:
    return lambda value: word.strip() if (word := table.get(value)) else None


def _source(value: str) -> str | None:
    return _one_of(t.SOURCES)(value) or _known(value) or (value if " " not in value else None)


def _metrics(value: str) -> str | None:
    names = [_METRICS.get(one) for one in value.split(", ")]
    return None if None in names else "、".join(filter(None, names))


def _lost(value: str) -> str:
    return "、".join(t.LOST.get(one, one) for one in value.split(", "))


def _people(value: str) -> str:
    return "人" if value == "somebody" else value.replace(", ", "、")


def _span(value: str) -> str:
    """``1h30m`` as ``1 小时 30 分钟``."""
    if not _SPAN.fullmatch(value):
        return value
    return " ".join(f"{count} {_UNITS[unit]}" for count, unit in _PART.findall(value))


def _amount(value: str) -> str:
    return value.replace(" cores", " 核")


def _support(value: str) -> str:
    """``not_written``, or ``impossible: why``."""
    word, colon, why = value.partition(": ")
    return t.SUPPORT.get(word, word) + (f"：{_chinese(why)}" if colon else "")


# How the value of a placeholder is carried over, by its name; any other is shown as it is. ``why``, ``then``, ``mode``
# and ``error`` may be sentences of their own; where the answer is None, the sentence was another one.
_KINDS: Mapping[str, Callable[[str], str | None]] = {
    "why": _chinese, "then": _chinese, "mode": _chinese, "error": _chinese, "what": _known,
    "metric": _metrics, "most": _amount, "below": _amount, "span": _span, "source": _source, "lost": _lost,
    "state": _one_of(t.STATES), "ended": _one_of(t.ENDED), "kind": _one_of(t.KINDS), "do": _one_of(t.VERBS),
    "capability": _one_of(t.VERBS), "support": _support, "who": _people,
}  # fmt: skip
