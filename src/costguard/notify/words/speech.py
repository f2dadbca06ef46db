"""The desk's words by language."""

from costguard.notify.words.desk import DeskWords
from costguard.notify.words.desk_en import DeskEn
from costguard.notify.words.desk_zh import DeskZh

_DESKS: dict[str, DeskWords] = {"zh": DeskZh(), "en": DeskEn()}


def desk_words(language: str) -> DeskWords:
    """The desk's words in a language. Raises KeyError for a language that nobody wrote."""
    return _DESKS[language]
