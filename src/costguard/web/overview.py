"""The overview page: every text that it shows, ready in one language, each part worked out when it is asked for.

Reads the store and nothing else. The page is one consistent moment; a part that htmx refreshes costs only
what that part shows.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from markupsafe import Markup
from sqlalchemy import Connection

from costguard.daemon import fleet as fleets
from costguard.daemon.documents import FleetRow
from costguard.daemon.listing import COMPUTE
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import Finding
from costguard.domain.ledger import LedgerKind
from costguard.domain.money import Money
from costguard.domain.snapshot import SourceState
from costguard.engine.savings import worth
from costguard.store import findings, ledger, levers, savings, sources
from costguard.web.rows import FleetGroup, fleet_groups
from costguard.web.settings import PageSettings
from costguard.web.speech import Speech
from costguard.web.words import Language

LOG_LINES = 60
FINDING_LINES = 60
KEPT_NAMES = 3
SAVED_OVER = timedelta(days=31)
_NANOS = 1_000_000_000
_SYMBOL = {"CNY": "¥", "USD": "$", "EUR": "€"}
_ACTIVITIES = ("active", "idle", "unknown")
_WAITING = frozenset({ActionState.WARNED, ActionState.DEFERRED, ActionState.PROPOSED})
_SOON = frozenset({GuardCode.NOT_DUE, GuardCode.OK, GuardCode.LIMIT, GuardCode.OUTSIDE_HOURS})


@dataclass(frozen=True, slots=True)
class Part:
    """One activity's share of the burn: ``share`` in percent."""

    activity: str
    amount: str
    share: float


@dataclass(frozen=True, slots=True)
class BurnTile:
    total: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class WarnedTile:
    """``count`` boxes with a delivered warning that nothing holds back; the first to stop by name."""

    count: int
    name: str = ""
    time: str = ""
    left: str = ""


@dataclass(frozen=True, slots=True)
class KeptTile:
    count: int
    names: tuple[str, ...]

    @property
    def more(self) -> int:
        return self.count - len(self.names)


@dataclass(frozen=True, slots=True)
class SavedTile:
    amount: str
    count: int
    rate: str
    projected: str


@dataclass(frozen=True, slots=True)
class FindingLine:
    name: str
    policy: str
    since: str
    waste: str
    why: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the history; ``tone`` colours its dot."""

    time: str
    name: str
    text: str
    tone: str


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A message of the demo's inbox. ``platform`` ∈ slack, dingtalk."""

    platform: str
    time: str
    html: Markup


