"""A sentence in both languages: programs and logs read its English, people what they speak."""

from costguard.engine.remarks import Language
from costguard.notify.words.sentences import translated
from costguard.notify.words.terms_zh import TECHNICAL


class Said(str):
    """The English text, which knows its Chinese beside it."""

    zh: str

    def __new__(cls, zh: str, en: str) -> "Said":
        both = super().__new__(cls, en)
        both.zh = zh
        return both


def spoken(text: str, language: Language) -> str:
    """A sentence in a language; what a provider or a channel answered is quoted, or said in known words."""
    if language == "en":
        return str(text)
    return text.zh if isinstance(text, Said) else TECHNICAL.get(text) or translated(text, language)
