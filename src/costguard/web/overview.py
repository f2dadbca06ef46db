"""The overview page's view model: every text that the page shows, ready in one language.

Reads the store and nothing else; the page is one consistent moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from markupsafe import Markup
from sqlalchemy import Connection

from costguard.daemon import fleet as fleets
from costguard.daemon.documents import FleetRow
from costguard.daemon.listing import COMPUTE
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import Finding
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.money import Money
from costguard.domain.resource import ResourceRef
from costguard.domain.snapshot import SourceState
from costguard.domain.usage import Metric
from costguard.engine.settings import Owner
from costguard.notify.doc import Doc
from costguard.notify.facts import notify_facts
from costguard.notify.words import words
from costguard.rules.currency import Rates
from costguard.store import findings, ledger, levers, savings, sources, usage
from costguard.web.words import WORDS, Language, word

_LOG_LINES = 40
SAVED_OVER = timedelta(days=31)
_HOUR = timedelta(hours=1)
_SYMBOL = {"CNY": "¥", "USD": "$", "EUR": "€"}
_WAITING = frozenset({ActionState.WARNED, ActionState.DEFERRED, ActionState.PROPOSED, ActionState.RECORDED})


@dataclass(frozen=True, slots=True)
class PageSettings:
    """What the page needs of the configuration."""

    zone: ZoneInfo
    currency: str
    mode: str
    rates: Rates
    owners: tuple[Owner, ...]
    demo_speed: int = 0


@dataclass(frozen=True, slots=True)
class BurnTile:
    total: str
    active: str
    idle: str
    unknown: str
    shares: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class WarnedTile:
    count: int
    name: str = ""
    time: str = ""
    left: str = ""


@dataclass(frozen=True, slots=True)
class SavedTile:
    amount: str
    count: int
    rate: str
    projected: str


@dataclass(frozen=True, slots=True)
class FleetLine:
    name: str
    what: str
    activity: str
    spark: str
    price: str
    charge: str
    owner: str
    pill: str
    pill_class: str
    why: str
    hot: bool


@dataclass(frozen=True, slots=True)
class FindingLine:
    name: str
    policy: str
    since: str
    waste: str
    why: str


@dataclass(frozen=True, slots=True)
class LogLine:
    time: str
    name: str
    text: str
    pill: str
    pill_class: str


@dataclass(frozen=True, slots=True)
class ChatLine:
    platform: str
    time: str
    html: Markup


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole page in one language."""

    clock: str
    date: str
    zone: str
    mode: str
    paused: bool
    demo_speed: int
    burn: BurnTile
    warned: WarnedTile
    kept: tuple[str, ...]
    saved: SavedTile
    running: int
    idle_count: int
    off_count: int
    fleet: tuple[FleetLine, ...]
    findings: tuple[FindingLine, ...]
    log: tuple[LogLine, ...]
    bad_sources: tuple[str, ...]
    inbox: tuple[ChatLine, ...] | None


