"""What the desk tells who asks: status, who is burning, why. A few lines each, from what the last cycle wrote down."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from costguard.daemon.documents import FleetRow
from costguard.daemon.fleet import OFF, fleet
from costguard.daemon.listing import COMPUTE
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode
from costguard.domain.money import Money, total
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Resource, State
from costguard.engine.activity import Activity
from costguard.engine.settings import Owner
from costguard.notify.doc import Doc
from costguard.notify.document import about, document
from costguard.notify.story import clean
from costguard.notify.words.desk import DeskWords
from costguard.store import actions, levers

_MOST = 8
# What a ladder waits for by itself is no obstacle that people must hear of.
_QUIET = frozenset({GuardCode.OK, GuardCode.NOT_DUE, GuardCode.NOT_WARNED})


@dataclass(frozen=True, slots=True)
class Answers:
    """One question's frame. ``dry_run``: the configuration only records."""

    conn: Connection
    now: datetime
    owners: tuple[Owner, ...]
    zone: str
    dry_run: bool
    speech: DeskWords

    def status(self) -> str:
        rows = self._running()
        by = {activity: sum(row.activity == activity for row in rows) for activity in Activity}
        paused = levers.paused(self.conn, self.now)
        until = None if paused is None else self._when(paused.until) if paused.until else ""
        lines = [
            self.speech.status_title(
                len(rows), by[Activity.IDLE], by[Activity.UNKNOWN], self._cost(rows), until, self.dry_run
            )
        ]
        waiting = [a for a in actions.open_actions(self.conn) if a.response.acts and _comes(a)]
        for action in sorted(waiting, key=lambda a: (a.due_at is None, a.due_at or a.created_at))[:_MOST]:
            due = self._when(action.due_at) if action.due_at else ""
            lines.append(self.speech.status_box(_name(action), self._verb(action), due))
        if len(waiting) > _MOST:
            lines.append(self.speech.words.more.format(n=len(waiting) - _MOST))
        return "\n".join(lines if waiting else [*lines, self.speech.nothing_due()])

    def burning(self) -> str:
        rows = self._running()
        if not rows:
            return self.speech.nothing_runs()
        idle = [row for row in rows if row.activity == Activity.IDLE]
        lines = [self.speech.burning_title(self._cost(rows), self._cost(idle))]
        for row in sorted(rows, key=_wasteful)[:_MOST]:
            price = row.resource.price
            lines.append(
                self.speech.burning_box(
                    clean(row.resource.name), self.speech.words.per_hour(price) if price else "", self._activity(row),
                    clean(row.resource.owner or ""),
                )
            )  # fmt: skip
        if len(rows) > _MOST:
            lines.append(self.speech.words.more.format(n=len(rows) - _MOST))
        return "\n".join(lines)

    def why(self, resource: Resource) -> str:
        (row,) = (row for row in fleet(self.conn, self.now, self.owners) if row.resource.ref == resource.ref)
        price = row.resource.price
        cost = self.speech.words.per_hour(price) if price and row.activity != OFF else ""
        lines = [
            self.speech.why_title(clean(row.resource.name), self._activity(row), cost, clean(row.resource.owner or ""))
        ]
        if row.keep is not None:
            lines.append(self.speech.why_kept(clean(row.keep.by), self._when(row.keep.until), clean(row.keep.reason)))
        ladders = [a for a in actions.list_actions(self.conn, ref=resource.ref) if not a.state.terminal]
        lines += [self._ladder(action, row.resource) for action in ladders]
        return "\n".join(lines if ladders else [*lines, self.speech.why_nothing()])

    def _ladder(self, action: Action, resource: Resource) -> str:
        facts = document(
            NoticeKind.NOTIFY, self.now, self.zone, action.dry_run, None, dedup="", **about(action, resource)
        )
        evidence = self.speech.words.evidence(Doc(facts), self.now, ZoneInfo(self.zone))
        due = self._when(action.due_at) if action.due_at and action.response.acts else ""
        held = "" if action.code in _QUIET else self.speech.held(action.code, clean(action.reason))
        return self.speech.why_ladder(clean(action.policy), evidence, self._verb(action), due, held)

    def _running(self) -> list[FleetRow]:
        return [
            row
            for row in fleet(self.conn, self.now, self.owners)
            if row.resource.ref.kind in COMPUTE and row.resource.state is State.RUNNING
        ]

    def _cost(self, rows: list[FleetRow]) -> str:
        prices: list[Money] = [row.resource.price for row in rows if row.resource.price is not None]
        return self.speech.cost(total(prices))

    def _activity(self, row: FleetRow) -> str:
        ladder = row.action if row.action is not None and row.action.state is not ActionState.DONE else None
        idle = self.now - ladder.since if ladder is not None and ladder.rule == "idle" else None
        return self.speech.activity(row.activity, idle)

    def _verb(self, action: Action) -> str:
        if not action.response.acts:
            return ""
        return self.speech.words.verb(Doc({"do": action.response, "subject": {"provider": action.subject.provider}}))

    def _when(self, at: datetime) -> str:
        return self.speech.when(at, self.now, self.zone)


def _name(action: Action) -> str:
    return clean(action.subject.name or action.subject.id)


def _comes(action: Action) -> bool:
    """Whether the ladder will act by itself, or when somebody says yes: nothing else speaks against it."""
    return not action.dry_run and action.code in (*_QUIET, GuardCode.APPROVAL)


def _wasteful(row: FleetRow) -> tuple[bool, int, str]:
    """Idle ones first, then the dearest."""
    price = row.resource.price.nanos if row.resource.price else 0
    return row.activity != Activity.IDLE, -price, row.resource.name
