from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.action import ActionState
from costguard.domain.budget import Interval
from costguard.domain.charge import Charge, Stage
from costguard.domain.decision import GuardCode
from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, Ends, Kind, Resource, ResourceRef, State, StopEffect
from costguard.domain.saving import Saving
from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.engine.attribution import Attribution
from costguard.engine.audit import (
    AuditFacts,
    attached_per_hour,
    audit,
    default_month,
    month_bounds,
    still_costs,
)
from costguard.engine.billing import read_bill
from costguard.engine.report import report
from costguard.notify.words.sentences import translated
from costguard.rules.burn import billed_per_hour
from costguard.rules.currency import Rates
from costguard.testing.builders import make_action, make_charge, usd

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 11, 4, tzinfo=UTC)


def box(
    name: str, started: datetime | None, price: str | None = "10", currency: str = "CNY", owner: str | None = None
) -> Resource:
    return Resource(
        ResourceRef("aliyun", "prod", "cn-beijing", Kind.VM, f"i-{name}"),
        name,
        State.RUNNING,
        "Running",
        NOW,
        ChargeType.ON_DEMAND,
        started_at=started,
        price=None if price is None else Money.of(price, currency),
        owner=owner,
        stop_effect=StopEffect(Ends.YES),
    )


def interval(resource: Resource, since: datetime) -> Interval:
    """As it is now since it last started or stopped."""
    told = resource.stopped_at if resource.state is State.STOPPED else resource.started_at
    began = max(told or NOW, since)
    return Interval(
        resource.ref, resource.state, resource.charge_type, began, None, billed_per_hour(resource),
        owner=resource.owner, team=resource.team,
    )  # fmt: skip


def facts(*resources: Resource, sources: tuple[SourceStatus, ...] = ()) -> AuditFacts:
    start, end = month_bounds("2026-11", ZONE)
    return AuditFacts(
        "2026-11", start, end, NOW, ZONE, Rates("CNY", {"USD": [(start, "7.10")]}),
        resources, [interval(r, start) for r in resources], sources=sources,
    )  # fmt: skip


def lines(document: dict[str, object], key: str) -> dict[str, str]:
    return {line["key"]: line["amount"]["amount"] for line in document["spend"][key]}  # type: ignore[index]


def test_price_times_hours_by_account_owner_and_day() -> None:
    midnight = datetime(2026, 11, 9, 16, tzinfo=UTC)  # 10 November in Shanghai
    document = audit(facts(box("a", midnight - timedelta(hours=2), owner="li"), box("b", midnight, "2", "USD")))
    assert lines(document, "by_day") == {"2026-11-09": "20", "2026-11-10": "580.8", "2026-11-11": "290.4"}
    assert lines(document, "by_owner") == {"unallocated": "511.2", "li": "380"}
    assert document["spend"]["estimated"] == {"amount": "891.2", "currency": "CNY"}  # type: ignore[index]
    assert document["rates"] == {"USD": {"rate": "7.10", "from": "2026-11-01"}}
    assert document["stage"] == "draft"


def test_a_box_from_last_month_costs_this_month_only() -> None:
    """I07"""
    document = audit(facts(box("a", datetime(2026, 1, 1, tzinfo=UTC), "1")))
    hours = (NOW - month_bounds("2026-11", ZONE)[0]) / timedelta(hours=1)
    assert document["spend"]["estimated"] == {"amount": f"{hours:g}", "currency": "CNY"}  # type: ignore[index]


def test_what_is_unknown_is_said_and_not_counted() -> None:
    """G11 M01"""
    denied = SourceStatus(
        "prod", "cn-hangzhou", "inventory", SourceState.DENIED, None, timedelta(minutes=5), error="no"
    )
    document = audit(facts(box("a", NOW - timedelta(hours=1), None), box("b", NOW, "5", "EUR"), sources=(denied,)))
    text = "\n".join(document["warnings"])  # type: ignore[arg-type]
    assert "1 running resources have no known price" in text
    assert "cn-hangzhou inventory: denied" in text
    assert document["spend"]["estimated"] == {"amount": "0", "currency": "CNY"}  # type: ignore[index]
    assert document["sources"][0]["state"] == "denied"  # type: ignore[index]
    chinese = replace(facts(sources=(replace(denied, error="paid in advance"),)), language="zh", translated=translated)
    assert "prod/cn-hangzhou 资源清单：没有权限：费用已预付" in audit(chinese)["warnings"]  # type: ignore[operator]