class OverviewBuilder:
    """Builds the page of one moment in one language."""

    def __init__(self, conn: Connection, settings: PageSettings, now: datetime, language: Language) -> None:
        self.conn, self.settings, self.now, self.language = conn, settings, now, language
        self.words = words(language)

    def build(self, inbox: tuple[ChatLine, ...] | None = None) -> Overview:
        rows = fleets.fleet(self.conn, self.now, self.settings.owners)
        compute = [r for r in rows if r.resource.ref.kind in COMPUTE]
        running = [r for r in compute if r.activity != fleets.OFF]
        return Overview(
            clock=self._clock(self.now),
            date=self._date(self.now),
            zone="北京时间"
            if self.settings.zone.key == "Asia/Shanghai" and self.language == "zh"
            else self.settings.zone.key,
            mode=self.settings.mode,
            paused=levers.paused(self.conn, self.now) is not None,
            demo_speed=self.settings.demo_speed,
            burn=self._burn(),
            warned=self._warned(rows),
            kept=tuple(r.resource.name for r in rows if r.keep is not None),
            saved=self._saved(rows),
            running=len(running),
            idle_count=sum(1 for r in running if r.activity == "idle"),
            off_count=len(compute) - len(running),
            fleet=tuple(self._fleet_line(r) for r in rows),
            findings=tuple(self._finding_line(f.finding) for f in findings.open_findings(self.conn)),
            log=self._log(),
            bad_sources=tuple(
                f"{s.account}/{s.region} {s.source}"
                for s in sources.sources(self.conn)
                if s.state in (SourceState.DENIED, SourceState.FAILED)
            ),
            inbox=inbox,
        )

    def t(self, key: str, **values: object) -> str:
        return word(key, self.language, **values)

    def series(self) -> dict[str, object]:
        """The chart's data: local times and money per hour, by activity."""
        currency, points = fleets.burns(self.conn)
        scale = 1_000_000_000
        times = [self._clock(datetime.fromtimestamp(p[0], self.settings.zone)) for p in points]
        # Floats are for the eye here: a chart has no cents.
        columns = list(zip(*(p[1:] for p in points), strict=True)) if points else [(), (), ()]
        active, idle, unknown = ([round(n / scale, 2) for n in column] for column in columns)
        return {
            "times": times,
            "active": active,
            "idle": idle,
            "unknown": unknown,
            "symbol": _SYMBOL.get(currency, f"{currency} "),
            "unit": self.t("per_hour"),
            "names": {k: self.t(f"chart.{k}") for k in ("active", "idle", "unknown")},
        }

    def _clock(self, at: datetime) -> str:
        return at.astimezone(self.settings.zone).strftime("%H:%M")

    def _date(self, at: datetime) -> str:
        local = at.astimezone(self.settings.zone)
        if self.language == "zh":
            return f"{local:%Y}年{local.month}月{local.day}日 周{'一二三四五六日'[local.weekday()]}"
        return local.strftime("%a %d %b %Y")

    def _day_clock(self, at: datetime) -> str:
        local, today = at.astimezone(self.settings.zone), self.now.astimezone(self.settings.zone)
        return self._clock(at) if local.date() == today.date() else local.strftime("%m-%d %H:%M")

    def _left(self, at: datetime) -> str:
        return self.words.duration(max(timedelta(0), at - self.now))

    def _burn(self) -> BurnTile:
        currency, points = fleets.burns(self.conn)
        last = points[-1] if points else (0, 0, 0, 0)
        parts = {
            k: Money(int(n), currency or self.settings.currency)
            for k, n in zip(("active", "idle", "unknown"), last[1:], strict=True)
        }
        total = parts["active"] + parts["idle"] + parts["unknown"]
        shares = tuple((k, round(100 * m.nanos / total.nanos, 1)) for k, m in parts.items() if total.nanos)
        return BurnTile(str(total), str(parts["active"]), str(parts["idle"]), str(parts["unknown"]), shares)

    def _warned(self, rows: Sequence[FleetRow]) -> WarnedTile:
        waiting = [
            r
            for r in rows
            if r.action is not None
            and r.action.state in _WAITING
            and r.action.response is Response.STOP
            and r.action.warned_at is not None
            and r.action.code in (GuardCode.NOT_DUE, GuardCode.OK, GuardCode.LIMIT, GuardCode.OUTSIDE_HOURS)
        ]
        soonest = min(waiting, key=lambda r: _due(r.action), default=None)
        if soonest is None or soonest.action is None or soonest.action.due_at is None:
            return WarnedTile(len(waiting))
        due = soonest.action.due_at
        return WarnedTile(len(waiting), soonest.resource.name, self._day_clock(due), self._left(due))

    def _saved(self, rows: Sequence[FleetRow]) -> SavedTile:
        start = self.now - SAVED_OVER
        booked = savings.savings(self.conn, start, self.now)
        rates = self.settings.rates
        total = rates.total((s.amount(start, self.now) for s in booked), self.now).money
        standing = [s for s in booked if s.until is None]
        rate = rates.total((s.per_hour for s in standing), self.now).money
        recorded = [
            r.action.waste_per_hour
            for r in rows
            if r.action and r.action.dry_run and r.action.response is Response.STOP and r.action.waste_per_hour
        ]
        projected = rates.total(recorded, self.now).money
        return SavedTile(str(total), len(standing), str(rate), str(projected) if projected else "")

    def _fleet_line(self, row: FleetRow) -> FleetLine:
        resource = row.resource
        pill, pill_class, why = self._status(row)
        return FleetLine(
            name=resource.name or resource.ref.id,
            what=" · ".join(part for part in (self._hardware(row), resource.ref.account, resource.ref.region) if part),
            activity=row.activity
            if resource.ref.kind in COMPUTE
            else "off"
            if row.activity == "active"
            else row.activity,
            spark=self._spark(resource.ref) if resource.is_running else "",
            price="" if resource.price is None else str(resource.price),
            charge=self.t(f"charge.{resource.charge_type.value}"),
            owner=resource.owner or "",
            pill=pill,
            pill_class=pill_class,
            why=why,
            hot=pill_class == "idle",
        )

    def _hardware(self, row: FleetRow) -> str:
        resource = row.resource
        if resource.gpus:
            count = format(resource.gpus.count.normalize(), "f")
            return f"{count}× {resource.gpus.model}" if resource.gpus.count != 1 else resource.gpus.model
        return resource.sku or (f"{resource.size_gib} GiB" if resource.size_gib else resource.ref.kind.value)

    def _status(self, row: FleetRow) -> tuple[str, str, str]:
        """(pill, its class, one sentence) for a resource."""
        if row.keep is not None:
            until = self._day_clock(row.keep.until)
            text = self.t("status.kept", by=row.keep.by, time=until, reason=row.keep.reason)
            return self.t("kept"), "kept", text
        action = row.action
        if action is None:
            if row.activity == "unknown" and row.resource.ref.kind in COMPUTE:
                return "", "", self.t("status.no_data")
            return "", "", self.t("status.fine") if row.activity != fleets.OFF else ""
        return self._ladder(action, row)

    def _ladder(self, action: Action, row: FleetRow) -> tuple[str, str, str]:
        guard = self.t(f"guard.{action.code.value}")
        why = self._evidence(action.finding())
        match action.state:
            case ActionState.DONE if action.response.ends_billing and row.activity == fleets.OFF:
                at = action.executed_at or action.updated_at
                return self.t("activity.off"), "saved", self.t("status.stopped", time=self._day_clock(at))
            case ActionState.DONE | ActionState.CANCELLED | ActionState.SUPERSEDED:
                return "", "", self.t("status.fine") if row.activity != fleets.OFF else ""
            case ActionState.FAILED:
                return self.t("status.failed"), "failed", action.error or action.reason
        if action.state.in_flight:
            return self.t("status.acting"), "burn", why
        if not action.response.ends_billing:
            return self.t("status.notified", policy=action.policy), "", why
        if action.code in _TIMED and action.due_at is not None:
            if action.dry_run:
                return self.t("status.would_stop", time=self._day_clock(action.due_at)), "idle", why
            if action.due_at > self.now:
                pill = self.t("status.stop_in", time=self._day_clock(action.due_at), left=self._left(action.due_at))
                return pill, "idle", why
        if action.code in (GuardCode.NOT_WARNED, GuardCode.OK, GuardCode.NOT_DUE):
            return self.t("status.due", reason=guard), "idle", why
        return self.t("status.refused", reason=guard), "", why

    def _evidence(self, finding: Finding) -> str:
        facts = notify_facts(finding=finding, resource=None, now=self.now, timezone=self.settings.zone.key)
        return self.words.evidence(Doc(facts), self.now, self.settings.zone)

    def _finding_line(self, finding: Finding) -> FindingLine:
        waste = finding.waste_per_hour
        return FindingLine(
            name=finding.subject.name or finding.subject.id,
            policy=finding.policy,
            since=self._day_clock(finding.since),
            waste="" if waste is None else f"{waste}{self.t('per_hour')}",
            why=self._evidence(finding),
        )

    def _log(self) -> tuple[LogLine, ...]:
        entries = ledger.list_entries(self.conn, limit=_LOG_LINES)
        return tuple(self._log_line(e) for e in entries if e.kind in _TOLD)

    def _log_line(self, entry: LedgerEntry) -> LogLine:
        subject = entry.subject
        return LogLine(
            time=self._clock(entry.at),
            name="" if subject is None else subject.name or subject.id,
            text=self.told(entry),
            pill=self.t(f"ledger.{entry.kind.value}"),
            pill_class=_PILLS.get(entry.kind, ""),
        )

    def told(self, entry: LedgerEntry) -> str:
        """The line in the page's language: from what it records, not from its English sentence."""
        evidence = entry.evidence
        lever = evidence.get("lever")
        key = f"lever.{lever}" if lever else f"log.{entry.kind.value}"
        if key not in WORDS:
            return entry.text
        until = evidence.get("until")
        return self.t(
            key,
            actor=entry.actor,
            policy=entry.policy or "",
            reason=evidence.get("reason") or (self.t(f"guard.{entry.code}") if entry.code else entry.text),
            owner=evidence.get("owner", ""),
            until=self._day_clock(until) if isinstance(until, datetime) else "",
            money=entry.money or "",
            text=entry.text,
        )

    def _spark(self, ref: ResourceRef) -> str:
        """SVG points of the last hour's GPU use, the busiest card of each minute; empty without samples."""
        samples = usage.series(self.conn, ref, Metric.GPU_UTIL, self.now - _HOUR, self.now)
        highest: dict[int, float] = {}
        for sample in samples:
            minute = int((sample.at - (self.now - _HOUR)).total_seconds() // 60)
            highest[minute] = max(highest.get(minute, 0.0), sample.value)
        return " ".join(f"{minute * 1.6:.1f},{22 - value * 0.2:.1f}" for minute, value in sorted(highest.items()))


_TIMED = frozenset({GuardCode.NOT_DUE, GuardCode.DRY_RUN, GuardCode.NOT_ARMED, GuardCode.OK})
_TOLD = frozenset(LedgerKind) - {LedgerKind.FINDING, LedgerKind.DEFERRED, LedgerKind.REFUSED}
_PILLS = {
    LedgerKind.WARNING: "idle",
    LedgerKind.EXECUTED: "burn",
    LedgerKind.CONFIRMED: "saved",
    LedgerKind.SAVING: "saved",
    LedgerKind.FAILED: "failed",
    LedgerKind.LEVER: "kept",
    LedgerKind.CLEARED: "active",
}


def _due(action: Action | None) -> datetime:
    assert action is not None
    return action.due_at or datetime.max.replace(tzinfo=action.updated_at.tzinfo)