class Overview(Speech):
    """The page of one moment in one language. ``conn`` must live while parts are asked for."""

    def __init__(
        self,
        conn: Connection,
        settings: PageSettings,
        now: datetime,
        language: Language,
        inbox: tuple[ChatLine, ...] | None = None,
    ) -> None:
        super().__init__(settings, now, language)
        self._conn = conn
        self.inbox = inbox

    @property
    def clock(self) -> str:
        return self.at(self.now)

    @property
    def date(self) -> str:
        return self.day(self.now)

    @property
    def zone(self) -> str:
        beijing = self.settings.zone.key == "Asia/Shanghai" and self.language == "zh"
        return "北京时间" if beijing else self.settings.zone.key

    @property
    def mode(self) -> str:
        return self.settings.mode

    @property
    def demo_speed(self) -> int:
        return self.settings.demo_speed

    @cached_property
    def paused(self) -> bool:
        return levers.paused(self._conn, self.now) is not None

    @cached_property
    def _rows(self) -> tuple[FleetRow, ...]:
        return fleets.fleet(self._conn, self.now, self.settings.owners)

    @cached_property
    def _compute(self) -> tuple[FleetRow, ...]:
        return tuple(row for row in self._rows if row.resource.ref.kind in COMPUTE)

    @property
    def running(self) -> int:
        return sum(1 for row in self._compute if row.activity != fleets.OFF)

    @property
    def idle_count(self) -> int:
        return sum(1 for row in self._compute if row.activity == "idle")

    @property
    def off_count(self) -> int:
        return len(self._compute) - self.running

    @cached_property
    def groups(self) -> tuple[FleetGroup, ...]:
        return fleet_groups(self._conn, self, self._rows, self._findings)

    @cached_property
    def burn(self) -> BurnTile:
        currency, points = fleets.burns(self._conn)
        last = points[-1] if points else (0, 0, 0, 0)
        amounts = [Money(int(nanos), currency or self.settings.currency) for nanos in last[1:]]
        total = sum(amount.nanos for amount in amounts)
        parts = (
            Part(activity, str(amount), round(100 * amount.nanos / total, 1) if total else 0.0)
            for activity, amount in zip(_ACTIVITIES, amounts, strict=True)
        )
        return BurnTile(str(Money(total, amounts[0].currency)), tuple(parts))

    @cached_property
    def warned(self) -> WarnedTile:
        waiting = [(row.resource.name, due) for row in self._rows if (due := _stops_at(row.action)) is not None]
        if not waiting:
            return WarnedTile(0)
        name, due = min(waiting, key=lambda found: found[1])
        return WarnedTile(len(waiting), name, self.day_at(due), self.left(due) if due > self.now else "")

    @cached_property
    def kept(self) -> KeptTile:
        names = [row.resource.name or row.resource.ref.id for row in self._rows if row.keep is not None]
        return KeptTile(len(names), tuple(names[:KEPT_NAMES]))

    @cached_property
    def saved(self) -> SavedTile:
        start = self.now - SAVED_OVER
        booked = savings.savings(self._conn, start, self.now)
        rates = self.settings.rates
        total = rates.total((m for s in booked if (m := worth(s, rates, start, self.now))), self.now).money
        standing = [s for s in booked if s.stands]
        rate = rates.total((s.per_hour for s in standing), self.now).money
        recorded = [
            row.action.waste_per_hour
            for row in self._rows
            if row.action and row.action.dry_run and row.action.response is Response.STOP
            if row.action.waste_per_hour and row.barred is None
        ]
        projected = rates.total(recorded, self.now).money
        return SavedTile(str(total), len(standing), str(rate), str(projected) if projected else "")

    @cached_property
    def _findings(self) -> tuple[Finding, ...]:
        return tuple(record.finding for record in findings.open_findings(self._conn))

    @cached_property
    def wide(self) -> tuple[FindingLine, ...]:
        """Findings about more than one resource: budgets, accounts, services, channels; of a budget the latest step."""
        latest: dict[tuple[str, str], Finding] = {}
        for found in sorted((f for f in self._findings if f.subject.ref is None), key=_step):
            latest[found.policy, found.subject.key] = found
        return tuple(self._finding_line(found) for found in latest.values())

    @cached_property
    def narrow(self) -> tuple[FindingLine, ...]:
        """Findings about one resource each; the dearest FINDING_LINES."""
        about = [f for f in self._findings if f.subject.ref is not None]
        return tuple(self._finding_line(f) for f in about[:FINDING_LINES])

    @property
    def narrow_count(self) -> int:
        return sum(1 for f in self._findings if f.subject.ref is not None)

    def _finding_line(self, finding: Finding) -> FindingLine:
        waste = finding.waste_per_hour
        return FindingLine(
            name=finding.subject.name or finding.subject.id,
            policy=finding.policy,
            since=self.day_at(finding.since),
            waste="" if waste is None else str(waste),
            why=self.evidence(finding),
        )

    @cached_property
    def log(self) -> tuple[LogLine, ...]:
        entries = ledger.list_entries(self._conn, kinds=_TOLD, limit=LOG_LINES)
        return tuple(
            LogLine(
                time=self.day_at(entry.at),
                name="" if entry.subject is None else entry.subject.name or entry.subject.id,
                text=self.told(entry),
                tone=_TONES.get(entry.kind, ""),
            )
            for entry in entries
        )

    @cached_property
    def bad_sources(self) -> tuple[str, ...]:
        return tuple(
            f"{s.account}/{s.region} {s.source}"
            for s in sources.sources(self._conn)
            if s.state in (SourceState.DENIED, SourceState.FAILED)
        )

    def series(self) -> dict[str, object]:
        """The chart's data: local times and money per hour, by activity."""
        currency, points = fleets.burns(self._conn)
        # Floats are for the eye here: a chart has no cents.
        columns = list(zip(*(p[1:] for p in points), strict=True)) if points else [(), (), ()]
        return {
            "times": [self.day_at(datetime.fromtimestamp(p[0], self.settings.zone)) for p in points],
            **{
                activity: [round(nanos / _NANOS, 2) for nanos in column]
                for activity, column in zip(_ACTIVITIES, columns, strict=True)
            },
            "symbol": _SYMBOL.get(currency, f"{currency} "),
            "unit": self.t("per_hour"),
            "total": self.t("chart.total"),
            "names": {activity: self.t(f"activity.{activity}") for activity in _ACTIVITIES},
        }


_TOLD = frozenset(LedgerKind) - {LedgerKind.FINDING, LedgerKind.DEFERRED, LedgerKind.REFUSED}
_TONES = {
    LedgerKind.WARNING: "idle",
    LedgerKind.EXECUTED: "burn",
    LedgerKind.CONFIRMED: "saved",
    LedgerKind.SAVING: "saved",
    LedgerKind.FAILED: "failed",
    LedgerKind.UNSEEN_WORK: "failed",
    LedgerKind.LEVER: "kept",
    LedgerKind.CLEARED: "active",
}


def _step(found: Finding) -> tuple[bool, datetime]:
    """What was reached says more than what is forecast, and a later step more than an earlier one."""
    return not found.threshold.startswith("forecast"), found.since


def _stops_at(action: Action | None) -> datetime | None:
    """When a warned box will stop; None for one that is not warned, only recorded, or held back by a guard."""
    if action is None or action.state not in _WAITING or action.response is not Response.STOP or action.dry_run:
        return None
    return action.due_at if action.warned_at is not None and action.code in _SOON else None
