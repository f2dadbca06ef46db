"""Which language the terminal speaks: what was asked for, the configuration's, the terminal's own.

``--help`` and a command line that cannot be understood come before there is a configuration: for them it is ``--lang``
anywhere on the line, COSTGUARD_LANG, or the locale.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from costguard.web.words import Language

ENV = "COSTGUARD_LANG"
_LONG, _SHORT = "--lang", "-l"


def chosen(*wishes: str) -> Language:
    """The first wish that is a language we speak; English when none is."""
    return "zh" if next((wish for wish in wishes if wish in ("zh", "en")), "en") == "zh" else "en"


def of_line(words: Sequence[str], env: Mapping[str, str]) -> Language:
    """The language for what a command line is answered before its configuration is read."""
    return chosen(asked(words), env.get(ENV, ""), of_terminal(env))


def asked(words: Sequence[str]) -> str:
    """What ``--lang`` or ``-l`` says, wherever it stands; empty when it does not, or says nothing."""
    for word, after in pairwise([*words, ""]):
        if word == "--":
            break
        if word in (_LONG, _SHORT):
            return after
        if word.startswith(f"{_LONG}="):
            return word.removeprefix(f"{_LONG}=")
        if word.startswith(_SHORT) and len(word) == len("-lzh"):
            return word.removeprefix(_SHORT)
    return ""


def of_terminal(env: Mapping[str, str]) -> str:
    """``zh`` where the locale is Chinese (LC_ALL, LC_MESSAGES, LANG: the first that is set); else empty."""
    locale = env.get("LC_ALL") or env.get("LC_MESSAGES") or env.get("LANG") or ""
    return "zh" if locale.lower().startswith("zh") else ""