def test_a_currency_without_a_rate_never_joins_the_sum() -> None:
    document = audit(facts(box("a", NOW - timedelta(hours=2), "5", "EUR")))
    assert "no exchange rate for EUR" in "\n".join(document["warnings"])  # type: ignore[arg-type]
    assert document["resources"][0]["estimated"] is None  # type: ignore[index]


def test_a_stopped_box_costs_nothing_where_stopping_ends_billing() -> None:
    stopped = replace(box("a", None), state=State.STOPPED, stopped_at=NOW - timedelta(hours=5))
    assert audit(facts(stopped))["spend"]["estimated"] == {"amount": "0", "currency": "CNY"}  # type: ignore[index]


@pytest.mark.parametrize(("day", "month"), [(1, "2026-10"), (3, "2026-10"), (4, "2026-11")])
def test_until_the_third_the_last_month_is_the_default(day: int, month: str) -> None:
    assert default_month(datetime(2026, 11, day, 4, tzinfo=UTC), ZONE) == month


def test_the_month_is_the_local_one() -> None:
    assert default_month(datetime(2026, 11, 3, 17, tzinfo=UTC), ZONE) == "2026-11"
    with pytest.raises(ValueError, match="not a month"):
        month_bounds("2026-13", ZONE)


def billed(resource: Resource, day: datetime, amount: str, **fields: Any) -> Charge:
    money = Money.of(amount, "CNY")
    month, after = month_bounds(f"{day.astimezone(ZONE):%Y-%m}", ZONE)
    return make_charge(
        f"{resource.ref.id}-{day:%d}-{amount}", money, resource_id=resource.ref.id, charge_period_start=day,
        charge_period_end=day + timedelta(days=1), billing_period_start=month, billing_period_end=after,
        **fields,
    )  # fmt: skip


def with_bill(known: AuditFacts, *charges: Charge) -> AuditFacts:
    attribution = Attribution(known.resources, (), {}, {}, {})
    return replace(known, bill=read_bill(charges, known.start, known.end, ZONE, attribution))


def test_a_month_is_final_when_every_account_is_billed_to_the_end() -> None:
    one = box("a", NOW - timedelta(days=1))
    day = NOW.replace(hour=16) - timedelta(days=1)
    later = replace(facts(one), now=datetime(2026, 12, 3, 4, tzinfo=UTC))
    assert audit(with_bill(later, billed(one, day, "200", stage=Stage.FINAL)))["stage"] == "final"
    assert audit(with_bill(later, billed(one, day, "200")))["stage"] == "draft"
    early = replace(later, now=later.now - timedelta(hours=1))
    assert audit(with_bill(early, billed(one, day, "200", stage=Stage.FINAL)))["stage"] == "draft"
    assert audit(later)["stage"] == "draft"


def test_drivers_compare_whole_days_with_the_same_days_of_the_month_before() -> None:
    """I07"""
    grown, gone = box("grown", None), box("gone", None)
    start = month_bounds("2026-11", ZONE)[0]
    before = month_bounds("2026-10", ZONE)[0]
    document = audit(
        with_bill(
            facts(grown, gone),
            billed(grown, start, "90", payments={"cash": Money.of(90, "CNY")}),
            billed(grown, before, "40"),
            billed(gone, before + timedelta(days=2), "30"),
            billed(gone, before + timedelta(days=20), "500"),
        )
    )
    assert [(d["name"], d["why"], d["change"]["amount"]) for d in document["drivers"]] == [  # type: ignore[attr-defined]
        ("grown", "more", "50"), ("gone", "ended", "-30"),
    ]  # fmt: skip
    assert document["spend"]["previous"] == {"amount": "570", "currency": "CNY"}  # type: ignore[index]
    assert document["payments"] == {
        "cash": {"amount": "90", "currency": "CNY"}, "invoiced": {"amount": "90", "currency": "CNY"},
    }  # fmt: skip


