"""The languages by code. Another language is another file here and one case below."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from costguard.notify.words.base import Words

LANGUAGES = ("zh", "en")


@cache
def words(language: str) -> "Words":
    """The words of a language, read when they are first asked for: most commands say nothing in them.

    Raises KeyError for a language that nobody wrote.
    """
    match language:
        case "zh":
            from costguard.notify.words.zh import Zh

            return Zh()
        case "en":
            from costguard.notify.words.en import En

            return En()
    raise KeyError(language)
