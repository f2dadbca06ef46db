"""The frame that every facts document shares.

A facts document is plain JSON (it lies in the outbox until it is sent) and holds values, not sentences:
money, instants, names, evidence. Names and tags are copied raw; escaping is the markup's job. Never put a
secret here.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from datetime import time as clock_time
from typing import Any
from zoneinfo import ZoneInfo

from costguard.domain.action import Action
from costguard.domain.codec import encode
from costguard.domain.finding import Finding, Subject
from costguard.domain.notice import NoticeKind
from costguard.domain.resource import Resource, StopEffect

Facts = dict[str, Any]

MORNING = clock_time(9, 0)


def next_morning(now: datetime, timezone: str) -> datetime:
    """The next 09:00 on the wall of ``timezone`` after ``now``: when people are back to look."""
    zone = ZoneInfo(timezone)
    local = now.astimezone(zone)
    day = local.date() if local.time() < MORNING else local.date() + timedelta(days=1)
    return datetime.combine(day, MORNING, tzinfo=zone).astimezone(now.tzinfo)


def document(
    kind: NoticeKind,
    now: datetime,
    timezone: str,
    dry_run: bool,
    links: Mapping[str, str] | None,
    *,
    dedup: str,
    **fields: object,
) -> Facts:
    """The JSON document; a field that is None is left out. ``dedup`` tells this fact from the next of its story."""
    found: Facts = encode(
        {
            "version": 1, "kind": kind, "at": now, "timezone": timezone, "dry_run": dry_run,
            "links": dict(links or {}), "dedup": dedup,
            **{key: value for key, value in fields.items() if value is not None},
        }
    )  # fmt: skip
    return found


def about(source: Action | Finding, resource: Resource | None) -> Facts:
    """Subject, policy, evidence and waste of a finding or of the action that answers it."""
    return {
        **located(source.subject, resource),
        "policy": source.policy,
        "rule": source.rule,
        "since": source.since,
        "evidence": dict(source.evidence),
        "waste": source.waste_per_hour,
        "alert": source.fingerprint[:6],
        "action_id": source.id if isinstance(source, Action) else None,
    }


def located(subject: Subject, resource: Resource | None) -> Facts:
    """The subject, and of its resource what people recognise it by."""
    facts: Facts = {"subject": named(subject)}
    if resource is not None:
        facts["resource"] = {
            "sku": resource.sku,
            "gpu_model": resource.gpus.model if resource.gpus else None,
            "gpu_count": resource.gpus.count if resource.gpus else None,
            "charge_type": resource.charge_type,
            "price_source": resource.price_source,
            "started_at": resource.started_at,
        }
    return facts


def named(subject: Subject) -> Facts:
    """Every coordinate of a subject and its name, whatever its type."""
    return {
        "type": subject.type, "id": subject.id, "account": subject.account, "provider": subject.provider,
        "region": subject.region, "kind": subject.kind, "name": subject.name,
    }  # fmt: skip


def effect_of(effect: StopEffect | None) -> Facts | None:
    """What stopping does to bill and data."""
    if effect is None:
        return None
    return {
        "ends": effect.compute_billing_ends,
        "still_billed": list(effect.still_billed),
        "lost": list(effect.lost),
        "restart_risk": effect.restart_risk,
        "note": effect.note,
    }
