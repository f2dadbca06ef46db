"""The words of the terminal that no page, message or report has, each in Chinese and English.

What those have is said in their words: ``costguard.web.words``, ``costguard.notify.words``,
``costguard.app.reports`` and ``costguard.app.replay_page``. Placeholders are ``str.format`` names, the same in both
languages (a test compares them).
"""

from datetime import timedelta
from zoneinfo import ZoneInfo

from costguard.cli.pairs import TABLES
from costguard.cli.pairs_story import STORY
from costguard.domain.time import format_duration
from costguard.engine.names import source_name, state_name
from costguard.notify.doc import Doc
from costguard.notify.words import terms_zh, words
from costguard.notify.words.times import is_beijing
from costguard.rules.reasons import METRIC_NAMES
from costguard.web import words as pages
from costguard.web.words import Language

WORDS: dict[str, tuple[str, str]] = {**TABLES, **STORY}


_BY_ENGLISH = {en: zh for zh, en in WORDS.values()}


def say(key: str, language: Language, /, **values: object) -> str:
    """The text of ``key`` in a language. Raises KeyError for an unknown key."""
    text = WORDS[key][0 if language == "zh" else 1]
    return text.format(**values) if values else text


def told(sentence: str, language: Language) -> str:
    """A sentence that a function below tells in English, in a language where it is known in that."""
    return _BY_ENGLISH.get(sentence, sentence) if language == "zh" else sentence


def source(name: str, language: Language) -> str:
    """What a source of data is called; in English by its own name."""
    return source_name(language, name)


def rule(name: str, language: Language) -> str:
    """What a rule finds; in English by its own name."""
    return terms_zh.RULES.get(name, name) if language == "zh" else name


def reading(state: str, language: Language) -> str:
    """How the last reading of a source went; in English by its own name."""
    return state_name(language, state)


def do(response: str, provider: str, language: Language) -> str:
    """What a rung does, in the provider's own word; in English as policies write it."""
    if language == "en":
        return response
    if response == "warn":
        return terms_zh.VERBS[response]
    return words(language).verb(Doc({"do": response, "subject": {"provider": provider}}))


def step(text: str, language: Language) -> str:
    """A step of a policy, in English as ``check`` prints it (``stop at 2h30m``): ``2h30m 关机``."""
    if language == "en":
        return text
    said, notes = text, ""
    for key in ("policies.look", "policies.hook", "policies.approved"):
        zh, en = WORDS[key]
        if en in said:
            said, notes = said.replace(en, ""), notes + zh
    response, _, when = said.partition(" at ")
    what = do(response.replace(" ", "_"), "", language)
    return (say("policies.at_once", language, do=what) if when == "once" else f"{when} {what}") + notes


def activity(name: str, language: Language) -> str:
    """Whether a box is in use; in English by its own name."""
    return pages.word(f"activity.{name}", language) if language == "zh" else name


def metric_name(metric: str, language: Language) -> str:
    """What a metric measures."""
    en, zh = METRIC_NAMES.get(metric, (metric, metric))
    return zh if language == "zh" else en


def state(name: str, language: Language) -> str:
    """The state of a resource; in English by its own name."""
    return terms_zh.LIFE.get(name, name) if language == "zh" else name


def zone_name(zone: ZoneInfo, language: Language) -> str:
    """北京时间 where it is that, else the zone's own name."""
    return "北京时间" if language == "zh" and is_beijing(zone) else zone.key


def span(length: timedelta, language: Language) -> str:
    """``2h30m``, ``45m``, ``30s``; ``2 小时 30 分钟``: seconds only below a minute."""
    length = max(timedelta(0), length)
    if language == "zh" and length < timedelta(minutes=1):
        return say("seconds", language, n=int(length.total_seconds()))
    if length >= timedelta(minutes=1):
        length -= timedelta(seconds=length.total_seconds() % 60)
    return words(language).duration(length) if language == "zh" else format_duration(length)
