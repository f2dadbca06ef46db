"""Scheduled reports: what ``reports:`` asks for, sent when it is due and once, by the replica that leads.

What was told is a row, written together with the messages: a restart tells nothing twice, and what was missed is made
up for by its latest edition alone. A report that was never told begins with its next edition: what lies before
costguard was set up is nobody's month.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Self

from costguard.app.app import App
from costguard.app.audit import gather
from costguard.app.reports import as_csv, html, markdown
from costguard.app.settings import routing
from costguard.domain.codec import decode, encode
from costguard.domain.notice import Notice, NoticeKind
from costguard.domain.time import DAYS
from costguard.engine.period import Period, Rhythm
from costguard.engine.remarks import Language
from costguard.engine.report import Document, Report, changes, report
from costguard.notify.bulletins import report_facts
from costguard.notify.route import Draft, Routing, route
from costguard.store import kv, outbox

_TOLD = "told/report/"
_LOOK = timedelta(hours=1)  # how often a draft is looked at until its bill is final
# How the attached report is written: by whom, its media type, its file's ending, and what goes before it (Excel takes a
# file without the mark for one of the machine's old encoding, and Chinese names with it).
_FORMATS = {
    "html": (html, "text/html", "html", ""),
    "markdown": (markdown, "text/markdown", "md", ""),
    "csv": (as_csv, "text/csv", "csv", "\ufeff"),
}


@dataclass(frozen=True, slots=True)
class Edition:
    """One entry of ``reports:``."""

    name: str
    rhythm: Rhythm
    to: tuple[str, ...]
    format: Literal["html", "markdown", "csv"]
    revise: bool

    @property
    def key(self) -> str:
        return f"{_TOLD}{self.name}"


@dataclass(slots=True)
class ScheduledReports:
    """The reports of one application."""

    app: App
    editions: tuple[Edition, ...]
    _looked: dict[str, datetime] = field(default_factory=dict)

    @classmethod
    def of(cls, app: App) -> Self:
        """What the configuration asks for, in its zone."""
        zone = app.config.settings.timezone
        return cls(
            app,
            tuple(
                Edition(
                    name=entry.name,
                    rhythm=Rhythm(
                        entry.at, zone, entry.day, None if entry.weekday is None else DAYS.index(entry.weekday)
                    ),
                    to=entry.to,
                    format=entry.format,
                    revise=entry.revise == "final",
                )
                for entry in app.config.settings.reports
            ),
        )

    def round(self) -> None:
        """Looks at the clock, queues what is due, and revises drafts whose bill has become final."""
        now = self.app.clock.now()
        for edition in self.editions:
            due = edition.rhythm.last_due(now)
            period = edition.rhythm.period(due)
            with self.app.database.read() as conn:
                told = kv.get(conn, edition.key)
            if told is None or told["kind"] != period.kind:
                self._begin(edition, period, now)
            elif _instant(told["start"]) < period.start:
                self._tell(edition, period, due)
            elif _awaits(edition, told, period) and now - self._looked.get(edition.name, now - _LOOK) >= _LOOK:
                self._looked[edition.name] = now
                self._revise(edition, period, due, told["numbers"])

    def unsettled(self) -> datetime | None:
        """From when on bills are read again: the beginning of a month whose draft waits for its final bill."""
        now = self.app.clock.now()
        starts = []
        with self.app.database.read() as conn:
            for edition in self.editions:
                period = edition.rhythm.period(edition.rhythm.last_due(now))
                told = kv.get(conn, edition.key)
                if told is not None and _awaits(edition, told, period):
                    starts.append(period.start)
        return min(starts, default=None)

    def _begin(self, edition: Edition, period: Period, now: datetime) -> None:
        with self.app.database.write() as conn:
            kv.put(conn, edition.key, _row(period, None), now)

    def _tell(self, edition: Edition, period: Period, due: datetime) -> None:
        self._queue(edition, period, due, self._report(period), None)

    def _revise(self, edition: Edition, period: Period, due: datetime, draft: Mapping[str, Any]) -> None:
        now_known = self._report(period)
        if not now_known.final:
            return
        found = changes(draft, now_known.numbers)
        if found:
            self._queue(edition, period, due, now_known, (draft, found))
            return
        with self.app.database.write() as conn:
            kv.put(conn, edition.key, _row(period, now_known), self.app.clock.now())

    def _report(self, period: Period) -> Report:
        facts = gather(
            self.app, period.name, period.start, period.end, before=period.before, period=period.kind
        )  # fmt: skip
        return report(facts)

    def _queue(
        self,
        edition: Edition,
        period: Period,
        due: datetime,
        told: Report,
        revised: tuple[Mapping[str, Any], list[dict[str, Any]]] | None,
    ) -> None:
        now = self.app.clock.now()
        notices = self._notices(edition, period, due, told, revised, now)
        with self.app.database.write() as conn:
            outbox.enqueue(conn, notices)
            kv.put(conn, edition.key, _row(period, told), now)

    def _notices(
        self,
        edition: Edition,
        period: Period,
        due: datetime,
        told: Report,
        revised: tuple[Mapping[str, Any], list[dict[str, Any]]] | None,
        now: datetime,
    ) -> list[Notice]:
        """One for each channel. Mail carries the whole report in the language of its channel."""
        paths = routing(self.app.config)
        draft, found = revised or ({"amount": None}, None)
        stage = "revised" if revised else told.numbers["stage"]
        story, notices = f"report/{edition.name}", []
        for name in edition.to:
            facts = report_facts(
                name=edition.name, period=period.kind, start=period.start, end=period.end, now=now,
                timezone=self.app.config.settings.timezone.key, numbers=told.numbers, changes=found,
                was=draft["amount"], command=_command(period), links=self._links(),
                attachment=_attachment(edition, period, told, paths, name),
            )  # fmt: skip
            sent = Draft(
                NoticeKind.REPORT, story, f"{story}/{period.name}/{stage}", facts, now, to=(name,),
                not_after=edition.rhythm.next_due(due),
            )  # fmt: skip
            notices += route(sent, paths)
        return notices

    def _links(self) -> dict[str, str]:
        url = self.app.config.settings.web.public_url
        return {} if url is None else {"page": url}


def _awaits(edition: Edition, told: Mapping[str, Any], period: Period) -> bool:
    """Whether a month was told as a draft and is to be told again when it is final."""
    numbers = told["numbers"]
    same = told["kind"] == period.kind == "month" and told["name"] == period.name
    return edition.revise and same and numbers is not None and numbers["stage"] != "final"


def _row(period: Period, told: Report | None) -> dict[str, Any]:
    """What is remembered: which period was told, and the numbers that a revision is compared with."""
    kept = ("stage", "amount", "billed", "saved", "owners")
    numbers = None if told is None else {key: told.numbers[key] for key in kept}
    return {"kind": period.kind, "name": period.name, "start": encode(period.start), "numbers": numbers}


def _instant(value: object) -> datetime:
    found = decode(value)
    assert isinstance(found, datetime)
    return found


def _command(period: Period) -> str:
    return f"costguard audit --month {period.name}" if period.kind == "month" else ""


def _attachment(edition: Edition, period: Period, told: Report, paths: Routing, channel: str) -> dict[str, str] | None:
    place = paths.places.get(channel)
    if place is None or place.kind != "email":
        return None
    language: Language = "en" if (place.language or paths.language) == "en" else "zh"
    document: Document = told.documents[language]
    write, media, ending, mark = _FORMATS[edition.format]
    name = f"costguard-{period.name.replace('/', '_')}.{ending}"
    return {"name": name, "type": media, "content": mark + write(document)}
