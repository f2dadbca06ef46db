"""The demo's story in the terminal: each ledger line as a sentence, in the viewer's language, as it happens."""

from datetime import datetime
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from costguard.app.app import App
from costguard.app.settings import page_settings
from costguard.daemon import fleet
from costguard.daemon.listing import COMPUTE
from costguard.domain.action import ActionState
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.money import Money
from costguard.store import actions, inventory, ledger
from costguard.web.overview import Overview
from costguard.web.speech import Speech
from costguard.web.words import Language, word

_STYLES = {
    LedgerKind.WARNING: ("⚠", "yellow"),
    LedgerKind.EXECUTED: ("■", "magenta"),
    LedgerKind.CONFIRMED: ("✔", "green"),
    LedgerKind.SAVING: ("￥", "bold green"),
    LedgerKind.CANCELLED: ("○", "blue"),
    LedgerKind.SUPERSEDED: ("○", "cyan"),
    LedgerKind.CLEARED: ("○", "cyan"),
    LedgerKind.FAILED: ("✘", "bold red"),
    LedgerKind.LEVER: ("☝", "blue"),
    LedgerKind.UNDO: ("↺", "blue"),
    LedgerKind.UNSEEN_WORK: ("!", "bold red"),
}


class Story:
    """Tells what is new since it was last asked."""

    def __init__(self, app: App, console: Console, language: Language) -> None:
        self._app, self._console, self._language = app, console, language
        self._last, self._since = 0, app.clock.now()
        self._zone: ZoneInfo = app.config.settings.timezone
        self._page = page_settings(app.config)

    def tell(self, now: datetime) -> None:
        """Prints the ledger lines that came since the last call."""
        with self._app.database.read() as conn:
            entries = [e for e in ledger.list_entries(conn, since=self._since) if e.id > self._last]
            if not entries:
                return
            speech = Speech(self._page, now, self._language)
            self._last, self._since = max(e.id for e in entries), max(e.at for e in entries)
            for entry in reversed(entries):
                if entry.kind in _STYLES:
                    self._console.print(self._line(entry, speech), soft_wrap=True, highlight=False, markup=True)

    def _line(self, entry: LedgerEntry, speech: Speech) -> str:
        sign, style = _STYLES[entry.kind]
        clock = entry.at.astimezone(self._zone).strftime("%H:%M")
        name = (entry.subject.name or entry.subject.id) if entry.subject else ""
        return f"[dim]{clock}[/dim] [{style}]{sign} {escape(name):<22}[/{style}] {escape(speech.told(entry))}"

    def burn(self) -> str:
        """What an hour costs now, in one line."""
        with self._app.database.read() as conn:
            currency, points = fleet.burns(conn)
        if not points:
            return ""
        active, idle, unknown = (Money(int(n), currency) for n in points[-1][1:])
        total = active + idle + unknown
        t = self._t
        return f"{t('burning')} {total}{t('per_hour')} · " + t("split", active=active, idle=idle, unknown=unknown)

    def summary(self, started: datetime, now: datetime) -> None:
        """The end of the story: what was warned, kept, left alone, stopped, and saved."""
        with self._app.database.read() as conn:
            rows = actions.list_actions(conn)
            tile = Overview(conn, self._page, now, self._language).saved
            running = sum(1 for r in inventory.resources(conn) if r.is_running and r.ref.kind in COMPUTE)
        stopped = [a for a in rows if a.state is ActionState.DONE and a.response.ends_billing]
        warned = sum(1 for a in rows if a.warned_at is not None and not a.dry_run)
        called_off = sum(1 for a in rows if a.state in (ActionState.CANCELLED, ActionState.SUPERSEDED) and a.warned_at)
        refused = len({a.subject.key for a in rows if not a.state.terminal and a.code.value in _REFUSALS})
        table = Table.grid(padding=(0, 2))
        t = self._t
        saved = t("saved.sub", count=tile.count, rate=tile.rate)
        for label, value in (
            (t("demo.hours"), f"{(now - started).total_seconds() / 3600:.1f}"),
            (t("demo.running"), str(running)),
            (t("demo.warned"), str(warned)),
            (t("demo.called_off"), str(called_off)),
            (t("demo.stopped"), str(len(stopped))),
            (t("demo.refused"), str(refused)),
            (t("demo.saved"), f"{tile.amount}   {saved}"),
        ):
            table.add_row(Text(label), Text(value, style="bold"))
        self._console.print(Panel(table, title="costguard", border_style="green", expand=False), markup=True)

    def _t(self, key: str, **values: object) -> str:
        return word(key, self._language, **values)


_REFUSALS = frozenset(
    {"protected", "fenced", "self", "busy", "unknown", "group_member", "unsupported", "saves_nothing", "loses_data"}
)
