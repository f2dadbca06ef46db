"""Commands in words, as people write them in a chat: ``keep train-03 2h``, ``保留 train-03 2小时``. Pure.

One grammar for both languages and every chat. What is said is looked up and allowed elsewhere (see ``desk``).
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from datetime import time as clock_time
from difflib import get_close_matches
from enum import StrEnum
from zoneinfo import ZoneInfo


class Verb(StrEnum):
    KEEP = "keep"
    UNKEEP = "unkeep"
    STATUS = "status"
    WHY = "why"
    BURNING = "burning"
    CLAIM = "claim"
    PAUSE = "pause"
    RESUME = "resume"
    HELP = "help"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Command:
    """What was asked. ``target`` is a resource as people name it.

    A time is ``span``, or a ``wall`` clock time (the next one, or tomorrow's), or ``until_idle``; none of them when
    nothing was said. ``unclear`` is the text of a time that nobody can read; for UNKNOWN the whole text, and ``near``
    the command that it resembles.
    """

    verb: Verb
    target: str = ""
    span: timedelta | None = None
    wall: clock_time | None = None
    tomorrow: bool = False
    until_idle: bool = False
    unclear: str = ""
    near: str = ""

    def until(self, now: datetime, zone: ZoneInfo) -> datetime | None:
        """The end that was asked for, in UTC; None when no time was said."""
        if self.wall is None:
            return None if self.span is None else now + self.span
        local = now.astimezone(zone)
        day = local.date() + timedelta(days=1 if self.tomorrow else 0)
        at = datetime.combine(day, self.wall, tzinfo=zone).astimezone(now.tzinfo)
        if at <= now:
            at = datetime.combine(day + timedelta(days=1), self.wall, tzinfo=zone).astimezone(now.tzinfo)
        return at


_WORDS: Mapping[str, Verb] = {
    "keep": Verb.KEEP, "保留": Verb.KEEP,
    "unkeep": Verb.UNKEEP, "取消保留": Verb.UNKEEP, "不保留": Verb.UNKEEP,
    "status": Verb.STATUS, "状态": Verb.STATUS,
    "why": Verb.WHY, "explain": Verb.WHY, "为什么": Verb.WHY, "为啥": Verb.WHY,
    "who is burning": Verb.BURNING, "who's burning": Verb.BURNING, "burning": Verb.BURNING,
    "谁在烧钱": Verb.BURNING, "烧钱": Verb.BURNING,
    "claim": Verb.CLAIM, "认领": Verb.CLAIM,
    "pause": Verb.PAUSE, "紧急暂停": Verb.PAUSE, "暂停": Verb.PAUSE,
    "resume": Verb.RESUME, "恢复": Verb.RESUME,
    "help": Verb.HELP, "帮助": Verb.HELP, "?": Verb.HELP,
}  # fmt: skip
_LONGEST_FIRST = sorted(_WORDS, key=len, reverse=True)
_ADDRESSED = re.compile(r"^(?:(?:@\S+|/costguard)(?:\s+|$))+", re.I)
_UNITS = {
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "分钟", "分"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "小时", "个小时"), 3600),
    **dict.fromkeys(("d", "day", "days", "天"), 86_400),
    **dict.fromkeys(("w", "week", "weeks", "周", "个星期"), 604_800),
}
_ONE = re.compile(rf"(\d{{1,4}}|半)\s*({'|'.join(sorted(_UNITS, key=len, reverse=True))})(?![a-z])", re.I)
_IDLE = frozenset({"idle", "until idle", "when idle", "空闲", "到空闲", "到空闲为止", "直到空闲"})
_WALL = re.compile(
    r"(?:until|till|to|直到|到|至)?\s*(?P<day>tomorrow|明天|明早|明)?\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})", re.I
)


def parse(text: str) -> Command:
    """The command in a line of chat; never fails: what cannot be read is UNKNOWN, or ``unclear``."""
    said = " ".join(unicodedata.normalize("NFKC", text).split())
    said = _ADDRESSED.sub("", said).strip()
    folded = said.lower()
    for word in _LONGEST_FIRST:
        if folded.startswith(word) and _ends(word, folded[len(word) :]):
            return _command(_WORDS[word], said[len(word) :].strip())
    if not said:
        return Command(Verb.HELP)
    return Command(Verb.UNKNOWN, unclear=said, near=_near(folded))


def _ends(word: str, rest: str) -> bool:
    """A Latin word ends at a space; after a Chinese one the name may follow at once."""
    return not word.isascii() or not rest or rest[0].isspace()


def _command(verb: Verb, rest: str) -> Command:
    match verb:
        case Verb.KEEP:
            target, _, time = rest.partition(" ")
            return _timed(Command(verb, target), time.strip())
        case Verb.PAUSE:
            return _timed(Command(verb), rest)
        case Verb.WHY | Verb.UNKEEP | Verb.CLAIM:
            return Command(verb, rest.rstrip("?").strip())
        case _:
            return Command(verb)


def _timed(command: Command, text: str) -> Command:
    if not text:
        return command
    if text.lower() in _IDLE and command.verb is Verb.KEEP:
        return Command(command.verb, command.target, until_idle=True)
    if wall := _WALL.fullmatch(text):
        hour, minute = int(wall["hour"]), int(wall["minute"])
        if hour < 24 and minute < 60:
            return Command(
                command.verb, command.target, wall=clock_time(hour, minute), tomorrow=wall["day"] is not None
            )
    span = duration(text.lower().removeprefix("for "))
    if span is None:
        return Command(command.verb, command.target, unclear=text)
    return Command(command.verb, command.target, span=span)


def duration(text: str) -> timedelta | None:
    """``2h``, ``1h30m``, ``2 hours``, ``2小时``, ``半小时``; None for anything else, and for nothing at all."""
    seconds, rest = 0.0, text.strip()
    while rest:
        part = _ONE.match(rest)
        if part is None:
            return None
        seconds += (0.5 if part[1] == "半" else int(part[1])) * _UNITS[part[2].lower()]
        rest = rest[part.end() :].strip()
    return timedelta(seconds=seconds) if seconds else None


def _near(folded: str) -> str:
    """The command that was perhaps meant."""
    first = folded.split(" ")[0]
    close = get_close_matches(first, _WORDS, n=1, cutoff=0.6) or get_close_matches(folded, _WORDS, n=1, cutoff=0.6)
    if close:
        return close[0]
    return next((word for word in _LONGEST_FIRST if len(word) > 1 and not word.isascii() and word in folded), "")
