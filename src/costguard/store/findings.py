"""Findings: each is open from when a rule first claimed it until the rule no longer does."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from costguard.domain.finding import Finding
from costguard.domain.resource import ResourceRef
from costguard.store.rows import Rows
from costguard.store.sql import chunks
from costguard.store.tables import finding as table

_ROWS = Rows(Finding)


@dataclass(frozen=True, slots=True)
class FindingsDelta:
    """``current`` are all open findings, each with the earliest ``since`` that was claimed for it."""

    current: tuple[Finding, ...]
    opened: tuple[Finding, ...]
    closed: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """A finding with its time in the store (aware UTC); ``closed_at`` None: it is open."""

    finding: Finding
    opened_at: datetime
    seen_at: datetime
    closed_at: datetime | None


def sync(
    conn: Connection, findings: Sequence[Finding], now: datetime, *, unknown: Collection[str] = ()
) -> FindingsDelta:
    """Makes the open findings those of this cycle.

    ``unknown`` holds the fingerprints that a rule could not judge this time: they stay as they are, because unknown
    never clears.
    """
    open_rows = {row.fingerprint: row for row in conn.execute(select(table).where(table.c.closed_at.is_(None)))}
    current: list[Finding] = []
    opened: list[Finding] = []
    seen: list[dict[str, Any]] = []
    new: list[dict[str, Any]] = []
    claimed = {finding.fingerprint: finding for finding in findings}
    for fingerprint, finding in claimed.items():
        row = open_rows.get(fingerprint)
        if row is None:
            opened.append(finding)
            current.append(finding)
            new.append(_row(finding, fingerprint) | {"opened_at": now, "seen_at": now, "closed_at": None})
        else:
            kept = replace(finding, since=min(row.since, finding.since))
            current.append(kept)
            seen.append(_row(kept, fingerprint) | {"seen_at": now, "row_id": row.id})
    over = [row for fingerprint, row in open_rows.items() if fingerprint not in claimed and fingerprint not in unknown]
    held = [row for fingerprint, row in open_rows.items() if fingerprint not in claimed and fingerprint in unknown]
    if new:
        conn.execute(insert(table), new)
    if seen:
        changes = [name for name in seen[0] if name != "row_id"]
        statement = update(table).where(table.c.id == bindparam("row_id"))
        # The parameters need names of their own: a column's name is taken by the statement itself.
        statement = statement.values({name: bindparam(f"new_{name}") for name in changes})
        conn.execute(
            statement, [{"row_id": row["row_id"]} | {f"new_{name}": row[name] for name in changes} for row in seen]
        )
    for ids in chunks([row.id for row in over]):
        conn.execute(update(table).where(table.c.id.in_(ids)).values(closed_at=now))
    current.extend(_ROWS.load(row) for row in held)
    return FindingsDelta(tuple(current), tuple(opened), tuple(_ROWS.load(row) for row in over))


def open_findings(conn: Connection) -> tuple[FindingRecord, ...]:
    """The open findings, the dearest first."""
    rows = conn.execute(select(table).where(table.c.closed_at.is_(None)).order_by(table.c.policy, table.c.subject_key))
    records = [_record(row) for row in rows]
    return tuple(
        sorted(records, key=lambda one: -(one.finding.waste_per_hour.nanos if one.finding.waste_per_hour else 0))
    )


def list_findings(
    conn: Connection,
    *,
    since: datetime | None = None,
    ref: ResourceRef | None = None,
    policy: str | None = None,
    limit: int | None = None,
) -> tuple[FindingRecord, ...]:
    """Findings, open and closed, newest first; ``since`` ≤ seen_at."""
    query = select(table).order_by(table.c.seen_at.desc(), table.c.id.desc())
    if since is not None:
        query = query.where(table.c.seen_at >= since)
    if ref is not None:
        query = query.where(table.c.subject_key == str(ref))
    if policy is not None:
        query = query.where(table.c.policy == policy)
    return tuple(_record(row) for row in conn.execute(query.limit(limit)))


def _row(finding: Finding, fingerprint: str) -> dict[str, Any]:
    return _ROWS.row(finding) | {"fingerprint": fingerprint}


def _record(row: Row[*tuple[Any, ...]]) -> FindingRecord:
    return FindingRecord(_ROWS.load(row), row.opened_at, row.seen_at, row.closed_at)
