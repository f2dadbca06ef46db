"""One English sentence of the engine, the rules or an adapter in the reader's language.

JSON, the ledger and the database hold the English one; this finds its Chinese by the catalogue of pairs. What is not
in it (a provider's answer, what a person wrote) stays as it is.
"""

import re
from collections.abc import Mapping

from costguard.engine.names import KINDS, SOURCES, STATES
from costguard.notify.words import doctor_zh, notes_zh, sentences_zh
from costguard.notify.words import terms_zh as t
from costguard.notify.words.catalogue import Carry, Catalogue
from costguard.rules import reasons
from costguard.rules.reasons import Pair

_UNITS = {"s": "秒", "m": "分钟", "h": "小时", "d": "天", "w": "周"}
_SPAN = re.compile(r"(?:\d+[smhdw])+")
_PART = re.compile(r"(\d+)([smhdw])")

_METRICS = dict(reasons.METRIC_NAMES.values())
PAIRS: tuple[Pair, ...] = (*sentences_zh.PAIRS, *notes_zh.PAIRS, *doctor_zh.PAIRS, *reasons.PAIRS)


def translated(sentence: str, language: str) -> str:
    """``sentence``, in English, in ``language``; as it is in English and where the catalogue does not have it."""
    return _chinese(sentence) if language == "zh" else sentence


def _chinese(sentence: str) -> str:
    return _KNOWN.say(sentence)


def _known(sentence: str) -> str | None:
    return _KNOWN.find(sentence)


def _one_of(table: Mapping[str, str]) -> Carry:
    return lambda value: word.strip() if (word := table.get(value)) else None


def _source(value: str) -> str | None:
    return _one_of(SOURCES)(value) or _known(value) or (value if " " not in value else None)


def _metrics(value: str) -> str | None:
    names = [_METRICS.get(one) for one in value.split(", ")]
    return None if None in names else "、".join(filter(None, names))


def _lost(value: str) -> str:
    return "、".join(t.LOST.get(one, one) for one in value.split(", "))


def _people(value: str) -> str:
    return "人" if value == "somebody" else value.replace(", ", "、")


def span(value: str) -> str:
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


def _list(value: str) -> str:
    return value.replace(", ", "、")


def _answer(value: str) -> str:
    """A channel's refusal: its code as it is, then what that means."""
    code, colon, detail = value.partition(": ")
    return f"{code}：{_meaning(detail)}" if colon else _meaning(value)


def _meaning(detail: str) -> str:
    return t.TECHNICAL.get(detail) or _chinese(detail)


# How the value of a placeholder is carried over, by its name; any other is shown as it is. ``why``, ``then``, ``mode``
# and ``error`` may be sentences of their own; where the answer is None, the sentence was another one.
_KINDS: Mapping[str, Carry] = {
    "why": _chinese, "then": _chinese, "mode": _chinese, "error": _chinese, "what": _known,
    "metric": _metrics, "most": _amount, "below": _amount, "span": span, "source": _source, "lost": _lost,
    "state": _one_of(STATES), "ended": _one_of(t.ENDED), "kind": _one_of(KINDS), "do": _one_of(t.VERBS),
    "capability": _one_of(t.VERBS), "support": _support, "who": _people, "list": _list,
    "answer": _answer,
}  # fmt: skip
_KNOWN = Catalogue(PAIRS, _KINDS)
