"""How the pages say things: local times, spans, evidence and history, in one language at one moment.

The terminal story of the demo speaks through it too, so that page and terminal say the same.
"""

from datetime import datetime, timedelta

from costguard.domain.finding import Finding, SubjectType
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.notify.doc import Doc
from costguard.notify.facts import notify_facts
from costguard.notify.words import words
from costguard.notify.words.sentences import translated
from costguard.web.settings import PageSettings
from costguard.web.words import WORDS, Language, word

OURS = "costguard"


class Speech:
    """Everything is said as of ``now``, in the configured time zone."""

    def __init__(self, settings: PageSettings, now: datetime, language: Language) -> None:
        self.settings, self.now, self.language = settings, now, language
        self.words = words(language)

    def t(self, key: str, **values: object) -> str:
        return word(key, self.language, **values)

    def at(self, moment: datetime) -> str:
        """``19:30``."""
        return moment.astimezone(self.settings.zone).strftime("%H:%M")

    def day(self, moment: datetime) -> str:
        local = moment.astimezone(self.settings.zone)
        if self.language == "zh":
            return f"{local:%Y}年{local.month}月{local.day}日 周{'一二三四五六日'[local.weekday()]}"
        return local.strftime("%a %d %b %Y")

    def day_at(self, moment: datetime) -> str:
        """``19:30`` today, ``11-13 09:00`` on another day."""
        local, today = moment.astimezone(self.settings.zone), self.now.astimezone(self.settings.zone)
        return self.at(moment) if local.date() == today.date() else local.strftime("%m-%d %H:%M")

    def left(self, moment: datetime) -> str:
        """How long it is until then: ``12 min``."""
        return self.words.duration(max(timedelta(0), moment - self.now))

    def evidence(self, finding: Finding) -> str:
        """Why a rule claims what it claims, in one line."""
        facts = notify_facts(finding=finding, resource=None, now=self.now, timezone=self.settings.zone.key)
        return self.words.evidence(Doc(facts), self.now, self.settings.zone)

    def sentence(self, english: str) -> str:
        """What the engine says in English, in the language of the page."""
        return translated(english, self.language)

    def told(self, entry: LedgerEntry) -> str:
        """A line of the history: from what it records; a reason is the sentence that was written down."""
        evidence = entry.evidence
        lever = evidence.get("lever")
        key = f"lever.{lever}" if lever else f"log.{entry.kind.value}"
        if entry.kind is LedgerKind.RECORDED:
            # What was recorded stands in its sentence alone: "would warn: stop in 30m".
            key = f"log.would_{entry.text.removeprefix('would ').split(':')[0].split(' ')[0]}"
            key = key if key in WORDS else "log.recorded"
        if entry.kind is LedgerKind.CANCELLED and entry.actor == OURS:
            key = "log.at_work"
        if entry.kind is LedgerKind.SAVING and entry.money is not None:
            key = "log.lost" if entry.money.nanos < 0 else "log.saved"
        if why := evidence.get("why"):
            key = f"superseded.{why}"
        elif entry.kind is LedgerKind.SUPERSEDED and entry.subject and entry.subject.type is not SubjectType.RESOURCE:
            key = "log.lapsed"
        if key not in WORDS:
            return self.sentence(entry.text)
        until = evidence.get("until")
        return self.t(
            key,
            actor=entry.actor,
            policy=entry.policy or "",
            reason=evidence.get("reason") or self.sentence(entry.text),
            owner=evidence.get("owner", ""),
            until=self.day_at(until) if isinstance(until, datetime) else "",
            money=entry.money or evidence.get("per_hour", ""),
            text=self.sentence(entry.text),
        )
