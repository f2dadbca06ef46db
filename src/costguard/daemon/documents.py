"""The JSON documents of the public contract, built from domain objects.

The API serves them and ``--json`` prints them; there is one shape for both. Money is
``{"amount": "decimal string", "currency": "…"}`` or null when unknown, times are UTC with a ``Z``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from costguard.domain.action import Action
from costguard.domain.codec import decode, encode, instant, subject_json
from costguard.domain.decision import Decision, GuardCode
from costguard.domain.finding import Finding, Subject, SubjectType
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.notice import Notice
from costguard.domain.resource import Resource
from costguard.domain.snapshot import Keep, SourceStatus
from costguard.engine.audit import source_json
from costguard.rules.burn import billed_per_hour
from costguard.store.levers import Pause

Document = dict[str, object]


@dataclass(frozen=True, slots=True)
class FleetRow:
    """A resource with what costguard thinks of it. ``activity`` ∈ active, idle, unknown, off.

    ``barred`` is the guard that, as things are, will not let ``action`` act, whatever it waits for now.
    """

    resource: Resource
    activity: str
    activity_reason: str = ""
    keep: Keep | None = None
    action: Action | None = None
    barred: GuardCode | None = None


def _when(at: datetime | None) -> str | None:
    return None if at is None else instant(at)


def keep_json(keep: Keep) -> Document:
    return {
        "until": instant(keep.until),
        "until_idle": keep.until_idle,
        "by": keep.by,
        "reason": keep.reason,
        "at": instant(keep.at),
    }


def resource_json(row: FleetRow) -> Document:
    resource = row.resource
    return {
        "subject": subject_json(Subject.of(resource)),
        "ref": str(resource.ref),
        "state": resource.state.value,
        "raw_state": resource.raw_state,
        "sku": resource.sku,
        "gpus": None
        if resource.gpus is None
        else {
            "model": resource.gpus.model,
            "count": None if resource.gpus.count is None else format(resource.gpus.count.normalize(), "f"),
            "memory_mib": resource.gpus.memory_mib,
        },
        "vcpus": resource.vcpus,
        "charge_type": resource.charge_type.value,
        "price_per_hour": encode(resource.price),
        "billed_per_hour": encode(billed_per_hour(resource)),
        "price_source": resource.price_source,
        "owner": resource.owner,
        "team": resource.team,
        "group": resource.group,
        "protected": resource.protected,
        "tags": None if resource.tags is None else dict(resource.tags),
        "created_at": _when(resource.created_at),
        "started_at": _when(resource.started_at),
        "stopped_at": _when(resource.stopped_at),
        "expires_at": _when(resource.expires_at),
        "observed_at": instant(resource.observed_at),
        "stop_effect": None
        if resource.stop_effect is None
        else {
            "compute_billing_ends": resource.stop_effect.compute_billing_ends.value,
            "still_billed": list(resource.stop_effect.still_billed),
            "lost": list(resource.stop_effect.lost),
            "restart_risk": resource.stop_effect.restart_risk,
        },
        "activity": row.activity,
        "activity_reason": row.activity_reason,
        "keep": None if row.keep is None else keep_json(row.keep),
        "action": None if row.action is None else action_json(row.action),
        "barred": None if row.barred is None else row.barred.value,
    }


def finding_json(finding: Finding) -> Document:
    return {
        "policy": finding.policy,
        "rule": finding.rule,
        "subject": subject_json(finding.subject),
        "since": instant(finding.since),
        "evidence": encode(finding.evidence),
        "waste_per_hour": encode(finding.waste_per_hour),
    }


def decision_json(decision: Decision) -> Document:
    return {
        "subject": subject_json(decision.subject),
        "policy": decision.policy,
        "response": decision.response.value,
        "verdict": decision.verdict.answer.value,
        "code": decision.verdict.code.value,
        "reason": decision.verdict.reason,
        "due_at": _when(decision.due_at),
        "until": _when(decision.verdict.until),
        "never": None if decision.verdict.never is None else decision.verdict.never.value,
        "action_id": decision.action_id,
        "dry_run": decision.dry_run,
    }


def action_json(action: Action) -> Document:
    return {
        "id": action.id,
        "subject": subject_json(action.subject),
        "policy": action.policy,
        "rule": action.rule,
        "response": action.response.value,
        "state": action.state.value,
        "dry_run": action.dry_run,
        "code": action.code.value,
        "reason": action.reason,
        "since": instant(action.since),
        "warned_at": _when(action.warned_at),
        "due_at": _when(action.due_at),
        "executed_at": _when(action.executed_at),
        "ended_at": _when(action.ended_at),
        "updated_at": instant(action.updated_at),
        "attempt": action.attempt,
        "retry_at": _when(action.retry_at),
        "waste_per_hour": encode(action.waste_per_hour),
        "evidence": encode(action.evidence),
        "error": action.error,
        "disputed_by": action.disputed_by,
    }


def notice_json(notice: Notice) -> Document:
    return {
        "id": notice.id,
        "kind": notice.kind.value,
        "channel": notice.channel,
        "state": notice.state.value,
        "reason": notice.reason.value,
        "created_at": instant(notice.created_at),
        "sent_at": _when(notice.sent_at),
        "attempts": notice.attempts,
        "action_id": notice.action_id,
        "error": notice.last_error,
    }


def ledger_json(entry: LedgerEntry) -> Document:
    return {
        "id": entry.id,
        "at": instant(entry.at),
        "kind": entry.kind.value,
        "subject": None if entry.subject is None else subject_json(entry.subject),
        "text": entry.text,
        "actor": entry.actor,
        "action_id": entry.action_id,
        "policy": entry.policy,
        "code": entry.code,
        "money": encode(entry.money),
        "evidence": encode(entry.evidence),
    }


def ledger_entry(document: Mapping[str, Any]) -> LedgerEntry:
    """The inverse of :func:`ledger_json`."""
    subject = document["subject"]
    return LedgerEntry(
        decode(document["at"]),
        LedgerKind(document["kind"]),
        None if subject is None else Subject(**{**subject, "type": SubjectType(subject["type"])}),
        document["text"],
        document["actor"],
        document["action_id"],
        document["policy"],
        document["code"],
        decode(document["money"]),
        decode(document["evidence"]),
        document["id"],
    )


def listing(name: str, key: str, rows: Iterable[Mapping[str, object]], **more: object) -> Document:
    """A ``costguard.<name>/1`` document with its rows under ``key``."""
    return {"schema": f"costguard.{name}/1", **more, key: [dict(row) for row in rows]}


def pause_json(pause: Pause | None) -> Document | None:
    """The kill switch while it is on; ``until`` null: until somebody resumes."""
    if pause is None:
        return None
    return {"by": pause.by, "reason": pause.reason, "at": instant(pause.at), "until": _when(pause.until)}


def fleet(rows: Iterable[FleetRow], pause: Pause | None = None) -> Document:
    return listing("fleet", "resources", (resource_json(r) for r in rows), paused=pause_json(pause))


def sources(statuses: Iterable[SourceStatus], now: datetime) -> Document:
    return listing("sources", "sources", (source_json(s, now) for s in statuses))


def cycle(
    *,
    mode: str,
    started_at: datetime,
    finished_at: datetime,
    statuses: Iterable[SourceStatus],
    findings: Iterable[Finding],
    decisions: Iterable[Decision],
    actions: Iterable[Action],
    notices: Iterable[Notice],
    pause: Pause | None = None,
) -> Document:
    """``costguard.cycle/1``; ``partial``: some source that should be readable was not."""
    lines = [source_json(s, finished_at) for s in statuses]
    return {
        "schema": "costguard.cycle/1",
        "mode": mode,
        "started_at": instant(started_at),
        "finished_at": instant(finished_at),
        "partial": any(
            line["state"] not in ("ok", "skipped") or (line["state"] == "ok" and line["error"]) for line in lines
        ),
        "paused": pause_json(pause),
        "sources": lines,
        "findings": [finding_json(f) for f in findings],
        "decisions": [decision_json(d) for d in decisions],
        "actions": [action_json(a) for a in actions],
        "notices": [notice_json(n) for n in notices],
    }