def test_a_month_knows_no_rate_of_the_next() -> None:
    """C07: payments, invoices, savings and what a dry run would have saved count at the rates of their own days, as
    the bill does; the rate that begins with the next month is none of theirs."""
    start, end = month_bounds("2026-10", ZONE)
    middle = start + timedelta(days=15)
    rates = Rates("CNY", {"USD": [(start, "7"), (middle, "8"), (end, "9")]})
    one = box("a", None)
    charges = [
        make_charge(
            f"{day:%d}", usd("10"), charge_period_start=day, charge_period_end=day + timedelta(days=1),
            billing_period_start=start, billing_period_end=end, payments={"cash": usd("4"), "voucher": usd("6")},
        )
        for day in (start, middle)
    ]  # fmt: skip
    saved = Saving("act-1", one.ref, "idle-dev", usd("1"), middle - timedelta(hours=2), middle + timedelta(hours=1))
    dry = make_action(
        state=ActionState.RECORDED, dry_run=True, waste_per_hour=usd("1"), created_at=start, since=start,
        ended_at=end - timedelta(hours=3),
    )  # fmt: skip
    known = replace(facts(one), month="2026-10", start=start, end=end, rates=rates, savings=[saved], actions=[dry])
    document: Any = audit(with_bill(known, *charges))
    assert document["spend"]["billed"]["amount"] == "150"
    assert {means: paid["amount"] for means, paid in document["payments"].items()} == {
        "cash": "60", "voucher": "90", "invoiced": "150",
    }  # fmt: skip
    assert document["savings"]["booked"]["amount"] == "22", "two hours at 7, one at 8"
    assert document["would_have"][0]["saved"]["amount"] == "24"
    (wasted,) = report(known).numbers["wasted"]
    assert wasted["amount"]["amount"] == str(15 * 24 * 7 + 16 * 24 * 8)


def test_decisions_are_told_in_the_reports_language() -> None:
    failed = make_action(state=ActionState.FAILED, error="the hook failed: exit code 3")
    waits = make_action(id="act-2", code=GuardCode.APPROVAL)
    known = replace(facts(box("a", NOW)), actions=[failed, waits], language="zh", translated=translated)
    text = "\n".join(audit(known)["decisions_needed"])  # type: ignore[arg-type]
    assert "idle-dev 执行失败，等待人工处理：脚本失败：退出码 3" in text
    assert "等待批准（act-2）" in text
    assert "1 个运行中的资源没有负责人" in text


def test_a_month_that_is_over_is_its_own_forecast() -> None:
    done = replace(facts(box("a", NOW - timedelta(hours=3))), now=datetime(2026, 12, 9, tzinfo=UTC))
    document = audit(done)
    assert document["forecast"]["method"] == "the month is over"  # type: ignore[index]
    assert document["forecast"]["amount"] == document["spend"]["amount"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("change", "saved"),
    [
        ({"ended_at": NOW - timedelta(hours=2)}, "10"),  # it would have been stopped then, and still would be
        ({"ended_at": NOW - timedelta(hours=1), "due_at": NOW - timedelta(hours=2)}, "5"),  # a limit held it an hour
        ({"due_at": NOW - timedelta(hours=2), "code": GuardCode.UNSUPPORTED}, None),
        ({"due_at": NOW - timedelta(hours=2), "code": GuardCode.BUSY, "state": ActionState.SUPERSEDED,
          "ended_at": NOW}, None),
        ({"due_at": NOW - timedelta(hours=3), "code": GuardCode.DRY_RUN, "state": ActionState.SUPERSEDED,
          "ended_at": NOW - timedelta(hours=2)}, "5"),  # its people stopped it an hour later
        ({"ended_at": NOW - timedelta(hours=2), "dry_run": False}, None),
    ],
)  # fmt: skip
def test_what_would_have_been_stopped_counts_from_when_it_would_have_been(
    change: dict[str, Any], saved: str | None
) -> None:
    fields: dict[str, Any] = {"dry_run": True, "state": ActionState.RECORDED, "waste_per_hour": Money.of(5, "CNY")}
    expected = [{"policy": "idle-dev", "actions": 1, "saved": {"amount": saved, "currency": "CNY"}}] if saved else []
    assert audit(replace(facts(), actions=[make_action(**fields | change)]))["would_have"] == expected


@pytest.mark.parametrize(
    ("ends", "disk", "expected"),
    [(Ends.YES, "0.5", "0.5"), (Ends.NO, "0.5", "10.5"), (Ends.UNKNOWN, "0.5", None), (Ends.YES, None, None)],
)
def test_a_stopped_box_costs_what_hangs_on_it(ends: Ends, disk: str | None, expected: str | None) -> None:
    """C06 H01: an unknown price of a disk is unknown, not nothing."""
    stopped = replace(box("a", None), state=State.STOPPED, stop_effect=StopEffect(ends, ("disks",)))
    held = replace(
        box("d", NOW, disk), ref=ResourceRef("aliyun", "prod", "cn-beijing", Kind.DISK, "d-1"), depends_on="i-a"
    )
    found = still_costs(stopped, attached_per_hour([stopped, held]))
    assert found == (None if expected is None else Money.of(expected, "CNY"))
    assert still_costs(stopped, {}) is None, "its disks were not listed"
