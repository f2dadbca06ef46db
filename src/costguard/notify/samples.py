"""One facts document of every kind: for tests, for ``notify test`` and for looking at the words."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode, Response
from costguard.domain.finding import Finding, Subject, SubjectType
from costguard.domain.money import Money
from costguard.domain.notice import Notice, NoticeKind
from costguard.domain.resource import ChargeType, Ends, Gpus, Kind, Resource, ResourceRef, State, StopEffect
from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.notify import bulletins as b
from costguard.notify import facts as f
from costguard.notify.dingtalk.errcodes import meaning, security_hint
from costguard.notify.group import digest

SAMPLE_NOW = datetime(2026, 3, 5, 13, 0, tzinfo=UTC)
SAMPLE_ZONE = "Asia/Shanghai"
_LINKS = {"page": "https://costguard.example/a/7f3c", "keep": "https://costguard.example/k/7f3c"}


def _cny(amount: str) -> Money:
    return Money.of(amount, "CNY")


def sample_resource(name: str = "train-a800-03", id: str = "i-bp1a2b3c4d5e") -> Resource:
    """A big idle box on Alibaba Cloud."""
    ref = ResourceRef("aliyun", "prod", "cn-hangzhou", Kind.VM, id)
    effect = StopEffect(Ends.YES, still_billed=("disks",), lost=("public_ip", "capacity"), restart_risk=True)
    return Resource(
        ref=ref, name=name, state=State.RUNNING, raw_state="Running", observed_at=SAMPLE_NOW,
        charge_type=ChargeType.ON_DEMAND, sku="ecs.gn7e-c16g1.32xlarge", gpus=Gpus("A800", Decimal(8), 81_920),
        started_at=SAMPLE_NOW - timedelta(hours=30), price=_cny("34.74"), price_source="list", stop_effect=effect,
    )  # fmt: skip


def sample_action(resource: Resource | None = None, **changes: object) -> Action:
    """The ladder of an idle box, 62 minutes after its last work."""
    resource = resource or sample_resource()
    since = SAMPLE_NOW - timedelta(minutes=62)
    fields: dict[str, object] = {
        "id": "act-7f3c", "policy": "idle-dev", "policy_hash": "h", "rule": "idle", "subject": Subject.of(resource),
        "threshold": "", "started_at": resource.started_at, "response": Response.STOP, "state": ActionState.PROPOSED,
        "dry_run": False, "since": since, "held_since": since, "created_at": SAMPLE_NOW, "updated_at": SAMPLE_NOW,
        "waste_per_hour": resource.price,
        "evidence": {
            "window": timedelta(minutes=60), "gpu_util_max": 1.5, "gpu_util_mean": 0.2, "gpu_util_below": 5.0,
            "cpu_cores_max": 0.31, "network_max": 12_400.0, "samples": 62, "expected": 62, "coverage": 1.0,
            "last_at": SAMPLE_NOW - timedelta(minutes=1), "cards_expected": 8, "cards_idle": 8,
        },
    }  # fmt: skip
    return Action(**{**fields, **changes})  # type: ignore[arg-type]


def _json(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "CNY"}


def _report(period: str) -> dict[str, Any]:
    """A report's frame: February, or the week up to 1 March."""
    end = datetime(2026, 2, 28, 16, 0, tzinfo=UTC)
    start = datetime(2026, 1, 31, 16, 0, tzinfo=UTC) if period == "month" else end - timedelta(days=7)
    return {
        "name": f"{period}ly", "period": period, "start": start, "end": end, "now": SAMPLE_NOW,
        "timezone": SAMPLE_ZONE,
    }  # fmt: skip


def _numbers(**changed: object) -> dict[str, object]:
    return {
        "stage": "draft", "amount": _json("16412"), "previous": _json("15200"), "billed": _json("15900"),
        "estimated": _json("16100"), "difference": _json("-200"), "through": "2026-02-27", "gaps": 2,
        "saved": _json("2113.4"), "lost": _json("34.74"), "stops": 12, "would_stops": 9, "would_save": _json("1204"),
        "wasted": [
            {"name": "test1", "amount": _json("1200"), "span": {"seconds": 96 * 3600}},
            {"name": "train-a800-03", "amount": _json("312.66"), "span": {"seconds": 9 * 3600}},
        ],
        "owners": [
            {"key": "zhangwei", "amount": _json("10500")}, {"key": "lilei", "amount": _json("5012")},
            {"key": "unallocated", "amount": _json("880")}, {"key": "wang", "amount": _json("20")},
        ],
        "false_stops": 1,
        "decisions": {
            "zh": ["dev-2：idle-dev 执行失败，等待人工处理：没有权限", "3 个运行中的资源没有负责人：请打标签或认领"],
            "en": ["dev-2: idle-dev failed and holds: not permitted", "3 running resources have no owner: tag them"],
        },
        "next": {"code": "failed", "name": "dev-2", "id": "i-dev2", "action": "act-1", "count": 1},
    } | changed  # fmt: skip


