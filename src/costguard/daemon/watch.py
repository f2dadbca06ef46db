"""The watch: what operators must hear besides the ladders: sources that cannot be read, and the dry run's day.

Each fact is told once; what was told is a row, so that a restart tells nothing twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from costguard.daemon.listing import never_readable
from costguard.domain.action import Action
from costguard.domain.notice import Notice, NoticeKind
from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.domain.time import local_midnight
from costguard.engine.settings import EngineSettings
from costguard.notify.bulletins import digest_item, dry_run_digest_facts, source_facts
from costguard.notify.route import Draft, Routing, route
from costguard.ports import Clock
from costguard.store import actions, inventory, kv, outbox, sources
from costguard.store.database import Database

_TOLD = "told/source/"
_ASIDE = "told/aside/"
_DIGEST = "told/digest"
_DAY = timedelta(days=1)
# A refusal is told at once; trouble that may pass by itself only after this many polls.
_PATIENCE = 3
_REGIONS = 5


@dataclass(frozen=True, slots=True)
class Watch:
    """``digest_at``: the local time of the dry run's daily digest."""

    database: Database
    clock: Clock
    routing: Routing
    settings: EngineSettings
    digest_at: clock_time

    def round(self) -> None:
        """Looks at the sources and at the clock, and queues what is new."""
        now = self.clock.now()
        with self.database.read() as conn:
            found = self._sources(conn, now)
            aside = self._aside(conn, now)
            digest = self._digest(conn, now)
        if not found and not aside and digest is None:
            return
        with self.database.write() as conn:
            for key, state, notices in found:
                outbox.enqueue(conn, notices)
                if state is None:
                    kv.remove(conn, key)
                else:
                    kv.put(conn, key, {"state": state.value}, now)
            for key, regions, notices in aside:
                outbox.enqueue(conn, notices)
                kv.put(conn, key, {"regions": regions, "at": now.isoformat()}, now)
            if digest is not None:
                day, notices = digest
                outbox.enqueue(conn, notices)
                kv.put(conn, _DIGEST, {"day": day.isoformat()}, now)

    def _sources(self, conn: Connection, now: datetime) -> list[tuple[str, SourceState | None, list[Notice]]]:
        """(key, the state that is told or None for a recovery, messages), one for each account and source."""
        told = kv.by_prefix(conn, _TOLD)
        groups: dict[tuple[str, str], list[SourceStatus]] = {}
        for status in sources.sources(conn):
            groups.setdefault((status.account, status.source), []).append(status)
        news: list[tuple[str, SourceState | None, list[Notice]]] = []
        for (account, source), statuses in sorted(groups.items()):
            key = f"{_TOLD}{account}/{source}"
            bad = [s for s in statuses if self._is_bad(conn, s, now)]
            known = told.get(key)
            if bad and (known is None or known["state"] != bad[0].state.value):
                news.append((key, bad[0].state, self._source(bad, key, now, recovered=False)))
            elif known is not None and all(s.state in (SourceState.OK, SourceState.SKIPPED) for s in statuses):
                news.append((key, None, self._source(statuses, key, now, recovered=True)))
        return news

    def _aside(self, conn: Connection, now: datetime) -> list[tuple[str, list[str], list[Notice]]]:
        """(key, regions, messages) for each account with regions that could never be read: when there are others than
        were told, and daily."""
        left_out: dict[str, list[SourceStatus]] = {}
        for status in never_readable(conn):
            left_out.setdefault(status.account, []).append(status)
        news = []
        for account, statuses in sorted(left_out.items()):
            key, regions = f"{_ASIDE}{account}", [s.region for s in statuses]
            told = kv.get(conn, key)
            age = None if told is None else now - datetime.fromisoformat(told["at"])
            if told is None or age is None or told["regions"] != regions or age >= _DAY:
                shown = [replace(s, state=SourceState.DENIED) for s in statuses]
                # Other regions are another story: they must not pass for the same one told again.
                story = f"{key}/{','.join(regions)}"
                news.append((key, regions, self._source(shown, story, now, recovered=False)))
        return news

    def _is_bad(self, conn: Connection, status: SourceStatus, now: datetime) -> bool:
        if status.state is SourceState.DENIED:
            return True
        if status.state is not SourceState.FAILED:
            return False
        since = sources.changed_at(conn, status.account, status.region, status.source)
        return since is not None and now - since >= _PATIENCE * status.interval

    def _source(self, statuses: Sequence[SourceStatus], key: str, now: datetime, *, recovered: bool) -> list[Notice]:
        first = statuses[0]
        names = [s.region for s in statuses]
        region = ", ".join(names[:_REGIONS]) + (f" +{len(names) - _REGIONS}" if len(names) > _REGIONS else "")
        shown = SourceStatus(
            first.account, region, first.source, first.state, first.fetched_at, first.interval, first.count,
            first.previous_count, first.error,
        )  # fmt: skip
        facts = source_facts(status=shown, now=now, timezone=self.settings.timezone, recovered=recovered)
        draft = Draft(NoticeKind.SOURCE, key, f"{key}/{now.isoformat()}", facts, now)
        return route(draft, self.routing)

    def _digest(self, conn: Connection, now: datetime) -> tuple[date, list[Notice]] | None:
        """Yesterday's and today's dry-run ladders that came due since the last digest; None when it is not time."""
        zone = ZoneInfo(self.settings.timezone)
        local = now.astimezone(zone)
        last = kv.get(conn, _DIGEST)
        if local.time() < self.digest_at or (last is not None and last["day"] == local.date().isoformat()):
            return None
        since = local_midnight(local.date() - timedelta(days=1), zone) + (
            datetime.combine(date.min, self.digest_at) - datetime.combine(date.min, clock_time())
        )
        rows = [
            a
            for a in actions.list_actions(conn, dry_run=True)
            if a.response.acts and a.ended_at is not None and since <= a.ended_at < now
        ]
        if not rows:
            return local.date(), []
        facts = dry_run_digest_facts(
            items=[self._item(conn, a) for a in rows], now=now, timezone=self.settings.timezone
        )
        key = f"digest/{local.date().isoformat()}"
        draft = Draft(NoticeKind.DIGEST, "digest/dry-run", key, facts, now, dry_run=True)
        return local.date(), route(draft, self.routing)

    def _item(self, conn: Connection, action: Action) -> dict[str, object]:
        ref = action.subject.ref
        resource = inventory.resource(conn, ref) if ref is not None else None
        return digest_item(
            subject=action.subject,
            do=action.response,
            policy=action.policy,
            price=action.waste_per_hour or (resource.price if resource else None),
            owner=resource.owner if resource else None,
            since=action.since,
            code=action.code.value,
        )
