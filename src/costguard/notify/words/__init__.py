"""The languages by code. Another language is another file here and one line below."""

from costguard.notify.words.base import Words
from costguard.notify.words.en import En
from costguard.notify.words.zh import Zh

__all__ = ["LANGUAGES", "Words", "words"]

LANGUAGES: dict[str, Words] = {"zh": Zh(), "en": En()}


def words(language: str) -> Words:
    """The words of a language. Raises KeyError for a language that nobody wrote."""
    return LANGUAGES[language]
