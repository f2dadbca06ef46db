"""Values that the store's tests keep and read back."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import Finding, Subject
from costguard.domain.money import Money
from costguard.domain.notice import Notice, NoticeKind
from costguard.domain.resource import (
    ChargeType,
    Ends,
    Gpus,
    Kind,
    Resource,
    ResourceRef,
    State,
    StopEffect,
)

NOW = datetime(2026, 3, 5, 10, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
POLL = timedelta(minutes=5)


def ref(number: int | str = 1, account: str = "prod", region: str = "cn-beijing", kind: Kind = Kind.VM) -> ResourceRef:
    return ResourceRef("aliyun", account, region, kind, f"i-{number}")


def box(number: int | str = 1, at: datetime = NOW, **changes: Any) -> Resource:
    values: dict[str, Any] = {
        "ref": ref(number),
        "name": f"train-{number}",
        "state": State.RUNNING,
        "raw_state": "Running",
        "observed_at": at,
        "charge_type": ChargeType.ON_DEMAND,
        "sku": "ecs.gn7i-c8g1.2xlarge",
        "gpus": Gpus("NVIDIA A10", Decimal("1"), 23028),
        "vcpus": 8,
        "memory_mib": 30720,
        "created_at": NOW - timedelta(days=30),
        "started_at": NOW - timedelta(days=2),
        "price": Money.of("34.74", "CNY"),
        "price_source": "list",
        "tags": {"role": "dev", "负责人": "张伟"},
        "stop_effect": StopEffect(Ends.YES, ("disks",), ("public_ip", "memory"), True, "经济模式", stop_again=True),
        "attributes": {"zone": "cn-beijing-h"},
    }
    return Resource(**(values | changes))


def finding(number: int | str = 1, **changes: Any) -> Finding:
    values: dict[str, Any] = {
        "policy": "idle-dev",
        "policy_hash": "abc123",
        "rule": "idle",
        "subject": Subject.of(box(number)),
        "since": NOW - timedelta(hours=1),
        "evidence": {"max": 1.5, "window": timedelta(minutes=45), "last_at": NOW, "cards": (1, 2), "money": None},
        "waste_per_hour": Money.of("34.74", "CNY"),
        "started_at": NOW - timedelta(days=2),
    }
    return Finding(**(values | changes))


def action(number: int | str = 1, **changes: Any) -> Action:
    claim = finding(number)
    values: dict[str, Any] = {
        "id": f"act-{number}",
        "policy": claim.policy,
        "policy_hash": claim.policy_hash,
        "rule": claim.rule,
        "subject": claim.subject,
        "threshold": claim.threshold,
        "started_at": claim.started_at,
        "response": Response.STOP,
        "state": ActionState.PROPOSED,
        "dry_run": False,
        "since": claim.since,
        "held_since": NOW,
        "created_at": NOW,
        "updated_at": NOW,
        "evidence": claim.evidence,
        "waste_per_hour": claim.waste_per_hour,
        "code": GuardCode.NOT_DUE,
    }
    return Action(**(values | changes))


def notice(number: int | str = 1, **changes: Any) -> Notice:
    values: dict[str, Any] = {
        "id": f"note-{number}",
        "kind": NoticeKind.WARN,
        "channel": "ops",
        "alert_key": f"alert-{number}",
        "idem_key": f"idem-{number}",
        "facts": {"title": "30 分钟后关机", "price": {"amount": "34.74", "currency": "CNY"}},
        "created_at": NOW,
        "mention": ("zhangwei",),
    }
    return Notice(**(values | changes))
