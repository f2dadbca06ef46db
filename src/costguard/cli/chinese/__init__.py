"""The Chinese of what Click's objects and our errors say in English. Imported only where the terminal is Chinese.

Each text is found by the English one, in one catalogue; tests find every help text, refusal and mistake in a
configuration that has none here.
"""

from functools import reduce

from costguard.cli import words
from costguard.cli.chinese import config, helps, policies, refusals, settings
from costguard.errors import BillError, ConfigError, CostguardError, DeliveryError, ProviderError
from costguard.notify.words.catalogue import Catalogue, joined
from costguard.notify.words.sentences import span, translated
from costguard.notify.words.terms_zh import TECHNICAL, VERBS

PAIRS = (*helps.PAIRS, *refusals.PAIRS, *config.PAIRS, *settings.PAIRS, *policies.PAIRS)


def told(text: str) -> str:
    """The Chinese of a text; one that is not known stays as it is."""
    return _KNOWN.find(text) or TECHNICAL.get(text) or translated(text, "zh")


def error(error: CostguardError) -> str:
    """The Chinese of an error, without its place in a file."""
    match error:
        case ConfigError():
            hint = f"（{told(error.hint)}）" if error.hint else ""
            return "：".join(part for part in (error.path, told(error.message) + hint) if part)
        case BillError():
            row = f"第 {error.row} 行" if error.row else ""
            place = "，".join(part for part in (row, error.column) if part)
            return "：".join(part for part in (error.file, place, told(error.message)) if part)
        case ProviderError() | DeliveryError():
            return str(error).replace(error.detail, told(error.detail))
        case _:
            return told(str(error))


def _list(value: str) -> str:
    return value.replace(", ", "、")


def _state(value: str) -> str | None:
    return words.say(key, "zh") if (key := f"action.{value}") in words.WORDS else None


def _meant(value: str) -> str:
    return told(value.strip()) if value else ""


def _wanted(value: str) -> str:
    choices = (told(one).replace(" or ", "、") for one in value.split(", or "))
    return reduce(lambda before, one: joined(f"{before}，或", one), choices)


def _thing(value: str) -> str | None:
    return config.THINGS.get(value)


def _do(value: str) -> str | None:
    return VERBS.get(value)


def _mistake(value: str) -> str | None:
    return _KNOWN.find(value)


# How the value of a placeholder is carried over, by its name; any other is shown as it is. ``mistake`` must be a
# sentence that is known: where it is not, the whole was another one.
_KINDS = {
    "text": told, "why": told, "list": _list, "metavar": helps.metavar, "span": span, "state": _state,
    "meant": _meant, "mistake": _mistake, "what": told, "wanted": _wanted, "thing": _thing, "do": _do,
    "amount": config.amount, "says": config.says,
}  # fmt: skip
_KNOWN: Catalogue = Catalogue(PAIRS, _KINDS)
