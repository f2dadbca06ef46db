"""English sentences and their Chinese, found by the English one.

Programs, logs and the database hold one English sentence; people read theirs. A pair's placeholders are ``str.format``
names: a value is carried over by the kind of its name, and shown as it is where the name has none.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from string import Formatter

from costguard.rules.reasons import Pair

Carry = Callable[[str], str | None]
"""From a value in English to its Chinese; None: the sentence is another one."""

# A space stands between a Chinese character and what is written in Latin letters or digits.
_WIDE, _OPENS, _CLOSES = (
    re.compile(r"[\u3400-\u9fff]"),
    re.compile(r"[\w$'\"`/<{\[*-]"),
    re.compile(r"[\w%'\"`/>}\])*-]"),
)
# Longer ones are not of our making alone; what a hook printed must not keep a message busy.
_LONGEST = 1000


class Catalogue:
    """Pairs of sentences, and how the values in them are carried over, by the names of their placeholders."""

    def __init__(self, pairs: Iterable[Pair], kinds: Mapping[str, Carry]) -> None:
        self._pairs, self._kinds = tuple(pairs), kinds

    def say(self, sentence: str) -> str:
        """The Chinese of a sentence; one that is not known stays as it is."""
        return self.find(sentence) or sentence

    def find(self, sentence: str) -> str | None:
        """The Chinese of a sentence, None for one that is not known."""
        if sentence in self._plain or len(sentence) > _LONGEST:
            return self._plain.get(sentence)
        for parts, english, told in self._templates:
            if not all(part in sentence for part in parts):
                continue
            if (match := _pattern(english).fullmatch(sentence)) and (values := self._carried(match)) is not None:
                return _filled(told, values)
        return None

    @cached_property
    def _plain(self) -> Mapping[str, str]:
        """Sentences without placeholders."""
        return {english: chinese for english, chinese in self._pairs if "{" not in english}

    @cached_property
    def _templates(self) -> tuple[tuple[tuple[str, ...], str, str], ...]:
        """The others with their own words, those with the most of them first."""
        others = [(_own(english), english, chinese) for english, chinese in self._pairs if "{" in english]
        return tuple(sorted(others, key=lambda one: sum(map(len, one[0])), reverse=True))

    def _carried(self, match: re.Match[str]) -> Mapping[str, str] | None:
        """The values in Chinese; None when one of them shows that this is another sentence."""
        values = {name: self._kinds.get(name, str)(value) for name, value in match.groupdict().items()}
        known = {name: value for name, value in values.items() if value is not None}
        return known if len(known) == len(values) else None


def _own(english: str) -> tuple[str, ...]:
    return tuple(literal for literal, *_ in Formatter().parse(english) if literal)


@cache
def _pattern(english: str) -> re.Pattern[str]:
    parts = (
        re.escape(literal) + (f"(?P<{name}>.*?)" if name else "") for literal, name, *_ in Formatter().parse(english)
    )
    return re.compile("".join(parts), re.DOTALL)


def _filled(chinese: str, values: Mapping[str, str]) -> str:
    text = ""
    for literal, name, *_ in Formatter().parse(chinese):
        text = joined(joined(text, literal), values[name] if name else "")
    return text


def joined(left: str, right: str) -> str:
    """Both, with a space between where one is Chinese and the other is not."""
    ends, begins = left[-1:], right[:1]
    apart = (_WIDE.match(ends) and _latin(_OPENS, begins)) or (_latin(_CLOSES, ends) and _WIDE.match(begins))
    return f"{left} {right}" if apart else left + right


def _latin(edge: re.Pattern[str], character: str) -> bool:
    return character.isascii() and edge.match(character) is not None
