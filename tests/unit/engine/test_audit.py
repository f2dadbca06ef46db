from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.budget import Interval
from costguard.domain.money import Money
from costguard.domain.resource import ChargeType, Ends, Kind, Resource, ResourceRef, State, StopEffect
from costguard.domain.snapshot import SourceState, SourceStatus
from costguard.engine.audit import AuditFacts, audit, default_month, month_bounds
from costguard.rules.burn import billed_per_hour
from costguard.rules.currency import Rates

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
