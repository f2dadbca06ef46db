"""Scheduled reports: what ``reports:`` asks for, sent when it is due and once, by the replica that leads.

What was told is a row, written together with the messages: a restart tells nothing twice, and what was missed is made
up for by its latest edition alone. A report that was never told begins with its next edition: what lies before
costguard was set up is nobody's month.
"""

from collections.abc import Mapping, Sequence
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
                self._tell(edition, period, due, told)
            elif now - self._looked.get(edition.name, now - _LOOK) >= _LOOK:
                for draft in _drafts(edition, told):
                    self._looked[edition.name] = now
                    told = self._revise(edition, due, told, draft)

    def unsettled(self) -> datetime | None:
        """From when on bills are read again: the beginning of a month whose draft waits for its final bill."""
        with self.app.database.read() as conn:
            rows = [(edition, kv.get(conn, edition.key)) for edition in self.editions]
        waiting = (draft for edition, told in rows if told is not None for draft in _drafts(edition, told))
        return min((_instant(draft["start"]) for draft in waiting), default=None)

    def _begin(self, edition: Edition, period: Period, now: datetime) -> None:
        with self.app.database.write() as conn:
            kv.put(conn, edition.key, _row(period, None), now)

    def _tell(self, edition: Edition, period: Period, due: datetime, before: Mapping[str, Any]) -> None:
        known = self._report(period)
        # The month before may still turn final; what lies before that no longer does.
        earlier = {**before, "earlier": None} if before in _drafts(edition, before) else None
        self._write(edition, _row(period, known, earlier), self._notices(edition, period, due, known))

    def _revise(
        self, edition: Edition, due: datetime, told: Mapping[str, Any], draft: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Tells a draft of ``told`` again if it is final and differs; returns what is remembered from now on."""
        period = edition.rhythm.period(edition.rhythm.next_due(_instant(draft["start"])))
        known = self._report(period)
        if not known.final:
            return told
        earlier = told.get("earlier")
        row = {**told, "earlier": None} if draft is earlier else _row(period, known, earlier)
        found = changes(draft["numbers"], known.numbers)
        revised = (draft["numbers"], found)
        self._write(edition, row, self._notices(edition, period, due, known, revised) if found else [])
        return row

    def _report(self, period: Period) -> Report:
        facts = gather(
            self.app, period.name, period.start, period.end, before=period.before, period=period.kind
        )  # fmt: skip
        return report(facts)

    def _write(self, edition: Edition, row: Mapping[str, Any], notices: Sequence[Notice]) -> None:
        with self.app.database.write() as conn:
            outbox.enqueue(conn, notices)
            kv.put(conn, edition.key, row, self.app.clock.now())

    def _notices(
        self,
        edition: Edition,
        period: Period,
        due: datetime,
        told: Report,
        revised: tuple[Mapping[str, Any], list[dict[str, Any]]] | None = None,
    ) -> list[Notice]:
        """One for each channel. Mail carries the whole report in the language of its channel."""
        paths, now = routing(self.app.config), self.app.clock.now()
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


def _drafts(edition: Edition, told: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The months that were told as drafts and are to be told again when they are final: the last one and the one
    before it."""
    rows = [row for row in (told, told.get("earlier")) if row is not None and row["kind"] == "month"]
    return [row for row in rows if edition.revise and row["numbers"] is not None and row["numbers"]["stage"] != "final"]


def _row(period: Period, told: Report | None, earlier: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What is remembered: which period was told, the numbers that a revision is compared with, and the same of the
    month before while that is a draft."""
    kept = ("stage", "amount", "billed", "saved", "owners")
    numbers = None if told is None else {key: told.numbers[key] for key in kept}
    start = encode(period.start)
    return {"kind": period.kind, "name": period.name, "start": start, "numbers": numbers, "earlier": earlier}


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