def sample_facts() -> Mapping[str, Mapping[str, Any]]:
    """By name: every kind of message once, and the variants of a warning."""
    box, when = sample_resource(), {"now": SAMPLE_NOW, "timezone": SAMPLE_ZONE}
    action, subject = sample_action(box), Subject.of(box)
    stop: dict[str, object] = {"action": action, "resource": box, "do": Response.STOP, **when}
    month = datetime(2026, 2, 28, 16, 0, tzinfo=UTC), datetime(2026, 3, 31, 16, 0, tzinfo=UTC)
    owned = {"owner": "zhangwei", "owner_found_by": "tag owner=zw"}
    warned = {**stop, **owned, "due_in": timedelta(minutes=30), "links": _LINKS}
    stopped = sample_action(box, state=ActionState.DONE, executed_at=SAMPLE_NOW - timedelta(minutes=5, seconds=20))
    unseen: dict[str, object] = {"action": stopped, "resource": box, "owner": "zhangwei", "links": _LINKS, **when}
    budget: dict[str, object] = {
        **when, "name": "gpu-month", "amount": _cny("20000"), "period": "month", "period_start": month[0],
        "period_end": month[1],
    }  # fmt: skip
    denied = SourceStatus(
        "prod", "cn-beijing", "usage", SourceState.DENIED, SAMPLE_NOW - timedelta(minutes=25), timedelta(minutes=5),
        error="cms:DescribeMetricList: Forbidden.RAM",
    )  # fmt: skip
    items = [
        b.digest_item(
            subject=Subject.of(sample_resource(name, f"i-{name}")), do=Response.STOP, policy="idle-dev",
            price=_cny("34.74"), owner=owner, code=code,
        )
        for name, owner, code in (("a", "zhangwei", "dry_run"), ("b", None, "not_armed"), ("c", "lilei", "busy"))
    ]  # fmt: skip
    boxes = [
        b.reminder_box(subject=subject, activity="active", price=_cny("34.74"), tonight=_cny("434.25")),
        b.reminder_box(
            subject=Subject.of(sample_resource("dev-4090-1", "i-2")), activity="idle",
            idle_for=timedelta(minutes=50), price=_cny("2.5"), tonight=_cny("31.25"),
        ),
    ]  # fmt: skip
    together = [
        Notice(
            id=name, kind=NoticeKind.WARN, channel="ops", alert_key=name, idem_key=name, created_at=SAMPLE_NOW,
            facts=f.warning_facts(
                action=sample_action(sample_resource(name, f"i-{name}")), resource=sample_resource(name, f"i-{name}"),
                do=Response.STOP, owner=owner, due_in=timedelta(minutes=30), **when,  # type: ignore[arg-type]
            ),
        )
        for name, owner in (("train-a800-03", "zhangwei"), ("train-a800-04", "lilei"), ("test1", None))
    ]  # fmt: skip
    unowned = Finding(
        "name-your-boxes", "h", "untagged", subject, SAMPLE_NOW, {"missing": ("owner", "team"), "creator": "ram/lilei"},
        None, box.started_at,
    )  # fmt: skip
    account = Finding(
        "balance-low", "h", "balance", Subject(SubjectType.ACCOUNT, "prod", "prod", "aliyun", name="prod"), SAMPLE_NOW,
        {"available": _cny("1830.20"), "days_left": timedelta(days=2)}, None, None,
    )  # fmt: skip
    return {
        "warning": f.warning_facts(**warned, hook="/opt/ckpt.sh", hook_timeout=timedelta(minutes=2)),  # type: ignore[arg-type]
        "warning_dry_run": f.warning_facts(**warned, dry_run=True),  # type: ignore[arg-type]
        "warning_unowned": f.warning_facts(
            **stop, due_at=SAMPLE_NOW + timedelta(minutes=10), look=True,  # type: ignore[arg-type]
        ),
        "notify_untagged": f.notify_facts(finding=unowned, resource=box, now=SAMPLE_NOW, timezone=SAMPLE_ZONE),
        "notify_balance": f.notify_facts(finding=account, now=SAMPLE_NOW, timezone=SAMPLE_ZONE),
        "held": f.notify_facts(
            finding=action.finding(), resource=box, now=SAMPLE_NOW, timezone=SAMPLE_ZONE, do=Response.STOP,
            held=f.Held(GuardCode.GROUP_MEMBER, "member of asg-train: scale the group instead"), **owned,  # type: ignore[arg-type]
        ),
        "approval": f.approval_facts(**stop, owner="zhangwei"),  # type: ignore[arg-type]
        "result": f.result_facts(**stop, owner="zhangwei", links=_LINKS),  # type: ignore[arg-type]
        "result_unconfirmed": f.result_facts(**stop, confirmed=False),  # type: ignore[arg-type]
        "unseen_work": f.unseen_work_facts(
            **unseen, do=Response.STOP, began=SAMPLE_NOW - timedelta(minutes=8), before=timedelta(minutes=3),  # type: ignore[arg-type]
            seen={"gpu_util_max": 97.0, "gpu_util_below": 5.0, "cpu_cores_max": 6.2, "cpu_cores_below": 1.0},
        ),
        "unseen_work_release": f.unseen_work_facts(
            **unseen, do=Response.RELEASE, began=SAMPLE_NOW - timedelta(minutes=6), before=timedelta(minutes=1),  # type: ignore[arg-type]
            seen={"network_max": 42_400_000.0, "network_below": 1e6},
        ),
        "failed": f.failed_facts(
            **stop, error="StopInstance: IncorrectInstanceStatus", retry_at=SAMPLE_NOW + timedelta(minutes=30),  # type: ignore[arg-type]
        ),
        "failed_hook": f.failed_facts(
            **stop, error="the hook failed: exit code 3", hook_output="ckpt.sh: disk full",  # type: ignore[arg-type]
        ),
        "kept": f.kept_facts(
            subject=subject, resource=box, now=SAMPLE_NOW, timezone=SAMPLE_ZONE, by="lilei", reason="训练收尾",
            until=SAMPLE_NOW + timedelta(hours=2, minutes=30),
        ),
        "cleared": f.cleared_facts(action=action, resource=box, now=SAMPLE_NOW, timezone=SAMPLE_ZONE),
        "no_data": f.no_data_facts(
            subject=subject, resource=box, now=SAMPLE_NOW, timezone=SAMPLE_ZONE,
            since=SAMPLE_NOW - timedelta(minutes=20), owner="zhangwei", others=("train-a800-04", "train-a800-05"),
        ),
        "source": b.source_facts(
            status=denied, now=SAMPLE_NOW, timezone=SAMPLE_ZONE, missing="cms:QueryMetricList"
        ),
        "channel": b.channel_facts(
            channel="ops", reason="auth", detail=f"310000: {meaning(310000).detail}", hint=security_hint("sign"),
            waiting=3, now=SAMPLE_NOW, timezone=SAMPLE_ZONE,
        ),
        "budget": b.budget_facts(
            **budget, spent=_cny("16412"), threshold="80%", forecast=_cny("24100"),  # type: ignore[arg-type]
            gone_at=datetime(2026, 3, 27, 4, 0, tzinfo=UTC),
            drivers=(("train-a800-03", _cny("7200")), ("disks", _cny("1900"))),
        ),
        "group": digest(together, SAMPLE_NOW).facts,
        "dry_run_digest": b.dry_run_digest_facts(
            items=items, now=SAMPLE_NOW, timezone=SAMPLE_ZONE, per_night=(_cny("1204"),)
        ),
        "reminder": b.reminder_facts(
            owner="zhangwei", now=SAMPLE_NOW, timezone=SAMPLE_ZONE, boxes=boxes, tonight=(_cny("465.50"),)
        ),
        "report": b.report_facts(**_report("month"), numbers=_numbers(), command="costguard audit --month 2026-02"),
        "report_final": b.report_facts(
            **_report("month"),
            numbers=_numbers(
                stage="final", amount=_json("16512.40"), billed=_json("16512.40"), difference=_json("412.4"),
                through="2026-02-28", gaps=0,
            ),
            was=_cny("16412"), command="costguard audit --month 2026-02",
            changes=[
                {"what": "amount", "from": _json("16412"), "to": _json("16512.40")},
                {"what": "billed", "from": _json("15900"), "to": _json("16512.40")},
                {"what": "owner", "key": "lilei", "from": _json("5012"), "to": _json("5112.40")},
            ],
        ),
        "report_week": b.report_facts(
            **_report("week"), numbers=_numbers(
                amount=_json("3920.5"), previous=_json("4100"), estimated=_json("3920.5"),
                billed=None, difference=None, through=None,
                owners=[{"key": "zhangwei", "amount": _json("3920.5")}],
                saved=_json("0"), lost=_json("0"), stops=0, gaps=0, wasted=[], false_stops=0, decisions={},
                next={"code": "enforce", "name": "idle-dev", "amount": _json("1204")},
            ),
        ),
        "test": b.test_facts(channel="ops", now=SAMPLE_NOW, timezone=SAMPLE_ZONE),
    }  # fmt: skip
