"""The fleet as the page shows it: a line for each resource, in groups, what needs a look first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import Connection

from costguard.daemon import fleet as fleets
from costguard.daemon.documents import FleetRow
from costguard.daemon.listing import COMPUTE
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode
from costguard.domain.finding import Finding
from costguard.domain.money import Money
from costguard.domain.resource import ResourceRef
from costguard.domain.usage import Metric
from costguard.rules.burn import billed_per_hour
from costguard.store import usage
from costguard.web.speech import Speech

# A page is read by a person: beyond this a group says how many more there are.
SHOWN = 60
_HOUR = timedelta(hours=1)
_TIMED = frozenset({GuardCode.NOT_DUE, GuardCode.DRY_RUN, GuardCode.NOT_ARMED, GuardCode.OK})


class Group(StrEnum):
    """In the order of the page."""

    LOOK = "look"
    STOPPED = "stopped"
    FINE = "fine"
    OFF = "off"
    HOLDINGS = "holdings"


# Urgency of a line among those that need a look, by its pill's class.
_URGENCY = {"burn": 0, "failed": 1, "idle": 2, "kept": 3, "": 4}


@dataclass(frozen=True, slots=True)
class FleetLine:
    """One resource. ``pill`` is a short status and ``why`` its reason; ``spark`` are SVG points of the last hour."""

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

    @property
    def hot(self) -> bool:
        """Money is about to be saved here, or should be."""
        return self.pill_class in ("idle", "burn", "failed")


@dataclass(frozen=True, slots=True)
class FleetGroup:
    """``count`` resources, of which the first are ``lines``; ``per_hour`` is what all of them cost now."""

    key: Group
    count: int
    per_hour: str
    lines: tuple[FleetLine, ...]

    @property
    def open(self) -> bool:
        return self.key in (Group.LOOK, Group.STOPPED)

    @property
    def more(self) -> int:
        return self.count - len(self.lines)


def fleet_groups(
    conn: Connection, speech: Speech, rows: Sequence[FleetRow], found_now: Iterable[Finding]
) -> tuple[FleetGroup, ...]:
    """The groups that have somebody in them. ``found_now`` has fresher evidence than the ladders."""
    lines = Lines(conn, speech, found_now)
    found: dict[Group, list[FleetRow]] = {group: [] for group in Group}
    for row in rows:
        found[_group(row)].append(row)
    found[Group.LOOK].sort(key=lambda row: lines.urgency(row))
    return tuple(
        FleetGroup(key, len(members), lines.per_hour(members), tuple(lines.line(row) for row in members[:SHOWN]))
        for key, members in found.items()
        if members
    )


def _group(row: FleetRow) -> Group:
    action = row.action
    if action is not None and action.state is ActionState.DONE and action.response.ends_billing:
        if row.activity == fleets.OFF:
            return Group.STOPPED
        action = None
    if (action is not None and action.state is not ActionState.DONE) or row.keep is not None:
        return Group.LOOK
    if row.resource.ref.kind not in COMPUTE:
        return Group.HOLDINGS
    if row.activity == fleets.OFF:
        return Group.OFF
    return Group.FINE if row.activity == "active" else Group.LOOK


class Lines:
    """Makes lines of one moment in one language."""

    def __init__(self, conn: Connection, speech: Speech, found_now: Iterable[Finding] = ()) -> None:
        self._conn, self._speech, self._t = conn, speech, speech.t
        self._fresh = {(finding.policy, finding.subject.key): finding for finding in found_now}

    def urgency(self, row: FleetRow) -> tuple[int, datetime, int]:
        """Acting and failed first, then by due time, then what costs most."""
        _, pill_class, _ = self._status(row)
        due = row.action.due_at if row.action and row.action.due_at and pill_class == "idle" else None
        price = row.resource.price.nanos if row.resource.price else 0
        return _URGENCY[pill_class], due or row.resource.observed_at, -price

    def per_hour(self, rows: Iterable[FleetRow]) -> str:
        costs = [cost for row in rows if (cost := billed_per_hour(row.resource))]
        total: Money = self._speech.settings.rates.total(costs, self._speech.now).money
        return str(total) if total else ""

    def line(self, row: FleetRow) -> FleetLine:
        resource = row.resource
        pill, pill_class, why = self._status(row)
        compute = resource.ref.kind in COMPUTE
        return FleetLine(
            name=resource.name or resource.ref.id,
            what=" · ".join(part for part in (_hardware(row), resource.ref.account, resource.ref.region) if part),
            activity=row.activity if compute else "",
            spark=self._spark(resource.ref) if compute and resource.is_running else "",
            price="" if resource.price is None else str(resource.price),
            charge=self._t(f"charge.{resource.charge_type.value}"),
            owner=resource.owner or "",
            pill=pill,
            pill_class=pill_class,
            why=why,
        )

    def _status(self, row: FleetRow) -> tuple[str, str, str]:
        """(pill, its class, one sentence) for a resource."""
        if row.keep is not None:
            until = self._speech.day_at(row.keep.until)
            text = self._t("status.kept", by=row.keep.by, time=until, reason=row.keep.reason)
            return self._t("kept"), "kept", text
        if row.action is not None:
            return self._ladder(row.action, row)
        if row.resource.ref.kind not in COMPUTE or row.activity == fleets.OFF:
            return "", "", ""
        return "", "", self._t(_PLAIN[row.activity])

    def _ladder(self, action: Action, row: FleetRow) -> tuple[str, str, str]:
        speech, now = self._speech, self._speech.now
        guard = self._t(f"guard.{action.code.value}")
        off = row.activity == fleets.OFF
        match action.state:
            case ActionState.DONE if action.response.ends_billing and off:
                at = speech.day_at(action.executed_at or action.updated_at)
                return self._t("status.stopped", time=at), "saved", self._saves(action)
            case ActionState.DONE | ActionState.CANCELLED | ActionState.SUPERSEDED:
                return "", "", "" if off else self._t(_PLAIN.get(row.activity, "status.fine"))
            case ActionState.FAILED:
                return self._t("status.failed"), "failed", speech.sentence(action.error or action.reason)
        why = speech.evidence(self._fresh.get((action.policy, action.subject.key)) or action.finding())
        if action.state.in_flight:
            return self._t("status.acting"), "burn", why
        if not action.response.ends_billing:
            return self._t("status.notified", policy=action.policy), "", why
        if row.barred is not None:
            return self._t("status.refused", reason=self._t(f"guard.{row.barred.value}")), "", why
        if action.code in _TIMED and action.due_at is not None:
            if action.dry_run:
                return self._t("status.would_stop", time=speech.day_at(action.due_at)), "idle", why
            if action.due_at > now:
                due, left = speech.day_at(action.due_at), speech.left(action.due_at)
                return self._t("status.stop_in", time=due, left=left), "idle", why
        if action.code in (GuardCode.NOT_WARNED, GuardCode.OK, GuardCode.NOT_DUE):
            # Nothing is due before the warning has been delivered.
            waits = self._t("guard.not_warned")
            due = self._t("status.waiting", reason=waits) if action.due_at is None else self._t("status.due")
            return due, "idle", why
        return self._t("status.refused", reason=guard), "", why

    def _saves(self, action: Action) -> str:
        waste = action.waste_per_hour
        return "" if waste is None else self._t("status.saves", money=waste, policy=action.policy)

    def _spark(self, ref: ResourceRef) -> str:
        """The last hour's GPU use, the busiest card of each minute; empty without samples."""
        since = self._speech.now - _HOUR
        highest: dict[int, float] = {}
        for sample in usage.series(self._conn, ref, Metric.GPU_UTIL, since, self._speech.now):
            minute = int((sample.at - since).total_seconds() // 60)
            highest[minute] = max(highest.get(minute, 0.0), sample.value)
        return " ".join(f"{minute * 1.6:.1f},{22 - value * 0.2:.1f}" for minute, value in sorted(highest.items()))


_PLAIN = {"active": "status.fine", "idle": "status.idle", "unknown": "status.no_data"}


def _hardware(row: FleetRow) -> str:
    resource = row.resource
    if resource.gpus and resource.gpus.count is not None:
        count = format(resource.gpus.count.normalize(), "f")
        return f"{count}× {resource.gpus.model}" if resource.gpus.count != 1 else resource.gpus.model
    if resource.gpus:
        return f"{resource.sku or ''} (? GPU)".lstrip()
    return resource.sku or (f"{resource.size_gib} GiB" if resource.size_gib else resource.ref.kind.value)
